"""The trained model tested: errors of CoT and ICL at a state of a flow, by Monte-Carlo or by counting.

In the population flow from W(0) = 0 the model is known through a, b and H, so W is never built. For random test
patterns only their overlaps λ with the blind direction 1/√M matter, the first M' coordinates of a uniform unit vector
of R^M:

    μ'_jᵀ W μ'_i = a (δ_ij - λ_i λ_j) on inputs,    b (δ_ij - λ_i λ_j) on labels,    C_k' √M λ_i + G_k'k on steps,

and noise δ ⊥ span(M') enters through its component along what the test patterns leave of that direction. At λ = 1
nothing is learnt: the sums Σ_i S_{a_i v} are conserved. Finite levels are tested by their frame entries; what W(0) has
outside the frame is left out. The same prompts are drawn at every state, so errors at two times differ by the model
alone. The law of the examples is that of the parameters (`law_of`), or one of one's own.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from flowsys.systems.prompt.examples import ReasoningErrors, sampled_prompts, voting_errors
from flowsys.systems.prompt.inference import N_HELD, Scorer, errors_on, noise_vectors, scorer
from flowsys.systems.prompt.model import orthonormal_rows
from flowsys.systems.prompt.plurality import N_MOST_EXAMPLES, correct_through, examples_needed, one_step_success
from flowsys.systems.prompt.symmetric import SymmetricScores, orbits_from_zero
from flowsys.systems.prompt.transitions import (
    Law,
    attractor_transitions,
    composed,
    runner_up_transitions,
    shifting_task,
    uniform_transitions,
)

LEAST_TEST_PATTERNS = 3
TESTED = {
    "cot_error": "error of chain-of-thought inference on test prompts (Eq. 7), by Monte-Carlo",
    "icl_error": "error of one-step inference on the same prompts (Eq. 9)",
    "attention_matching": "attention on matching examples along chain-of-thought inference (Proposition 1)",
    "cot_error_limit": "error of chain-of-thought inference with all attention on matching examples",
    "icl_error_limit": "error of one-step inference with all attention on matching examples",
    "cot_error_overlap": "error of chain-of-thought inference on the test pattern of overlap `overlap` with the blind "
    "direction",
    "attention_overlap": "attention on its matching examples at step 1",
    "examples_needed": "least l_ts at which a chain succeeds, all attention on matching examples and uniform errors, "
    "by exact counting (nan above 150)",
    "chain_success_exact": "probability that a chain is right at every step, all attention on matching examples and "
    "uniform errors, by exact counting (nan for l_ts above 600)",
    "icl_error_exact": "error of one-step inference with all attention on matching examples, by exact counting (nan "
    "for l_ts above 600)",
}


def law_of(setup: Mapping[str, Any]) -> Law:
    """The errors asked for; a primacy that such steps cannot have is replaced by the nearest one.

    With attractor errors only patterns that are not on the attractor themselves are asked about.
    """
    M_test, K, tau, style = (setup[name] for name in ("M_test", "K", "tau", "style"))
    task = shifting_task(M_test, K)
    if style == "uniform":
        return Law(uniform_transitions(M_test, K, tau ** (1 / K)), task)
    if style == "attractor":
        return Law(attractor_transitions(M_test, K, tau ** (1 / K), setup["beta"]), task, np.arange(M_test - 1))
    return Law(runner_up_transitions(M_test, K, tau, setup["rho"], style, is_exact=False), task)


def matching_fraction(setup: Mapping[str, Any]) -> float:
    """α', raised so that at least one example starts at the query."""
    return max(setup["alpha_test"], 1 / setup["l_ts"])


class Tested(NamedTuple):
    """A model tested on random prompts."""

    errors: ReasoningErrors
    attention: np.ndarray  # (K,): mean attention on matching examples S_k* (Proposition 1)
    masses: np.ndarray  # (K, 4): mean attention on the four kinds of columns (Fig. 5)


