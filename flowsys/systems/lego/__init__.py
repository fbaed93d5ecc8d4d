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
| Q_{4,3}, Q_{4,4}       | `Q_43, Q_44`         | attention from query slot 4 to key slots 3, 4 | (d - 1, d - 1)    |
| V_{j,r}(g), V_{j,r}(y) | `V_g, V_y`           | slots 2 and 5 of W_5 on actions and values    | (d, m, ·)         |
| X_{j,r}, U_{j,r}       | `X, U`               | slot 1, and slots 3 and 4, on variables       | (d, m, [2,] n_x)  |
| a, b', c, e            | `a, b_prime, c, e`   | features: in fibre, off it, own value, others | scalars           |
| α, β, γ, δ             | `alpha … delta`      | diagonal, off-diagonal of Q_43 and of Q_44    | scalars           |
| ε^{L,ℓ}, Δ^{L,ℓ}       | `eps_attention, gap` | attention elsewhere; predicate minus answer   | scalars           |
|                        | `eps_test, gap_test` | the same at L = `L_test`, ℓ = `ell_test`      | scalars           |
| s, ϱ, q, b             | `rho, q, bias`       | smoothed ReLU, its width and power, the bias  | numbers           |
| B = C_B log d          | `B, C_B`             | logit clip                                    | numbers           |
| C_α                    | `C_alpha`            | final ratio a / c                             | number            |
| c_1                    | `c_1`                | 1.005 log d / (2 B)                           | number            |

Time of stage 1 is gradient-flow time of Loss¹; time of stage 2 is τ = t / n_x. Declared once: `model` has the network,
its blocks, sentences and losses, `observables` what is seen of it. What the engine cannot know is stated: the limits of
both stages (`statement`), posed beside the surrogate of phase I (`limits`), and rounds of self-training (`rounds`).
"""

from math import inf, isinf, log

import flowsys as fs
from flowsys.errors import InputError
from flowsys.system import FINITE, Setup, late, late_form, late_reading, packaged
from flowsys.system.names import Clock
from flowsys.systems.lego import vocabulary
from flowsys.systems.lego.data import check_length
from flowsys.systems.lego.groups import sizes
from flowsys.systems.lego.model import LAYER, SCORES, blocks, one_step, one_step_loss, sentence_loss, sentences
from flowsys.systems.lego.notation import LATEX
from flowsys.systems.lego.observables import observe

UNTRAPPED = {"group": "C3", "bias": 0.01}  # a larger bias leaves stage 1 with an additive function
LARGEST_CLIP = 520.0  # logits start at 1.36 C_B log d, and their exponentials must be finite
EXCHANGEABLE = "flowsys.systems.lego.exchangeable:EXCHANGEABLE"
LUMPED = ("exchangeable", "many_variables")  # forms of stage 1 whose classes outside the values are one
TRAINED = {"L0": ["weights"], "L1": ["weights"], "L2": ["full"], "L3": ["isotropic", "found"]}  # attention is, by flow
COLUMNS = (*(n for n, p in vocabulary.PARAMETERS.items() if isinstance(p, fs.Real) and n != "accuracy_target"), "t_max")
"""What the four-variable flows take as arrays too: they are posed at many points of a sweep at once."""


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


def _fixes(setup: Setup, level: str, variant: str, mode: str) -> dict[str, float]:
    """A finite model has finitely many variables; its vocabulary is counted, unless classes are lumped."""
    is_finite, L, L_test = level in FINITE or variant == "found", setup["L"], setup["L_test"]
    n_x = setup["n_x_finite"] if is_finite and isinf(setup["n_x"]) else setup["n_x"]
    n_g, n_y = sizes(setup["group"])
    if mode == "algorithm_2" and L & (L - 1):
        raise InputError(f"L = {L} is not allowed in algorithm_2: it must be a power of 2.")
    if mode != "stage_1":
        check_length(L, n_x)
    if variant in LUMPED:
        is_given = setup["F_0"] != vocabulary.of_neurons(setup, n_y)
        return {"n_x": n_x} | ({} if is_given else {"F_0": vocabulary.of_neurons(setup, setup["width"])})
    if is_finite:
        return {"n_x": n_x, "d": float(n_x + n_g + n_y + 1)}
    check_length(L_test, n_x, "L_test")
    if setup["ell_test"] > L_test:
        raise InputError(f"ell_test = {setup['ell_test']} is not allowed: it must be at most L_test = {L_test}.")
    return {}


def _columns(setup: Setup, level: str, variant: str, mode: str) -> tuple[str, ...]:
    """What the four-variable flows read as numbers (stage 2 over the ideal layer), or not at all."""
    is_ideal = mode == "stage_1" or (mode == "stage_2" and setup["features"] == "ideal")
    return COLUMNS if variant == "isotropic" and is_ideal else ()


SYSTEM = fs.Model(
    "lego",
    paper=fs.Paper(
        "lego",
        "Transformers provably learn chain-of-thought reasoning with length generalization",
        "NeurIPS 2025",
    ),
    summary="LEGO state tracking with chain-of-thought: one attention layer and one feed-forward layer",
    parameters=vocabulary.PARAMETERS,
    width=vocabulary.WIDTH,
    learning_rate=vocabulary.LEARNING_RATE,
    t_max=vocabulary.HORIZON,
    steps=2000,
    blocks=blocks,
    samples=sentences,
    loss=sentence_loss,
    observe=observe,
    observables=vocabulary.OBSERVABLES,
    events=vocabulary.EVENTS,
    stages={
        "stage_2": [fs.Stage("stage_2")],
        "stage_1": [fs.Stage("stage_1")],
        "algorithm_1": [
            fs.Stage("stage_1", trains=LAYER, samples=one_step, loss=one_step_loss, until="T_1"),
            fs.Stage("stage_2", trains=SCORES),
        ],
        "algorithm_2": [fs.Stage("round", trains=SCORES)],
    },
    modes=vocabulary.MODES,
    forms={"stage_2": TRAINED, "algorithm_1": TRAINED, "algorithm_2": {"L0": ["weights"], "L3": ["isotropic"]}},
    looks={"stage_1": ("phase_1", "phase_2_1"), "stage_2": ("stage_2_1", "stage_2_2")},
    mode_defaults=dict.fromkeys(("stage_1", "algorithm_1"), UNTRAPPED),
    variants={
        "L0": {"weights": ("gradient descent on the weights; algorithm_2: its last round",
                           late_form("flowsys.systems.lego.rounds:descent"))},
        "L2": {
            "full": "reduced",
            "exchangeable": ("stage 1 with variable slots constant in the variable, n_x a number",
                             late_reading(EXCHANGEABLE)),
            "frozen_x": ("stage 1 with variable slots frozen (Assumption B.1)",
                         late_reading("flowsys.systems.lego.exchangeable:FROZEN_X")),
        },
        "L3": {
            "isotropic": ("four features (stage 1), four scores (stage 2)",
                          late_form("flowsys.systems.lego.limits:limit_problem")),
            "many_variables": ("stage 1 with random neurons and n_x = inf", late_reading(EXCHANGEABLE, n_x=inf)),
        },
        "L4": {"phase_1": ("the winner's power law (stage 1)",
                           late("flowsys.systems.lego.limits:surrogate_problem"))},
    },
    dear=vocabulary.DEAR,
    columns=_columns,
    validate=_validate,
    fixes=_fixes,
    latex=LATEX,
    clocks=dict.fromkeys(
        ("stage_2", "algorithm_2"), Clock(r"\tau", "gradient-flow time over the number of variables, t / n_x")
    ),
    **packaged(__name__, ladder="derive"),
)  # fmt: skip
