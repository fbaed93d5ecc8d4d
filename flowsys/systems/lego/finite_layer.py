"""Stage 1 beyond the isotropic limit: on the weights (L1), on their inner products (L2), with many variables (L3).

L1 weights           every weight of the head W_5, by autodiff through the transformer
L2 full              V(g), V(y), X(x_1), U(x_0) of all d classes: exact
L2 frozen_x          X and U stay at their random initial values (Assumption B.1)
L2 exchangeable      X and U constant in x; classes outside Y lumped; n_x a number
L3 many_variables    n_x = ∞, d a free number
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from flowsys.errors import InputError
from flowsys.model import ops
from flowsys.system import Setup
from flowsys.system.problem import FunctionField, Problem, Stage
from flowsys.systems.lego import data, groups, model, stage_1, transformer
from flowsys.systems.lego.closed_forms import clip_level
from flowsys.systems.lego.events import stage_1_events
from flowsys.systems.lego.layer_observed import OBSERVED, Nonlinearity, Numbers, observations

LARGEST_WORK = 20_000_000  # neurons × sentences, which one evaluation of the field goes through


class Form(NamedTuple):
    """One way to write stage 1: a loss on a pytree, its metric, and its features and logits of the values."""

    shape: Any
    loss: Callable
    metric: Callable
    read: Callable


def vocabulary_of(setup: Setup) -> data.Vocabulary:
    """The tokens of a finite model; the setup is one that its level has settled."""
    return data.Vocabulary(int(setup["n_x"]), groups.named(setup["group"]))


def nonlinearity_of(setup: Setup, clip: str | None = None) -> Nonlinearity:
    return Nonlinearity(setup["q"], setup["activation"], setup["clip"] if clip is None else clip)


def numbers_of(setup: Setup) -> Numbers:
    B = clip_level(setup["C_B"], setup["d"])
    named = (setup[name] for name in ("bias", "rho", "varpi"))
    values = (*named, B, setup["clip_width"], setup["d"], setup["n_x"], setup["delta_2"], np.log(setup["miss_target"]))
    return Numbers(*map(np.float64, values))


@lru_cache(maxsize=16)
def form(variant: str, group_name: str, n_x: int, m: int, kind: Nonlinearity) -> Form:
    """The form of a variant, by sizes and structure."""
    group = groups.named(group_name)
    if variant in ("exchangeable", "many_variables"):
        return _exchangeable(group, m, kind, variant == "many_variables")
    vocabulary, sentences = data.Vocabulary(n_x, group), data.population(group, n_x, 1)
    target, d = transformer.targets(vocabulary, sentences, 1)["W_5"], vocabulary.d
    inside = vocabulary.values

    def read(features, numbers):
        clipped = model.one_step_logits(ops, features, sentences, kind.with_numbers(numbers))
        losses = model.cross_entropy(ops, clipped, target)
        F = model.one_step_logits(ops, features, sentences, kind.unclipped.with_numbers(numbers))
        return features.action[inside], features.value[inside], F[inside], losses, target - inside.start

    if variant == "weights":
        features = lambda W: transformer.features(W, vocabulary)
        blocks = {name: np.zeros((d - 1, d - 1)) for name in ("Q_43", "Q_44")}
        loss = lambda W, n: transformer.step_loss(
            {**blocks, "W_5": W}, vocabulary, sentences, 1, "W_5", kind.with_numbers(n)
        )
        shape = np.zeros((d, m, 5, d - 1))
        return Form(shape, loss, lambda n: 1.0, lambda W, n: read(features(W), n))
    metric = stage_1.METRIC if variant == "full" else stage_1.METRIC_FROZEN_X
    shape = stage_1.Slots(*(np.zeros((d, m, size)) for size in (group.n_g, group.n_y, n_x, n_x)))
    loss = lambda y, n: stage_1.full_loss(ops, y, sentences, target, kind.with_numbers(n))
    return Form(shape, loss, lambda n: metric, lambda y, n: read(stage_1.full_features(y), n))


def _exchangeable(group, m: int, kind: Nonlinearity, has_many_variables: bool) -> Form:
    g, value = stage_1.inputs(group)
    target = group.action[g, value]

    def read(y, numbers):
        losses = stage_1.exchangeable_losses(ops, y, group, numbers.d, kind.with_numbers(numbers))
        F = stage_1.exchangeable_logits(ops, y, group, kind.unclipped.with_numbers(numbers))
        return y.V_g, y.V_y, F, losses, target

    slope = (lambda n: 0.0) if has_many_variables else (lambda n: 0.75 / n.n_x)
    shape = stage_1.Exchangeable(*(np.zeros((group.n_y, m, k)) for k in (group.n_g, group.n_y)),
                                 np.zeros((group.n_y, m)))  # fmt: skip
    loss = lambda y, n: stage_1.exchangeable_loss(ops, y, group, n.d, kind.with_numbers(n))
    return Form(shape, loss, lambda n: stage_1.Exchangeable(1.0, 1.0, slope(n)), read)


@lru_cache(maxsize=16)
def field(variant: str, group_name: str, n_x: int, m: int, kind: Nonlinearity) -> FunctionField:
    """The flow of a form on flat states."""
    here = form(variant, group_name, n_x, m, kind)
    group, (flat, unravel) = groups.named(group_name), ravel_pytree(here.shape)

    def rhs(y, numbers):
        slope, metric = jax.grad(here.loss)(unravel(y), numbers), here.metric(numbers)
        rates = jax.tree.map(lambda p, g: -p * g, metric, slope) if variant != "weights" else -slope
        return ravel_pytree(rates)[0]

    def observed(y, numbers):
        return observations(*here.read(unravel(y), numbers), group, numbers)

    return FunctionField(tuple(f"weight_{i}" for i in range(flat.size)), rhs, observed, OBSERVED)


def initial_state(setup: Setup, variant: str):
    """The random start of a variant; L1 and L2's full forms share their weights."""
    if variant in ("exchangeable", "many_variables"):
        rng = np.random.default_rng(setup["seed"])
        return stage_1.initial_exchangeable(rng, groups.named(setup["group"]), setup["width"], setup["sigma_0"])
    vocabulary = vocabulary_of(setup)
    W = np.asarray(
        transformer.weights(jax.random.key(setup["seed"]), vocabulary, setup["width"], setup["sigma_0"])["W_5"]
    )
    return W if variant == "weights" else stage_1.slots(transformer.features(W, vocabulary))


