"""LEGO: state tracking with chain-of-thought by one attention layer without positions and one feed-forward layer.

A sentence lists L predicates x_k = g_k(x_{k-1}) and then answers x_k = y_k; each clause has five slots. The model reads
all clauses through one softmax and predicts the five tokens of the next answer. Training goes in stages: first the
feed-forward layer learns the group action under uniform attention (stage 1), then attention learns to retrieve the
predicate and the answer that share the query's variable (stage 2).

| paper                  | code                 | meaning                                       | shape             |
|------------------------|----------------------|-----------------------------------------------|-------------------|
| X, G, Y                | `n_x, n_g, n_y`      | variables, actions, values                    | integers          |
| d                      | `d`                  | n_x + n_g + n_y + 1, or a free number at L3   | number            |
| L, ℓ                   | `L, ell`             | chain length, step being predicted (1 … L)    | integers          |
| W_{i,j,r,p}            | `W_4, W_5`           | neuron r of class j, slot p, for token i      | (d, m, 5, d - 1)  |
| Q_{4,3}, Q_{4,4}       | `Q_43, Q_44`         | attention from query slot 4 to key slots 3, 4 | (d - 1, d - 1)    |
| V_{j,r}(g), V_{j,r}(y) | `V_g, V_y`           | slots 2 and 5 of W_5 on actions and values    | (classes, m, ·)   |
| X_{j,r}, U_{j,r}       | `X, U`               | slot 1, and slots 3 + 4, on variables         | (classes, m, n_x) |
| a, b', c, e            | `a, b_prime, c, e`   | features: in fibre, off it, own value, others | scalars           |
| α, β, γ, δ             | `alpha … delta`      | diagonal, off-diagonal of Q_43 and of Q_44    | scalars           |
| ε^{L,ℓ}, Δ^{L,ℓ}       | `eps_attention, gap` | attention elsewhere; predicate minus answer   | scalars           |
|                        | `eps_test, gap_test` | the same at L = `L_test`, ℓ = `ell_test`      | scalars           |
| s, ϱ, q, b             | `rho, q, bias`       | smoothed ReLU, its width and power, the bias  | numbers           |
| B = C_B log d          | `B, C_B`             | logit clip                                    | numbers           |
| C_α                    | `C_alpha`            | final ratio a / c                             | number            |
| c_1                    | `c_1`                | 1.005 log d / (2 B)                           | number            |

Time of stage 1 is gradient-flow time of Loss¹; time of stage 2 is τ = t / n_x.
"""

from dataclasses import replace
from math import isinf, log

import numpy as np

from flowsys.errors import InputError
from flowsys.system import FINITE, LazyMapping, Setup, System, Variants, late_value, packaged
from flowsys.system.names import Clock
from flowsys.system.problem import Problem
from flowsys.system.references import Paper
from flowsys.systems.lego.groups import sizes
from flowsys.systems.lego.vocabulary import DEAR, EVENTS, MODES, OBSERVABLES, PARAMETERS

UNTRAPPED = {"group": "C3", "bias": 0.01}  # a larger bias leaves stage 1 with an additive function
LARGEST_CLIP = 520.0  # logits start at 1.36 C_B log d, and their exponentials must be finite
COLUMNS = (
    *("C_B", "d", "rho", "bias", "clip_width", "varpi", "V_0", "sigma_0", "delta_2", "miss_target", "V_level"),
    *("clip_margin", "loss_target", "alpha_1", "alpha_2", "eps_first", "eps_target", "gap_target", "t_look", "t_max"),
)
ONE_STAGE = ("exchangeable", "frozen_x", "many_variables")


def with_bias(setup: Setup) -> Setup:
    """The setup with its whole bias: `bias` and the multiple of d^(-1/2) log d that was asked for."""
    if not setup["bias_scale"]:
        return setup
    added = setup["bias_scale"] * np.log(setup["d"]) / np.sqrt(setup["d"])
    return replace(setup, values={**setup.values, "bias": setup["bias"] + added, "bias_scale": 0.0})


