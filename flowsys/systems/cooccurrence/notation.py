"""How the co-occurrence system's names look in LaTeX, and what coordinates stand for in words."""

from flowsys.system.names import family
from flowsys.systems.cooccurrence.sectors import SECTORS

_MATRICES = {"S": "S"} | {name: rf"\mathit{{{name}}}" for name in ("KK", "QQ", "VV")}
_WHAT = {"S": "score (key, query)", "KK": "key correlation", "QQ": "query correlation", "VV": "value correlation"}
_TYPES = ("1", "2", "3", "4", "23")
_BASIS = {"mu": r"\mu", "mu1": r"\mu_1", "mu2": r"\mu_2", "mu3": r"\mu_3"} | {f"f{T}": f"f_{{{T}}}" for T in _TYPES}
_SUM = family("f<T>", "f_<T> (normed sum of the irrelevant words of type <T>)", T="1234")
_VECTORS = {
    "even": {"mu": "(μ1 + μ2)/√2", "mu3": "μ3", "f1": _SUM["f1"], "f4": _SUM["f4"],
             "f23": "(f_2 + f_3)/√2 (normed sum of the irrelevant words of types 2 and 3)"},
    "odd": {"mu": "(μ1 − μ2)/√2", "f23": "(f_2 − f_3)/√2 (normed difference of those of types 2 and 3)"},
    "all": {"mu1": "μ1", "mu2": "μ2", "mu3": "μ3", **_SUM},
}  # fmt: skip
_TOKEN = {"1": r"\mu_1", "2": r"\mu_2", "3": r"\mu_3", "r": "r", "self": r"\mathrm{itself}"}

LATEX = {
    "m1": "m_1", "score_scale": "s", "inverse_n": "n^{-1}", "clock": r"\theta", "u_u": r"\hat{c}",
    "theta": r"\vartheta", "C_T_1": "C_{T_1}", "split": r"\Delta G_0",
    "data_seed": r"\mathrm{seed\ of\ the\ sentences}", "loss_peak": r"T_{\mathrm{peak}}",
    "T_theta": r"T_{\vartheta}", "T_1_clock": r"C_{T_1}/\beta",
    "test_loss": r"\mathcal{L}_{\mathrm{test}}", "attention_deviation": r"L^2 \max|p-1/L|",
    "overtaking": r"-\dot{G}(\mu_3)-\max(\dot{G}(\mu_1),\dot{G}(\mu_2))", "least_margin": r"\min_i y_i F_i",
    "least_value": r"\min(G(\mu_1),G(\mu_2),-G(\mu_3))", "c_growth": r"c/\beta",
    "balance_negative": r"(g_{I_2}+g_{I_3}+g_{I_4}-g_{I_1})/\Sigma g",
    "balance_positive": r"(g_{I_1}-g_{I_2})/\Sigma g",
    "gradient_order": r"\mathrm{order\ of\ the}\ g_{I_T}",
    "target_imbalance": r"|g_{I_2}-g_{I_3}|/\min(g_{I_2},g_{I_3})",
    "score_signs": r"\min(\dot{S}_{12},\dot{S}_{21},-\dot{S}_{31},-\dot{S}_{32})",
    **family("share_<T>", "p_{<T>}", T=_TYPES), **family("g_<x>", "g_{<x>}", x=_BASIS),
    **family("<d>G_mu<x>", r"<d>_{\mu_<x>}", d={"": "G", "d_": r"\dot{G}"}, x="123"),
    **family("<d>G_r<T>", "<d>_{r_<T>}", d={"": "G", "d_": r"\dot{G}"}, T="1234"),
    **family("<d>F_type<T>", "<d>_{I_<T>}", d={"": "F", "d_": r"\dot{F}"}, T="1234"),
    **family("d_S_<xy>", r"\dot{S}_{<xy>}", xy=("12", "21", "31", "32")),
    **family("g_type<T>", "g_{I_<T>}", T="1234"), **family("loss_type<T>", r"\mathcal{L}_{I_<T>}", T="1234"),
    **family("<M>_<sector>", "<M><sector>", M=_MATRICES, sector={"even": "^{+}", "odd": "^{-}", "all": ""}),
    **family("<M>_<kind>_<T>", "<M>^{<kind>}_{<T>}", M=_MATRICES, kind={"across": "s", "within": "k"}, T=_TYPES),
    **family("per_<kind>_<T>", r"\nu^{<kind>}_{<T>}", kind={"across": "s", "within": "k"}, T=_TYPES),
    **family("<M>_<p><q>", "<M>_{<p><q>}", M=_MATRICES, p="123", q="123"),
    **family("S_<p>_r<T>", "S_{<p>,r_<T>}", p="123", T="1234"),
    **family("S_r<T>_<p>", "S_{r_<T>,<p>}", p="123", T="1234"),
    **family("S_r<T>_same_<x>", "S_{r_<T>,r_<T><x>}", T="1234", x={"word": "", "sample": "'"}),
    # attention of a query on a key, as the paper writes it
    **family("p_type<T>_<query>_<key>", r"p^{I_<T>}_{q\leftarrow <query>,k\leftarrow <key>}", T="1234",
             query={x: _TOKEN[x] for x in "123r"}, key=_TOKEN),
}  # fmt: skip
WORDS = {
    "inverse_n": "1/n", "share_23": "share of samples with one target", "share_3": "share of samples with μ2 alone",
    "u_u": "c/m_1, squared length of u = Wᵀa over |a|²",
    **family("g_<x>", "value G of <x> over √m1", x=_VECTORS["all"] | _VECTORS["even"]),
}  # fmt: skip
for _sector, _mark in (("even", "+"), ("odd", "-"), ("all", "")):
    _basis = next(of[_sector] for of in SECTORS.values() if _sector in of)
    _of = {x: _BASIS[x] for x in _basis}
    LATEX |= family(f"<M>_{_sector}_<a>_<b>", f"<M>^{{{_mark}}}_{{<a>,<b>}}", M=_MATRICES, a=_of, b=_of)
    WORDS |= family(f"<M>_{_sector}_<a>_<b>", "<M> of <a> and <b>", M=_WHAT, a=_VECTORS[_sector], b=_VECTORS[_sector])
for _kind, _where in (("across", "between sentences"), ("within", "within a sentence")):
    WORDS |= family(f"<M>_{_kind}_<T>", f"<M> of irrelevant words of type <T>, part that differs {_where}", M=_WHAT,
                    T=_TYPES)  # fmt: skip
    WORDS |= family(f"per_{_kind}_<T>", f"inverse multiplicity of what differs {_where} of type <T>", T=_TYPES)
PLACES = {"loss": "Eq. (2), under Assumption 2.3", "flow": "Eqs. (4) to (7), Lemmas C.2 to C.4"}