def conserved_of(variant: str, setup: Setup) -> Callable[[np.ndarray], np.ndarray]:
    """Σ_g V(g) - Σ_y V(y) of every neuron."""
    here = form(variant, *_structure(setup, variant))
    numbers = numbers_of(setup)

    def conserved(states: np.ndarray) -> np.ndarray:
        unravel = ravel_pytree(here.shape)[1]
        features = [here.read(unravel(jnp.asarray(y)), numbers)[:2] for y in states]
        return np.array([np.asarray(stage_1.conserved(*pair)).ravel() for pair in features])

    return conserved


def _structure(setup: Setup, variant: str) -> tuple:
    n_x = 0 if variant in ("exchangeable", "many_variables") else int(setup["n_x"])
    return setup["group"], n_x, setup["width"], nonlinearity_of(setup)


def layer_problem(setup: Setup, variant: str) -> Problem:
    """Stage 1 from random weights."""
    n_x, group = setup["n_x"], groups.named(setup["group"])
    if variant not in ("exchangeable", "many_variables"):
        check_work(setup["d"] * setup["width"] * n_x * (n_x - 1) * group.n_g * group.n_y)
    with jax.enable_x64(True):
        initial = np.asarray(ravel_pytree(initial_state(setup, variant))[0])
    return Problem(
        field=field(variant, *_structure(setup, variant)),
        initial=initial,
        stages=(Stage("stage_1", numbers_of(setup)),),
        events=stage_1_events(setup),
        conserved=conserved_of(variant, setup),
        scale=min(max(setup["sigma_0"], 1e-6), 1.0),
        t_max=setup["t_max"],
        default_at=("phase_1", "phase_2_1"),
    )


def check_work(size: float) -> None:
    """Refuse finite models whose population does not fit."""
    if size > LARGEST_WORK:
        raise InputError(
            f"n_x, group and width are too large together for the exact population: {size:.0f} neurons × sentences, "
            f"but at most {LARGEST_WORK} are taken; lower n_x or width, or use variant exchangeable."
        )
