"""The prompt system, derived: from the packaged statement to one program a number of steps, and the planar one."""

from flowsys.symbolic.assemble import assemble
from flowsys.symbolic.render import flow_equations, module_text
from flowsys.systems.prompt.notation import LATEX
from flowsys.systems.prompt.statement import planar_statement, population_statement

STEPS = range(2, 9)


def artefacts() -> dict[str, str]:
    programs = {f"POPULATION_{K}": assemble(population_statement(K)) for K in STEPS}
    programs["PLANAR"] = assemble(planar_statement())
    text = module_text(
        "prompt",
        "The population system for K = 2 … 8 steps with M and α as symbols, and its planar limit.",
        programs,
        flow_equations(population_statement(3), LATEX),
    )
    return {"flowsys/systems/prompt/reduced.py": text}
