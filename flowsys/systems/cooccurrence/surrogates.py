"""L4: what is said in closed form, or nearly, about the limit.

bag_of_words   attention and c frozen (lambda, delta → 0): dG/dt = (β + m1 α) r with uniform attention; n = ∞ allowed.
max_margin     the late-time law from t = 0 on: G moves along the max-margin direction Ĝ with γ²·loss, and
               dloss/dt = -(β + m1 α) γ² loss²; loss · clock → γ⁻² and R = R* (see `max_margin`).
paper          Theorem F.8 and Lemma 4.7 with constants 1 from T_1 = C_T_1/β on: dloss/dt = -β loss²,
               dS_21/dt = dS_12/dt = -dS_31/dt = -dS_32/dt = loss·α·s/L; before T_1 nothing moves.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from flowsys.problem import FunctionField, Problem, Stage
from flowsys.system import Setup
from flowsys.systems.cooccurrence import bag_of_words
from flowsys.systems.cooccurrence.data import LABELS
from flowsys.systems.cooccurrence.max_margin import max_margin
from flowsys.systems.cooccurrence.model import Sizes, bag_of_words_outputs, type_sizes
from flowsys.systems.cooccurrence.phases import events_of, is_correct_from_the_start, marks_of
from flowsys.systems.cooccurrence.vocabulary import shares_of

_VALUES = ("G_mu1", "G_mu2", "G_mu3", "G_r1", "G_r2", "G_r3", "G_r4")
_TYPES = ("1", "2", "3", "4")


class Bag(NamedTuple):
    """Sizes, β, and the constant β + m1 α."""

    sizes: Sizes
    beta: Any
    speed: Any


class Separator(NamedTuple):
    """The max-margin direction, γ², β and β + m1 α."""

    direction: Any
    squared_margin: Any
    beta: Any
    speed: Any


class Rates(NamedTuple):
    """The paper's rates; `moves` is 0 in phase 1."""

    beta: Any
    score_rate: Any
    moves: Any


def _bag_rhs(y, a: Bag):
    import jax.numpy as jnp

    return jnp.concatenate([a.speed * bag_of_words.field(0.0, y[:7], a.sizes), jnp.stack([a.beta, a.speed])])


def _bag_observed(y, a: Bag) -> dict[str, Any]:
    import jax.numpy as jnp

    from flowsys import ops

    G, rate = y[:7], a.speed * bag_of_words.field(0.0, y[:7], a.sizes)
    labels = jnp.asarray(LABELS, dtype=float)
    # at n = ∞ the irrelevant words stay at 0, though R_T of them stand in every sentence
    F, dF = (bag_of_words_outputs(x, a.sizes) for x in (G, rate))
    losses, g = ops.softplus(-labels * F), a.sizes.shares * ops.sigmoid(-labels * F)
    found = dict(zip(_VALUES, G)) | {f"d_{name}": x for name, x in zip(_VALUES, rate)}
    for i, T in enumerate(_TYPES):
        found |= {f"F_type{T}": F[i], f"d_F_type{T}": dF[i], f"loss_type{T}": losses[i], f"g_type{T}": g[i]}
    unseen = bag_of_words_outputs(jnp.concatenate([G[:3], 0 * G[3:]]), a.sizes)
    return found | {
        "tau": y[7],
        "clock": y[8],
        "loss": (a.sizes.shares * losses).sum(),
        "test_loss": (a.sizes.shares * ops.softplus(-labels * unseen)).sum(),
        "R": -rate[2] / rate[0],
        "overtaking": -rate[2] - jnp.maximum(rate[0], rate[1]),
        "least_margin": (labels * F).min(),
        "least_value": jnp.minimum(jnp.minimum(G[0], G[1]), -G[2]),
        "balance_negative": g.sum() / (g[1] + g[2] + g[3] - g[0]),
        "balance_positive": g.sum() / (g[0] - g[1]),
    }


def _margin_rhs(y, a: Separator):
    import jax.numpy as jnp

    loss = y[7]
    rate = a.speed * a.squared_margin * loss
    return jnp.concatenate([rate * a.direction, jnp.stack([-rate * loss, a.beta, a.speed])])


