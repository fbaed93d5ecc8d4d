"""How the mixture system's names look in LaTeX."""

LATEX = {"K": "K", "omega": r"\omega", "b": "b", "train_neurons": r"\chi_w", "train_attention": r"\chi_S"}
LATEX |= {f"w_{x}": f"w_{x}" for x in "cv"}
_PARTS = {"mean": r"\mathsf{m}", "difference": r"\mathsf{d}", "same": r"\mathrm{same}", "diff": r"\mathrm{diff}"}
for _matrix in ("S", "KK", "QQ"):
    _sign = _matrix if _matrix == "S" else rf"\mathit{{{_matrix}}}"
    for _part, _mark in _PARTS.items():
        LATEX[f"{_matrix}_{_part}"] = rf"{_sign}^{{{_mark}}}"
        for _pair in ("cc", "cv", "vc", "vv"):
            LATEX[f"{_matrix}_{_pair}_{_part}"] = rf"{_sign}_{{{_pair}}}^{{{_mark}}}"
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
            f"{_matrix}_{_side}_{x}_{y}": rf"{left}^{{\top}}\mathit{{{_matrix}}}_{{{_sign}}}{right}"
            for x, left in _TOKENS.items()
            for y, right in _TOKENS.items()
        }
LATEX |= {
    "output": "f", "preactivation_plus": "z_+", "preactivation_minus": "z_-", "weight": r"\pi", "n_plus": "n_+",
    "n_minus": "n_-", "distractor_plus": "q_+", "distractor_minus": "q_-", "distractors_plus": "Q_+",
    "distractors_minus": "Q_-", "query_sign": r"\varepsilon", "own_plus": "o_+", "own_minus": "o_-",
    "query_n_plus": r"\nu_+", "query_n_minus": r"\nu_-",
}  # fmt: skip

_WHAT = {"S": "scores W_KᵀW_Q (key, query)", "KK": "key self-scores W_KᵀW_K", "QQ": "query self-scores W_QᵀW_Q"}
_SECTOR = {"mean": "same + (K - 1) diff, over the groups together", "difference": "same - diff, between groups"}
WORDS = {
    f"{matrix}_{x}{y}_{part}": f"{what} of {x} and {y}: {sector}"
    for matrix, what in _WHAT.items()
    for part, sector in _SECTOR.items()
    for x in "cv"
    for y in "cv"
}
WORDS |= {
    "train_neurons": "1 while the neurons train, else 0",
    "train_attention": "1 while the attention trains, else 0",
    "weight": "probability of the sample orbit under the loss that is trained",
    "n_plus": "distractors +v of the sample orbit",
    "n_minus": "distractors -v of the sample orbit",
    "query_sign": "sign of a distractor as a query",
    "own_plus": "copies of +v of the query's own group among the distractors",
    "own_minus": "copies of -v of the query's own group among the distractors",
    "query_n_plus": "distractors +v in the query's sample",
    "query_n_minus": "distractors -v in the query's sample",
}
PLACES = {"loss": "Eq. (1)", "flow": "App. B.2; sectors by Lemmas C.2 and C.4"}
