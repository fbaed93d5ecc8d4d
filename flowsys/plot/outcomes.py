"""Points without a value: hatched, and told in words why there is none."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from flowsys.sweeps.diagram import CODES, OUTCOMES

HATCHES = {
    CODES[name]: hatch
    for name, hatch in (
        ("event not reached by t_max", "////"),
        ("invalid parameters", "xxxx"),
        ("step budget used up", "...."),
        ("step size underflow", "++++"),
        ("state not finite", "oooo"),
        ("quantity not finite", "OO"),
        ("claim not testable", "----"),
        ("outside the claim's regime", "||||"),
        ("no derivative there", "**"),
    )
}
WORDS = {
    "event not reached by t_max": r"not reached by $t_{\max}$",
    "invalid parameters": "no such model: parameters not allowed",
    "step budget used up": "the solver used up its steps",
    "step size underflow": "the solver's steps became too small",
    "state not finite": "the flow diverges",
    "quantity not finite": "has no value here",
}


def told(code: int, words: Mapping[str, str]) -> str:
    """What an outcome says on a picture: a diagram's own words, or the usual ones."""
    name = OUTCOMES[code]
    return words.get(name) or WORDS.get(name) or name


def hatch_spans(edges: np.ndarray, outcomes: np.ndarray, ax: Axes, words: Mapping[str, str]) -> None:
    """Hatch the stretches of one axis where points have no value."""
    for code, hatch in HATCHES.items():
        look: dict[str, Any] = {"facecolor": "0.93", "hatch": hatch}
        for first, last in runs(outcomes == code):
            ax.axvspan(edges[first], edges[last], edgecolor="0.6", linewidth=0, zorder=0, **look)
        if (outcomes == code).any():
            ax.fill_between([], [], [], edgecolor="0.55", label=told(code, words), **look)


def hatch_cells(across: np.ndarray, up: np.ndarray, outcomes: np.ndarray, ax: Axes, words: Mapping[str, str]) -> None:
    """Hatch the cells of a plane where points have no value."""
    for code, hatch in HATCHES.items():
        corners = [
            [(across[a], up[c]), (across[b], up[c]), (across[b], up[d]), (across[a], up[d])]
            for a, b, c, d in rectangles(np.equal(outcomes.T, code))
        ]
        if corners:
            look: dict[str, Any] = {"facecolor": "0.93", "hatch": hatch}
            ax.add_collection(PolyCollection(corners, edgecolor="0.6", linewidth=0, rasterized=True, **look))
            ax.fill_between([], [], [], edgecolor="0.55", label=told(code, words), **look)


def runs(here: np.ndarray) -> list[tuple[int, int]]:
    """Where runs of True begin, and where they have ended."""
    steps = np.flatnonzero(np.diff(np.concatenate([[False], here, [False]]).astype(int)))
    return list(zip(steps[::2].tolist(), steps[1::2].tolist()))


def rectangles(here: np.ndarray) -> list[tuple[int, int, int, int]]:
    """The True cells of a grid (rows × columns) as few rectangles: first and past column, first and past row."""
    done: list[tuple[int, int, int, int]] = []
    begun: dict[tuple[int, int], int] = {}
    for row in range(len(here) + 1):
        found = set(runs(here[row])) if row < len(here) else set()
        done += [(*run, begun.pop(run), row) for run in [*begun] if run not in found]
        begun |= dict.fromkeys(found - set(begun), row)
    return done
