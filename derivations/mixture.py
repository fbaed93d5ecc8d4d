"""The mixture limit, derived: from the packaged statement to the program of 22 (and of 10) variables."""

from flowsys.symbolic.assemble import assemble
from flowsys.symbolic.render import flow_equations, module_text
from flowsys.systems.mixture.notation import LATEX
from flowsys.systems.mixture.statement import limit_statement


def artefacts() -> dict[str, str]:
    statement = limit_statement()
    programs = {
        "PROGRAM_22": assemble(statement),
        "PROGRAM_10": assemble(limit_statement(eliminate_self_scores=True)),
    }
    text = module_text(
        "mixture",
        "The mixture limit's programs: 22 variables, and 10 with the self-scores eliminated.",
        programs,
        flow_equations(statement, LATEX),
    )
    return {"flowsys/systems/mixture/reduced.py": text}
