"""How the mixture system's names look in LaTeX, and what its coordinates stand for in words."""

from flowsys.system.names import family

_PARTS = {"mean": r"\mathsf{m}", "difference": r"\mathsf{d}", "same": r"\mathrm{same}", "diff": r"\mathrm{diff}"}
_MATRICES = {"S": "S", "KK": r"\mathit{KK}", "QQ": r"\mathit{QQ}"}
_WHAT = {"S": "scores W_KᵀW_Q (key, query)", "KK": "key self-scores W_KᵀW_K", "QQ": "query self-scores W_QᵀW_Q"}
_PAIRS = ("cc", "cv", "vc", "vv")
_TOKENS = {f"{x}{k}": f"{x}_{{{k}}}" for x in "cv" for k in range(1, 17)}
_SIDES = {"plus": "+", "minus": "-"}
LATEX = {
    "train_neurons": r"\chi_w", "train_attention": r"\chi_S", "s_star": r"s^{\star}", "max_margin": r"\gamma_F",
    "score_spread": r"\mathrm{spread}(S)", "output": "f", "weight": r"\pi", "query_sign": r"\varepsilon",
    **family("<M>_<part>", "<M>^{<part>}", M=_MATRICES, part=_PARTS),
    **family("<M>_<xy>_<part>", "<M>_{<xy>}^{<part>}", M=_MATRICES, xy=_PAIRS, part=_PARTS),
    **family("preactivation_<side>", "z_<side>", side=_SIDES),
    **family("preactivation_<side>_<kind>", r"H_{<side>}^{\mathrm{<kind>}}+b", side=_SIDES,
             kind=("consistent", "conflicting")),
    # attention of a query on a key, as the paper writes it
    **family("p_<side>_<query>_<key>", r"p^{<side>}_{q\leftarrow <query>,k\leftarrow <key>}", side=_SIDES, query="cvd",
             key="cvd"),
    **family("w_<side>_<x>", r"w_{<side>}^{\top}<x>", side=_SIDES, x=_TOKENS),
    # key first, then query
    **family("<M>_<side>_<x>_<y>", r"<x>^{\top}\mathit{<M>}_{<side>}<y>", M=tuple(_MATRICES), side=_SIDES, x=_TOKENS,
             y=_TOKENS),
    **family("distractor_<side>", "q_<side>", side=_SIDES), **family("distractors_<side>", "Q_<side>", side=_SIDES),
    **family("own_<side>", "o_<side>", side=_SIDES), **family("query_n_<side>", r"\nu_<side>", side=_SIDES),
}  # fmt: skip
WORDS = {
    "train_neurons": "1 while the neurons train, else 0",
    "train_attention": "1 while the attention trains, else 0",
    "weight": "probability of the sample orbit under the loss that is trained",
    "query_sign": "sign of a distractor as a query",
    **family("n_<side>", "distractors <side>v of the sample orbit", side=_SIDES),
    **family("own_<side>", "copies of <side>v of the query's own group among the distractors", side=_SIDES),
    **family("query_n_<side>", "distractors <side>v in the query's sample", side=_SIDES),
    **family("<M>_<xy>_<part>", "<M> of <xy>: <part>", M=_WHAT, xy={xy: " and ".join(xy) for xy in _PAIRS},
             part={"mean": "same + (K - 1) diff, over the groups together",
                   "difference": "same - diff, between groups"}),
}  # fmt: skip
PLACES = {"loss": "Eq. (1)", "flow": "App. B.2; sectors by Lemmas C.2 and C.4"}
