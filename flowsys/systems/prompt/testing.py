"""The trained model tested: errors of CoT and ICL at a state of a flow, by Monte-Carlo or by counting.

In the population flow from W(0) = 0 the model is known through a, b and H, so W is never built. For random test
patterns only their overlaps λ with the blind direction u = Σ_i μ_i/√M matter, the first M' coordinates of a uniform
unit vector of R^M: in a frame of the test patterns and of what they leave of u, W is

    a (1 - u uᵀ) on inputs,    b (1 - u uᵀ) on labels,    C_k' √M uᵀ on steps × patterns,    G_k'k on steps.

At λ = 1 nothing is learnt: the sums Σ_i S_{a_i v} are conserved. Noise is felt through its component along u alone.
Finite levels are tested by their frame entries; what W(0) has outside the frame is left out. The same prompts are drawn
at every state, so errors at two times differ by the model alone. The law of the examples is that of the parameters
(`law_of`), or one of one's own.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from flowsys.systems.prompt import inference, transitions
from flowsys.systems.prompt.examples import Examples, n_matching_examples, sampled_prompts
from flowsys.systems.prompt.inference import Scorer, Tested
from flowsys.systems.prompt.model import MASSES, orthonormal_rows
from flowsys.systems.prompt.plurality import N_MOST_EXAMPLES, chain_success, examples_needed, win_table
from flowsys.systems.prompt.symmetric import SymmetricScores, orbits_from_zero
from flowsys.systems.prompt.transitions import Law

LEAST_TEST_PATTERNS = 3
EXAMPLES_HELD, VOTES_HELD = 1 << 15, 1 << 20  # in memory at a time: with K + 1 noise vectors each, and without


def law_of(setup: Mapping[str, Any], task: np.ndarray | None = None) -> Law:
    """The errors asked for, on a task or on shifts; a primacy that such steps cannot have becomes the nearest one.

    With attractor errors only patterns that are not on the attractor themselves are asked about.
    """
    M_test, K, tau, style = (setup[name] for name in ("M_test", "K", "tau", "style"))
    task = transitions.shifting_task(M_test, K) if task is None else task
    if style == "attractor":
        return Law(transitions.attractor_transitions(task, tau ** (1 / K), setup["beta"]), task, np.arange(M_test - 1))
    rho = 1.0 if style == "uniform" else setup["rho"]
    return Law(transitions.runner_up_transitions(task, tau, rho, 1 if style == "one" else None), task)


def frame_entries(y: np.ndarray, M: int, blind: np.ndarray) -> np.ndarray:
    """W of the state y = (a, b, H) in a frame (m of inputs, of labels, and steps) with the blind direction in it."""
    symmetric = SymmetricScores.of(y)
    orbits = orbits_from_zero(symmetric, M)
    seen, nothing = np.eye(len(blind)) - np.outer(blind, blind), np.zeros((len(blind), len(symmetric.H)))
    steps = np.sqrt(M) * np.outer(orbits.C, blind)
    return np.block([[symmetric.a * seen, nothing], [symmetric.b * seen, nothing], [steps, orbits.G]])


def blind_direction(setup: Mapping[str, Any], overlap: float | None = None) -> np.ndarray:
    """u on M' uniformly random test patterns, or with `overlap` on the first alone, and on what they leave of it."""
    M, M_test = setup["M"], setup["M_test"]
    if overlap is not None:
        overlaps = overlap * np.eye(M_test)[0]
    else:
        direction = np.random.default_rng([setup["seed"], 3]).standard_normal(min(M, 10**6))
        overlaps = direction[:M_test] / np.sqrt(direction @ direction * M / len(direction))
    return np.append(overlaps, np.sqrt(max(0.0, 1 - overlaps @ overlaps)))


