r"""One-layer softmax transformer that learns to detect the co-occurrence of two words.

A sentence of L words is labelled +1 when both target words occur in it and −1 otherwise; a common word occurs in every
sentence, all other words are irrelevant. W, W_V, W_K, W_Q are trained together by gradient flow on the logistic loss.

| paper | code | meaning | shape |
|---|---|---|---|
| μ1, μ2, μ3 | ids 0, 1, 2 | target words, common word; the irrelevant words are the ids from 3 on | |
| I_1 … I_4 | types 0 … 3 | both targets (y = +1); only μ1; only μ2; neither (y = −1) | |
| n, L, m, m_1, d | `n`, `L`, `m`, `m1`, `d` | samples, words in a sample, width, neurons, vocabulary | |
| n_T, R_T | `sample_counts`, `random_slots` | samples of type T, irrelevant words in each | 4 |
| G(μ) | `G` | value Σ_j a_j w_jᵀ W_V μ of a word | d, or 7 word classes in the limit |
| ν^T W_K^T W_Q μ | `S[ν, μ]` | score of key ν for query μ, before scaling | d × d |
| 1/√m | `score_scale` | what the scores are multiplied by inside the softmax, free of m | |
| v(ν)ᵀv(μ), k(ν)ᵀk(μ), q(ν)ᵀq(μ) | `VV`, `KK`, `QQ` | correlations | d × d |
| Σ a_j1 a_j2 ⟨w_j1, w_j2⟩ | `c` | squared length of u = Wᵀa | |
| abs(a)² (= m_1 for signs) | `output_norm` | squared length of the fixed output weights | |
| σ_0² m, σ_1² m m_1 | `alpha`, `beta` | initial squared length of v(μ), k(μ), q(μ); initial c | |
| ρ, δ, λ | `rho`, `delta`, `lambda_` | m1 α/β, 1/(αβ), s² α/β: all that the limit depends on besides n and L | |

Time is gradient-flow time of the loss as written (learning rate × epochs); the limit's own clock is τ = βt.
"""

from functools import partial

import flowsys as fs
from flowsys.system import FINITE, Setup, late, packaged
from flowsys.system.names import Clock
from flowsys.systems.cooccurrence.model import blocks, sample_loss
from flowsys.systems.cooccurrence.notation import LATEX
from flowsys.systems.cooccurrence.observables import OBSERVE
from flowsys.systems.cooccurrence.phases import DEFAULT, EVENTS, MODES
from flowsys.systems.cooccurrence.scales import condition_1, in_units_of_tau, of_reading
from flowsys.systems.cooccurrence.sentences import samples, validate

_limit = late("flowsys.systems.cooccurrence.limits:limit_problem")
_surrogate = late("flowsys.systems.cooccurrence.surrogates:surrogate_problem")

LIMIT = ("L3", "L4")


def fixes(setup: Setup, level: str, variant: str, mode: str) -> dict[str, float]:
    """The scales that rho, delta and lambda, the paper's m, m1, L and kappa, or a reading of Appendix A stand for."""
    if mode == "dimensionless":
        return in_units_of_tau(setup["rho"], setup["delta"], setup["lambda_"])._asdict()
    if mode == "condition_1":
        scales = condition_1(setup["m"], setup["m1"], setup["L"], setup["kappa"], setup["logs"])
        return scales._asdict() | ({"width": int(setup["m"])} if level in FINITE else {})
    if mode == "data" and setup["reading"] != "gaussian":
        return of_reading(setup["reading"], setup["width"], setup["m1"], setup["d"])
    return {}


