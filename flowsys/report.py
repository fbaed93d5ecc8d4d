"""One self-contained page: for each system its ladder, its claims with verdicts, its diagrams and figures.

Pictures are embedded, so that the file can be sent as it is. What takes long is left out unless everything is asked
for, and the page says what it left out.
"""

import base64
from collections.abc import Callable, Sequence
from html import escape
from io import BytesIO

from flowsys.claims import Checked, Word, check
from flowsys.compare import Ladder, compare
from flowsys.drawing import mode_of
from flowsys.system import System
from flowsys.version import VERSION

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 72rem; margin: 0 auto; padding: 1rem; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 3rem; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; }
.scroll { overflow-x: auto; } th, td { text-align: left; vertical-align: top; padding: .3rem .6rem;
border-bottom: 1px solid #ddd; overflow-wrap: anywhere; min-width: 4rem; } img { max-width: 100%; height: auto; }
.holds { color: #1b6e2c; } .part { color: #8a5a00; } .fails { color: #a11; } .untested { color: #666; }
figure { margin: 1.5rem 0; } figcaption { font-size: .875rem; color: #444; }
nav a { margin-right: 1rem; white-space: nowrap; }
"""
_CLASS = {Word.HOLDS: "holds", Word.IN_PART: "part", Word.FAILS: "fails", Word.NOT_TESTABLE: "untested"}


def report(
    systems: Sequence[System],
    recorded: Callable[[System], dict[str, str]],
    everything: bool = False,
    on_progress: Callable[[str], None] | None = None,
) -> str:
    """The page as HTML."""
    told = on_progress or (lambda what: None)
    links = "".join(f'<a href="#{s.name}">{escape(s.name)}</a>' for s in systems)
    body = "".join(_section(system, recorded(system), everything, told) for system in systems)
    scope = "all claims and rungs" if everything else "the claims and rungs that are quick to measure"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>flowsys report</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body>'
        f"<h1>flowsys report</h1><p>Measured with flowsys {VERSION}: {scope}.</p><nav>{links}</nav>{body}"
        "</body></html>\n"
    )


def _section(system: System, recorded: dict[str, str], everything: bool, told: Callable[[str], None]) -> str:
    checked = check(system.claims, everything=everything, recorded=recorded, on_progress=told)
    parts = [
        f'<section id="{system.name}"><h2>{escape(system.name)}: {escape(system.summary)}</h2>',
        f"<p><cite>{escape(system.paper.title)}</cite> ({escape(system.paper.venue)})</p>",
        _claims(system, checked),
    ]
    if everything and system.ladder is not None:
        parts.append(_ladder(compare(system, on_progress=told)))
    for name, diagram in system.diagrams.items():
        parts.append(_diagram(system, name, diagram))
        told(name)
    if everything:
        for number, make in system.figures.items():
            drawing = make(system.setup(mode_of(make)))
            parts.append(_figure(drawing.figure, f"Figure {number}. {drawing.notes}"))
            told(number)
    return "".join(parts) + "</section>"


def _claims(system: System, checked: Sequence[Checked]) -> str:
    rows = []
    for c in checked:
        changed = "" if c.is_as_recorded else f" (on record: {escape(str(c.recorded))})"
        rows.append(
            f'<tr id="{system.name}-{escape(c.claim.id)}"><td>{escape(c.claim.ref.place)}</td>'
            f"<td>{escape(c.claim.statement)}</td><td>{escape(c.verdict.predicted)}</td>"
            f'<td>{escape(c.verdict.measured)}</td><td class="{_CLASS[c.verdict.word]}">{c.verdict.word}{changed}</td>'
            f"<td>{escape(c.verdict.note)}</td></tr>"
        )
    left = len(system.claims) - len(checked)
    note = f"<p>{left} claims that take long were left out.</p>" if left else ""
    head = "".join(f"<th>{h}</th>" for h in ("place", "claim", "predicted", "measured", "verdict", "note"))
    return f'<h3>Claims</h3><div class="scroll"><table><tr>{head}</tr>{"".join(rows)}</table></div>{note}'


def _ladder(result: Ladder) -> str:
    from matplotlib.figure import Figure

    from flowsys.plot.ladder import ladder as draw

    picture = draw(result, Figure(figsize=(9, 3.4), layout="constrained"))
    return (
        f'<h3>Ladder</h3><div class="scroll">{result._repr_html_()}</div>{_figure(picture, "Errors and their rates.")}'
    )


def _diagram(system: System, name: str, diagram) -> str:
    import numpy as np
    from matplotlib.figure import Figure

    from flowsys.phase.memory import run_in_memory, sweep_of
    from flowsys.plot import phase as draw

    result = run_in_memory(sweep_of(system, diagram))
    figure = Figure(figsize=(7, 5), layout="constrained")
    lines = ()
    if diagram.boundary is not None and len(result.axes) >= 2:
        lines = diagram.boundary(*(np.array(axis.values) for axis in result.axes[:2]))
    draw(result, figure.subplots(), None, diagram.logarithmic, lines, diagram.title)
    counts = "; ".join(f"{n} {outcome}" for outcome, n in result.outcome_counts().items())
    return _figure(figure, f"Diagram {name}: {diagram.title}. Points: {counts}.")


def _figure(figure, caption: str) -> str:
    picture = BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    data = base64.b64encode(picture.getvalue()).decode()
    return (
        f'<figure><img alt="{escape(caption)}" src="data:image/png;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )
