"""Pictures of a system as HTML: the ladder, phase diagrams, the paper's figures; each embedded in the page."""

import base64
from html import escape
from io import BytesIO

from flowsys.ladder import compare
from flowsys.plot.drawing import mode_of
from flowsys.report.tables import Cell, table, text
from flowsys.system import System

SIGNS = {
    "\\geq": "≥", "\\leq": "≤", "\\epsilon": "ε", "\\omega": "ω", "\\alpha": "α", "\\tau": "τ", "\\rho": "ρ",
    "\\beta": "β", "\\lambda": "λ", "\\kappa": "κ", "\\mu": "μ", "\\Delta": "Δ", "\\infty": "∞", "\\sim": "~",
    "\\star": "*", "$": "", "{": "", "}": "", "\\": "",
}  # fmt: skip


def ladder(system: System) -> str:
    """Errors between neighbouring levels with their rates."""
    from flowsys.plot.ladder import ladder as draw

    result = compare(system)
    is_fitted = any(m.fit is not None for m in result.rungs)
    picture = figure(draw(result), "Errors over their knob, with the fitted power law.") if is_fitted else ""
    rows = [
        ("", [text(m.rung.name), text(m.rung.meaning), text(m.result), text(m.expectation), _answer(m.holds)])
        for m in result.rungs
    ]
    return table(("rung", "what", "measured", "expected", "holds"), rows) + picture


def _answer(holds: bool | None) -> Cell:
    return Cell("") if holds is None else text("yes", "holds") if holds else text("no", "fails")


def diagram(system: System, name: str) -> str:
    """A named phase diagram, swept now."""
    from flowsys.plot import diagram_figure
    from flowsys.sweeps.memory import run_in_memory, sweep_of

    named = system.diagrams[name]
    result = run_in_memory(sweep_of(system, named))
    picture = diagram_figure(result, system, named)
    counts = "; ".join(f"{n} {outcome}" for outcome, n in result.outcome_counts().items())
    return figure(picture, f"Diagram {name}: {_untypeset(named.title)}. Points: {counts}.")


def drawing(system: System, number: str) -> str:
    """A figure of the paper made again."""
    draw = system.figures[number]
    made = draw(system.setup(mode_of(draw)))
    return figure(made.figure, f"Figure {number}. {made.notes}")


def _untypeset(title: str) -> str:
    """A title without LaTeX: "$L \\geq 4$" is "L ≥ 4"."""
    for command, sign in SIGNS.items():
        title = title.replace(command, sign)
    return title


def figure(picture, caption: str) -> str:
    """A matplotlib figure as an embedded PNG with its caption."""
    data = BytesIO()
    picture.savefig(data, format="png", dpi=110)
    text = base64.b64encode(data.getvalue()).decode()
    return (
        f'<figure><img alt="{escape(caption)}" src="data:image/png;base64,{text}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )
