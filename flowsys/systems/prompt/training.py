"""Algorithm 1: stochastic gradient descent on the merged weights W, on fresh prompts of fresh tasks at every iteration.

A batch asks every step and every pattern equally often; W moves by -η times the mean gradient (Eq. 12). t = η ×
iterations. The frames being orthonormal, the same descent on the frame entries S alone gives the same S at a cost
that does not depend on d_X: `train_scores` is that, `train_weights` is the paper's.
"""

from functools import partial

import jax
import jax.numpy as jnp

from flowsys import ops
from flowsys.errors import InputError

from .checks import check_at_least, check_count
from .model import score_loss
from .prompts import batch
from .tasks import random_cycle_tasks
from .transformer import loss


def train_weights(
    key,
    W,
    patterns,
    *,
    alpha,
    n_examples,
    batch_size,
    learning_rate,
    n_iterations,
    n_records=1,
    tasks=random_cycle_tasks,
):
    """W after evenly spaced iterations of Algorithm 1, the last included: (n_records, D, D).

    `tasks(key, n, M, K)` draws n tasks; training is compiled for it, so passing the same function again reuses that.
    """
    with jax.enable_x64(True):
        M, d_X = patterns.shape
        K = W.shape[0] - 2 * d_X
        sizes = _sizes(M, K, alpha, n_examples, batch_size, n_iterations, n_records)
        return _descent(loss, tasks, sizes, key, jnp.asarray(W), patterns, _rate(learning_rate))


def train_scores(
    key, scores, K, *, alpha, n_examples, batch_size, learning_rate, n_iterations, n_records=1, tasks=random_cycle_tasks
):
    """The frame entries S after the same iterations: (n_records, 2M + K, M + K)."""
    with jax.enable_x64(True):
        sizes = _sizes(scores.shape[1] - K, K, alpha, n_examples, batch_size, n_iterations, n_records)
        return _descent(_loss_of_scores, tasks, sizes, key, jnp.asarray(scores), None, _rate(learning_rate))


def _loss_of_scores(scores, patterns, prompts):
    del patterns
    return score_loss(ops, scores, prompts)


def _sizes(M, K, alpha, n_examples, batch_size, n_iterations, n_records):
    check_count("batch_size", batch_size, 1)
    check_count("n_records", n_records, 1, check_count("n_iterations", n_iterations, 1))
    if n_iterations % n_records:
        raise InputError(f"n_records = {n_records}, but n_records must divide n_iterations = {n_iterations}.")
    return M, K, float(alpha), int(n_examples), int(batch_size), n_iterations // n_records, int(n_records)


def _rate(learning_rate):
    return jnp.asarray(check_at_least("learning_rate", learning_rate, 0.0))


@partial(jax.jit, static_argnums=(0, 1, 2))
def _descent(loss, tasks, sizes, key, start, patterns, rate):
    M, K, alpha, n_examples, batch_size, n_between, n_records = sizes

    def iteration(parameters, key):
        task_key, example_key = jax.random.split(key)
        prompts = batch(example_key, tasks(task_key, batch_size, M, K), alpha, n_examples)
        return parameters - rate * jax.grad(loss)(parameters, patterns, prompts), None

    def record(parameters, key):
        parameters, _ = jax.lax.scan(iteration, parameters, jax.random.split(key, n_between))
        return parameters, parameters

    return jax.lax.scan(record, start, jax.random.split(key, n_records))[1]
