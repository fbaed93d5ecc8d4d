"""Random test examples: chains of pattern indices drawn step by step from the transition matrices (App. C.1).

Exactly round(α' l) examples of a prompt start at the query's pattern, the others uniformly at the M' - 1 other ones.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .checks import check_count, n_matching_examples

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
    n_prompts: int


def sampled_prompts(
    rng: np.random.Generator,
    transitions,
    n_prompts: int,
    n_examples: int,
    alpha_test: float,
    queries=None,
    n_held=N_HELD,
) -> Iterator[Examples]:
    """`n_prompts` prompts in blocks of bounded size; the query is uniform on all patterns, or on `queries`."""
    check_count("n_prompts", n_prompts, 1)
    K, M_test, _ = transitions.shape
    asked = np.arange(M_test) if queries is None else np.atleast_1d(queries)
    for query in asked:
        check_count("queries", query, 0, M_test - 1)
    n_matching = n_matching_examples(alpha_test, n_examples, name="alpha_test")
    tables = [_alias_table(step) for step in transitions]
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


def tallied(blocks, targets) -> ReasoningErrors:
    """Errors of (query, steps (n, K), one-step answer (n,)) triples; `targets` (K + 1, M') is what is correct."""
    n_wrong_steps, n_through, n_wrong_icl, n = 0, 0, 0, 0
    for query, steps, answer in blocks:
        wrong = steps != targets[1:, query].T
        n_wrong_steps = n_wrong_steps + wrong.sum(axis=0)
        n_through = n_through + (wrong.cumsum(axis=1) == 0).sum(axis=0)
        n_wrong_icl += int((answer != targets[-1, query]).sum())
        n += len(query)
    by_step = n_wrong_steps / n
    return ReasoningErrors(float(by_step.mean()), by_step, n_through / n, n_wrong_icl / n, n)


def _alias_table(A):
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
