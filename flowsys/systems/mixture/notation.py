"""How the mixture system's names look in LaTeX."""

LATEX = {"K": "K", "omega": r"\omega", "b": "b", "train_neurons": r"\chi_w", "train_attention": r"\chi_S"}
LATEX |= {f"w_{x}": f"w_{x}" for x in "cv"}
for _matrix in ("S", "KK", "QQ"):
    for _part, _mark in (("mean", r"\mathsf{m}"), ("difference", r"\mathsf{d}"), ("same", "same"), ("diff", "diff")):
        for _pair in ("cc", "cv", "vc", "vv"):
            LATEX[f"{_matrix}_{_pair}_{_part}"] = rf"{_matrix}_{{{_pair}}}^{{{_mark}}}"
LATEX |= {"L": "L", "T_1": "T_1", "s_star": r"s^{\star}", "epsilon": r"\epsilon", "sigma_w": r"\sigma_w"}
LATEX |= {"max_margin": r"\gamma_F", "score_spread": r"\mathrm{spread}(S)"}
_TOKENS = {f"{x}{k}": f"{x}_{{{k}}}" for x in "cv" for k in range(1, 17)}
for _side, _sign in (("plus", "+"), ("minus", "-")):
    for _kind in ("consistent", "conflicting"):
        LATEX[f"preactivation_{_side}_{_kind}"] = rf"H_{{{_sign}}}^{{\mathrm{{{_kind}}}}}+b"
    for _query in "cvd":  # attention of a query on a key, as the paper writes it
        for _key in "cvd":
            LATEX[f"p_{_side}_{_query}_{_key}"] = rf"p^{{{_sign}}}_{{q\leftarrow {_query},k\leftarrow {_key}}}"
    LATEX |= {f"w_{_side}_{x}": rf"w_{{{_sign}}}^{{\top}}{mark}" for x, mark in _TOKENS.items()}
    for _matrix in ("S", "KK", "QQ"):  # key first, then query
        LATEX |= {
            f"{_matrix}_{_side}_{x}_{y}": rf"{left}^{{\top}}{_matrix}_{{{_sign}}}{right}"
            for x, left in _TOKENS.items()
            for y, right in _TOKENS.items()
        }
