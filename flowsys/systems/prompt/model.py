"""The loss of attention over columns of worked examples, once, for every set of coordinates it is read in.

A query at step k with input pattern z_{k-1} attends to the columns (input; label) + c_k' of the prompt. Its score
for a column is linear in W, hence a sum of entries of W in the frame {inputs a_i, outputs b_i, steps c_k}; with W_V
= (0 I 0) the output F puts on every pattern the attention its columns as a label get, and the loss is ½ Σ_v (F_v -
1[v = z_k])² (Eqs. 2, 3).

Three readings of the same loss: `score_loss` in all frame entries (exact for any prompts: training by autodiff and
the score flow), `symmetric_loss` in the three kinds of entries that survive the average over relabelled tasks
(exact for the population), and, through `flowsys.systems.prompt.transformer`, in the weights. `ops` is
`flowsys.model.ops` or its symbolic twin.
"""

from typing import NamedTuple

import numpy as np

MASSES = ("same_same", "same_other", "other_same", "other_other")  # kinds of columns: (pattern, step) of the query


class Prompts(NamedTuple):
    """Prompts of noiseless, correct examples, as numbers of occurrences of every column."""

    chains: np.ndarray  # (n, K + 1, M): pattern reached from starting pattern x after 0..K steps
    origins: np.ndarray  # (n, K, M): the starting pattern from which pattern v is reached after 1..K steps
    counts: np.ndarray  # (n, K, M): how often the column (chains[k - 1, x]; chains[k, x]) + c_k stands in the prompt
    query: np.ndarray  # (n,): pattern z_{k-1}
    step: np.ndarray  # (n,): k - 1
    target: np.ndarray  # (n,): pattern z_k


class Columns(NamedTuple):
    """Kinds of columns that one query step tells apart in the population, and kinds of labels they lead to."""

    step: np.ndarray  # (c,): k' - 1
    same_input: np.ndarray  # (c,): 1 if the column's input is the query's pattern
    same_label: np.ndarray  # (c,): 1 if the column's label is the query's pattern
    same_step: np.ndarray  # (c,): 1 if k' = k
    counts: object  # (c,): total weight of the kind in the prompt
    shares: object  # (v, c): part of the kind's attention that goes to each single label of kind v
    target: np.ndarray  # (v,): 1 for the label z_k
    multiplicity: object  # (v,): how many labels are of kind v


def output(ops, column_scores, counts, shares):
    """F_v = Σ_c attention_c shares_vc: attention by label (Eq. 2 with W_V = (0 I 0))."""
    return (shares * ops.softmax(column_scores, counts)[..., None, :]).sum(axis=-1)


def squared_loss(F, target, multiplicity=1):
    """½ ‖F - z_k‖² in pattern coordinates, labels of kind v counted `multiplicity` times (Eq. 3)."""
    residual = F - target
    return (multiplicity * residual * residual).sum(axis=-1) / 2


def column_scores(scores, prompts: Prompts):
    """Score (n, K · M) of every column for its prompt's query, from the frame entries `scores` (2M + K, M + K)."""
    n, K, M = prompts.counts.shape
    query_scores = (scores[:, prompts.query] + scores[:, M + prompts.step]).T
    row = np.arange(n).reshape(n, 1, 1)
    on_inputs = query_scores[row, prompts.chains[:, :-1]]
    on_labels = query_scores[row, M + prompts.chains[:, 1:]]
    return (on_inputs + on_labels + query_scores[:, 2 * M :].reshape(n, K, 1)).reshape(n, K * M)


def score_losses(ops, scores, prompts: Prompts):
    """Loss (n,) of every prompt for the model with frame entries `scores`."""
    n, K, M = prompts.counts.shape
    attention = ops.softmax(column_scores(scores, prompts), prompts.counts.reshape(n, K * M)).reshape(n, K, M)
    row, step = np.arange(n).reshape(n, 1, 1), np.arange(K).reshape(1, K, 1)
    F = attention[row, step, prompts.origins].sum(axis=1)
    return squared_loss(F, 1 * (prompts.target.reshape(n, 1) == np.arange(M).reshape(1, M)))


def score_loss(ops, scores, prompts: Prompts):
    """Mean loss over `prompts` of the model with frame entries `scores`."""
    return score_losses(ops, scores, prompts).sum(axis=0) / len(prompts.query)


def score_masses(ops, scores, prompts: Prompts):
    """Attention (n, 4) on columns of (same, same), (same, other), (other, same), (other, other) (pattern, step)."""
    n, K, M = prompts.counts.shape
    attention = ops.softmax(column_scores(scores, prompts), prompts.counts.reshape(n, K * M))
    same_input = 1 * (prompts.chains[:, :-1] == prompts.query.reshape(n, 1, 1)).reshape(n, K * M)
    same_step = 1 * (np.arange(K).reshape(1, K, 1) == prompts.step.reshape(n, 1, 1))
    return four_masses(ops, attention, same_input, (same_step * np.ones((1, 1, M), dtype=int)).reshape(n, K * M))


def kind_scores(ops, a, b, H, columns: Columns, step: int):
    """Scores a 1[u = z] + b 1[label = z] + H_k'k of the kinds of columns, for a query at step k = `step` + 1."""
    return a * ops.array(columns.same_input) + b * ops.array(columns.same_label) + H[columns.step, step]


def symmetric_losses(ops, a, b, H, kinds):
    """L_k, k = 1..K, as a list: `kinds[k - 1]` are the columns of a query at step k."""
    losses = []
    for step, columns in enumerate(kinds):
        F = output(ops, kind_scores(ops, a, b, H, columns, step), columns.counts, columns.shares)
        F = ops.name(f"output_{step + 1}", F)
        losses.append(ops.name(f"L_{step + 1}", squared_loss(F, ops.array(columns.target), columns.multiplicity)))
    return losses


def symmetric_loss(ops, a, b, H, kinds):
    """L = (1/K) Σ_k L_k: the exact population loss on the symmetric subspace."""
    return sum(symmetric_losses(ops, a, b, H, kinds)) / len(kinds)


def symmetric_masses(ops, a, b, H, kinds):
    """Attention (K, 4) of the query at every step on the four kinds of (pattern, step), as in `score_masses`."""
    return ops.stack(
        [
            four_masses(
                ops,
                ops.softmax(kind_scores(ops, a, b, H, columns, step), columns.counts),
                columns.same_input,
                columns.same_step,
            )
            for step, columns in enumerate(kinds)
        ]
    )


def four_masses(ops, attention, same_input, same_step):
    """Sums of `attention` over the four combinations of the two 0/1 indicators, as a last axis."""
    products = (
        same_input * same_step,
        same_input * (1 - same_step),
        (1 - same_input) * same_step,
        (1 - same_input) * (1 - same_step),
    )
    return ops.stack([(attention * ops.array(product)).sum(axis=-1) for product in products]).T
