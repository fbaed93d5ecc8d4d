"""The LEGO system, derived: the isotropic layer of stage 1 and attention over it, for q = 4, 6 and 8."""

from flowsys.symbolic.assemble import assemble
from flowsys.symbolic.render import flow_equations, module_text
from flowsys.systems.lego.limits import PACKAGED_POWERS
from flowsys.systems.lego.notation import LATEX
from flowsys.systems.lego.statement import Structure, stage_1_statement, stage_2_statement

CLIPS = ("none", "smooth")


def artefacts() -> dict[str, str]:
    programs = {}
    for stage, state in (("STAGE_1", stage_1_statement), ("STAGE_2", stage_2_statement)):
        for q in PACKAGED_POWERS:
            for clip in CLIPS:
                programs[f"{stage}_{q}_{clip.upper()}"] = assemble(state(Structure(q, clip=clip)))
    equations = flow_equations(stage_1_statement(Structure()), LATEX)
    equations |= flow_equations(stage_2_statement(Structure()), LATEX)
    summary = "The isotropic layer (stage 1) and attention over it (stage 2), for q = 4, 6, 8, with and without clip."
    return {"flowsys/systems/lego/reduced.py": module_text("lego", summary, programs, equations)}
