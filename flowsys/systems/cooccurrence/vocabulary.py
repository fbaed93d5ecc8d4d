"""The names of the co-occurrence system: parameters with their ranges, observables with their meanings."""

from flowsys.errors import InputError
from flowsys.system import FINITE, Parameter, t_max

_DATA, _LIMIT = ("L0", "L1", "L2"), ("L3", "L4")

PARAMETERS = (
    Parameter("n", 60, "training samples (real at L3)", low=6, high=1e9, infinite=True),
    Parameter("L", 5, "words in a sample (real at L3)", low=4, high=200),
    Parameter("alpha", 1.0, "initial |v|² = |k|² = |q|² of a word, σ_0² m", low=1e-4, high=100.0, latex=r"\alpha"),
    Parameter("beta", 8.0, "initial c = |Wᵀa|², σ_1² m m1", low=1e-3, high=1e7, latex=r"\beta"),
    Parameter("m1", 4.0, "neurons, or |a|² of other fixed output weights", low=1e-2, high=1e5, latex="m_1"),
    Parameter("score_scale", 0.5, "factor s of the scores in the softmax (1/√m in the paper)", low=0.0, high=10.0,
              latex="s"),
    Parameter("rho", 0.5, "mode dimensionless: m1 α/β, the values' speed over the neurons'", low=1e-6, high=1e4,
              levels=_LIMIT, latex=r"\rho"),
    Parameter("delta", 0.125, "mode dimensionless: 1/(αβ), how far c and VV move", low=1e-6, high=1e4, levels=_LIMIT,
              latex=r"\delta"),
    Parameter("lambda_", 0.03125, "mode dimensionless: s² α/β, the speed of attention", low=0.0, high=1e4,
              levels=_LIMIT, latex=r"\lambda"),
    Parameter("share_1", 0.5, "share of samples with both targets", low=0.01, high=0.97),
    Parameter("share_4", 1 / 6, "share of samples with neither target", low=0.01, high=0.97),
    Parameter("share_2", lambda p: (1 - p["share_1"] - p["share_4"]) / 2, "share of samples with μ1 alone",
              low=0.01, high=0.97, default_text="half of what is left"),
    Parameter("theta", 0.5, "T_theta: G of the targets and -G of the common word reach theta", low=0.0, high=20.0,
              latex=r"\theta"),
    Parameter("epsilon", 1e-3, "T_star: the training loss falls to epsilon", low=1e-12, high=0.6, latex=r"\epsilon"),
    Parameter("C_T_1", 13.0, "T_1_clock = C_T_1 / beta, the paper's end of phase 1", low=0.0, open_low=True, high=1e6),
    Parameter("split", 0.0, "initial G(μ1) - G(μ2) (L3 without_swap)", low=-5.0, high=5.0, levels=("L3",)),
    Parameter("reading", "E", "mode data: how Appendix A's Kaiming weights are read; gaussian: alpha and beta",
              choices=("E", "A", "B", "C", "gaussian"), levels=_DATA),
    Parameter("d", 64, "mode data: vocabulary, irrelevant words drawn from the ids 3 … d-1", low=5, high=2000,
              integer=True, levels=_DATA),
    Parameter("data_seed", 0, "mode data: seed of the sentences", low=0, high=2**31 - 1, integer=True, levels=_DATA),
    Parameter("width", 128, "inner width m of the finite model", low=1, high=10**6, integer=True, levels=FINITE),
    Parameter("seed", 0, "seed of the random initial weights", low=0, high=2**31 - 1, integer=True, levels=FINITE),
    Parameter("learning_rate", 0.01, "step of gradient descent", low=0, open_low=True, high=10.0, levels=("L0",)),
    t_max(1e9),
)  # fmt: skip


def validate(values) -> None:
    """Refuse shares that leave nothing for a type, and fewer than one sample of a type."""
    shares = shares_of(values)
    if shares[2] < 0.01 - 1e-12:
        raise InputError(
            f"share_1 + share_2 + share_4 = {sum(shares) - shares[2]:g} is not allowed: "
            "at least 0.01 must be left for the samples with μ2 alone."
        )
    if values["n"] * min(shares) < 1 - 1e-9:
        raise InputError(
            f"n = {values['n']:g} is not allowed: every type needs a sample, so n must be at least {1 / min(shares):g}."
        )


def shares_of(values) -> tuple[float, float, float, float]:
    """The shares of the four types; 2 and 3 are made exactly equal if they are up to rounding."""
    p_1, p_2, p_4 = values["share_1"], values["share_2"], values["share_4"]
    p_3 = 1 - p_1 - p_2 - p_4
    return (p_1, p_2, p_2 if abs(p_3 - p_2) < 1e-9 else p_3, p_4)


