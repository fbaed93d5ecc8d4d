"""The trained model tested: errors of CoT and ICL at a state of a flow, by Monte-Carlo.

In the population flow from W(0) = 0 the model is known through a, b and H, so W is never built. For random test
patterns only their overlaps λ with the blind direction 1/√M matter, the first M' coordinates of a uniform unit vector
of R^M:

    μ'_jᵀ W μ'_i = a (δ_ij - λ_i λ_j) on inputs,    b (δ_ij - λ_i λ_j) on labels,    C_k' √M λ_i + G_k'k on steps,

and noise δ ⊥ span(M') enters through its component along what the test patterns leave of that direction. The same
prompts are drawn at every state, so errors at two times differ by the model alone. Finite levels are tested by their
weights.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from flowsys.system import Setup

from .examples import ReasoningErrors, sampled_prompts
from .inference import N_HELD, Scorer, errors_on, inference_errors
from .orbits import SymmetricScores, orbits_from_zero
from .plurality import N_MOST_EXAMPLES, correct_through, examples_needed, one_step_success
from .shifted_patterns import overlapping_patterns, rotated_patterns
from .transitions import (
    attractor_transitions,
    composed,
    runner_up_transitions,
    shifting_task,
    trajectories,
    uniform_transitions,
)
from .voting import voting_errors

LEAST_TEST_PATTERNS = 3


def example_transitions(setup: Setup) -> np.ndarray:
    """A_k (K, M', M') of the errors asked for; a primacy no such matrix has is replaced by the nearest one."""
    M_test, K, tau = setup["M_test"], setup["K"], setup["tau"]
    if setup["style"] == "uniform":
        return uniform_transitions(M_test, K, tau ** (1 / K))
    if setup["style"] == "attractor":
        return attractor_transitions(M_test, K, tau ** (1 / K), setup["beta"])
    return runner_up_transitions(M_test, K, tau, setup["rho"], setup["style"], is_exact=False)


def queries(setup: Setup) -> np.ndarray | None:
    """Which test patterns are asked: with attractor errors those that are not on the attractor themselves."""
    return np.arange(setup["M_test"] - 1) if setup["style"] == "attractor" else None


def matching_fraction(setup: Setup) -> float:
    """α', raised so that at least one example starts at the query."""
    return max(setup["alpha_test"], 1 / setup["l_ts"])


def symmetric_scorer(y: np.ndarray, M: int, overlaps: np.ndarray) -> Scorer:
    """Score tables of the state y = (a, b, H) for test patterns of the given overlaps with the blind direction."""
    K = round(np.sqrt(len(y) - 2))
    a, b, H = SymmetricScores(y[0], y[1], y[2:].reshape(K, K))
    orbits = orbits_from_zero(SymmetricScores(a, b, H), M)
    seen = np.eye(len(overlaps)) - np.outer(overlaps, overlaps)
    unseen = -overlaps[:, None] * np.sqrt(max(0.0, 1 - overlaps @ overlaps))
    at_every_step = lambda table: np.broadcast_to(table, (K, *table.shape))
    steps = np.sqrt(M) * overlaps[None, :, None] * orbits.C[None, None, :] + orbits.G.T[:, None, :]
    return Scorer(*(at_every_step(table) for table in (a * seen, b * seen, a * unseen, b * unseen)), steps)


def blind_noise(rng: np.random.Generator, shape, n_directions: int, level: float) -> np.ndarray | None:
    """One coordinate of isotropic noise of norm `level` in `n_directions` dimensions, for every pattern; or None."""
    if level == 0 or n_directions == 0:
        return None
    square = rng.beta(0.5, (n_directions - 1) / 2, shape) if n_directions > 1 else np.ones(shape)
    return (level * np.sqrt(square) * rng.choice([-1.0, 1.0], shape))[..., None]


def random_overlaps(setup: Setup) -> np.ndarray:
    """Overlaps of M' uniformly random test patterns with the blind direction."""
    M, M_test = setup["M"], setup["M_test"]
    direction = np.random.default_rng([setup["seed"], 3]).standard_normal(min(M, 10**6))
    return direction[:M_test] / np.sqrt(direction @ direction * M / len(direction))


def inferred(setup: Setup, y: np.ndarray, overlaps: np.ndarray, asked=None) -> tuple[ReasoningErrors, np.ndarray]:
    """CoT and ICL errors on the same prompts, and the mean attention on matching examples at every step of CoT.

    Test patterns are given by their overlaps with the blind direction; queries are uniform on `asked`, or on all.
    """
    M, M_test = setup["M"], setup["M_test"]
    tables = symmetric_scorer(y, M, overlaps)
    rng = np.random.default_rng([setup["seed"], 4])
    A, alpha, n_directions = example_transitions(setup), matching_fraction(setup), max(setup["d_X"], M) - M_test
    blocks = sampled_prompts(rng, A, setup["n_prompts"], setup["l_ts"], alpha, asked, N_HELD)
    noise_of = lambda shape: blind_noise(rng, shape, n_directions, setup["noise"])
    return errors_on(blocks, rng, tables, noise_of, shifting_task(M_test, setup["K"]))


def tested_weights(setup: Setup, W, patterns, overlap: float | None = None) -> tuple[ReasoningErrors, np.ndarray]:
    """The same of weights W that need not be symmetric, on random test patterns or on one of the given overlap."""
    of_patterns, rng = (np.random.default_rng([setup["seed"], n]) for n in (3, 4))
    if overlap is None:
        mu, asked = rotated_patterns(of_patterns, patterns, setup["M_test"]), queries(setup)
    else:
        mu, asked = overlapping_patterns(of_patterns, patterns, setup["M_test"], overlap), 0
    noise = setup["noise"] if mu.shape[1] > len(mu) else 0.0  # no direction is left for it
    return inference_errors(
        rng, W, mu, example_transitions(setup), shifting_task(len(mu), setup["K"]), setup["n_prompts"], setup["l_ts"],
        matching_fraction(setup), noise, asked,
    )  # fmt: skip


def tested(setup: Setup, y: np.ndarray) -> tuple[ReasoningErrors, np.ndarray]:
    """Errors and attention (Proposition 1) on random test patterns."""
    return inferred(setup, y, random_overlaps(setup), queries(setup))


def tested_with_overlap(setup: Setup, y: np.ndarray) -> tuple[ReasoningErrors, np.ndarray]:
    """The same for queries of the one test pattern that has overlap λ with the blind direction; the others have 0."""
    return inferred(setup, y, setup["overlap"] * np.eye(setup["M_test"])[0], 0)


def limit_errors(setup: Setup) -> ReasoningErrors:
    """Errors once all attention is on matching examples: a vote."""
    rng = np.random.default_rng([setup["seed"], 5])
    task = shifting_task(setup["M_test"], setup["K"])
    A, alpha = example_transitions(setup), matching_fraction(setup)
    return voting_errors(rng, A, task, setup["n_prompts"], setup["l_ts"], alpha, queries(setup))


Test = Callable[[Setup, np.ndarray], tuple[ReasoningErrors, np.ndarray]]


def tested_observables(
    setup: Setup, on_random: Test = tested, on_overlapping: Test = tested_with_overlap
) -> dict[str, Callable[[np.ndarray], float]]:
    """Functions of a state of the flow, computed after the fact; by default of the population flow."""
    if setup["M_test"] < LEAST_TEST_PATTERNS:
        return {}
    random, overlapping = _remembered(on_random, setup), _remembered(on_overlapping, setup)
    limit = lru_cache(maxsize=1)(lambda: limit_errors(setup))
    found = {
        "cot_error": lambda y: random(y)[0].cot,
        "icl_error": lambda y: random(y)[0].icl,
        "attention_matching": lambda y: float(random(y)[1].mean()),
        "cot_error_limit": lambda y: limit().cot,
        "icl_error_limit": lambda y: limit().icl,
        "examples_needed": lambda y: needed(setup),
        "chain_success_exact": lambda y: chain_success(setup),
        "icl_error_exact": lambda y: one_step_error(setup),
    }
    if setup["M_test"] < setup["M"]:  # a full set of test patterns leaves no choice of overlaps
        found |= {
            "cot_error_overlap": lambda y: overlapping(y)[0].cot,
            "attention_overlap": lambda y: float(overlapping(y)[1][0]),
        }
    return found


def chain_success(setup: Setup) -> float:
    """Probability that a chain of votes is right at every step, with uniform errors; nan beyond what is counted."""
    if setup["l_ts"] > N_MOST_EXAMPLES:
        return float("nan")
    step = setup["tau"] ** (1 / setup["K"])
    return float(correct_through(step, setup["M_test"], setup["K"], setup["l_ts"], matching_fraction(setup))[-1])


def one_step_error(setup: Setup) -> float:
    """Error of one vote among the final outputs of matching examples, mean over queries; nan beyond what is counted."""
    if setup["l_ts"] > N_MOST_EXAMPLES:
        return float("nan")
    M_test, asked = setup["M_test"], queries(setup)
    B, right = composed(example_transitions(setup)), trajectories(shifting_task(M_test, setup["K"]))[-1]
    alike: dict[tuple, list[int]] = {}  # queries whose rows are the same up to order
    for i in range(M_test) if asked is None else asked:
        alike.setdefault((B[i, right[i]].round(12), *np.sort(B[i]).round(12)), []).append(i)
    success = lambda i: one_step_success(B[i], right[i], setup["l_ts"], matching_fraction(setup))
    found = [(len(group), success(group[0])) for group in alike.values()]
    return float(1 - sum(n * p for n, p in found) / sum(n for n, _ in found))


def needed(setup: Setup) -> float:
    """Examples for success with uniform errors, by exact counting; nan beyond what is counted."""
    found = examples_needed(
        setup["success"], setup["tau"] ** (1 / setup["K"]), setup["M_test"], setup["K"], setup["alpha_test"]
    )
    return float("nan") if found is None else float(found)


def _remembered(test: Callable, setup: Setup) -> Callable:
    """`test` at a state, found again when the same state is asked about next."""
    last: dict[bytes, tuple[ReasoningErrors, np.ndarray]] = {}

    def at(y: np.ndarray) -> tuple[ReasoningErrors, np.ndarray]:
        key = np.asarray(y).tobytes()
        if key not in last:
            last.clear()
            last[key] = test(setup, np.asarray(y))
        return last[key]

    return at
