"""Training tasks: K step functions on M patterns, as tables of indices, and the families they are drawn from.

A task is an integer array (K, M): row k - 1 is f_k. In Appendix E, f_k = σ^k with σ a uniformly random M-cycle, so
that the chain of a query is z_k = σ^(k(k+1)/2) z_0. All M-cycles are conjugate, which makes the average over them
invariant under every relabelling of the patterns. Other families serve as controls: independent permutations at
every step, or finitely many tasks.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from .checks import check_count

N_MOST_CYCLE_PATTERNS = 8  # (M - 1)! tasks: 5040 there


def cycle_powers(cycles, K: int):
    """Tasks (n, K, M) with f_k = σ^k (App. E); cycles (n, M) list σ's orbit: σ moves cycles[i] to cycles[i + 1]."""
    M = cycles.shape[-1]
    position = (cycles[:, None, :] == np.arange(M).reshape(1, M, 1)).argmax(axis=-1)
    shifted = (position[:, None, :] + np.arange(1, K + 1).reshape(1, K, 1)) % M
    return cycles[np.arange(cycles.shape[0]).reshape(-1, 1, 1), shifted]


def all_cycle_tasks(M: int, K: int) -> np.ndarray:
    """The (M - 1)! cycle tasks, for exhaustive populations at small M."""
    check_count("M", M, 2, N_MOST_CYCLE_PATTERNS)
    check_count("K", K, 1)
    orbits = [(0, *rest) for rest in itertools.permutations(range(1, M))]
    return cycle_powers(np.array(orbits), K)


def random_cycle_tasks(key, n: int, M: int, K: int):
    """n tasks of independent uniformly random M-cycles (App. E)."""
    check_count("M", M, 2)
    return cycle_powers(_permutations(key, (n, M)), K)


def random_permutation_tasks(key, n: int, M: int, K: int):
    """n tasks whose K steps are independent uniformly random permutations."""
    check_count("M", M, 2)
    return _permutations(key, (n, K, M))


def chains(tasks):
    """Patterns (n, K + 1, M) reached from every starting pattern after 0..K steps."""
    n, K, M = tasks.shape
    row = np.arange(n).reshape(n, 1)
    xp = np if isinstance(tasks, np.ndarray) else jnp
    reached = [xp.broadcast_to(xp.arange(M).reshape(1, M), (n, M))]
    for k in range(K):
        reached.append(tasks[row, k, reached[-1]])
    return xp.stack(reached, axis=1)


def _permutations(key, shape):
    return jnp.argsort(jax.random.uniform(key, shape), axis=-1)
