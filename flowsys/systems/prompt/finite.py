"""Finitely many tasks and patterns: gradient flow on the merged weights W (L1) and on their frame entries S (L2).

The loss sees W only through S, and the frames are orthonormal, so dS/dt = -∂L/∂S closes exactly (`scores`). Both flows
start from the same Gaussian W of scale ξ and train on infinitely long prompts of the given tasks.
"""

from functools import lru_cache, partial
from math import isinf

import jax
import numpy as np

from flowsys.errors import InputError
from flowsys.system import Setup
from flowsys.system.problem import FunctionField, Problem, Stage

from . import scores, transformer
from .model import Prompts
from .observations import FiniteArguments, observations, score_names, token_sums
from .prompts import population
from .stages import marks_of, stage_events
from .tasks import N_MOST_CYCLE_PATTERNS, all_cycle_tasks, cycle_powers
from .testing import tested_observables, tested_weights
from .vocabulary import finite_observables

MOST_PATTERNS = 200
N_TEST_TASKS = 20
MOST_TEST_PROMPTS = 4096


def random_tasks(rng: np.random.Generator, n: int, setup: Setup) -> np.ndarray:
    """n tasks (n, K, M) of the family asked for."""
    M, K = setup["M"], setup["K"]
    if setup["family"] == "permutations":
        return rng.permuted(np.tile(np.arange(M), (n, K, 1)), axis=-1)
    return cycle_powers(rng.permuted(np.tile(np.arange(M), (n, 1)), axis=1), K)


def check_sizes(setup: Setup) -> None:
    """Refuse what cannot be written out entry by entry."""
    if setup["M"] > MOST_PATTERNS:
        raise InputError(f"M = {setup['M']} is not allowed at finite levels: it must be at most {MOST_PATTERNS}.")
    if setup["d_X"] < setup["M"]:
        raise InputError(f"d_X = {setup['d_X']} is not allowed: it must be at least M = {setup['M']}.")


def training_prompts(setup: Setup) -> Prompts:
    """Every query of every training task once: all cycles, or `n_tasks` random ones of `seed`."""
    M, K, n = setup["M"], setup["K"], setup["n_tasks"]
    if isinf(n) and setup["family"] != "cycles":
        raise InputError("n_tasks = inf is not allowed with family = permutations: it must be a number.")
    if isinf(n) and M > N_MOST_CYCLE_PATTERNS:
        raise InputError(
            f"n_tasks = inf is not allowed for M = {M}: all (M - 1)! cycles are written out up to M = "
            f"{N_MOST_CYCLE_PATTERNS} only."
        )
    tasks = all_cycle_tasks(M, K) if isinf(n) else random_tasks(np.random.default_rng([setup["seed"], 1]), n, setup)
    return population(tasks, setup["alpha"])


def unseen_prompts(setup: Setup) -> Prompts:
    """The same of fresh random tasks."""
    n = max(1, min(N_TEST_TASKS, MOST_TEST_PROMPTS // (setup["M"] * setup["K"])))
    return population(random_tasks(np.random.default_rng([setup["seed"], 2]), n, setup), setup["alpha"])


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


def tested_state(setup: Setup, y: np.ndarray, overlap: float | None = None, level: str = "L2"):
    """Errors and attention (`testing`) at a state of the flow on scores, or on weights."""
    M, K, D = setup["M"], setup["K"], 2 * setup["d_X"] + setup["K"]
    with jax.enable_x64(True):
        W, patterns = initial_weights(setup, setup["seed"])
        if level == "L2":  # what is not a frame entry stays where it was
            S = y.reshape(2 * M + K, M + K)
            W = W + transformer.weights_with(S - transformer.scores_of(W, patterns), patterns)
        else:
            W = y.reshape(D, D)
    return tested_weights(setup, W, np.asarray(patterns), overlap)


def finite_problem(setup: Setup, level: str) -> Problem:
    """Gradient flow on the weights (L1) or on their frame entries (L2)."""
    check_sizes(setup)
    M, K, d_X = setup["M"], setup["K"], setup["d_X"]
    D = 2 * d_X + K
    with jax.enable_x64(True):
        W, patterns = (np.asarray(x) for x in initial_weights(setup, setup["seed"]))
        keys, queries = (np.asarray(frame) for frame in transformer.frames(patterns, K))
    arguments = FiniteArguments(training_prompts(setup), unseen_prompts(setup), patterns if level == "L1" else None)

    def sums(states: np.ndarray) -> np.ndarray:
        if level == "L2":
            return token_sums(states.reshape(-1, 2 * M + K, M + K), M)
        return token_sums(keys @ states.reshape(-1, D, D) @ queries.T, M)

    return Problem(
        field=weights_field(d_X, K) if level == "L1" else score_field(M, K),
        initial=W.ravel() if level == "L1" else (keys @ W @ queries.T).ravel(),
        stages=(Stage("population", arguments),),
        events=stage_events(setup),
        derived=tested_observables(
            setup,
            partial(tested_state, level=level),
            lambda setup, y: tested_state(setup, y, setup["overlap"], level),
        ),
        conserved=sums,
        marks=marks_of(setup),
        t_max=setup["t_max"],
        default_at=("T_1", "T_2", "T_3"),
    )
