"""What can be wrong with a figure: program names on it, labels that lack, a legend that shows what is not drawn."""

import re
from collections.abc import Iterator

from matplotlib.colors import same_color
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

PROGRAM_NAME = re.compile(r"[A-Za-z]\w*_\w+|\w@\w|t=\d")


def faults(figure: Figure) -> list[str]:
    """Sentences, none if all is well."""
    figure.draw_without_rendering()
    found = [f"the text {text!r} has a program name" for text in texts(figure) if has_program_name(text)]
    for number, ax in enumerate(figure.axes):
        if hasattr(ax, "_colorbar") or not ax.axison:
            continue
        where = f"panel {number + 1} ({ax.get_title()!r})"
        legend = ax.get_legend()
        if not ax.get_xlabel() and not _shares(ax, figure, "x") and not figure.get_supxlabel():
            found.append(f"{where} has no x label")
        named = ax.get_ylabel() or legend or _shares(ax, figure, "y") or figure.get_supylabel()
        if not named:
            found.append(f"{where} has neither a y label nor a legend")
        if legend is not None:
            found += [f"{where}: the legend shows {label!r}, which is not drawn" for label in _not_drawn(ax)]
    return found


def texts(figure: Figure) -> Iterator[str]:
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip():
            yield text.get_text()


def has_program_name(text: str) -> bool:
    """Whether what stands outside of formulas reads like a name of the program."""
    return bool(PROGRAM_NAME.search(" ".join(text.split("$")[::2])))


def _shares(ax, figure: Figure, axis: str) -> bool:
    """Whether the label stands at another panel of the same column (x) or row (y)."""
    label = (lambda a: a.get_xlabel()) if axis == "x" else (lambda a: a.get_ylabel())
    place = _place(ax, axis)
    return any(label(other) and _place(other, axis) == place for other in figure.axes if other is not ax)


def _place(ax, axis: str) -> range | None:
    spec = ax.get_subplotspec()
    return None if spec is None else spec.colspan if axis == "x" else spec.rowspan


def _not_drawn(ax) -> list[str]:
    handles, labels = ax.get_legend_handles_labels()
    return [label for handle, label in zip(handles, labels) if not _is_drawn(handle, ax)]


def _is_drawn(handle, ax) -> bool:
    if isinstance(handle, ErrorbarContainer):
        return len(handle.lines[0].get_xdata()) > 0
    if isinstance(handle, Line2D):
        if len(handle.get_xdata()):
            return True
        drawn = [line for line in ax.get_lines() if len(line.get_xdata())]
        marked = any(line.get_marker() == handle.get_marker() for line in drawn)
        if handle.get_linestyle() in ("None", "none", ""):
            return marked
        edges = [c for c in ax.collections if len(c.get_paths()) and len(c.get_edgecolor())]
        return any(same_color(c.get_edgecolor()[0], handle.get_color()) for c in edges) or any(
            line.get_linestyle() == handle.get_linestyle() for line in drawn
        )
    hatch = handle.get_hatch() if hasattr(handle, "get_hatch") else None
    if hatch:
        others = [*ax.collections, *ax.patches]
        return any(other.get_hatch() == hatch for other in others if other is not handle and len(_paths(other)))
    return bool(_paths(handle)) or isinstance(handle, Patch)


def _paths(artist) -> list:
    return list(artist.get_paths()) if hasattr(artist, "get_paths") else [artist.get_path()]
