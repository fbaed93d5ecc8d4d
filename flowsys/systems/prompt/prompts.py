"""Training prompts: which columns stand in them, how often, and what the query is (Eq. 1, App. C.1).

A column is known by its step and by the pattern its example started from. In a prompt of l_tr examples exactly
round(α l_tr) start at the query's z_0 and the others uniformly at the M - 1 other patterns; step functions being
bijections, the same examples share the query's pattern at every later step. The query's own k - 1 earlier columns
are in the context, the query column itself is not. With l_tr → ∞ the counts become the weights α and (1 - α)/(M -
1), and the query's own columns drop out.
"""

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.errors import InputError

from .checks import check_count, check_fraction, n_matching_examples
from .model import Prompts
from .tasks import chains


def population(tasks: np.ndarray, alpha: float) -> Prompts:
    """Every (task, z_0, k) of the given tasks once, with infinitely many examples."""
    check_fraction("alpha", alpha)
    n_tasks, K, M = tasks.shape
    check_count("M", M, 2)
    task, start, step = (
        index.ravel() for index in np.meshgrid(np.arange(n_tasks), np.arange(M), np.arange(K), indexing="ij")
    )
    reached = chains(np.asarray(tasks))[task]
    starts = np.full((len(task), M), (1 - alpha) / (M - 1))
    starts[np.arange(len(task)), start] = alpha
    counts = np.repeat(starts[:, None, :], K, axis=1) / K
    return _prompts(reached, counts, step, start)


def _prompts(reached, counts, step, start) -> Prompts:
    row = np.arange(len(step))
    origins = reached[:, 1:].argsort(axis=-1)
    return Prompts(reached, origins, counts, reached[row, step, start], step, reached[row, step + 1, start])


def batch(key, tasks, alpha: float, n_examples: float) -> Prompts:
    """A prompt of `n_examples` random examples for each task, every step and z_0 equally often (Algorithm 1)."""
    n, K, M = tasks.shape
    if n % (K * M):
        raise InputError(
            f"batch_size = {n}, but batch_size must be a multiple of K * M = {K * M}: "
            "every step and every pattern is queried equally often."
        )
    row = np.arange(n)
    step = row % K
    start = (row // K) % M
    patterns = np.arange(M).reshape(1, M)
    is_start = start[:, None] == patterns
    if n_examples == np.inf:
        starts = np.where(is_start, alpha, (1 - alpha) / (M - 1))[:, None, :] * np.ones((1, K, 1))
        return _prompts(chains(tasks), jnp.asarray(starts, dtype=float), step, start)
    n_matching = n_matching_examples(alpha, n_examples)
    others = (jax.random.uniform(key, (n, n_examples - n_matching)) * (M - 1)).astype(int)
    others = others + (others >= start[:, None])
    starts = (others[:, :, None] == patterns[:, None, :]).sum(axis=1) + n_matching * is_start
    own = (np.arange(K).reshape(1, K, 1) < step.reshape(n, 1, 1)) * is_start[:, None, :]
    return _prompts(chains(tasks), jnp.asarray(starts[:, None, :] + own, dtype=float), step, start)