def _build(setup: Setup, level: str, variant: str, mode: str) -> Problem:
    setup = with_bias(setup)
    if level == "L4":
        from flowsys.systems.lego.surrogate import surrogate_problem

        return surrogate_problem(setup, mode)
    if level == "L3" and variant == "isotropic":
        from flowsys.systems.lego.limits import limit_problem

        return limit_problem(setup, mode)
    modes = ("stage_1",) if variant in ONE_STAGE else ("stage_1", "stage_2")
    if mode not in modes:
        there = f"{level}, variant {variant}"
        raise InputError(f"mode = {mode} is not allowed at {there}: it must be {' or '.join(modes)}.")
    if mode == "stage_1":
        from flowsys.systems.lego.finite_layer import layer_problem

        return layer_problem(setup, variant)
    from flowsys.systems.lego.finite_attention import attention_problem

    return attention_problem(setup, level)


def _training(setup: Setup, variant: str, mode: str, seeds: int | None):
    from flowsys.systems.lego.training import training

    return training(with_bias(setup), mode, seeds)


def _fixes(setup: Setup, level: str, variant: str, mode: str) -> dict[str, float]:
    """A finite model has finitely many variables, and its vocabulary is counted unless classes are lumped."""
    if level not in FINITE:
        return {}
    n_x = setup["n_x_finite"] if isinf(setup["n_x"]) else setup["n_x"]
    counted = {} if variant == "exchangeable" else {"d": float(n_x + sum(sizes(setup["group"])) + 1)}
    return {"n_x": n_x, **counted}


def _validate(values) -> None:
    if values["q"] % 2:
        raise InputError(f"q = {values['q']} is not allowed: it must be an even integer >= 4.")
    if values["d"] <= sizes(values["group"])[1] + 1:
        raise InputError(f"d = {values['d']:g} is not allowed: it must exceed n_y + 1 of group {values['group']}.")
    if values["C_B"] * log(values["d"]) > LARGEST_CLIP:
        raise InputError(
            f"C_B = {values['C_B']:g} is not allowed at d = {values['d']:g}: it must be at most "
            f"{LARGEST_CLIP / log(values['d']):.4g}, because the exponentials of logits overflow from C_B log d = "
            f"{LARGEST_CLIP:g} on."
        )


def _columns(setup: Setup, level: str, variant: str, mode: str) -> tuple[str, ...]:
    """What the four-variable flows read as numbers (stage 2 over the ideal layer), or not at all."""
    is_ideal = mode == "stage_1" or (mode == "stage_2" and setup["features"] == "ideal")
    return COLUMNS if (level, variant) == ("L3", "isotropic") and is_ideal else ()


SYSTEM = System(
    name="lego",
    paper=Paper(
        "lego",
        "Transformers provably learn chain-of-thought reasoning with length generalization",
        "NeurIPS 2025",
    ),
    summary="LEGO state tracking with chain-of-thought: one attention layer and one feed-forward layer",
    parameters=PARAMETERS,
    modes=MODES,
    levels={
        "L0": Variants(("weights",), ("gradient descent on the weights",)),
        "L1": Variants(("weights",), ("every weight of W_5 (stage 1), of Q_43 and Q_44 (stage 2)",)),
        "L2": Variants(
            ("full", "exchangeable", "frozen_x"),
            (
                "inner products with tokens (stage 1), Q on pairs of variables (stage 2)",
                "stage 1 with variable slots constant in the variable, n_x a number",
                "stage 1 with variable slots frozen (Assumption B.1)",
            ),
        ),
        "L3": Variants(
            ("isotropic", "many_variables"),
            ("four features (stage 1), four scores (stage 2)", "stage 1 with random neurons and n_x = inf"),
        ),
        "L4": Variants(("phase_1",), ("the winner's power law (stage 1)",)),
    },
    events=EVENTS,
    observables=OBSERVABLES,
    dear=DEAR,
    mode_defaults=dict.fromkeys(("stage_1", "algorithm_1"), UNTRAPPED),
    build=_build,
    columns=_columns,
    validate=_validate,
    fixes=_fixes,
    training=_training,
    latex=LazyMapping(late_value("flowsys.systems.lego.notation:LATEX")),
    clocks=dict.fromkeys(
        ("stage_2", "algorithm_2"), Clock(r"\tau", "gradient-flow time over the number of variables, t / n_x")
    ),
    **packaged(__name__),
)
