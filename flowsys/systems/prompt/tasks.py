"""Training tasks and their prompts: K step functions on M patterns, and which columns stand in a prompt how often.

A task is a table (K, M) of pattern indices, row k - 1 is f_k. In Appendix E f_k = σ^k with σ a uniformly random
M-cycle, so the chain of a query is z_k = σ^(k(k+1)/2) z_0. All M-cycles are conjugate, which makes the average over
them invariant under every relabelling of the patterns. Independent permutations at every step, finitely many tasks, or
tasks of one's own serve as controls.

A column is known by its step and by the pattern its example started from. Of l_tr examples round(α l_tr) start at the
query's z_0, at least one, and the others uniformly at the M - 1 other patterns; step functions being bijections, the
same examples share the query's pattern at every later step. The query's own k - 1 earlier columns are in the context,
the query column itself is not (Eq. 1, App. C.1). As l_tr → ∞ the counts become the weights α and (1 - α)/(M - 1), and
the query's own columns drop out.
"""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np

import flowsys as fs
from flowsys.errors import InputError
from flowsys.model.values import Named

MOST_PATTERNS = 200  # at finite levels every entry is written out
N_MOST_CYCLE_PATTERNS = 8  # (M - 1)! tasks: 5040 there
N_TEST_TASKS = 20
MOST_TEST_PROMPTS = 4096


def stream(p: Named, number: int) -> np.random.Generator:
    """Random numbers of the seed for one purpose: tasks, test patterns, test prompts, votes."""
    return np.random.default_rng([int(p["seed"]), number])


def cycle_powers(cycles: Any, K: int) -> Any:
    """Tasks (n, K, M) with f_k = σ^k (App. E); cycles (n, M) list σ's orbit: σ moves cycles[i] to cycles[i + 1]."""
    M = cycles.shape[-1]
    shifted = (cycles.argsort(axis=-1)[:, None, :] + np.arange(1, K + 1).reshape(1, K, 1)) % M
    return cycles[np.arange(cycles.shape[0]).reshape(-1, 1, 1), shifted]


def drawn(n: int, p: Any, permuted: Callable[[tuple], Any]) -> Any:
    """n tasks (n, K, M) of the family asked for, from random orders of patterns, `permuted` along a last axis."""
    return permuted((n, p.K, p.M)) if p.family == "permutations" else cycle_powers(permuted((n, p.M)), p.K)


def random_tasks(rng: np.random.Generator, n: int, p: Any) -> np.ndarray:
    """n tasks of the family asked for."""
    return drawn(n, p, lambda shape: rng.permuted(np.broadcast_to(np.arange(p.M), shape), axis=-1))


def all_cycle_tasks(M: int, K: int) -> np.ndarray:
    """The (M - 1)! cycle tasks, for exhaustive populations at small M."""
    return cycle_powers(np.array([(0, *rest) for rest in permutations(range(1, M))]), K)


def training_tasks(p: Any) -> np.ndarray:
    """All cycles, or `n_tasks` random tasks of `seed`."""
    if p.M > MOST_PATTERNS:
        raise InputError(f"M = {p.M} is not allowed at finite levels: it must be at most {MOST_PATTERNS}.")
    if p.n_tasks != np.inf:
        return random_tasks(stream(p, 1), p.n_tasks, p)
    if p.family != "cycles" or p.M > N_MOST_CYCLE_PATTERNS:
        raise InputError(f"n_tasks = inf is not allowed for M = {p.M} and family = {p.family}: all (M - 1)! cycles are "
                         f"written out, up to M = {N_MOST_CYCLE_PATTERNS}, and of permutations none.")  # fmt: skip
    return all_cycle_tasks(p.M, p.K)


def checked_tasks(tasks: Any) -> np.ndarray:
    """Tasks given by hand (n, K, M): every step a permutation of the M patterns."""
    found = np.asarray(tasks)
    if found.ndim != 3 or not (np.sort(found, axis=-1) == np.arange(found.shape[-1])).all():
        raise InputError(f"tasks of shape {found.shape} must be (n, K, M), every row a permutation of 0 … M - 1.")
    return found


def chains(tasks: Any) -> Any:
    """Patterns (n, K + 1, M) reached from every starting pattern after 0..K steps."""
    n, K, M = tasks.shape
    row, reached = np.arange(n).reshape(n, 1), [np.broadcast_to(np.arange(M), (n, M))]
    for k in range(K):
        reached.append(tasks[row, k, reached[-1]])
    return tasks.__array_namespace__().stack(reached, axis=1)


def prompts(reached: Any, step: np.ndarray, start: np.ndarray, listed: Any = None) -> fs.Samples:
    """One prompt a row of chains: endless, or with columns `listed` (n, K, M) so many times."""
    row, is_endless, (n, steps, M) = np.arange(len(step)), listed is None, reached.shape
    return fs.Samples(
        chains=reached,
        origins=reached[:, 1:].argsort(axis=-1),
        start=start,
        step=step,
        query=reached[row, step, start],
        target=reached[row, step + 1, start],
        endless=np.full(n, int(is_endless)),
        listed=np.zeros((n, steps - 1, M)) if is_endless else listed,
    )


def population(tasks: np.ndarray) -> fs.Samples:
    """Every (task, z_0, k) of the given tasks once, with infinitely many examples."""
    n_tasks, K, M = tasks.shape
    task, start, step = (i.ravel() for i in np.meshgrid(*map(np.arange, (n_tasks, M, K)), indexing="ij"))
    return prompts(chains(tasks)[task], step, start)


def unseen(p: Any) -> fs.Samples:
    """The population of fresh random tasks."""
    n = max(1, min(N_TEST_TASKS, MOST_TEST_PROMPTS // (p.M * p.K)))
    return population(random_tasks(stream(p, 2), n, p))


def batches(key: Any, p: Any) -> fs.Samples:
    """Algorithm 1: fresh tasks, and a prompt of l_tr random examples for each; every step and z_0 equally often."""
    import jax
    import jax.numpy as jnp

    n, K, M, l_tr = p.batch_size, p.K, p.M, p.l_tr
    if n % (K * M):
        raise InputError(f"batch_size = {n} is not allowed: it must be a multiple of K M = {K * M}, so that every step "
                         "and every pattern is queried equally often.")  # fmt: skip
    of_tasks, of_examples = jax.random.split(key)
    reached = chains(drawn(n, p, lambda shape: jax.random.uniform(of_tasks, shape).argsort(axis=-1)))
    step, start = np.arange(n) % K, (np.arange(n) // K) % M
    if l_tr == np.inf:
        return prompts(reached, step, start)
    others = (jax.random.uniform(of_examples, (n, l_tr)) * (M - 1)).astype(int)
    others = others + (others >= start[:, None])
    n_matching = jnp.maximum(jnp.round(p.alpha * l_tr), 1.0)
    inputs = jnp.where(np.arange(l_tr)[None, :] < n_matching, start[:, None], others)
    starts = (inputs[:, :, None] == np.arange(M)[None, None, :]).sum(axis=1)
    own = (np.arange(K).reshape(1, K, 1) < step.reshape(n, 1, 1)) * (start[:, None] == np.arange(M))[:, None, :]
    return prompts(reached, step, start, jnp.asarray(starts[:, None, :] + own, dtype=float))
