"""The co-occurrence limit, derived: from the packaged statement to the programs of 88, 113 and 173 variables."""

from flowsys.symbolic.assemble import assemble
from flowsys.symbolic.render import flow_equations, module_text
from flowsys.systems.cooccurrence.notation import LATEX
from flowsys.systems.cooccurrence.statement import limit_statement


def artefacts() -> dict[str, str]:
    statement = limit_statement("88")
    programs = {
        "PROGRAM_88": assemble(statement),
        "PROGRAM_113": assemble(limit_statement("113")),
        "PROGRAM_WITHOUT_SWAP": assemble(limit_statement("without_swap")),
    }
    summary = "The co-occurrence limit's programs: 88 variables, 113 with VV and c, 173 without the swap."
    text = module_text("cooccurrence", summary, programs, flow_equations(statement, LATEX))
    return {"flowsys/systems/cooccurrence/reduced.py": text}
