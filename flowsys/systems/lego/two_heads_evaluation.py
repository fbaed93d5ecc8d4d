"""What Section 7 shows of a trained transformer: accuracy of its own rollouts, and attention maps.

Rollout accuracy is the share of sentences all of whose values are right when the model writes every answer itself
(Figs. 1a, 1b). An attention map has the queries ans_0 … ans_{L-1} as rows and the 2 L clauses as columns, averaged over
heads and sentences; its diagonals are ans_ℓ → pred_{ℓ+1} and ans_ℓ → ans_ℓ (Figs. 2, 5, 6, 7).
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.systems.lego import two_heads
from flowsys.systems.lego.data import Vocabulary, clauses, sample

LARGEST_BATCH = 100


@partial(jax.jit, static_argnames=("L", "adds_query"))
def _values_right(parameters, tokens, L, adds_query):
    return two_heads.greedy_rollout(parameters, tokens, L, adds_query)[:, :, 4] == tokens[:, L + 1 :, 4]


@partial(jax.jit, static_argnames=("L",))
def _mean_attention(parameters, tokens, L):  # attention does not depend on what is added to it
    return two_heads.forward(parameters, tokens, L)[1].mean(axis=(0, 1))


def rollout_accuracy(
    parameters, vocabulary: Vocabulary, L: int, *, size: int = 500, seed: int = 0, adds_query: bool = True
) -> dict:
    """`all_right`: share of sentences with every value right; `by_step`: share right at each ℓ."""
    rng = np.random.default_rng([seed, L])
    right = []
    for done in range(0, size, LARGEST_BATCH):
        sentences = sample(rng, vocabulary.group, vocabulary.n_x, L, min(LARGEST_BATCH, size - done))
        tokens = jnp.asarray(clauses(vocabulary, sentences))
        right.append(np.asarray(_values_right(parameters, tokens, L, adds_query)))
    all_of = np.concatenate(right)
    return {"L": L, "all_right": float(all_of.all(axis=1).mean()), "by_step": all_of.mean(axis=0)}


def attention_map(
    parameters, vocabulary: Vocabulary, L: int, *, size: int = 100, seed: int = 0, order: np.ndarray | None = None
) -> np.ndarray:
    """Mean attention (L, 2 L) on true sentences; `order` lists the predicates in the order they are shown (Fig. 5)."""
    rng = np.random.default_rng([seed, L])
    tokens = clauses(vocabulary, sample(rng, vocabulary.group, vocabulary.n_x, L, size))
    if order is not None:
        order = np.asarray(order)
        if sorted(order.tolist()) != list(range(L)):
            raise ValueError(f"order = {order.tolist()}, but a permutation of 0 … L - 1 = {L - 1} is needed.")
        tokens = np.concatenate([tokens[:, order], tokens[:, L:]], axis=1)
    return np.asarray(_mean_attention(parameters, jnp.asarray(tokens), L))


def diagonals(attention: np.ndarray, order: np.ndarray | None = None) -> dict:
    """Attention of ans_ℓ on pred_{ℓ+1} and on itself, ℓ = 0 … L-1 (Figs. 6, 7)."""
    L = len(attention)
    at = np.arange(L)
    place = at if order is None else np.argsort(order)
    return {"predicate": attention[at, place], "answer": attention[at, L + at]}