SYSTEM = fs.Model(
    "cooccurrence",
    paper=fs.Paper(
        "cooccurrence",
        "Training dynamics of transformers to recognize word co-occurrence via gradient flow analysis",
        "NeurIPS 2024",
    ),
    summary="word co-occurrence with a one-layer softmax transformer",
    parameters={
        "n": fs.Real(60, 6, 1e9, "training samples (real at L3)", infinite=True, shapes=True),
        "L": fs.Real(5, 4, 200, "words in a sample (real at L3)", shapes=True),
        "alpha": fs.Real(1.0, 1e-4, 100.0, "initial |v|² = |k|² = |q|² of a word, σ_0² m"),
        "beta": fs.Real(8.0, 1e-3, 1e7, "initial c = |Wᵀa|², σ_1² m m1"),
        "m1": fs.Real(4.0, 1e-2, 1e5, "neurons, or |a|² of other fixed output weights", shapes=True),
        "score_scale": fs.Real(0.5, 0.0, 10.0, "factor s of the scores in the softmax (1/√m in the paper)"),
        "m": fs.Real(1024, 2, 1e9, "mode condition_1: the paper's width m, which sets beta = m and s = 1/√m", log=True,
                     shapes=True),
        "kappa": fs.Real(1.0, 1e-6, 1e3, "mode condition_1: constant κ in σ_0 = κ/(√(L m) log^logs m)", log=True),
        "logs": fs.Real(0.0, 0.0, 10.0, "mode condition_1: hidden power of log m in σ_0"),
        "rho": fs.Real(0.5, 1e-6, 1e4, "mode dimensionless: m1 α/β, the values' speed over the neurons'", levels=LIMIT),
        "delta": fs.Real(0.125, 1e-6, 1e4, "mode dimensionless: 1/(αβ), how far c and VV move", levels=LIMIT),
        "lambda_": fs.Real(0.03125, 0.0, 1e4, "mode dimensionless: s² α/β, the speed of attention", levels=LIMIT),
        "share_1": fs.Real(0.5, 0.01, 0.97, "share of samples with both targets", shapes=True),
        "share_4": fs.Real(1 / 6, 0.01, 0.97, "share of samples with neither target", shapes=True),
        "share_2": fs.Real(lambda p: (1 - p["share_1"] - p["share_4"]) / 2, 0.01, 0.97,
                           "share of samples with μ1 alone", default_text="half of what is left", shapes=True),
        "theta": fs.Real(0.5, 0.0, 20.0, "T_theta: G of the targets and -G of the common word reach theta"),
        "epsilon": fs.Real(1e-3, 1e-12, 0.6, "T_star: the training loss falls to epsilon"),
        "C_T_1": fs.Real(13.0, 0.0, 1e6, "T_1_clock = C_T_1 / beta, the paper's end of phase 1", open_low=True),
        "split": fs.Real(0.0, -5.0, 5.0, "initial G(μ1) - G(μ2) (L3 without_swap)", levels=("L3",)),
        "reading": fs.Choice("E", "A", "B", "C", "gaussian", levels=FINITE,
                             meaning="mode data: how Appendix A's Kaiming weights are read; gaussian: alpha and beta"),
        "d": fs.Size(64, 5, 2000, "mode data: vocabulary, irrelevant words drawn from the ids 3 … d-1", levels=FINITE),
        "data_seed": fs.Size(0, 0, 2**31 - 1, "mode data: seed of the sentences", levels=FINITE),
    },
    blocks=blocks,
    samples=samples,
    loss=sample_loss,
    observe=OBSERVE,
    integrals={"tau": "d_tau", "clock": "d_clock"},
    stages={mode: [fs.Stage("training")] for mode in MODES},
    modes=MODES,
    mode_defaults={"data": {"m1": 256}, "condition_1": {"m1": 16}},
    forms={"dimensionless": LIMIT, "data": FINITE},
    events=EVENTS,
    looks=dict.fromkeys(MODES, DEFAULT),
    variants={
        "L2": {
            "small": "reduced",
            "six_families": ("the paper's six families, neuron by neuron (App. C)", "unread"),
        },
        "L3": {
            "88": ("VV and c eliminated", partial(_limit, "88")),
            "113": ("all orbit variables", partial(_limit, "113")),
            "without_swap": ("μ1 and μ2 told apart: 173 variables", partial(_limit, "without_swap")),
        },
        "L4": {
            "bag_of_words": ("frozen attention", partial(_surrogate, "bag_of_words")),
            "max_margin": ("late-time direction and rate from t = 0", partial(_surrogate, "max_margin")),
            "paper": ("Theorem F.8, Lemma 4.7, constants 1", partial(_surrogate, "paper")),
        },
    },
    columns="L3",
    validate=validate,
    fixes=fixes,
    t_max=1e9,
    width=128,
    learning_rate=0.01,
    steps=30_000,
    latex=LATEX,
    clocks={"dimensionless": Clock(r"\tau", "β times gradient-flow time")},
    **packaged(__name__, ladder="derive"),
)  # fmt: skip
