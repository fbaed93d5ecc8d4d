"""Pictures of a system as HTML: the ladder, proofs, phase diagrams, the paper's figures; each embedded in the page."""

import base64
from html import escape
from io import BytesIO

from flowsys.equations.pages import inline
from flowsys.ladder import compare
from flowsys.report.tables import table, text
from flowsys.system import System
from flowsys.system.names import in_symbols
from flowsys.typeset import plain

LOOKS = {"yes": "holds", "no": "fails", "undecided": "untested"}  # of a rung's answer


def ladder(system: System) -> str:
    """Errors between neighbouring levels with their rates."""
    from flowsys.plot.ladder import ladder as draw

    result = compare(system)
    is_fitted = any(m.fit is not None for m in result.rungs)
    picture = (
        figure(draw(result, system.names), "Errors over their knob, with the fitted power law.") if is_fitted else ""
    )
    rows = [
        (
            "",
            [
                text(m.rung.name),
                text(m.rung.meaning),
                text(m.result),
                text(m.expectation),
                text(m.answer, LOOKS.get(m.answer, "")),
            ],
        )
        for m in result.rungs
    ]
    return table(("rung", "what", "measured", "expected", "holds"), rows) + picture


def proof(system: System, id: str) -> str:
    """A claim proven now: the theorem in words, and the bound of the error over time."""
    from flowsys.plot.bound import bound as draw
    from flowsys.proof.claiming import prove_claim

    (claim,) = (claim for claim in system.claims if claim.id == id)
    found = prove_claim(claim, system)
    word = "holds" if found.is_proven else "part"
    theorem = "".join(f"<p>{inline(in_symbols(sentence, system.names))}</p>" for sentence in found.theorem)
    statement = inline(in_symbols(f"{claim.place}: {claim.statement}", system.names))
    said = f'<p><b>{statement}</b> <span class="{word}">{escape(found.said)}</span></p>'
    command = f"flowsys check {_asked(system)} --claim {id} --prove"
    caption = "Proven bound of every coordinate's error."
    return said + theorem + figure(draw(found.proof, system.names), caption, command)


def diagram(system: System, name: str) -> str:
    """A named phase diagram, swept now."""
    from flowsys.plot import diagram_figure
    from flowsys.sweeps.memory import run_in_memory, sweep_of

    named = system.diagrams[name]
    result = run_in_memory(sweep_of(system, named))
    picture = diagram_figure(result, system, named)
    counts = "; ".join(f"{n} {outcome}" for outcome, n in result.outcome_counts().items())
    command = f"flowsys phase {_asked(system)} --diagram {name}"
    return figure(picture, f"{in_symbols(named.title, system.names)}. Points: {counts}.", command)


def drawing(system: System, number: str) -> str:
    """A figure of the paper made again, beside what the paper shows there."""
    draw = system.figures[number]
    made = draw(system.setup(draw.mode))
    paper = f"<p><b>Figure {escape(number)}.</b> {inline(draw.caption)}</p>"
    return figure(
        made.figure, _sentence(in_symbols(made.notes, system.names)), f"flowsys figure {_asked(system)} {number}", paper
    )


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith('.') else '.'}" if words else ""


def _asked(system: System) -> str:
    """How a command names the system."""
    return system.name if system.package or not system.place else f"--from {system.place}"


def figure(picture, caption: str, command: str = "", beside: str = "") -> str:
    """A matplotlib figure as an embedded PNG with its caption, the command that makes it, and what stands beside it."""
    data = BytesIO()
    picture.savefig(data, format="png", dpi=110)
    text = base64.b64encode(data.getvalue()).decode()
    told = f"<p>{inline(caption)}</p>" if caption else ""
    told += f"<p><code>{escape(command)}</code></p>" if command else ""
    return (
        f'<figure><img alt="{escape(plain(caption))}" src="data:image/png;base64,{text}">'
        f"<figcaption>{beside}{told}</figcaption></figure>"
    )