_SPECIAL = ("1", "2", "3")
_TYPES = ("1", "2", "3", "4")
_HOLDS = {"1": ("1", "2", "3"), "2": ("1", "3"), "3": ("2", "3"), "4": ("3",)}
_TYPE = {"1": "both targets", "2": "μ1 alone", "3": "μ2 alone", "4": "neither target"}

OBSERVABLES = {
    "tau": "the limit's clock βt",
    "clock": "∫(c + m1 α) dt, the clock of the bag of words",
    "c": "|Wᵀa|² = Σ a_j1 a_j2 ⟨w_j1, w_j2⟩",
}
OBSERVABLES |= {f"G_mu{x}": f"value Σ_j a_j w_jᵀ W_V μ{x}" for x in _SPECIAL}
OBSERVABLES |= {f"G_r{T}": f"value of an irrelevant word of type {T} (mean)" for T in _TYPES}
OBSERVABLES |= {f"S_{p}{q}": f"score of key μ{p} for query μ{q}, unscaled" for p in _SPECIAL for q in _SPECIAL}
for _p in _SPECIAL:
    for _T in _TYPES:
        OBSERVABLES[f"S_{_p}_r{_T}"] = f"score of key μ{_p} for an irrelevant query of type {_T} (mean)"
        OBSERVABLES[f"S_r{_T}_{_p}"] = f"score of an irrelevant key of type {_T} for query μ{_p} (mean)"
for _T in _TYPES:
    OBSERVABLES[f"S_r{_T}_same_word"] = f"score of an irrelevant word of type {_T} for itself (mean)"
    OBSERVABLES[f"S_r{_T}_same_sample"] = f"score between irrelevant words of one sentence of type {_T} (mean)"
for _name, _what in (("VV", "value"), ("KK", "key"), ("QQ", "query")):
    for _i, _p in enumerate(_SPECIAL):
        OBSERVABLES |= {f"{_name}_{_p}{_q}": f"{_what} correlation of μ{_p} and μ{_q}" for _q in _SPECIAL[_i:]}
for _T in _TYPES:
    OBSERVABLES |= {
        f"F_type{_T}": f"output on samples with {_TYPE[_T]} (mean)",
        f"loss_type{_T}": f"training loss on samples with {_TYPE[_T]} (mean)",
        f"g_type{_T}": f"(1/n) Σ g_i over samples with {_TYPE[_T]}, g = 1/(1 + exp(yF))",
    }
OBSERVABLES |= {"loss": "training loss", "test_loss": "loss on sentences of words never trained on"}
for _T in _TYPES:
    for _query in (*_HOLDS[_T], "r"):
        for _key in (*_HOLDS[_T], *(("self", "r") if _query == "r" else ("r",))):
            OBSERVABLES[f"p_type{_T}_{_query}_{_key}"] = (
                f"type {_T}: attention of query {_query} on key {_key} (r: the other irrelevant words together)"
            )
OBSERVABLES["attention_deviation"] = "L² max |p - 1/L| (Definition F.1 wants it below a constant)"
OBSERVABLES |= {f"d_G_mu{x}": f"rate of G_mu{x}" for x in _SPECIAL}
OBSERVABLES |= {f"d_G_r{T}": f"rate of G_r{T}" for T in _TYPES}
OBSERVABLES |= {f"d_S_{pq}": f"rate of S_{pq}" for pq in ("12", "21", "31", "32")}
OBSERVABLES |= {f"d_F_type{T}": f"rate of F_type{T}" for T in _TYPES}
OBSERVABLES |= {
    "R": "gradient ratio -Ġ(μ3)/Ġ(μ1) (Lemmas 4.3, 4.5)",
    "overtaking": "-Ġ(μ3) - max(Ġ(μ1), Ġ(μ2)): positive from T_0.5 on",
    "least_margin": "min over samples of yF: positive from T_1 on",
    "least_value": "min(G(μ1), G(μ2), -G(μ3)): theta at T_theta",
    "c_growth": "c / β (Definition F.1 wants it to stay of order 1)",
    "balance_negative": "(g_2 + g_3 + g_4 - g_1) / Σg (Lemma 4.5 bounds its inverse in phase 2)",
    "balance_positive": "(g_1 - g_2) / Σg (Lemma 4.5 bounds its inverse in phase 2)",
    "gradient_order": "positive while g_4 < g_2, g_3 < g_1 < g_2 + g_3 + g_4 (Definition F.1)",
    "target_imbalance": "|g_2 - g_3| / min(g_2, g_3) (Lemma 4.4)",
    "score_signs": "min(Ṡ_12, Ṡ_21, -Ṡ_31, -Ṡ_32): positive while Theorem 3.2 item 1 holds",
}
