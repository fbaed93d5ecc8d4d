"""One layer of attention without positions, over clauses of several tokens each: a network for experiments.

A clause is the concatenation of its tokens' learned embeddings. A position sees all clauses up to its own and gives
logits for every token of the next one. There are no norms; the block of two layers has a residual, and attention one of
its own if `adds_query`: without it the block sees only what attention reads, not the clause that asks. Single
precision.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.experiments.transformer import attend


def clause_weights(key, n_tokens: int, n_slots: int, embedding: int, hidden: int, n_heads: int) -> dict:
    """Gaussian embeddings of variance 1, weights of variance 1 / inputs, biases 0.

    With small embeddings what needs a product of two tokens is not learnt.
    """
    width = n_slots * embedding
    shapes = {
        "embedding": (n_tokens, embedding),
        "query": (width, n_heads, width // n_heads),
        "key": (width, n_heads, width // n_heads),
        "value": (width, n_heads, width // n_heads),
        "output": (n_heads, width // n_heads, width),
        "up": (width, hidden),
        "down": (hidden, width),
        "unembedding": (width, n_slots, n_tokens),
    }
    inputs = {"embedding": 1, "down": hidden}
    drawn = {
        name: jax.random.normal(k, shape, jnp.float32) / np.float32(np.sqrt(inputs.get(name, width)))
        for (name, shape), k in zip(shapes.items(), jax.random.split(key, len(shapes)))
    }
    biases = {
        "up_bias": jnp.zeros(hidden, jnp.float32),
        "unembedding_bias": jnp.zeros((n_slots, n_tokens), jnp.float32),
    }
    return drawn | biases


def _embed(weights, clauses):
    return weights["embedding"][clauses].reshape(*clauses.shape[:-1], -1)


def _project(weights, name, embedded):
    return jnp.einsum("ntw,whk->nthk", embedded, weights[name])


def _next_clause(weights, asking, read, adds_query):
    x = jnp.einsum("nqhk,hkw->nqw", read, weights["output"])
    x = x + asking if adds_query else x
    hidden = jax.nn.relu(x @ weights["up"] + weights["up_bias"][None, None])
    x = x + hidden @ weights["down"]
    return jnp.einsum("nqw,wpd->nqpd", x, weights["unembedding"]) + weights["unembedding_bias"][None, None]


@partial(jax.jit, static_argnames=("first", "adds_query"))
def forward(weights: dict, clauses, first: int = 0, adds_query: bool = False):
    """Logits of what follows the clauses from place `first` on, and the attention of these (batch × heads × · × all).

    Clauses are (batch × places × slots), logits (batch × places from `first` × slots × tokens).
    """
    embedded = _embed(weights, clauses)
    asking = embedded[:, first:]
    keys, values = (_project(weights, name, embedded) for name in ("key", "value"))
    read, attention = attend(_project(weights, "query", asking), keys, values)
    return _next_clause(weights, asking, read, adds_query), attention


def next_clause_loss(weights: dict, clauses, first: int = 0, adds_query: bool = False):
    """Mean over batch and places after `first` of the cross-entropy of all tokens; the last clause is a label only."""
    logits, _ = forward(weights, clauses[:, :-1], first, adds_query)
    is_true = jax.nn.one_hot(clauses[:, first + 1 :], logits.shape[-1], dtype=logits.dtype)
    return (jax.nn.logsumexp(logits, axis=-1) - (is_true * logits).sum(axis=-1)).sum(axis=2).mean()


@partial(jax.jit, static_argnames=("n", "adds_query"))
def continued(weights: dict, clauses, n: int, adds_query: bool = False):
    """The n clauses that the network goes on with by itself, always the likeliest tokens: (batch × n × slots)."""
    last = clauses.shape[1] - 1
    before, room = _embed(weights, clauses[:, :last]), ((0, 0), (0, n), (0, 0), (0, 0))
    keys, values = (jnp.pad(_project(weights, name, before), room) for name in ("key", "value"))

    def write(carry, place):
        keys, values, clause = carry
        embedded = _embed(weights, clause[:, None])
        at_place = partial(jax.lax.dynamic_update_slice_in_dim, start_index=place, axis=1)
        keys, values = (at_place(kept, _project(weights, name, embedded))
                        for kept, name in ((keys, "key"), (values, "value")))  # fmt: skip
        is_visible = (jnp.arange(last + n) <= place)[None, :]
        read, _ = attend(_project(weights, "query", embedded), keys, values, is_visible)
        written = _next_clause(weights, embedded, read, adds_query)[:, 0].argmax(axis=-1).astype(clauses.dtype)
        return (keys, values, written), written

    _, written = jax.lax.scan(write, (keys, values, clauses[:, last]), jnp.arange(last, last + n))
    return written.swapaxes(0, 1)
