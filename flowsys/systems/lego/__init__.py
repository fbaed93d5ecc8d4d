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
| s, ϱ, q, b             | `rho, q, bias`       | smoothed ReLU, its width and power, the bias  | numbers           |
| B = C_B log d          | `B, C_B`             | logit clip                                    | numbers           |
| C_α                    | `C_alpha`            | final ratio a / c                             | number            |

Time of stage 1 is gradient-flow time of Loss¹; time of stage 2 is τ = t / n_x.
"""

from flowsys.errors import InputError
from flowsys.problem import Problem
from flowsys.references import Paper
from flowsys.system import Setup, System, Variants
from flowsys.systems.lego.vocabulary import EVENTS, MODES, OBSERVABLES, PARAMETERS


def _build(setup: Setup, level: str, variant: str, mode: str) -> Problem:
    from flowsys.systems.lego.limits import limit_problem

    return limit_problem(setup, mode)


def _validate(values) -> None:
    if values["q"] % 2:
        raise InputError(f"q = {values['q']} is not allowed: it must be an even integer >= 4.")


def _equations() -> dict[str, str]:
    from flowsys.systems.lego.reduced import EQUATIONS

    return EQUATIONS


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
        "L3": Variants(("isotropic",), ("four features (stage 1), four scores (stage 2)",)),
    },
    events=EVENTS,
    observables=OBSERVABLES,
    build=_build,
    validate=_validate,
    equations=_equations,
)
