"""Finitely many tasks and patterns: gradient flow on the merged weights W (L1) and on their frame entries S (L2).

The loss sees W only through S, and the frames are orthonormal, so dS/dt = -∂L/∂S closes exactly (`scores`). Both flows
start from the same Gaussian W of scale ξ and train on infinitely long prompts of the given tasks.
"""

from functools import lru_cache
from math import isinf

import jax
import numpy as np

from flowsys.problem import FunctionField, Problem, Stage
from flowsys.system import Setup

from . import scores, transformer
from .model import Prompts
from .observations import FiniteArguments, observations, score_names, token_sums
from .prompts import population
from .stages import events_of
from .tasks import all_cycle_tasks, cycle_powers
from .vocabulary import finite_observables

N_TEST_TASKS = 20
MOST_TEST_PROMPTS = 4096


def random_cycles(rng: np.random.Generator, n: int, M: int, K: int) -> np.ndarray:
    """n cycle tasks (n, K, M)."""
    return cycle_powers(rng.permuted(np.tile(np.arange(M), (n, 1)), axis=1), K)


def training_prompts(setup: Setup) -> Prompts:
    """Every query of every training task once: all cycles, or `n_tasks` random ones of `seed`."""
    M, K, n = setup["M"], setup["K"], setup["n_tasks"]
    tasks = all_cycle_tasks(M, K) if isinf(n) else random_cycles(np.random.default_rng([setup["seed"], 1]), n, M, K)
    return population(tasks, setup["alpha"])


def unseen_prompts(setup: Setup) -> Prompts:
    """The same of fresh random cycles."""
    M, K = setup["M"], setup["K"]
    n = max(1, min(N_TEST_TASKS, MOST_TEST_PROMPTS // (M * K)))
    return population(random_cycles(np.random.default_rng([setup["seed"], 2]), n, M, K), setup["alpha"])


def initial_weights(setup: Setup, seed):
    """(W, patterns): Gaussian weights of scale ξ and M orthonormal patterns in R^d_X."""
    of_weights, of_patterns = jax.random.split(jax.random.key(seed))
    patterns = transformer.orthonormal_patterns(of_patterns, setup["M"], setup["d_X"])
    return transformer.weights(of_weights, setup["d_X"], setup["K"], setup["xi"]), patterns


@lru_cache(maxsize=16)
def score_field(M: int, K: int) -> FunctionField:
    """L2: the frame entries move by themselves."""
    shape = (2 * M + K, M + K)

    def rhs(y, arguments):
        return scores.field(0.0, y.reshape(shape), arguments.prompts).reshape(-1)

    def observed(y, arguments):
        return observations(y.reshape(shape), arguments, K)

    return FunctionField(score_names(M, K), rhs, observed, tuple(finite_observables(K)))


@lru_cache(maxsize=16)
def weights_field(d_X: int, K: int) -> FunctionField:
    """L1: every weight moves, by autodiff."""
    D = 2 * d_X + K

    def rhs(y, arguments):
        return transformer.field(0.0, y.reshape(D, D), (arguments.patterns, arguments.prompts)).reshape(-1)

    def observed(y, arguments):
        return observations(transformer.scores_of(y.reshape(D, D), arguments.patterns), arguments, K)

    names = tuple(f"weight_{i}" for i in range(D * D))
    return FunctionField(names, rhs, observed, tuple(finite_observables(K)))


def finite_problem(setup: Setup, level: str) -> Problem:
    """Gradient flow on the weights (L1) or on their frame entries (L2)."""
    M, K, d_X = setup["M"], setup["K"], setup["d_X"]
    D = 2 * d_X + K
    with jax.enable_x64(True):
        W, patterns = (np.asarray(x) for x in initial_weights(setup, setup["seed"]))
        keys, queries = (np.asarray(frame) for frame in transformer.frames(patterns, K))
    arguments = FiniteArguments(training_prompts(setup), unseen_prompts(setup), patterns)

    def sums(states: np.ndarray) -> np.ndarray:
        if level == "L2":
            return token_sums(states.reshape(-1, 2 * M + K, M + K), M)
        return token_sums(keys @ states.reshape(-1, D, D) @ queries.T, M)

    return Problem(
        field=weights_field(d_X, K) if level == "L1" else score_field(M, K),
        initial=W.ravel() if level == "L1" else (keys @ W @ queries.T).ravel(),
        stages=(Stage("population", arguments),),
        events=events_of(setup),
        conserved=sums,
        t_max=setup["t_max"],
        default_at=("T_1", "T_2", "T_3"),
    )
