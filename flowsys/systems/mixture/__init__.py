r"""Two-mixture (and K-mixture) linear classification with a symmetric two-head softmax transformer.

A sample holds a group signal c_k, its classification signal y·v_k and distractors ±v_j; the label is y. Two heads of
softmax attention with ReLU neurons are trained with the logistic loss. See `model` for the network, `stages` for when
what trains, `statement` for the limit as it is derived, `limits`, `finite` and `surrogates` for the levels.

| paper | code | meaning | shape |
|---|---|---|---|
| w_±ᵀc_k, w_±ᵀv_k | `w_c`, `w_v` | neuron alignments | 2K per head; 2 in the limit |
| c_kᵀW_KᵀW_Q v_j | `S_cv_same` (j = k), `S_cv_diff` (j ≠ k) | scores, key first | 2K × 2K per head |
| W_KᵀW_K, W_QᵀW_Q | `KK_…`, `QQ_…` | key and query self-scores | 2K × 2K per head |
| p^(±)_{q←v, k←c}(X) | `p_plus_v_c`, `p_minus_v_c` | attention, query then key | 3 × 3 kinds of token |
| σ̇_±(X) | `gates` | ReLU gates, frozen between kinks | one per sample orbit and side |
| T_0.5, T_1, T_2, T_3 | events | ends of the stages | |
"""

from flowsys.errors import InputError
from flowsys.system import FINITE, LazyMapping, LazySequence, Setup, System, Variants, late, late_value
from flowsys.system.problem import Problem
from flowsys.system.references import Paper
from flowsys.systems.mixture.stages import EVENTS, MODES
from flowsys.systems.mixture.vocabulary import OBSERVABLES, PARAMETERS


def _build(setup: Setup, level: str, variant: str, mode: str) -> Problem:
    if level in ("L1", "L2"):
        from flowsys.systems.mixture.finite import finite_problem

        return finite_problem(setup, level, mode)
    if level == "L4":
        from flowsys.systems.mixture.surrogates import surrogate_problem

        return surrogate_problem(setup, variant, mode)
    from flowsys.systems.mixture.limits import limit_problem

    if mode == "attention_only":
        raise InputError("mode = attention_only has no limit: its frozen neurons need a width (use L0, L1 or L2).")
    return limit_problem(setup, variant, mode)


def _columns(setup: Setup, level: str, variant: str, mode: str) -> tuple[str, ...]:
    return ("omega", "b", "T_1", "s_star", "epsilon", "t_max") if level == "L3" else ()


SYSTEM = System(
    name="mixture",
    paper=Paper(
        "mixture",
        "Transformers provably learn two-mixture of linear classification via gradient flow",
        "ICLR 2025",
    ),
    summary="K-mixture linear classification with a two-head softmax transformer",
    parameters=PARAMETERS,
    modes=MODES,
    levels={
        "L0": Variants(
            ("weights", "gram"), ("gradient descent on the weights", "the same descent on inner products, any width")
        ),
        "L1": Variants(("weights",), ("gradient flow on the weights",)),
        "L2": Variants(("reduced",), ("finite-width inner products",)),
        "L3": Variants(("22", "10"), ("all 22 entries", "self-scores eliminated by the conserved spectrum")),
        "L4": Variants(("linear", "sinh"), ("the paper's 3×3 lower bound", "frozen-attention closed form")),
    },
    events=EVENTS,
    observables=OBSERVABLES,
    dear={"max_margin": FINITE},
    build=_build,
    columns=_columns,
    training=late("flowsys.systems.mixture.finite:training"),
    derive=late("flowsys.systems.mixture.derive:derive"),
    equations=late_value("flowsys.systems.mixture.reduced:EQUATIONS"),
    ladder=late("flowsys.systems.mixture.ladder:ladder"),
    claims=LazySequence(late_value("flowsys.systems.mixture.claims:CLAIMS")),
    figures=LazyMapping(late_value("flowsys.systems.mixture.figures:FIGURES")),
    diagrams=LazyMapping(late_value("flowsys.systems.mixture.diagrams:DIAGRAMS")),
)
