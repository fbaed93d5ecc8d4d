"""How the co-occurrence system's names look in LaTeX, and what coordinates stand for in words."""

from itertools import product

from flowsys.systems.cooccurrence.sectors import SECTORS

_SIGN = {"S": "S"} | {name: rf"\mathit{{{name}}}" for name in ("KK", "QQ", "VV")}
_WHAT = {"S": "score (key, query)", "KK": "key correlation", "QQ": "query correlation", "VV": "value correlation"}
_MARK = {"even": "+", "odd": "-", "all": ""}
_TYPES = ("1", "2", "3", "4", "23")
_BASIS = {"mu": r"\mu", "mu1": r"\mu_1", "mu2": r"\mu_2", "mu3": r"\mu_3"} | {f"f{T}": f"f_{{{T}}}" for T in _TYPES}
_WORDS = {"mu": "the targets, even or odd under their swap", "mu1": "μ1", "mu2": "μ2", "mu3": "the common word"}
_WORDS |= {f"f{T}": f"the irrelevant words of type {T} together" for T in _TYPES}
_TOKEN = {"1": r"\mu_1", "2": r"\mu_2", "3": r"\mu_3", "r": "r", "self": r"\mathrm{itself}"}

LATEX = {
    "alpha": r"\alpha", "beta": r"\beta", "m1": "m_1", "score_scale": "s", "L": "L", "inverse_n": "n^{-1}", "n": "n",
    "tau": r"\tau", "clock": r"\theta", "c": "c", "u_u": r"c/m_1", "g": "g", "rho": r"\rho", "delta": r"\delta",
    "lambda_": r"\lambda", "theta": r"\vartheta", "epsilon": r"\epsilon", "C_T_1": "C_{T_1}", "split": r"\Delta G_0",
    "d": "d", "data_seed": r"\mathrm{seed\ of\ the\ sentences}", "loss_peak": r"T_{\mathrm{peak}}",
    "T_theta": r"T_{\vartheta}", "T_star": r"T_{\star}", "T_1_clock": r"C_{T_1}/\beta", "R": "R",
    "test_loss": r"\mathcal{L}_{\mathrm{test}}", "attention_deviation": r"L^2 \max|p-1/L|",
    "overtaking": r"-\dot{G}(\mu_3)-\max(\dot{G}(\mu_1),\dot{G}(\mu_2))", "least_margin": r"\min_i y_i F_i",
    "least_value": r"\min(G(\mu_1),G(\mu_2),-G(\mu_3))", "c_growth": r"c/\beta",
    "balance_negative": r"(g_{I_2}+g_{I_3}+g_{I_4}-g_{I_1})/\Sigma g",
    "balance_positive": r"(g_{I_1}-g_{I_2})/\Sigma g",
    "gradient_order": r"\mathrm{order\ of\ the}\ g_{I_T}",
    "target_imbalance": r"|g_{I_2}-g_{I_3}|/\min(g_{I_2},g_{I_3})",
    "score_signs": r"\min(\dot{S}_{12},\dot{S}_{21},-\dot{S}_{31},-\dot{S}_{32})",
}  # fmt: skip
LATEX |= {f"share_{T}": f"p_{{{T}}}" for T in _TYPES} | {f"g_{x}": f"g_{{{mark}}}" for x, mark in _BASIS.items()}
LATEX |= {f"G_mu{x}": rf"G_{{\mu_{x}}}" for x in "123"} | {f"G_r{T}": f"G_{{r_{T}}}" for T in "1234"}
for _name, _sign in _SIGN.items():
    for _sector, _mark in _MARK.items():
        _upper = f"^{{{_mark}}}" if _mark else ""
        LATEX[f"{_name}_{_sector}"] = _sign + _upper
    for _variant in ("88", "without_swap"):
        for _sector, _basis in SECTORS[_variant].items():
            LATEX |= {
                f"{_name}_{_sector}_{_a}_{_b}": rf"{_sign}^{{{_MARK[_sector]}}}_{{{_BASIS[_a]},{_BASIS[_b]}}}"
                for _a, _b in product(_basis, repeat=2)
            }
    LATEX |= {f"{_name}_across_{_T}": rf"{_sign}^{{s}}_{{{_T}}}" for _T in _TYPES}
    LATEX |= {f"{_name}_within_{_T}": rf"{_sign}^{{k}}_{{{_T}}}" for _T in _TYPES}
    LATEX |= {f"{_name}_{_p}{_q}": rf"{_sign}_{{{_p}{_q}}}" for _p, _q in product("123", repeat=2)}
LATEX |= {f"per_{_kind}_{_T}": rf"\nu^{{{_mark}}}_{{{_T}}}"
          for _kind, _mark in (("across", "s"), ("within", "k")) for _T in _TYPES}  # fmt: skip
for _T in "1234":
    LATEX |= {f"S_{_p}_r{_T}": rf"S_{{{_p},r_{_T}}}" for _p in "123"}
    LATEX |= {f"S_r{_T}_{_p}": rf"S_{{r_{_T},{_p}}}" for _p in "123"}
    LATEX |= {f"S_r{_T}_same_word": rf"S_{{r_{_T},r_{_T}}}", f"S_r{_T}_same_sample": rf"S_{{r_{_T},r_{_T}'}}"}
    LATEX |= {f"F_type{_T}": f"F_{{I_{_T}}}", f"g_type{_T}": f"g_{{I_{_T}}}"}
    LATEX[f"loss_type{_T}"] = rf"\mathcal{{L}}_{{I_{_T}}}"
    LATEX |= {  # attention of a query on a key, as the paper writes it
        f"p_type{_T}_{_query}_{_key}": rf"p^{{I_{_T}}}_{{q\leftarrow {_TOKEN[_query]},k\leftarrow {_mark}}}"
        for _query, (_key, _mark) in product("123r", _TOKEN.items())
    }
_MOVING = [*"G_mu1 G_mu2 G_mu3 S_12 S_21 S_31 S_32".split(), *(f"{x}{T}" for x in ("G_r", "F_type") for T in "1234")]
LATEX |= {f"d_{_x}": rf"\dot{{{LATEX[_x][0]}}}{LATEX[_x][1:]}" for _x in _MOVING}

_PARTS = {"across": "between sentences", "within": "within a sentence"}
WORDS = {
    f"{name}_{sector}_{a}_{b}": f"{what} of {_WORDS[a]} and {_WORDS[b]}, {sector} part, in normed coordinates"
    for (name, what), sector, a, b in product(_WHAT.items(), _MARK, _WORDS, _WORDS)
}
for (_kind, _where), _T in product(_PARTS.items(), _TYPES):
    WORDS |= {f"{name}_{_kind}_{_T}": f"{what} of irrelevant words of type {_T}, part that differs {_where}"
              for name, what in _WHAT.items()}  # fmt: skip
    WORDS[f"per_{_kind}_{_T}"] = f"inverse multiplicity of what differs {_where} of type {_T}"
WORDS |= {f"g_{x}": f"value G of {words} over √m1, in normed coordinates" for x, words in _WORDS.items()}
WORDS |= {"inverse_n": "1/n", "share_23": "share of samples with one target",
          "share_3": "share of samples with μ2 alone", "u_u": "c/m1"}  # fmt: skip
PLACES = {"loss": "Eq. (2), under Assumption 2.3", "flow": "Eqs. (4) to (7), Lemmas C.2 to C.4"}
