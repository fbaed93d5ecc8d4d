"""The simplified transformer block and its loss, on the coordinates the loss can see (Definitions 4–6).

With p = ⟨W_{1:d}, e_query⟩, q = ⟨W_{d+1:2d}, e_key⟩ and a = e_keyᵀ A e_query the output at a query is

    T = Σ_r h_r ReLU(p_r + Σ_j s_j q_{r,j}),        s = softmax(a) over the causal context,

and while no gate flips it is linear given the query token, T = P + Σ_j s_j K_j. The loss is the sum over query
positions of max(1 - margin, 0) (hinge) or -margin (linear; the same before any margin reaches 1), with
margin = -(-1)^label T. `ops` is `flowsys.model.ops` or its symbolic twin.
"""

from typing import Any, NamedTuple

from flowsys.model import ops as jax_ops
from flowsys.systems.parity.data import Table

LOSSES = ("linear", "hinge")


class Weights(NamedTuple):
    """Trainable weights: W (2m × 2d) and A (d × d)."""

    W: Any
    A: Any


class Coordinates(NamedTuple):
    """Inner products with tokens: p (2m × queries), q (2m × keys), a (keys × queries)."""

    p: Any
    q: Any
    a: Any


class FrozenCoordinates(NamedTuple):
    """Outputs of the neurons active on each query token: P (queries), K (queries × keys), and scores a."""

    P: Any
    K: Any
    a: Any


def coordinates(weights: Weights, embeddings, n_query_tokens: int) -> Coordinates:
    """What the loss sees of the weights; the last `n_query_tokens` tokens are those that ask."""
    d = embeddings.shape[1]
    queries = embeddings[-n_query_tokens:]
    return Coordinates(
        p=weights.W[:, :d] @ queries.T,
        q=weights.W[:, d:] @ embeddings.T,
        a=embeddings @ weights.A @ queries.T,
    )


def attention(a, table: Table, ops=jax_ops):
    """Attention of every row on every token (class totals where a token occurs more than once): rows × keys."""
    return ops.softmax(a.T[table.query], table.counts)


def preactivations(y: Coordinates, table: Table, ops=jax_ops):
    """Input of every neuron at every row: rows × 2m."""
    return y.p.T[table.query] + attention(y.a, table, ops) @ y.q.T


def output(y: Coordinates | FrozenCoordinates, h, table: Table, ops=jax_ops):
    """T at every row; frozen coordinates carry h in themselves."""
    if isinstance(y, FrozenCoordinates):
        return y.P[table.query] + (attention(y.a, table, ops) * y.K[table.query]).sum(axis=1)
    return ops.relu(preactivations(y, table, ops)) @ h


def loss_of_margin(margin, kind: str, ops=jax_ops):
    """The loss of one prediction as a function of its margin."""
    if kind not in LOSSES:
        raise ValueError(f"loss = {kind}, but it must be one of {', '.join(LOSSES)}.")
    return ops.hinge(margin) if kind == "hinge" else -margin


def margins(y: Coordinates | FrozenCoordinates, h, table: Table, ops=jax_ops):
    """-(-1)^label T at every row: positive where the prediction is right."""
    return -table.sign * output(y, h, table, ops)


def loss(y: Coordinates | FrozenCoordinates, h, table: Table, kind: str, ops=jax_ops):
    """The mean over sequences of the loss summed over query positions."""
    return (table.weight * loss_of_margin(margins(y, h, table, ops), kind, ops)).sum()
