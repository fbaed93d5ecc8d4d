"""Algorithm 1: stochastic gradient descent on the merged weights W, on fresh prompts of fresh tasks at every iteration.

A batch asks every step and every pattern equally often; W moves by -η times the mean gradient (Eq. 12). t = η × iterations.
Frames being orthonormal, the same descent run on the frame entries S alone gives the same S at a cost that does not
depend on d_X: `train_scores` is that, `train_weights` is the paper's.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp

from flowsys import ops

from .checks import check_at_least, check_count
from .model import score_loss
from .prompts import batch
from .tasks import random_cycle_tasks
from .transformer import loss


def train_weights(
    key, W, patterns, *, alpha, n_examples, batch_size, learning_rate, n_iterations, n_records=1, tasks=random_cycle_tasks
):
    """W after the iterations of Algorithm 1, `n_records` of them evenly spaced: (n_records, D, D).

    `tasks(key, n, M, K)` draws a batch of tasks (n, K, M); it is compiled in, so pass the same function again to reuse the compilation.
    """
    with jax.enable_x64(True):
        M, d_X = patterns.shape
        K = W.shape[0] - 2 * d_X
        descend = partial(_descend, _weight_loss, tasks, M, K)
        return descend(key, W, patterns, alpha, n_examples, batch_size, learning_rate, n_iterations, n_records)


def train_scores(
    key, scores, K, *, alpha, n_examples, batch_size, learning_rate, n_iterations, n_records=1, tasks=random_cycle_tasks
):
    """The frame entries S after the same iterations: (n_records, 2M + K, M + K)."""
    with jax.enable_x64(True):
        M = scores.shape[1] - K
        descend = partial(_descend, _score_loss, tasks, M, K)
        return descend(key, scores, None, alpha, n_examples, batch_size, learning_rate, n_iterations, n_records)


def _weight_loss(W, patterns, prompts):
    return loss(W, patterns, prompts)


def _score_loss(scores, patterns, prompts):
    del patterns
    return score_loss(ops, scores, prompts)


def _descend(loss, tasks, M, K, key, start, patterns, alpha, n_examples, batch_size, learning_rate, n_iterations, n_records):
    check_count("batch_size", batch_size, 1)
    check_count("n_iterations", n_iterations, 1)
    check_count("n_records", n_records, 1, n_iterations)
    if n_iterations % n_records:
        raise ValueError(f"n_records = {n_records}, but n_records must divide n_iterations = {n_iterations}.")
    rate = jnp.asarray(check_at_least("learning_rate", learning_rate, 0.0))
    alpha, n_examples = float(alpha), int(n_examples)
    iterate = _iterations(loss, tasks, M, K, alpha, n_examples, int(batch_size), n_iterations // n_records, n_records)
    return iterate(key, jnp.asarray(start, dtype=float), patterns, rate)


_compiled: dict[tuple, Callable] = {}


def _iterations(*configuration):
    if configuration not in _compiled:
        _compiled[configuration] = jax.jit(_scan(*configuration))
    return _compiled[configuration]