def symmetric_scorer(y: np.ndarray, M: int, overlaps: np.ndarray) -> Scorer:
    """Score tables of the state y = (a, b, H) for test patterns of the given overlaps with the blind direction."""
    symmetric = SymmetricScores.of(y)
    orbits, K = orbits_from_zero(symmetric, M), len(symmetric.H)
    seen = np.eye(len(overlaps)) - np.outer(overlaps, overlaps)
    unseen = -overlaps[:, None] * np.sqrt(max(0.0, 1 - overlaps @ overlaps))
    at_every_step = lambda table: np.broadcast_to(table, (K, *table.shape))
    steps = np.sqrt(M) * overlaps[None, :, None] * orbits.C[None, None, :] + orbits.G.T[:, None, :]
    a, b = symmetric.a, symmetric.b
    return Scorer(*(at_every_step(table) for table in (a * seen, b * seen, a * unseen, b * unseen)), steps)


def blind_noise(rng: np.random.Generator, shape: tuple, n_directions: int, level: float) -> np.ndarray | None:
    """One coordinate of isotropic noise of norm `level` in `n_directions` dimensions, for every pattern; or None."""
    if level == 0 or n_directions == 0:
        return None
    square = rng.beta(0.5, (n_directions - 1) / 2, shape) if n_directions > 1 else np.ones(shape)
    return (level * np.sqrt(square) * rng.choice([-1.0, 1.0], shape))[..., None]


def random_overlaps(setup: Mapping[str, Any]) -> np.ndarray:
    """Overlaps of M' uniformly random test patterns with the blind direction."""
    M, M_test = setup["M"], setup["M_test"]
    direction = np.random.default_rng([setup["seed"], 3]).standard_normal(min(M, 10**6))
    return direction[:M_test] / np.sqrt(direction @ direction * M / len(direction))


def test_patterns(setup: Mapping[str, Any], overlap: float | None) -> np.ndarray:
    """M' random orthonormal patterns (M', M) of the span, or the first with the given overlap and the others blind."""
    rng, M, M_test = np.random.default_rng([setup["seed"], 3]), setup["M"], setup["M_test"]
    if overlap is None:
        return orthonormal_rows(rng, M_test, M)
    blind = np.full((1, M), M**-0.5)
    sighted = orthonormal_rows(rng, M_test, M - 1) @ np.linalg.svd(blind)[2][1:]
    sighted[0] = overlap * blind + np.sqrt(1 - overlap**2) * sighted[0]
    return sighted


def tested(setup: Mapping[str, Any], state: np.ndarray, overlap: float | None = None, law: Law | None = None) -> Tested:
    """A state of the population flow, (a, b, H), or frame entries S (2M + K, M + K), on random test prompts.

    Test patterns are random, or the queried one has the given overlap with the blind direction.
    """
    M, M_test, K, level = (setup[name] for name in ("M", "M_test", "K", "noise"))
    law = law_of(setup) if law is None else law.checked(K, M_test)
    law = law if overlap is None else law._replace(queries=np.zeros(1, dtype=int))
    rng, n_directions = np.random.default_rng([setup["seed"], 4]), max(setup["d_X"], M) - M_test
    if state.ndim == 1:
        overlaps = random_overlaps(setup) if overlap is None else overlap * np.eye(M_test)[0]
        tables = symmetric_scorer(state, M, overlaps)
        noise_of = lambda shape: blind_noise(rng, shape, n_directions, level)
    else:
        tables = scorer(state, test_patterns(setup, overlap))
        noise_of = lambda shape: noise_vectors(rng, shape, tables, n_directions, level)
    blocks = sampled_prompts(rng, law, setup["n_prompts"], setup["l_ts"], matching_fraction(setup), N_HELD)
    return Tested(*errors_on(blocks, rng, tables, noise_of, law.targets))


def limit_errors(setup: Mapping[str, Any], law: Law | None = None) -> ReasoningErrors:
    """Errors once all attention is on matching examples: a vote."""
    rng = np.random.default_rng([setup["seed"], 5])
    return voting_errors(rng, law or law_of(setup), setup["n_prompts"], setup["l_ts"], matching_fraction(setup))


