"""The finite model: random weights as in Assumption 3.3, and their inner products with tokens.

Token embeddings are one-hot (the blank is 0), so W_{i,j,r,p} and Q_{p,q} are read in token coordinates as they are.
Only the attention blocks (4, 3) and (4, 4) are trained (Assumption 3.5) and only tokens 4 and 5 of an answer are not
always blank; the five heads share nothing but Q, so W_4 and W_5 are all that matters.
"""

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.model import ops
from flowsys.systems.lego import model
from flowsys.systems.lego.data import Sentences, Vocabulary
from flowsys.systems.lego.feedforward import FeedForward

HEADS = ("W_4", "W_5")


def initial_scale(d) -> float:
    """σ_0 = d^(-1/2)."""
    return float(d) ** -0.5


def weights(key, vocabulary: Vocabulary, m: int, sigma_0: float | None = None) -> dict:
    """Q = 0 and W ~ N(0, σ_0²) (Assumption 3.3), in float64."""
    if not isinstance(m, (int, np.integer)) or m < 1:
        raise ValueError(f"m = {m}, but a positive integer is needed.")
    d = vocabulary.d
    sigma_0 = initial_scale(d) if sigma_0 is None else sigma_0
    with jax.enable_x64(True):
        keys = jax.random.split(key, len(HEADS))
        drawn = {name: sigma_0 * jax.random.normal(k, (d, m, 5, d - 1), jnp.float64) for name, k in zip(HEADS, keys)}
        return {"Q_43": jnp.zeros((d - 1, d - 1)), "Q_44": jnp.zeros((d - 1, d - 1)), **drawn}


def features(W, vocabulary: Vocabulary) -> model.Features:
    """The five tables of inner products of one head's neurons with the tokens that can stand in each slot."""
    return model.Features(
        variable=W[:, :, 0, vocabulary.variables],
        action=W[:, :, 1, vocabulary.actions],
        source=W[:, :, 2, vocabulary.variables],
        holder=W[:, :, 3, vocabulary.variables],
        value=W[:, :, 4, vocabulary.values],
    )


def targets(vocabulary: Vocabulary, sentences: Sentences, ell: int) -> dict:
    """Token numbers of the 4th and 5th token of ans_ℓ: the variable x_ℓ and the value y_ℓ."""
    return {"W_4": sentences.variables[:, ell], "W_5": sentences.values[:, ell] + vocabulary.values.start}


def step_loss(weights, vocabulary: Vocabulary, sentences: Sentences, ell: int, head: str, feedforward: FeedForward):
    """Loss_4^{L,ℓ} or Loss_5^{L,ℓ} of the weights."""
    if head not in HEADS:
        raise ValueError(f"head = {head!r}, but one of {', '.join(HEADS)} is needed.")
    x = vocabulary.variables
    target = targets(vocabulary, sentences, ell)[head]
    table = features(weights[head], vocabulary)
    return model.step_loss(
        ops, table, weights["Q_43"][x, x], weights["Q_44"][x, x], sentences, ell, target, feedforward
    )


def log_probabilities(weights, vocabulary: Vocabulary, sentences: Sentences, ell: int, head: str, feedforward):
    """log p over all d classes for one token of ans_ℓ, given the prefix as written in `sentences`: (d, N)."""
    x = vocabulary.variables
    table = features(weights[head], vocabulary)
    F = model.step_logits(ops, table, weights["Q_43"][x, x], weights["Q_44"][x, x], sentences, ell, feedforward)
    return F - ops.log_sum_exp(F, axis=0)[None, :]


def greedy_values(weights, vocabulary: Vocabulary, sentences: Sentences, L_prime: int, feedforward) -> Sentences:
    """The same sentences with y_1 … y_{L'} replaced by the greedy model's own answers (Definition 5.1).

    The likeliest token is taken among the values: a label outside them could not be written as an answer.
    """
    with jax.enable_x64(True):
        for ell in range(1, L_prime + 1):
            scores = log_probabilities(weights, vocabulary, sentences, ell, "W_5", feedforward)[vocabulary.values]
            values = np.array(sentences.values)
            values[:, ell] = np.argmax(np.asarray(scores), axis=0)
            sentences = sentences._replace(values=values)
    return sentences


def isotropic_head(vocabulary: Vocabulary, a, b_prime, c, e):
    """W_5 with one neuron r_{j,y} per fibre and the four feature values of an isotropic feed-forward layer; m = n_y."""
    group, d, n_y = vocabulary.group, vocabulary.d, vocabulary.group.n_y
    in_fibre = np.zeros((d, n_y, 5, d - 1))
    off_fibre, own, other = in_fibre.copy(), in_fibre.copy(), in_fibre.copy()
    # matrices[g, j, y] = 1{g in Fib_{j,y}}
    in_fibre[vocabulary.values, :, 1, vocabulary.actions] = np.moveaxis(group.matrices, 0, -1)
    off_fibre[vocabulary.values, :, 1, vocabulary.actions] = np.moveaxis(1 - group.matrices, 0, -1)
    own[vocabulary.values, :, 4, vocabulary.values] = np.broadcast_to(np.eye(n_y), (n_y, n_y, n_y))
    other[vocabulary.values, :, 4, vocabulary.values] = np.broadcast_to(1 - np.eye(n_y), (n_y, n_y, n_y))
    return a * in_fibre + b_prime * off_fibre + c * own + e * other
