"""The problem seen through its symmetry: all non-secret tokens are one class (orthonormal tokens, any width).

Permuting non-secret positions and flipping a non-secret bit change neither labels nor initial weights, so the
2(n-k) non-secret tokens share one q and one score. One class with n-k members in every context remains; the average
runs over the 2^k secret strings, and n is only a number. Classes: the 2k secret tokens in the order of S, the ordinary
class, the 2k tokens of positions n+1..n+k.
"""

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.systems.parity.closure import Metric
from flowsys.systems.parity.data import Parity, Table, all_bits, ascending, check_size, table_of_bits


def check_ordinary_positions(n, k: int) -> None:
    """Refuse sizes without a non-secret position."""
    check_size("k", k)
    if isinstance(n, (int, float)) and n <= k:
        raise ValueError(f"n = {n}, but more than k = {k} input bits are needed for a non-secret position.")


def collapsed_table(n, k: int) -> Table:
    """Rows of the 2^k secret strings; n may be a symbol, since it only enters as the count n - k of the class."""
    check_ordinary_positions(n, k)
    secrets_only = table_of_bits(ascending(k, k), all_bits(k))
    exact = isinstance(n, (int, float))
    ordinary = np.full((len(secrets_only.query), 1), n - k, dtype=float if exact else object)
    counts = np.concatenate([secrets_only.counts[:, : 2 * k], ordinary, secrets_only.counts[:, 2 * k :]], axis=1)
    return secrets_only._replace(counts=counts)


def collapsed_metric(n: int, k: int, mobility: float = 1.0) -> Metric:
    """Every class moves with the gradient divided by the number of tokens it stands for."""
    check_ordinary_positions(n, k)
    with jax.enable_x64(True):
        tokens = jnp.ones(4 * k + 1).at[2 * k].set(2 * (n - k))
        return Metric(keys=jnp.diag(1 / tokens), queries=jnp.eye(2 * k), mobility=mobility)


def class_of_token(problem: Parity) -> np.ndarray:
    """The class of every token of the full problem: `q_collapsed[:, class_of_token]` is the full q."""
    k = problem.k
    classes = np.full(problem.n_tokens, 2 * k)
    for order, position in enumerate(problem.secrets):
        classes[2 * position - 2 : 2 * position] = 2 * order, 2 * order + 1
    classes[2 * problem.n :] = 2 * k + 1 + np.arange(2 * problem.n_queries)
    return classes


def live_scores(table: Table) -> np.ndarray:
    """Which scores (classes × queries) ever enter a softmax; the others stay 0."""
    live = np.zeros((table.counts.shape[1], int(table.query.max()) + 1), dtype=bool)
    for query, counts in zip(table.query, table.counts):
        live[:, query] |= np.array([count != 0 for count in counts])
    return live
