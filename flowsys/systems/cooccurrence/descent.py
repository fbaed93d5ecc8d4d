"""Gradient descent in Gram coordinates: finite-width training at a cost that does not depend on the width.

One step with rate η on the weights is, exactly, Γ ← (I + ηN) Γ (I + ηN) on the Gram matrices of [W_V, u/|a|] and of
[W_K, W_Q], hence a map of the small closure to itself. `descend` runs it and records the quantities of Figure 1.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.model import ops
from flowsys.systems.cooccurrence.closure import Small
from flowsys.systems.cooccurrence.model import data_outputs
from flowsys.systems.cooccurrence.weights import Problem


class Record(NamedTuple):
    """What is kept of an epoch; the score of key p for query q is `S[..., p, q]`, types and words as everywhere."""

    epoch: np.ndarray
    loss: np.ndarray
    loss_by_type: np.ndarray
    least_margin: np.ndarray
    G: np.ndarray
    S: np.ndarray
    c: np.ndarray


def gram_step(y: Small, r, M, learning_rate, output_norm) -> Small:
    """The image of one gradient-descent step on the weights, with r = −∂L/∂G and M = −∂L/∂S."""
    η, A2 = learning_rate, output_norm
    r_G, VVr = r @ y.G, y.VV @ r
    G = y.G + η * (y.c * r + A2 * VVr) + η**2 * A2 * r_G * r
    c = y.c + 2 * η * A2 * r_G + η**2 * A2**2 * (r @ VVr)
    rG = jnp.outer(r, y.G)
    VV = y.VV + η * (rG + rG.T) + η**2 * y.c * jnp.outer(r, r)
    # W_K' = W_K + η W_Q Mᵀ and W_Q' = W_Q + η W_K M; first W_K'ᵀ and W_Q'ᵀ times the old W_K, W_Q
    ηM = η * M
    new_K_K, new_K_Q = y.KK + ηM @ y.S.T, y.S + ηM @ y.QQ
    new_Q_Q, new_Q_K = y.QQ + ηM.T @ y.S, y.S.T + ηM.T @ y.KK
    S = new_K_Q + new_K_K @ ηM
    KK = new_K_K + new_K_Q @ ηM.T
    QQ = new_Q_Q + new_Q_K @ ηM
    return Small(G, c, VV, S, KK, QQ)


@jax.jit
def _epoch(y: Small, problem: Problem, type_weights, learning_rate):
    words, labels, sample_weights, score_scale, output_norm = problem

    def loss_and_margins(G, S):
        margins = labels * data_outputs(G, S, words, score_scale, ops)
        losses = ops.softplus(-margins)
        return (sample_weights * losses).sum(), (losses, margins)

    gradient = jax.value_and_grad(loss_and_margins, argnums=(0, 1), has_aux=True)
    (loss, (losses, margins)), (dG, dS) = gradient(y.G, y.S)
    record = (loss, type_weights @ losses, margins.min(), y.G[:3], y.S[:3, :3], y.c)
    return gram_step(y, -dG, -dS, learning_rate, output_norm), record


@partial(jax.jit, static_argnames="n_records")
def _epochs(y, problem, type_weights, learning_rate, n_records, every):
    step = partial(_epoch, problem=problem, type_weights=type_weights, learning_rate=learning_rate)

    def between_records(y, _):
        y, record = step(y)
        return jax.lax.fori_loop(1, every, lambda _, y: step(y)[0], y), record

    return jax.lax.scan(between_records, y, length=n_records)


def descend(
    start: Small, problem: Problem, types, learning_rate: float, epochs: int, every: int = 1, chunk: int = 2000
) -> tuple[Small, Record]:
    """`epochs` steps of gradient descent; epochs 0, every, 2·every, … and the last state are recorded.

    `types` are those of the samples. Runs in compiled pieces of `chunk` records.
    """
    if not learning_rate > 0:
        raise ValueError(f"learning_rate = {learning_rate}, but it must be positive.")
    if epochs < 1 or every < 1 or epochs % every:
        raise ValueError(f"epochs = {epochs}, every = {every}, but epochs must be a positive multiple of every.")
    with jax.enable_x64(True):
        members = np.asarray(types)[None, :] == np.arange(4)[:, None]
        type_weights = jnp.asarray(members / np.maximum(members.sum(axis=1, keepdims=True), 1))
        η = jnp.asarray(learning_rate, dtype=float)
        y, pieces, left = start, [], epochs // every
        while left:
            n_records = min(chunk, left)
            y, piece = _epochs(y, problem, type_weights, η, n_records=n_records, every=every)
            pieces.append(jax.tree.map(np.asarray, piece))
            left -= n_records
        _, last = _epoch(y, problem, type_weights, η)
        pieces.append(jax.tree.map(lambda x: np.asarray(x)[None], last))
        series = [np.concatenate(parts) for parts in zip(*pieces)]
        return y, Record(np.arange(0, epochs + 1, every), *series)
