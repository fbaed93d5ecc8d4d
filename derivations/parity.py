"""The parity limit, derived: a position in (g, u, v, w), the block of n+1 and n+2, and the surrogate."""

from flowsys.symbolic.assemble import assemble
from flowsys.symbolic.render import flow_equations, module_text
from flowsys.systems.parity.notation import LATEX
from flowsys.systems.parity.statement import block_statement, position_statement, surrogate_statement


def artefacts() -> dict[str, str]:
    programs = {
        "PROGRAM_POSITION": assemble(position_statement()),
        "PROGRAM_POSITION_HINGE": assemble(position_statement("hinge")),
        "PROGRAM_BLOCK": assemble(block_statement()),
        "PROGRAM_SURROGATE": assemble(surrogate_statement()),
    }
    equations = flow_equations(position_statement(), LATEX) | flow_equations(block_statement(), LATEX)
    text = module_text(
        "parity",
        "The parity limit's programs: one position, the block of positions n+1 and n+2, and the surrogate.",
        programs,
        equations,
    )
    return {"flowsys/systems/parity/reduced.py": text}
