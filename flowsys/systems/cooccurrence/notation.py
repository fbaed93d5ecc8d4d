"""How the co-occurrence system's names look in LaTeX."""

from flowsys.systems.cooccurrence.sectors import SECTORS, TYPES

_BASIS = {"mu": r"\mu", "mu1": r"\mu_1", "mu2": r"\mu_2", "mu3": r"\mu_3"}
_SIGN = {"S": "S"} | {name: rf"\mathit{{{name}}}" for name in ("KK", "QQ", "VV")}
_BASIS |= {f"f{T}": f"f_{{{T}}}" for T in ("1", "2", "3", "4", "23")}

LATEX = {"alpha": r"\alpha", "beta": r"\beta", "m1": "m_1", "score_scale": "s", "L": "L", "inverse_n": "n^{-1}"}
LATEX |= {f"share_{T}": f"p_{{{T}}}" for T in ("1", "2", "3", "4", "23")} | {"tau": r"\tau", "clock": r"\theta"}
LATEX |= {f"g_{x}": f"g_{{{mark}}}" for x, mark in _BASIS.items()} | {"c": "c", "u_u": r"c/m_1"}
LATEX |= {f"G_mu{x}": rf"G_{{\mu_{x}}}" for x in "123"} | {f"G_r{T}": f"G_{{r_{T}}}" for T in "1234"}
for _variant in ("88", "without_swap"):
    for _sector, _basis in SECTORS[_variant].items():
        _mark = {"even": "+", "odd": "-", "all": ""}[_sector]
        for _name in ("S", "KK", "QQ", "VV"):
            LATEX |= {
                f"{_name}_{_sector}_{_a}_{_b}": rf"{_SIGN[_name]}^{{{_mark}}}_{{{_BASIS[_a]},{_BASIS[_b]}}}"
                for _a in _basis
                for _b in _basis
            }
    for _T in TYPES[_variant]:
        for _name in ("S", "KK", "QQ", "VV"):
            LATEX |= {
                f"{_name}_across_{_T}": rf"{_SIGN[_name]}^{{s}}_{{{_T}}}",
                f"{_name}_within_{_T}": rf"{_SIGN[_name]}^{{k}}_{{{_T}}}",
            }
        LATEX |= {f"per_across_{_T}": rf"\nu^{{s}}_{{{_T}}}", f"per_within_{_T}": rf"\nu^{{k}}_{{{_T}}}"}
for _p in "123":
    LATEX |= {f"S_{_p}{_q}": rf"S_{{{_p}{_q}}}" for _q in "123"}
    for _T in "1234":
        LATEX |= {f"S_{_p}_r{_T}": rf"S_{{{_p},r_{_T}}}", f"S_r{_T}_{_p}": rf"S_{{r_{_T},{_p}}}"}
for _T in "1234":
    LATEX |= {f"S_r{_T}_same_word": rf"S_{{r_{_T},r_{_T}}}", f"S_r{_T}_same_sample": rf"S_{{r_{_T},r_{_T}'}}"}

_WORD = {"1": r"\mu_1", "2": r"\mu_2", "3": r"\mu_3", "r": "r", "self": r"\mathrm{itself}"}
LATEX |= {
    "n": "n", "rho": r"\rho", "delta": r"\delta", "lambda_": r"\lambda", "theta": r"\vartheta", "epsilon": r"\epsilon",
    "C_T_1": "C_{T_1}", "split": r"\Delta G_0", "d": "d", "data_seed": r"\mathrm{seed\ of\ the\ sentences}",
    "loss_peak": r"T_{\mathrm{peak}}", "T_theta": r"T_{\vartheta}", "T_star": r"T_{\star}",
    "T_1_clock": r"C_{T_1}/\beta", "test_loss": r"\mathcal{L}_{\mathrm{test}}",
    "attention_deviation": r"L^2 \max|p-1/L|", "R": "R",
    "overtaking": r"-\dot{G}(\mu_3)-\max(\dot{G}(\mu_1),\dot{G}(\mu_2))", "least_margin": r"\min_i y_i F_i",
    "least_value": r"\min(G(\mu_1),G(\mu_2),-G(\mu_3))", "c_growth": r"c/\beta",
    "balance_negative": r"(g_{I_2}+g_{I_3}+g_{I_4}-g_{I_1})/\Sigma g",
    "balance_positive": r"(g_{I_1}-g_{I_2})/\Sigma g",
    "gradient_order": r"\mathrm{order\ of\ the}\ g_{I_T}",
    "target_imbalance": r"|g_{I_2}-g_{I_3}|/\min(g_{I_2},g_{I_3})",
    "score_signs": r"\min(\dot{S}_{12},\dot{S}_{21},-\dot{S}_{31},-\dot{S}_{32})",
}  # fmt: skip
for _name in ("VV", "KK", "QQ"):
    LATEX |= {f"{_name}_{_p}{_q}": rf"{_SIGN[_name]}_{{{_p}{_q}}}" for _p in "123" for _q in "123"}