def chain_success(setup: Mapping[str, Any]) -> float:
    """Probability that a chain of votes is right at every step, with uniform errors; nan beyond what is counted."""
    if setup["l_ts"] > N_MOST_EXAMPLES:
        return float("nan")
    step = setup["tau"] ** (1 / setup["K"])
    return float(correct_through(step, setup["M_test"], setup["K"], setup["l_ts"], matching_fraction(setup))[-1])


def one_step_error(setup: Mapping[str, Any], law: Law | None = None) -> float:
    """Error of one vote among the final outputs of matching examples, mean over queries; nan beyond what is counted."""
    if setup["l_ts"] > N_MOST_EXAMPLES:
        return float("nan")
    law = law or law_of(setup)
    B, right = composed(law.transitions), law.targets[-1]
    alike: dict[tuple, list[int]] = {}  # queries whose rows are the same up to order
    for i in range(len(B)) if law.queries is None else law.queries:
        alike.setdefault((B[i, right[i]].round(12), *np.sort(B[i]).round(12)), []).append(i)
    success = lambda i: one_step_success(B[i], right[i], setup["l_ts"], matching_fraction(setup))
    found = [(len(group), success(group[0])) for group in alike.values()]
    return float(1 - sum(n * p for n, p in found) / sum(n for n, _ in found))


def needed(setup: Mapping[str, Any]) -> float:
    """Examples for success with uniform errors, by exact counting; nan beyond what is counted."""
    found = examples_needed(
        setup["success"], setup["tau"] ** (1 / setup["K"]), setup["M_test"], setup["K"], setup["alpha_test"]
    )
    return float("nan") if found is None else float(found)


_tested: dict[tuple, Any] = {}


def _remembered(key: tuple, find: Callable[[], Any]) -> Any:
    """What was found last for a key: the names of one test share its prompts."""
    if key not in _tested:
        if len(_tested) >= 4:
            _tested.pop(next(iter(_tested)))
        _tested[key] = find()
    return _tested[key]


def is_possible(name: str, setup: Mapping[str, Any]) -> bool:
    """Whether there are enough test patterns to ask about, and a choice of overlaps where they matter."""
    return setup["M_test"] >= LEAST_TEST_PATTERNS and ("overlap" not in name or setup["M_test"] < setup["M"])


def value(name: str, setup: Mapping[str, Any], state: np.ndarray, law: Law | None = None) -> float:
    """One of `TESTED` at a state."""
    if name in ("examples_needed", "chain_success_exact"):
        return {"examples_needed": needed, "chain_success_exact": chain_success}[name](setup)
    if name == "icl_error_exact":
        return one_step_error(setup, law)
    key = (*setup.items(), None if law is None else law.transitions.tobytes() + law.task.tobytes())
    if name.endswith("_limit"):
        errors = _remembered(("limit", *key), lambda: limit_errors(setup, law))
        return errors.cot if name == "cot_error_limit" else errors.icl
    overlap = setup["overlap"] if name.endswith("_overlap") else None
    found = _remembered((overlap, state.tobytes(), *key), lambda: tested(setup, state, overlap, law))
    if name.startswith("attention"):
        return float(found.attention[0] if overlap is not None else found.attention.mean())
    return found.errors.icl if name == "icl_error" else found.errors.cot


READ = ("M", "K", "M_test", "style", "tau", "beta", "rho", "alpha_test", "l_ts", "seed", "n_prompts", "noise",
        "overlap", "d_X", "success")  # fmt: skip


def measured(w: Any, X: Any, p: Any, name: str, law: Law | None = None) -> float:
    """One of `TESTED` of a model at a finite level; nan if it is not possible."""
    setup = {parameter: getattr(p, parameter) for parameter in READ}
    there = setup | {"seed": int(setup["seed"])}
    return value(name, there, np.asarray(w.W), law) if is_possible(name, there) else float("nan")


def tested_observables(setup: Mapping[str, Any], law: Law | None = None) -> dict[str, Callable[[np.ndarray], float]]:
    """Functions of a state of the population flow."""
    there = {name: setup[name] for name in READ}
    possible = [name for name in TESTED if is_possible(name, there)]
    return {name: lambda y, name=name: value(name, there, np.asarray(y), law) for name in possible}
