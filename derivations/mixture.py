"""The mixture limit, derived: from the packaged statement to the program of 22 (and of 10) variables."""

from flowsys.symbolic.assemble import assemble
from flowsys.symbolic.render import flow_equations, module_text
from flowsys.systems.mixture.statement import limit_statement

LATEX = {"K": "K", "omega": r"\omega", "train_neurons": r"\chi_w", "train_attention": r"\chi_S"}
LATEX |= {f"w_{x}": f"w_{x}" for x in "cv"}
for _M in ("S", "KK", "QQ"):
    for _part, _mark in (("mean", r"\mathsf{m}"), ("difference", r"\mathsf{d}"), ("same", "same"), ("diff", "diff")):
        for _xy in ("cc", "cv", "vc", "vv"):
            LATEX[f"{_M}_{_xy}_{_part}"] = rf"{_M}_{{{_xy}}}^{{{_mark}}}"


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