def test_patterns(setup: Mapping[str, Any], overlap: float | None) -> np.ndarray:
    """M' random orthonormal patterns (M', M) of the span, or the first with the given overlap and the others blind."""
    rng, M, M_test = np.random.default_rng([setup["seed"], 3]), setup["M"], setup["M_test"]
    if overlap is None:
        return orthonormal_rows(rng, M_test, M)
    blind = np.full((1, M), M**-0.5)
    sighted = orthonormal_rows(rng, M_test, M - 1) @ np.linalg.svd(blind)[2][1:]
    sighted[0] = overlap * blind + np.sqrt(1 - overlap**2) * sighted[0]
    return sighted


def noise(rng: np.random.Generator, shape: tuple, n_felt: int, n_directions: int, level: float) -> np.ndarray | None:
    """The felt coordinates (…, n_felt) of isotropic noise of norm `level` in `n_directions`, for every pattern."""
    if level == 0 or min(n_felt, n_directions) == 0:
        return None
    if n_felt == 1:
        square = rng.beta(0.5, (n_directions - 1) / 2, shape) if n_directions > 1 else np.ones(shape)
        return (level * np.sqrt(square) * rng.choice([-1.0, 1.0], shape))[..., None]
    drawn = rng.standard_normal((*shape, n_directions))
    drawn *= (level / np.sqrt(np.einsum("...d,...d->...", drawn, drawn)))[..., None]
    return drawn[..., :n_felt]


def tested(setup: Mapping[str, Any], state: np.ndarray, overlap: float | None = None, law: Law | None = None) -> Tested:
    """A state of the population flow, (a, b, H), or frame entries S (2M + K, M + K), on random test prompts.

    Test patterns are random, or the queried one has the given overlap with the blind direction.
    """
    M, M_test, K, level = (setup[name] for name in ("M", "M_test", "K", "noise"))
    law = law_of(setup) if law is None else law.checked(K, M_test)
    law = law if overlap is None else replace(law, queries=np.zeros(1, dtype=int))
    if state.ndim == 1:
        state, patterns = frame_entries(state, M, blind_direction(setup, overlap)), np.eye(M_test, M_test + 1)
    else:
        patterns = test_patterns(setup, overlap)
    tables, rng = Scorer.of(state, patterns), np.random.default_rng([setup["seed"], 4])

    def answers(prompts: Examples) -> tuple:
        noises = noise(rng, prompts.chains.shape, tables.n_felt, max(setup["d_X"], M) - M_test, level)
        steps, masses = inference.chain_of_thought(rng, tables, prompts, noises)
        return steps, inference.in_context(rng, tables, prompts, noises), masses

    return inference.tested(_prompts(rng, law, setup, EXAMPLES_HELD), law.targets, answers)


def limit_errors(setup: Mapping[str, Any], law: Law | None = None) -> Tested:
    """Inference once all attention is on matching examples: a vote."""
    rng, law = np.random.default_rng([setup["seed"], 5]), law or law_of(setup)
    prompts = _prompts(rng, law, setup, VOTES_HELD)
    return inference.tested(prompts, law.targets, lambda block: inference.voted(rng, block, setup["M_test"]))


def _prompts(rng: np.random.Generator, law: Law, setup: Mapping[str, Any], n_held: int) -> Iterator[Examples]:
    return sampled_prompts(rng, law, setup["n_prompts"], setup["l_ts"], setup["alpha_test"], n_held)


def one_step_error(setup: Mapping[str, Any], law: Law | None = None) -> float:
    """Error of one vote among the final outputs of matching examples, mean over queries; nan beyond what is counted."""
    if setup["l_ts"] > N_MOST_EXAMPLES:
        return float("nan")
    law = law or law_of(setup)
    B, right, asked = transitions.composed(law.transitions), law.targets[-1], law.asked
    n = n_matching_examples(setup["alpha_test"], setup["l_ts"])
    # queries whose rows are the same up to order win alike
    rows = np.column_stack([B[asked, right[asked]], np.sort(B[asked], axis=1)]).round(12)
    _, first, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)
    return float(1 - np.average([win_table(B[i], right[i], n)[n].sum() for i in asked[first]], weights=counts))


