"""Random test examples, and the votes among them that inference comes to.

Chains of pattern indices are drawn step by step from the transition matrices (App. C.1). Exactly round(α' l) examples
of a prompt start at the query's pattern, the others uniformly at the M' - 1 other ones.

Trained long enough, a query at step k attends only to step-k columns whose input pattern is v_{k-1} (Proposition 1);
greedy decoding then is a vote among their labels, ties broken uniformly, a uniform guess where no example matches.
One-step inference (ICL) votes among the final outputs of the examples that start at the query.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from flowsys.errors import InputError
from flowsys.systems.prompt.transitions import Law

N_HELD = 1 << 20  # examples in memory at a time


class Examples(NamedTuple):
    """Prompts of n_examples chains."""

    query: np.ndarray  # (n,): pattern index of x_query
    chains: np.ndarray  # (n, n_examples, K + 1): pattern indices of x_i, y_i1, ..., y_iK


class ReasoningErrors(NamedTuple):
    """What inference got wrong on a sample of prompts."""

    cot: float  # Eq. (7): mean over steps
    cot_by_step: np.ndarray  # (K,): probability that v_k ≠ z_k
    correct_through: np.ndarray  # (K,): probability that v_1..v_k are all right
    icl: float  # Eq. (9)


def n_matching_examples(alpha: float, n_examples: int) -> int:
    """round(α' l): how many examples start at the query's pattern; refuses prompts that would have none."""
    n_matching = round(alpha * n_examples)
    if n_matching == 0:
        raise InputError(f"alpha_test = {alpha!r} with n_examples = {n_examples} gives no example that matches the "
                         "query, but alpha_test * n_examples must be above 0.5.")  # fmt: skip
    return n_matching


def sampled_prompts(
    rng: np.random.Generator, law: Law, n_prompts: int, n_examples: int, alpha_test: float, n_held: int = N_HELD
) -> Iterator[Examples]:
    """`n_prompts` prompts in blocks of bounded size; the query is uniform on all patterns, or on the law's queries."""
    K, M_test, _ = law.transitions.shape
    asked = np.arange(M_test) if law.queries is None else np.atleast_1d(law.queries)
    n_matching = n_matching_examples(alpha_test, n_examples)
    tables = [_alias_table(step) for step in law.transitions]
    per_block = max(1, n_held // n_examples)
    for first in range(0, n_prompts, per_block):
        n = min(per_block, n_prompts - first)
        query = asked[rng.integers(len(asked), size=n)]
        chains = np.empty((n, n_examples, K + 1), dtype=np.intp)
        others = rng.integers(M_test - 1, size=(n, n_examples))
        chains[:, :, 0] = others + (others >= query[:, None])
        chains[:, :n_matching, 0] = query[:, None]
        for k, (threshold, alias) in enumerate(tables):
            draw = rng.random((n, n_examples)) * M_test
            label = draw.astype(np.intp)
            cell = chains[:, :, k] * M_test + label
            chains[:, :, k + 1] = np.where(draw - label < threshold[cell], label, alias[cell])
        yield Examples(query, chains)


def tallied(blocks: Iterator, targets: np.ndarray) -> ReasoningErrors:
    """Errors of (query, steps (n, K), one-step answer (n,)) triples; `targets` (K + 1, M') is what is correct."""
    n_wrong_steps: Any = 0
    n_through: Any = 0
    n_wrong_icl, n = 0, 0
    for query, steps, answer in blocks:
        wrong = steps != targets[1:, query].T
        n_wrong_steps = n_wrong_steps + wrong.sum(axis=0)
        n_through = n_through + (wrong.cumsum(axis=1) == 0).sum(axis=0)
        n_wrong_icl += int((answer != targets[-1, query]).sum())
        n += len(query)
    by_step = n_wrong_steps / n
    return ReasoningErrors(float(by_step.mean()), by_step, n_through / n, n_wrong_icl / n)


def _alias_table(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Walker's alias tables of the rows of A, flattened: label j is kept with `threshold`, else becomes `alias`."""
    M = len(A)
    threshold, alias = np.ones((M, M)), np.tile(np.arange(M), (M, 1))
    for i, row in enumerate(A * M):
        mass = row.copy()
        small = [j for j in range(M) if mass[j] < 1]
        large = [j for j in range(M) if mass[j] >= 1]
        while small and large:
            j, donor = small.pop(), large[-1]
            threshold[i, j], alias[i, j] = mass[j], donor
            mass[donor] -= 1 - mass[j]
            if mass[donor] < 1:
                small.append(large.pop())
    return threshold.ravel(), alias.ravel()


def voting_errors(
    rng: np.random.Generator, law: Law, n_prompts: int, n_examples: int, alpha_test: float
) -> ReasoningErrors:
    """CoT and ICL errors on the same random prompts, all attention on matching examples."""

    def winner(is_counted: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """The most frequent label of the counted examples, ties broken uniformly."""
        ballots = (np.arange(len(labels))[:, None] * M_test + labels)[is_counted]
        votes = np.bincount(ballots, minlength=len(labels) * M_test).reshape(-1, M_test)
        return (votes + rng.random(votes.shape)).argmax(axis=1)

    def answers():
        for query, chains in sampled_prompts(rng, law, n_prompts, n_examples, alpha_test):
            steps = [query]
            for k in range(1, chains.shape[2]):
                steps.append(winner(chains[:, :, k - 1] == steps[-1][:, None], chains[:, :, k]))
            one_step = winner(chains[:, :, 0] == query[:, None], chains[:, :, -1])
            yield query, np.stack(steps[1:], axis=1), one_step

    M_test = law.transitions.shape[-1]
    return tallied(answers(), law.targets)