for _T in "1234":
    LATEX |= {f"F_type{_T}": f"F_{{I_{_T}}}", f"g_type{_T}": f"g_{{I_{_T}}}"}
    LATEX[f"loss_type{_T}"] = rf"\mathcal{{L}}_{{I_{_T}}}"
    for _query in "123r":  # attention of a query on a key, as the paper writes it
        LATEX |= {
            f"p_type{_T}_{_query}_{_key}": rf"p^{{I_{_T}}}_{{q\leftarrow {_WORD[_query]},k\leftarrow {_mark}}}"
            for _key, _mark in _WORD.items()
        }
for _moving in (
    "G_mu1",
    "G_mu2",
    "G_mu3",
    "S_12",
    "S_21",
    "S_31",
    "S_32",
    *(f"{_x}{_T}" for _x in ("G_r", "F_type") for _T in "1234"),
):
    LATEX[f"d_{_moving}"] = rf"\dot{{{LATEX[_moving][0]}}}{LATEX[_moving][1:]}"
LATEX |= {f"{_name}_even": rf"{_SIGN[_name]}^{{+}}" for _name in _SIGN} | {
    f"{_name}_odd": rf"{_SIGN[_name]}^{{-}}" for _name in _SIGN
}
LATEX |= {f"{_name}_all": _SIGN[_name] for _name in _SIGN} | {"g": "g", "share_3": "p_{3}"}

_WORDS = {"mu": "the targets, even or odd under their swap", "mu1": "μ1", "mu2": "μ2", "mu3": "the common word"}
_WORDS |= {f"f{T}": f"the irrelevant words of type {T} together" for T in ("1", "2", "3", "4", "23")}
_WHAT = {"S": "score (key, query)", "KK": "key correlation", "QQ": "query correlation", "VV": "value correlation"}
WORDS = {
    f"{name}_{sector}_{a}_{b}": f"{what} of {_WORDS[a]} and {_WORDS[b]}, {sector} part, in normed coordinates"
    for name, what in _WHAT.items()
    for sector in ("even", "odd", "all")
    for a in _WORDS
    for b in _WORDS
}
WORDS |= {f"{name}_across_{T}": f"{what} of irrelevant words of type {T}, part that differs between sentences"
          for name, what in _WHAT.items() for T in ("1", "2", "3", "4", "23")}  # fmt: skip
WORDS |= {f"{name}_within_{T}": f"{what} of irrelevant words of type {T}, part that differs within a sentence"
          for name, what in _WHAT.items() for T in ("1", "2", "3", "4", "23")}  # fmt: skip
WORDS |= {f"g_{x}": f"value G of {words} over √m1, in normed coordinates" for x, words in _WORDS.items()}
WORDS |= {
    f"per_across_{T}": f"inverse multiplicity of what differs between sentences of type {T}"
    for T in ("1", "2", "3", "4", "23")
}
WORDS |= {
    f"per_within_{T}": f"inverse multiplicity of what differs within sentences of type {T}"
    for T in ("1", "2", "3", "4", "23")
}
WORDS |= {
    "inverse_n": "1/n", "share_23": "share of samples with one target", "share_3": "share of samples with μ2 alone",
    "u_u": "c/m1",
}  # fmt: skip
PLACES = {"loss": "Eq. (2), under Assumption 2.3", "flow": "Eqs. (4) to (7), Lemmas C.2 to C.4"}
