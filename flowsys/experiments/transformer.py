"""A small GPT-2-like transformer for experiments: trainable positions, pre-norm, GELU.

Input and output embeddings are tied, so that the logits of a position predict its next token. Weights are one pytree in
single precision. What is not read is not computed: of the last layer only the positions asked for, and with few tokens
the first layer's scores are a table over pairs of tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

FEW_TOKENS = 4  # up to so many the first layer works on tables


@dataclass(frozen=True)
class Architecture:
    """Sizes of a transformer."""

    n_layers: int = 1
    n_heads: int = 1
    hidden: int = 64
    feed_forward: int = 256

    def __post_init__(self):
        if self.hidden % self.n_heads:
            raise ValueError(f"n_heads = {self.n_heads}, but it must divide hidden = {self.hidden}.")


def transformer_weights(
    seed: int | Sequence[int], architecture: Architecture, n_tokens: int, n_positions: int, size: float = 0.02
) -> dict[str, Any]:
    """GPT-2's initialisation: Gaussian of the size given, residual projections divided by √(2·layers)."""
    D, F, layers = architecture.hidden, architecture.feed_forward, architecture.n_layers
    residual = size / (2 * layers) ** 0.5
    # NumPy's generator, since JAX's would be compiled anew for every shape
    rng = np.random.default_rng(seed)

    def gaussian(size, *shape):
        return jnp.asarray(size * rng.standard_normal(shape, dtype=np.float32))

    def dense(n_in, n_out, size):
        return {"weight": gaussian(size, n_in, n_out), "bias": jnp.zeros(n_out)}

    def norm():
        return {"gain": jnp.ones(D), "bias": jnp.zeros(D)}

    def layer():
        return {
            "norm_1": norm(),
            "qkv": dense(D, 3 * D, size),
            "project": dense(D, D, residual),
            "norm_2": norm(),
            "expand": dense(D, F, size),
            "contract": dense(F, D, residual),
        }

    return {
        "tokens": gaussian(size, n_tokens, D),
        "positions": gaussian(size, n_positions, D),
        "layers": [layer() for _ in range(layers)],
        "norm": norm(),
    }


# -- attention --------------------------------------------------------------------------------------------------------


def attend(query, key, value, visible=None) -> tuple[Any, Any]:
    """Mixtures of values by several heads, (batch × positions × heads × width) as they come, and the attention.

    Attention is (batch × heads × queries × keys). `visible` marks the keys that each query sees; by default queries
    are the last positions, and each sees all up to its own.
    """
    scores = jnp.einsum("bihc,bjhc->bhij", query, key) / query.shape[-1] ** 0.5
    attention = _softmax(scores, visible)
    return jnp.einsum("bhij,bjhc->bihc", attention, value), attention


def _softmax(scores, visible=None):
    """Softmax of scores (… × queries × keys) over what is visible."""
    asking, length = scores.shape[-2:]
    if visible is None:
        visible = np.tril(np.ones((length, length), dtype=bool))[length - asking :]
    return jax.nn.softmax(jnp.where(visible, scores, -jnp.inf), axis=-1)


def _attend_to_tokens(query, key, value, tokens) -> tuple[Any, Any]:
    """The same in the first layer, from projections of every token at each position (positions × tokens × heads × …).

    Scores are a table over pairs of tokens, and the mixture one product of matrices for all sequences.
    """
    asking, (length, n_tokens, n_heads, width) = len(query), key.shape
    table = jnp.einsum("iphc,jqhc->hipjq", query, key) / width**0.5
    of_key = _chosen(tokens[:, None, None, None, :], [table[None, ..., token] for token in range(n_tokens)])
    asked = tokens[:, None, length - asking :, None]
    attention = _softmax(_chosen(asked, [of_key[:, :, :, token] for token in range(n_tokens)]))
    present = (tokens[:, :, None] == jnp.arange(n_tokens)).astype(value.dtype)
    weight = (attention[..., None] * present[:, None, None]).reshape(*attention.shape[:-1], -1)
    return jnp.einsum("bhix,xhc->bihc", weight, value.reshape(length * n_tokens, n_heads, width)), attention


def _chosen(which, options):
    """The option of every token."""
    return reduce(
        lambda found, token: jnp.where(which == token, options[token], found), range(1, len(options)), options[0]
    )


# -- the network ------------------------------------------------------------------------------------------------------


def _apply(dense, x):
    return x @ dense["weight"] + dense["bias"]


def _normalise(norm, x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return norm["gain"] * centred / jnp.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5) + norm["bias"]


@partial(jax.jit, static_argnames=("n_heads", "first"))
def forward(weights: dict, tokens: jax.Array, n_heads: int, first: int = 0) -> tuple[jax.Array, list[jax.Array]]:
    """Logits (batch × positions × tokens), and the attention of every layer (batch × heads × queries × keys).

    Only positions from `first` (counted from 0) on are read: the last layer need not ask at the others.
    """
    length, n_tokens = tokens.shape[1], len(weights["tokens"])
    at_positions = weights["positions"][:length, None, :] + weights["tokens"][None]
    has_few, patterns = n_tokens <= FEW_TOKENS, []
    if has_few:
        x = _chosen(tokens[:, :, None], [at_positions[None, :, token] for token in range(n_tokens)])
    else:
        x = at_positions[np.arange(length), tokens]
    for number, layer in enumerate(weights["layers"]):
        start = first if number == len(weights["layers"]) - 1 else 0
        on_table = number == 0 and has_few
        projected = _apply(layer["qkv"], _normalise(layer["norm_1"], at_positions if on_table else x))
        query, key, value = (part.reshape(*part.shape[:-1], n_heads, -1) for part in jnp.split(projected, 3, axis=-1))
        if on_table:
            mixed, attention = _attend_to_tokens(query[start:], key, value, tokens)
        else:
            mixed, attention = attend(query[:, start:], key, value)
        x = x[:, start:] + _apply(layer["project"], mixed.reshape(*mixed.shape[:2], -1))
        x = x + _apply(layer["contract"], jax.nn.gelu(_apply(layer["expand"], _normalise(layer["norm_2"], x))))
        patterns.append(attention)
    return _normalise(weights["norm"], x) @ weights["tokens"].T, patterns


def next_token_loss(weights: dict, sequence: jax.Array, n_heads: int, first: int = 0) -> jax.Array:
    """Mean cross-entropy of the tokens after position `first`; the last token of a sequence is a label only."""
    logits, _ = forward(weights, sequence[:, :-1], n_heads, first)
    log_likelihood = jax.nn.log_softmax(logits, axis=-1)
    return -jnp.take_along_axis(log_likelihood, sequence[:, first + 1 :, None], axis=-1).mean()


def predicted(weights: dict, sequence: np.ndarray, n_heads: int, first: int = 0, at_once: int = 256) -> np.ndarray:
    """Whether each token after position `first` is the likeliest after the true ones (sequences × tokens)."""
    parts = [sequence[begin : begin + at_once] for begin in range(0, len(sequence), at_once)]
    likeliest = [np.asarray(forward(weights, part[:, :-1], n_heads, first)[0]).argmax(axis=-1) for part in parts]
    return np.concatenate(likeliest) == sequence[:, first + 1 :]