def _margin_observed(y, a: Separator) -> dict[str, Any]:
    import jax.numpy as jnp

    G = y[:7]
    return dict(zip(_VALUES, G)) | {
        "loss": y[7],
        "tau": y[8],
        "clock": y[9],
        "R": -a.direction[2] / a.direction[0] + 0 * y[7],
        "least_value": jnp.minimum(jnp.minimum(G[0], G[1]), -G[2]),
    }


def _paper_rhs(y, a: Rates):
    import jax.numpy as jnp

    loss = y[0]
    return jnp.stack([-a.moves * a.beta * loss**2, a.moves * loss * a.score_rate, a.beta])


def _paper_observed(y, a: Rates) -> dict[str, Any]:
    return {"loss": y[0], "S_21": y[1], "S_12": y[1], "S_31": -y[1], "S_32": -y[1], "tau": y[2]}


_PARTS = {
    "bag_of_words": (
        (*_VALUES, "tau", "clock"), _bag_rhs, _bag_observed,
        (*_VALUES, *(f"d_{x}" for x in _VALUES), *(f"{x}_type{T}" for x in ("F", "d_F", "loss", "g") for T in _TYPES),
         "tau", "clock", "loss", "test_loss", "R", "overtaking", "least_margin", "least_value", "balance_negative",
         "balance_positive"),
    ),
    "max_margin": (
        (*_VALUES, "loss", "tau", "clock"), _margin_rhs, _margin_observed,
        (*_VALUES, "loss", "tau", "clock", "R", "least_value"),
    ),
    "paper": (
        ("loss", "S_21", "tau"), _paper_rhs, _paper_observed, ("loss", "S_21", "S_12", "S_31", "S_32", "tau"),
    ),
}  # fmt: skip


@lru_cache(maxsize=4)
def _field(variant: str) -> FunctionField:
    return FunctionField(*_PARTS[variant])


def _arguments(setup: Setup, variant: str, moves: bool = True):
    beta = np.float64(setup["beta"])
    speed = np.float64(setup["beta"] + setup["m1"] * setup["alpha"])
    if variant == "bag_of_words":
        sizes = type_sizes(setup["n"], setup["L"], _numpy_ops(), shares_of(setup))
        return Bag(Sizes(*(np.asarray(x, dtype=float) for x in sizes)), beta, speed)
    if variant == "max_margin":
        separator = max_margin(setup["n"], setup["L"], shares_of(setup))
        return Separator(separator.direction, np.float64(1 / separator.inverse_squared_margin), beta, speed)
    return Rates(beta, np.float64(setup["alpha"] * setup["score_scale"] / setup["L"]), np.float64(moves))


def _numpy_ops():
    from types import SimpleNamespace

    return SimpleNamespace(array=lambda x: np.asarray(x, dtype=float))


def surrogate_problem(setup: Setup, variant: str) -> Problem:
    """A surrogate from the start of the limit: G = 0, loss = log 2."""
    field = _field(variant)
    marks = {name: t for name, t in marks_of(setup).items() if t <= setup["t_max"]}
    initial = np.array([np.log(2) if name == "loss" else 0.0 for name in field.names])
    events = tuple(e for e in events_of(setup) if e.observable in field.observables)
    if variant == "bag_of_words" and is_correct_from_the_start(setup["n"], setup["L"], shares_of(setup)):
        marks["T_1"] = 0.0
        events = tuple(e for e in events if e.name != "T_1")
    stages = (Stage("training", _arguments(setup, variant)),)
    if variant == "paper":
        stages = (
            Stage("phase 1", _arguments(setup, variant, moves=False), until=setup["C_T_1"] / setup["beta"]),
            Stage("phase 2", _arguments(setup, variant)),
        )
    default = {"bag_of_words": ("loss_peak", "T_0.5", "T_1", "T_star")}.get(variant, ("T_star",))
    return Problem(
        field=field,
        initial=initial,
        stages=stages,
        events=events,
        marks=marks,
        scale=1.0,
        t_max=setup["t_max"],
        default_at=default,
    )
