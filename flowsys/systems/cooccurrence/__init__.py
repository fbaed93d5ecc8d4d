r"""One-layer softmax transformer that learns to detect the co-occurrence of two words.

Paper: "Training dynamics of transformers to recognize word co-occurrence via gradient flow analysis", NeurIPS 2024.
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

from flowsys.errors import InputError
from flowsys.system import FINITE, LazyMapping, LazySequence, Setup, System, Variants, late, late_value
from flowsys.system.names import Clock
from flowsys.system.problem import Problem
from flowsys.system.references import Paper
from flowsys.systems.cooccurrence.phases import EVENTS, MODES
from flowsys.systems.cooccurrence.vocabulary import OBSERVABLES, PARAMETERS, validate


def _build(setup: Setup, level: str, variant: str, mode: str) -> Problem:
    if level in ("L1", "L2"):
        from flowsys.systems.cooccurrence.finite import finite_problem

        return finite_problem(setup, level, variant, mode)
    if mode == "data":
        raise InputError(f"mode = data is not allowed at level {level}: repeated words have no limit (use L0, L1, L2).")
    if level == "L4":
        from flowsys.systems.cooccurrence.surrogates import surrogate_problem

        return surrogate_problem(setup, variant)
    from flowsys.systems.cooccurrence.limits import limit_problem

    return limit_problem(setup, variant)


def _fixes(setup: Setup, level: str, variant: str, mode: str) -> dict[str, float]:
    """The scales with beta = 1 that rho, delta and lambda stand for."""
    if mode != "dimensionless" or level in FINITE:
        return {}
    from flowsys.systems.cooccurrence.scales import in_units_of_tau

    return in_units_of_tau(setup["rho"], setup["delta"], setup["lambda_"])._asdict()


def _columns(setup: Setup, level: str, variant: str, mode: str) -> tuple[str, ...]:
    return ("m1", "score_scale", "theta", "epsilon") if (level, mode) == ("L3", "limit") else ()


SYSTEM = System(
    name="cooccurrence",
    paper=Paper(
        "cooccurrence",
        "Training dynamics of transformers to recognize word co-occurrence via gradient flow analysis",
        "NeurIPS 2024",
    ),
    summary="word co-occurrence with a one-layer softmax transformer",
    parameters=PARAMETERS,
    modes=MODES,
    mode_defaults={"data": {"m1": 256}},
    levels={
        "L0": Variants(
            ("weights", "gram"), ("gradient descent on the weights", "the same descent on inner products, any width")
        ),
        "L1": Variants(("weights",), ("gradient flow on the weights",)),
        "L2": Variants(
            ("small", "six_families"), ("G, c, VV, S, KK, QQ", "the paper's six families, neuron by neuron (App. C)")
        ),
        "L3": Variants(
            ("88", "113", "without_swap"),
            ("VV and c eliminated", "all orbit variables", "μ1 and μ2 told apart: 173 variables"),
        ),
        "L4": Variants(
            ("bag_of_words", "max_margin", "paper"),
            ("frozen attention", "late-time direction and rate from t = 0", "Theorem F.8, Lemma 4.7, constants 1"),
        ),
    },
    events=EVENTS,
    observables=OBSERVABLES,
    build=_build,
    columns=_columns,
    validate=validate,
    fixes=_fixes,
    training=late("flowsys.systems.cooccurrence.training:training"),
    derive=late("flowsys.systems.cooccurrence.derive:derive"),
    equations=late_value("flowsys.systems.cooccurrence.reduced:EQUATIONS"),
    latex=LazyMapping(late_value("flowsys.systems.cooccurrence.notation:LATEX")),
    clocks={"dimensionless": Clock(r"\tau", "β times gradient-flow time")},
    ladder=late("flowsys.systems.cooccurrence.ladder:ladder"),
    claims=LazySequence(late_value("flowsys.systems.cooccurrence.claims:CLAIMS")),
    figures=LazyMapping(late_value("flowsys.systems.cooccurrence.figures:FIGURES")),
    diagrams=LazyMapping(late_value("flowsys.systems.cooccurrence.diagrams:DIAGRAMS")),
)
