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

from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from flowsys.model.values import Named, Remembered
from flowsys.systems.prompt import inference
from flowsys.systems.prompt.examples import Law, Prompts, law_of, n_matching_examples
from flowsys.systems.prompt.inference import Scorer, Tested
from flowsys.systems.prompt.model import MASSES, orthonormal_rows
from flowsys.systems.prompt.plurality import N_MOST_EXAMPLES, chain_success, examples_needed, win_table
from flowsys.systems.prompt.symmetric import SymmetricScores, orbits_from_zero
from flowsys.systems.prompt.tasks import stream

LEAST_TEST_PATTERNS = 3
EXAMPLES_HELD, VOTES_HELD = 1 << 15, 1 << 20  # in memory at a time: with K + 1 noise vectors each, and without


def frame_entries(y: np.ndarray, M: int, blind: np.ndarray) -> np.ndarray:
    """W of the state y = (a, b, H) in a frame (m of inputs, of labels, and steps) with the blind direction in it."""
    symmetric = SymmetricScores.of(y)
    orbits = orbits_from_zero(symmetric, M)
    seen, nothing = np.eye(len(blind)) - np.outer(blind, blind), np.zeros((len(blind), len(symmetric.H)))
    steps = np.sqrt(M) * np.outer(orbits.C, blind)
    return np.block([[symmetric.a * seen, nothing], [symmetric.b * seen, nothing], [steps, orbits.G]])


def blind_direction(setup: Named, overlap: float | None = None) -> np.ndarray:
    """u on M' uniformly random test patterns, or with `overlap` on the first alone, and on what they leave of it."""
    M, M_test = setup["M"], setup["M_test"]
    if overlap is not None:
        overlaps = overlap * np.eye(M_test)[0]
    else:
        direction = stream(setup, 3).standard_normal(min(M, 10**6))
        overlaps = direction[:M_test] / np.sqrt(direction @ direction * M / len(direction))
    return np.append(overlaps, np.sqrt(max(0.0, 1 - overlaps @ overlaps)))


def test_patterns(setup: Named, overlap: float | None) -> np.ndarray:
    """M' random orthonormal patterns (M', M) of the span, or the first with the given overlap and the others blind."""
    rng, M, M_test = stream(setup, 3), setup["M"], setup["M_test"]
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


def tested(setup: Named, state: np.ndarray, overlap: float | None = None, law: Law | None = None) -> Tested:
    """A state of the population flow, (a, b, H), or frame entries S (2M + K, M + K), on random test prompts.

    Test patterns are random, or the queried one has the given overlap with the blind direction.
    """
    M, M_test, K = setup["M"], setup["M_test"], setup["K"]
    law = law_of(setup) if law is None else law.checked(K, M_test)
    law = law if overlap is None else replace(law, queries=np.zeros(1, dtype=int))
    if state.size == 2 + K * K:
        entries, patterns = frame_entries(state, M, blind_direction(setup, overlap)), np.eye(M_test, M_test + 1)
    else:
        entries, patterns = state.reshape(2 * M + K, M + K), test_patterns(setup, overlap)
    tables, rng = Scorer.of(entries, patterns), stream(setup, 4)

    def answers(prompts: Prompts) -> tuple:
        n_directions = max(setup["d_X"], M) - M_test
        noises = noise(rng, prompts.chains.shape, tables.n_felt, n_directions, setup["noise"])
        steps, masses = inference.chain_of_thought(rng, tables, prompts, noises)
        return steps, inference.in_context(rng, tables, prompts, noises), masses

    return Tested.on(law.prompts(rng, setup, EXAMPLES_HELD), law.targets, answers)


def limit_errors(setup: Named, law: Law | None = None) -> Tested:
    """Inference once all attention is on matching examples: a vote."""
    rng, law = stream(setup, 5), law or law_of(setup)
    prompts = law.prompts(rng, setup, VOTES_HELD)
    return Tested.on(prompts, law.targets, lambda block: inference.voted(rng, block, setup["M_test"]))


def one_step_error(setup: Named, law: Law | None = None) -> float:
    """Error of one vote among the final outputs of matching examples, mean over queries; nan beyond what is counted."""
    if setup["l_ts"] > N_MOST_EXAMPLES:
        return float("nan")
    law = law or law_of(setup)
    B, right, asked = law.composed, law.targets[-1], law.asked
    n = n_matching_examples(setup["alpha_test"], setup["l_ts"])
    # queries whose rows are the same up to order win alike
    rows = np.column_stack([B[asked, right[asked]], np.sort(B[asked], axis=1)]).round(12)
    _, first, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)
    return float(1 - np.average([win_table(B[i], right[i], n)[n].sum() for i in asked[first]], weights=counts))


# -- by name, of a state and a law among the parameters; what several names read is found once ------------------------

_on_prompts = Remembered(lambda p: tested(p, np.frombuffer(p.state), None, p.law), 4096)
_on_overlap = Remembered(lambda p: tested(p, np.frombuffer(p.state), p.overlap, p.law), 4096)
_by_votes = Remembered(lambda p: limit_errors(p, p.law), 4096)


def _mass(p: Mapping[str, Any], kind: int) -> float:
    return _on_prompts(p).masses[:, kind].mean()


TESTED: dict[str, tuple[str, Callable[[Mapping[str, Any]], float]]] = {
    "cot_error": ("error of chain-of-thought inference on test prompts (Eq. 7), by Monte-Carlo",
                  lambda p: _on_prompts(p).cot),
    "icl_error": ("error of one-step inference on the same prompts (Eq. 9)", lambda p: _on_prompts(p).icl),
    "attention_matching": ("attention on matching examples along chain-of-thought inference (Proposition 1)",
                           partial(_mass, kind=0)),
    **{f"test_mass_{kind}": (f"attention on {where} along chain-of-thought inference (Fig. 5)", partial(_mass, kind=i))
       for i, (kind, where) in enumerate(MASSES.items()) if i},
    "cot_error_limit": ("error of chain-of-thought inference with all attention on matching examples",
                        lambda p: _by_votes(p).cot),
    "icl_error_limit": ("error of one-step inference with all attention on matching examples",
                        lambda p: _by_votes(p).icl),
    "cot_error_overlap": ("error of chain-of-thought inference on the test pattern of overlap `overlap` with the "
                          "blind direction", lambda p: _on_overlap(p).cot),
    "attention_overlap": ("attention on its matching examples at step 1", lambda p: _on_overlap(p).attention[0]),
    "examples_needed": ("least l_ts at which a chain succeeds, all attention on matching examples and uniform errors, "
                        "by exact counting (nan above 150)", examples_needed),
    "chain_success_exact": ("probability that a chain is right at every step, all attention on matching examples and "
                            "uniform errors, by exact counting (nan for l_ts above 600)", chain_success),
    "icl_error_exact": ("error of one-step inference with all attention on matching examples, by exact counting (nan "
                        "for l_ts above 600)", lambda p: one_step_error(p, p["law"])),
}  # fmt: skip
CONSTANT = ("cot_error_limit", "icl_error_limit", "examples_needed", "chain_success_exact", "icl_error_exact")
"""With all attention on matching examples: training does not move them."""


def value(name: str, p: Any, state: Any, law: Law | None = None) -> float:
    """One of `TESTED` at a state; nan with too few test patterns to ask about, or to choose overlaps of."""
    if p["M_test"] < LEAST_TEST_PATTERNS or ("overlap" in name and p["M_test"] >= p["M"]):
        return float("nan")
    return float(TESTED[name][1](ChainMap({"law": law, "state": np.asarray(state, dtype=float).tobytes()}, p)))
