"""The transformer of the experiments (Section 7): one layer, two heads, a feed-forward block, no positional encoding.

A clause is the concatenation of five learned token embeddings. Answer clauses query all clauses up to themselves; the
block's output gives five softmaxes over the vocabulary, one per token of the next clause. The paper states no width,
embedding, residuals or norms: here no norms, a residual around the block, and one around attention if `adds_query`.
Without it the block sees only what attention reads, as in Definition 3.5, and has to find the last value there; with it
the query's own clause brings it. Single precision.
"""

from collections.abc import Callable
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.experiments.transformer import attend
from flowsys.systems.lego.data import Vocabulary
from flowsys.systems.lego.section_7 import Architecture


def parameters(key, vocabulary: Vocabulary, architecture: Architecture) -> dict:
    """Gaussian embeddings of variance 1, weights of variance 1 / inputs, biases 0.

    Smaller embeddings leave S5 at chance: a value needs the product of two of them, its action's and the last value's.
    """
    d, width, hidden, heads = vocabulary.d, architecture.width, architecture.hidden, architecture.n_heads
    shapes = {
        "embedding": (d, architecture.embedding),
        "query": (width, heads, width // heads),
        "key": (width, heads, width // heads),
        "value": (width, heads, width // heads),
        "output": (heads, width // heads, width),
        "up": (width, hidden),
        "down": (hidden, width),
        "unembedding": (width, 5, d),
    }
    inputs = {"embedding": 1, "down": hidden}
    drawn = {
        name: jax.random.normal(k, shape, jnp.float32) / np.float32(np.sqrt(inputs.get(name, width)))
        for (name, shape), k in zip(shapes.items(), jax.random.split(key, len(shapes)))
    }
    return {**drawn, "up_bias": jnp.zeros(hidden, jnp.float32), "unembedding_bias": jnp.zeros((5, d), jnp.float32)}


def _embed(parameters, tokens):
    return parameters["embedding"][tokens].reshape(*tokens.shape[:-1], -1)


def _project(parameters, name, clauses):
    return jnp.einsum("ntw,whk->nthk", clauses, parameters[name])


def _next_clause_logits(parameters, clauses, read, adds_query):
    x = jnp.einsum("nqhk,hkw->nqw", read, parameters["output"])
    x = x + clauses if adds_query else x
    hidden = jax.nn.relu(x @ parameters["up"] + parameters["up_bias"][None, None])
    x = x + hidden @ parameters["down"]
    return jnp.einsum("nqw,wpd->nqpd", x, parameters["unembedding"]) + parameters["unembedding_bias"][None, None]


def forward(parameters, tokens, adds_query):
    """Logits of clauses after each answer 0 … L-1, (N, L, 5, d), and the attention that made them, (N, heads, L, 2L).

    `tokens` holds the L predicates and answers 0 … L; the last answer is not looked at.
    """
    L = tokens.shape[1] // 2
    clauses = _embed(parameters, tokens[:, : 2 * L])
    queries = clauses[:, L:]
    keys, values = (_project(parameters, name, clauses) for name in ("key", "value"))
    read, attention = attend(_project(parameters, "query", queries), keys, values)
    return _next_clause_logits(parameters, queries, read, adds_query), attention


@lru_cache(maxsize=2)
def loss_of(adds_query: bool) -> Callable:
    return partial(next_clause_loss, adds_query=adds_query)


def next_clause_loss(parameters, tokens, adds_query):
    """Mean over sentences and steps of the loss of all five tokens (Eq. 6a up to the factor L, which Adam ignores)."""
    logits, _ = forward(parameters, tokens, adds_query)
    is_true = jax.nn.one_hot(tokens[:, tokens.shape[1] // 2 + 1 :], logits.shape[-1], dtype=logits.dtype)
    return (jax.nn.logsumexp(logits, axis=-1) - (is_true * logits).sum(axis=-1)).sum(axis=2).mean()


@partial(jax.jit, static_argnames="adds_query")
def greedy_rollout(parameters, tokens, adds_query):
    """Answers 1 … L as the model writes them itself after the predicates and ans_0, all tokens greedy: (N, L, 5)."""
    L = tokens.shape[1] // 2
    predicates = _embed(parameters, tokens[:, :L])
    room = ((0, 0), (0, L), (0, 0), (0, 0))
    keys, values = (jnp.pad(_project(parameters, name, predicates), room) for name in ("key", "value"))

    def answer(carry, position):
        keys, values, clause = carry
        embedded = _embed(parameters, clause[:, None])
        write = partial(jax.lax.dynamic_update_slice_in_dim, start_index=position, axis=1)
        keys, values = (write(kept, _project(parameters, name, embedded))
                        for kept, name in ((keys, "key"), (values, "value")))  # fmt: skip
        is_visible = (jnp.arange(2 * L) <= position)[None, :]
        read, _ = attend(_project(parameters, "query", embedded), keys, values, is_visible)
        logits = _next_clause_logits(parameters, embedded, read, adds_query)
        written = logits[:, 0].argmax(axis=-1).astype(tokens.dtype)
        return (keys, values, written), written

    _, written = jax.lax.scan(answer, (keys, values, tokens[:, L]), jnp.arange(L, 2 * L))
    return written.swapaxes(0, 1)
