"""Random test examples: chains of pattern indices, drawn step by step from the transition matrices (App. C.1).

round(α' l) examples of a prompt, at least one, start at the query's pattern, the others uniformly at the M' - 1 others.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from flowsys.systems.prompt.transitions import Law


class Examples(NamedTuple):
    """Prompts of n_examples chains."""

    query: np.ndarray  # (n,): pattern index of x_query
    chains: np.ndarray  # (n, n_examples, K + 1): pattern indices of x_i, y_i1, ..., y_iK


def n_matching_examples(alpha: float, n_examples: int) -> int:
    """round(α' l): how many examples start at the query's pattern, at least one."""
    return max(1, round(alpha * n_examples))


def sampled_prompts(
    rng: np.random.Generator, law: Law, n_prompts: int, n_examples: int, alpha_test: float, n_held: int
) -> Iterator[Examples]:
    """`n_prompts` prompts in blocks of at most `n_held` examples; the query is uniform on those asked about."""
    K, M_test, _ = law.transitions.shape
    n_matching = n_matching_examples(alpha_test, n_examples)
    tables = [_alias_table(step) for step in law.transitions]
    per_block = max(1, n_held // n_examples)
    for first in range(0, n_prompts, per_block):
        n = min(per_block, n_prompts - first)
        query = law.asked[rng.integers(len(law.asked), size=n)]
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
