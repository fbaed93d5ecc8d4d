"""How the mixture system's names look in LaTeX."""

LATEX = {"K": "K", "omega": r"\omega", "b": "b", "train_neurons": r"\chi_w", "train_attention": r"\chi_S"}
LATEX |= {f"w_{x}": f"w_{x}" for x in "cv"}
for _matrix in ("S", "KK", "QQ"):
    for _part, _mark in (("mean", r"\mathsf{m}"), ("difference", r"\mathsf{d}"), ("same", "same"), ("diff", "diff")):
        for _pair in ("cc", "cv", "vc", "vv"):
            LATEX[f"{_matrix}_{_pair}_{_part}"] = rf"{_matrix}_{{{_pair}}}^{{{_mark}}}"