# -- by name ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trained:
    """A state of training, asked with a law; what several names read is found once."""

    setup: Mapping[str, Any]
    state: np.ndarray
    law: Law | None

    chains = cached_property(lambda self: tested(self.setup, self.state, None, self.law))
    blind = cached_property(lambda self: tested(self.setup, self.state, self.setup["overlap"], self.law))
    votes = cached_property(lambda self: limit_errors(self.setup, self.law))

    def mass(self, kind: int) -> float:
        return self.chains.masses[:, kind].mean()

    @property
    def counted(self) -> tuple[float, int, int, float]:
        """Steps with uniform errors, for exact counting."""
        tau, M_test, K, alpha = (self.setup[name] for name in ("tau", "M_test", "K", "alpha_test"))
        return tau ** (1 / K), M_test, K, alpha


TESTED: dict[str, tuple[str, Callable[[Trained], float]]] = {
    "cot_error": ("error of chain-of-thought inference on test prompts (Eq. 7), by Monte-Carlo",
                  lambda model: model.chains.cot),
    "icl_error": ("error of one-step inference on the same prompts (Eq. 9)", lambda model: model.chains.icl),
    "attention_matching": ("attention on matching examples along chain-of-thought inference (Proposition 1)",
                           lambda model: model.mass(0)),
    **{f"test_mass_{kind}": (f"attention on {where} along chain-of-thought inference (Fig. 5)",
                             partial(Trained.mass, kind=i))
       for i, (kind, where) in enumerate(MASSES.items()) if i},
    "cot_error_limit": ("error of chain-of-thought inference with all attention on matching examples",
                        lambda model: model.votes.cot),
    "icl_error_limit": ("error of one-step inference with all attention on matching examples",
                        lambda model: model.votes.icl),
    "cot_error_overlap": ("error of chain-of-thought inference on the test pattern of overlap `overlap` with the "
                          "blind direction", lambda model: model.blind.cot),
    "attention_overlap": ("attention on its matching examples at step 1", lambda model: model.blind.attention[0]),
    "examples_needed": ("least l_ts at which a chain succeeds, all attention on matching examples and uniform errors, "
                        "by exact counting (nan above 150)",
                        lambda model: examples_needed(model.setup["success"], *model.counted)),
    "chain_success_exact": ("probability that a chain is right at every step, all attention on matching examples and "
                            "uniform errors, by exact counting (nan for l_ts above 600)",
                            lambda model: chain_success(model.setup["l_ts"], *model.counted)),
    "icl_error_exact": ("error of one-step inference with all attention on matching examples, by exact counting (nan "
                        "for l_ts above 600)", lambda model: one_step_error(model.setup, model.law)),
}  # fmt: skip
CONSTANT = ("cot_error_limit", "icl_error_limit", "examples_needed", "chain_success_exact", "icl_error_exact")
"""With all attention on matching examples: training does not move them."""
READ = ("M", "K", "M_test", "style", "tau", "beta", "rho", "alpha_test", "l_ts", "seed", "n_prompts", "noise",
        "overlap", "d_X", "success")  # fmt: skip


@lru_cache(maxsize=4096)  # a sweep asks one name of a whole chunk of points, then the next
def _trained(values: tuple, state: bytes, shape: tuple, law: Law | None) -> Trained:
    return Trained(dict(zip(READ, values)), np.frombuffer(state).reshape(shape), law)


def value(name: str, p: Any, state: Any, law: Law | None = None) -> float:
    """One of `TESTED` at a state; nan with too few test patterns to ask about, or to choose overlaps of."""
    if p["M_test"] < LEAST_TEST_PATTERNS or ("overlap" in name and p["M_test"] >= p["M"]):
        return float("nan")
    y = np.asarray(state, dtype=float)
    values = tuple(int(p[parameter]) if parameter == "seed" else p[parameter] for parameter in READ)
    return float(TESTED[name][1](_trained(values, y.tobytes(), y.shape, law)))
