"""L0: gradient descent, on fresh prompts as in Algorithm 1 or on the whole population.

sgd         Algorithm 1 on W: fresh cycles and fresh prompts of l_tr examples at every iteration
sgd_scores  the same on the frame entries S alone: equal to it, at a cost that does not depend on d_X
full_batch  descent on W over the prompts of the flow L1: what the learning rate alone does
symmetric   descent on a, b, H of the exact population, at any M: what full batches of all tasks do from W = 0

The random key of SGD is part of what an iteration carries on. Time is learning rate × iterations.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.errors import InputError
from flowsys.model import ops
from flowsys.program.arrays import observed, vector_field
from flowsys.runs.training import Descent, Training, gradient_step
from flowsys.system import Setup
from flowsys.system.problem import Stage

from . import transformer
from .checks import n_matching_examples
from .finite import check_sizes, initial_weights, training_prompts, unseen_prompts
from .limits import limit_problem, population_program, wraps
from .model import score_loss
from .observations import FiniteArguments, observations
from .prompts import batch
from .stages import marks_of, stage_events
from .tasks import random_cycle_tasks, random_permutation_tasks
from .vocabulary import finite_observables


class Iterate(NamedTuple):
    """What SGD carries from iteration to iteration: W or S, and the key of the next batch."""

    parameters: Any
    key: Any


def _loss_of_scores(scores, patterns, prompts):
    del patterns
    return score_loss(ops, scores, prompts)


@lru_cache(maxsize=16)
def stochastic_descent(
    M: int, K: int, alpha: float, l_tr: float, batch_size: int, family: str, is_on_scores: bool
) -> Descent:
    """Algorithm 1, on W or on its frame entries."""
    tasks = {"cycles": random_cycle_tasks, "permutations": random_permutation_tasks}[family]
    loss = _loss_of_scores if is_on_scores else transformer.loss

    def step(iterate, arguments, learning_rate):
        key, task_key, example_key = jax.random.split(iterate.key, 3)
        prompts = batch(example_key, tasks(task_key, batch_size, M, K), alpha, l_tr)
        gradient = jax.grad(loss)(iterate.parameters, arguments.patterns, prompts)
        return Iterate(iterate.parameters - learning_rate * gradient, key)

    return Descent(step, _observed(K, is_on_scores), tuple(finite_observables(K)))


@lru_cache(maxsize=16)
def _observed(K: int, is_on_scores: bool) -> Callable:
    """What SGD observes, whatever its prompts and batches: one function, compiled once."""

    def observe(iterate, arguments):
        S = iterate.parameters if is_on_scores else transformer.scores_of(iterate.parameters, arguments.patterns)
        return observations(S, arguments, K)

    return observe


@lru_cache(maxsize=16)
def full_batch_descent(K: int) -> Descent:
    """Descent on W over all training prompts."""
    step = gradient_step(lambda W, arguments: transformer.loss(W, arguments.patterns, arguments.prompts))

    def observe(W, arguments):
        return observations(transformer.scores_of(W, arguments.patterns), arguments, K)

    return Descent(step, observe, tuple(finite_observables(K)))


@lru_cache(maxsize=16)
def symmetric_descent(K: int, wrapped_M: int | None) -> Descent:
    """Descent on the symmetric variables, by the derived program."""
    program = population_program(K, wrapped_M)
    names = tuple(program.observables)
    velocity, values = vector_field(program, "exact", jnp), observed(program, names, "exact", jnp)
    return Descent(
        lambda y, arguments, learning_rate: y + learning_rate * velocity(y, arguments),
        lambda y, arguments: dict(zip(names, values(y, arguments))),
        names,
    )


def training(setup: Setup, variant: str, seeds: int | None = None) -> Training:
    """Descent from the weights of `seed` (or of `seeds` seeds side by side, all on the patterns of the first)."""
    if variant == "symmetric":
        return _symmetric_training(setup, seeds)
    check_sizes(setup)
    M, K = setup["M"], setup["K"]
    patterns = initial_weights(setup, setup["seed"])[1]
    arguments = FiniteArguments(_evaluated_on(setup, variant), unseen_prompts(setup), patterns)

    def start(seed):
        W = transformer.weights(jax.random.split(jax.random.key(seed))[0], setup["d_X"], K, setup["xi"])
        if variant == "full_batch":
            return W
        return Iterate(transformer.scores_of(W, patterns) if variant == "sgd_scores" else W, jax.random.key(seed))

    if variant == "full_batch":
        descent = full_batch_descent(K)
    else:
        _check_batch(setup)
        descent = stochastic_descent(
            M, K, setup["alpha"], setup["l_tr"], setup["batch_size"], setup["family"], variant == "sgd_scores"
        )
    return Training(
        descent=descent,
        initial=start(setup["seed"]) if seeds is None else jax.vmap(start)(setup["seed"] + jnp.arange(seeds)),
        stages=(Stage("population", arguments),),
        events=stage_events(setup),
        marks=marks_of(setup),
        default_steps=200,
    )


def _evaluated_on(setup: Setup, variant: str):
    """SGD is observed on prompts of unseen tasks: it has no training set."""
    return training_prompts(setup) if variant == "full_batch" else unseen_prompts(setup)


def _check_batch(setup: Setup) -> None:
    if setup["batch_size"] % (setup["K"] * setup["M"]):
        raise InputError(
            f"batch_size = {setup['batch_size']} is not allowed: it must be a multiple of K M = "
            f"{setup['K'] * setup['M']}, so that every step and every pattern is queried equally often."
        )
    if setup["l_tr"] != np.inf:
        n_matching_examples(setup["alpha"], setup["l_tr"], length="l_tr")


def _symmetric_training(setup: Setup, seeds: int | None) -> Training:
    flow = limit_problem(setup, "population")
    M, K = setup["M"], setup["K"]
    initial = jnp.asarray(flow.initial)
    return Training(
        descent=symmetric_descent(K, M if wraps(M, K) else None),
        initial=initial if seeds is None else jnp.tile(initial, (seeds, 1)),
        stages=flow.stages,
        events=flow.events,
        marks=flow.marks,
        default_steps=200,
    )
