"""The model of Definition 3.5 and its next-clause loss, in coordinates: inner products of weights with tokens.

For one predicted token the feed-forward weights matter only through five tables, one per clause slot, of inner products
with the tokens that can stand there; attention matters only through Q_43 and Q_44 on pairs of variables. With attention
A over L predicates and ℓ answers, the pre-activation of neuron r of class j is (Eq. 23)

    Λ_{j,r} = Σ_{pred k} A_k [x-slot(x_k) + g-slot(g_k) + source-slot(x_{k-1})]
            + Σ_{ans k}  A_k [holder-slot(x_k) + y-slot(y_k)] + b,

the logit is F_j = Σ_r s(Λ_{j,r}), clipped, and the loss is the cross-entropy over all classes. Every function takes
`ops` and runs on JAX arrays and on arrays of symbols alike; axes are classes, neurons, sentences.
"""

from typing import Any, NamedTuple

import numpy as np


class Features(NamedTuple):
    """Feed-forward weights of one predicted token, slot by slot: (classes, m, tokens of that slot)."""

    variable: Any  # slot 1, the defined variable of a predicate
    action: Any  # slot 2
    source: Any  # slot 3, the variable a predicate reads
    holder: Any  # slot 4, the variable of an answer
    value: Any  # slot 5


def attention(ops, Q_43, Q_44, variables, ell):
    """Attention of the query `ans, ℓ-1` over predicates 1 … L and answers 0 … ℓ-1: (N, L + ℓ)."""
    L = variables.shape[1] - 1
    query = variables[:, ell - 1][:, None]
    scores = ops.concatenate([Q_43[query, variables[:, :L]], Q_44[query, variables[:, :ell]]], axis=1)
    return ops.softmax(scores, axis=1)


def preactivations(features, sentences, attention, ell, bias):
    """Λ of Eq. (23): (classes, m, N)."""
    L = sentences.actions.shape[1]
    read = (
        (features.variable, sentences.variables[:, 1:], attention[:, :L]),
        (features.action, sentences.actions, attention[:, :L]),
        (features.source, sentences.variables[:, :L], attention[:, :L]),
        (features.holder, sentences.variables[:, :ell], attention[:, L:]),
        (features.value, sentences.values[:, :ell], attention[:, L:]),
    )
    return sum((table[:, :, tokens] * weight[None, None]).sum(axis=-1) for table, tokens, weight in read) + bias


def logits(ops, preactivations, feedforward):
    """F_j = Σ_r s(Λ_{j,r}), clipped: (classes, N)."""
    return feedforward.clip_logits(ops, feedforward.activate(ops, preactivations).sum(axis=1))


def cross_entropy(ops, logits, target, outside=None):
    """-log p(target) for each column of logits (classes, N), accurate down to the smallest float.

    `outside` = (number, logit) stands for that many further classes which share one logit and are never the target.
    Written as softplus(log Σ_{j ≠ target} e^(F_j - F_target)), because 1 - p is lost in log p when p is near 1.
    """
    n_classes, size = logits.shape
    columns = np.arange(size)
    others = np.array([[j for j in range(n_classes) if j != k] for k in range(n_classes)]).T
    margin = logits[others[:, target], columns[None, :]] - logits[target, columns][None, :]
    if outside is None:
        return ops.softplus(ops.log_sum_exp(margin, axis=0))
    number, logit = outside
    margin = ops.concatenate([margin, (logit - logits[target, columns])[None, :]], axis=0)
    counts = ops.array([1.0] * (n_classes - 1) + [number])
    return ops.softplus(ops.log_sum_exp(margin, counts=counts[:, None], axis=0))


def step_logits(ops, features, Q_43, Q_44, sentences, ell, feedforward):
    """Logits for one token of ans_ℓ given the true prefix: (classes, N)."""
    weights = attention(ops, Q_43, Q_44, sentences.variables, ell)
    return logits(ops, preactivations(features, sentences, weights, ell, feedforward.bias), feedforward)


def step_loss(ops, features, Q_43, Q_44, sentences, ell, target, feedforward):
    """Loss_i^{L,ℓ} (Definition 3.7): the mean over sentences of the cross-entropy of token i of ans_ℓ."""
    F = step_logits(ops, features, Q_43, Q_44, sentences, ell, feedforward)
    losses = cross_entropy(ops, F, target)
    return losses.sum() / losses.shape[0]


def one_step_logits(ops, features, sentences, feedforward):
    """Logits at Q = 0, where the only predicate and the only answer get attention ½ each: (classes, N)."""
    half = np.full((len(sentences.actions), 2), 0.5)
    return logits(ops, preactivations(features, sentences, half, 1, feedforward.bias), feedforward)


def one_step_loss(ops, features, sentences, target, feedforward, outside=None):
    """Loss_i¹ at Q = 0 (stage 1)."""
    losses = cross_entropy(ops, one_step_logits(ops, features, sentences, feedforward), target, outside)
    return losses.sum() / losses.shape[0]
