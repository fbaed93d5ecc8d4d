"""L0: gradient descent on W, W_V, W_K, W_Q together, by autodiff or exactly on the inner products (`gram`).

One step on the weights is exactly Γ ← (I + ηN) Γ (I + ηN) on their Gram matrices, so the variant `gram` runs the same
training at a cost that does not depend on the width (`descent`).
"""

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from flowsys.runs.training import Descent, Training
from flowsys.system import Setup
from flowsys.system.problem import Stage
from flowsys.systems.cooccurrence import closure as cl
from flowsys.systems.cooccurrence.descent import gram_step
from flowsys.systems.cooccurrence.measured import MEASURED, observations
from flowsys.systems.cooccurrence.network import (
    FiniteArguments,
    Structure,
    experiment,
    finite_arguments,
    initial_weights,
)
from flowsys.systems.cooccurrence.phases import events_of
from flowsys.systems.cooccurrence.weights import weight_loss


class Trained(NamedTuple):
    """What a descent carries: weights or inner products, the fixed output weights and |a|², the clocks."""

    state: Any
    a: Any
    output_norm: Any
    tau: Any
    clock: Any


def _train_problem(y: Trained, arguments: FiniteArguments):
    return arguments.train._replace(output_norm=y.output_norm)


def _ticked(y: Trained, state, c, arguments: FiniteArguments, η) -> Trained:
    tau = y.tau + η * arguments.beta
    clock = y.clock + η * (c + y.output_norm * arguments.alpha)
    return y._replace(state=state, tau=tau, clock=clock)


@lru_cache(maxsize=16)
def weights_descent(structure: Structure) -> Descent:
    """Gradient descent on the weights."""

    def step(y: Trained, arguments, η):
        gradient = jax.grad(weight_loss)(y.state, y.a, arguments.train)
        u = y.a @ y.state.W
        return _ticked(y, jax.tree.map(lambda w, g: w - η * g, y.state, gradient), u @ u, arguments, η)

    def observe(y: Trained, arguments):
        small = cl.small_coordinates(y.state, y.a)
        here = arguments._replace(train=_train_problem(y, arguments))
        return observations(structure, small, (y.tau, y.clock), here)

    return Descent(step, observe, MEASURED)


@lru_cache(maxsize=16)
def gram_descent(structure: Structure) -> Descent:
    """The same descent on inner products."""

    def step(y: Trained, arguments, η):
        r, M = cl.drives(y.state.G, y.state.S, arguments.train)
        return _ticked(y, gram_step(y.state, r, M, η, y.output_norm), y.state.c, arguments, η)

    def observe(y: Trained, arguments):
        here = arguments._replace(train=_train_problem(y, arguments))
        return observations(structure, y.state, (y.tau, y.clock), here)

    return Descent(step, observe, MEASURED)


def training(setup: Setup, variant: str, mode: str, seeds: int | None = None) -> Training:
    """Gradient descent from the weights of `seed` (or of `seeds` seeds side by side)."""
    ready = experiment(setup, mode)

    def start(seed) -> Trained:
        weights, a = initial_weights(ready, seed)
        state = cl.small_coordinates(weights, a) if variant == "gram" else weights
        zero = jnp.zeros((), dtype=float)
        return Trained(state, a, a @ a, zero, zero)

    one = start(setup["seed"])
    initial = one if seeds is None else jax.vmap(start)(setup["seed"] + jnp.arange(seeds))
    form, build = ("small", gram_descent) if variant == "gram" else ("weights", weights_descent)
    return Training(
        descent=build(ready.structure.seen_by(form)),
        initial=initial,
        stages=(Stage("training", finite_arguments(ready, one.a, form)),),
        events=events_of(setup),
        marks={"T_1_clock": setup["C_T_1"] / ready.scales.beta},
        default_steps=30_000 if mode == "data" else 2_000,
    )
