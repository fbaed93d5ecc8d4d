"""A small GPT-2-like transformer for the paper's experiments (Section 4): trainable positions, pre-norm, GELU.

Tokens are the bits themselves; the end-of-sequence bit is told apart by its position. The logit pair of a position
predicts its next bit; input and output embeddings are tied. Weights are one pytree, single precision.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

VOCABULARY = 2


@dataclass(frozen=True)
class Architecture:
    """Sizes; the paper uses hidden 720, feed_forward 3072, layers and heads from 1 to 4."""

    n_layers: int = 1
    n_heads: int = 1
    hidden: int = 64
    feed_forward: int = 256

    def __post_init__(self):
        if self.hidden % self.n_heads:
            raise ValueError(f"n_heads = {self.n_heads}, but it must divide hidden = {self.hidden}.")

    @property
    def size(self) -> float:
        """Standard deviation of the initial weights: GPT-2's 0.02, larger for a narrower model, so that what the
        layers compute at the start is of the same size as at the paper's width."""
        return 0.02 * (720 / self.hidden) ** 0.5


def transformer_weights(key: jax.Array, architecture: Architecture, n_positions: int) -> dict:
    """GPT-2's initialisation: Gaussian, residual projections divided by √(2·layers)."""
    D, F, layers, size = architecture.hidden, architecture.feed_forward, architecture.n_layers, architecture.size
    residual = size / (2 * layers) ** 0.5
    # NumPy's generator, since JAX's would be compiled anew for every shape
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))

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
        "tokens": gaussian(size, VOCABULARY, D),
        "positions": gaussian(size, n_positions, D),
        "layers": [layer() for _ in range(layers)],
        "norm": norm(),
    }


def _apply(dense, x):
    return x @ dense["weight"] + dense["bias"]


def _normalise(norm, x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return norm["gain"] * centred / jnp.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5) + norm["bias"]


def _heads(x, n_heads: int):
    return x.reshape(*x.shape[:-1], n_heads, x.shape[-1] // n_heads)


def _softmax(scores):
    """Causal softmax of scores (… × queries × keys); the queries are the last positions."""
    asking, length = scores.shape[-2:]
    causal = np.tril(np.ones((length, length), dtype=bool))[length - asking :]
    return jax.nn.softmax(jnp.where(causal, scores, -jnp.inf), axis=-1)


def _attend(query, key, value, n_heads: int):
    """Mixture of values for every query (batch × queries × D), and the attention (batch × heads × queries × keys)."""
    query, key, value = (_heads(part, n_heads) for part in (query, key, value))
    attention = _softmax(jnp.einsum("bihc,bjhc->bhij", query, key) / query.shape[-1] ** 0.5)
    mixed = jnp.einsum("bhij,bjhc->bihc", attention, value)
    return mixed.reshape(*mixed.shape[:2], -1), attention


def _attend_to_tokens(query, key, value, bits, n_heads: int):
    """The same in the first layer, from projections of the two tokens of each position (positions × 2 × D).

    Scores are a table over pairs of tokens, and the mixture one product of matrices for all sequences.
    """
    query, key, value = (_heads(part, n_heads) for part in (query, key, value))
    asking, (length, _, _, width) = len(query), key.shape
    present = (bits[:, :, None] == jnp.arange(VOCABULARY)).astype(value.dtype)
    table = jnp.einsum("iphc,jqhc->hipjq", query, key) / width**0.5
    of_key = jnp.where(bits[:, None, None, None, :] == 1, table[None, ..., 1], table[None, ..., 0])
    asked = bits[:, None, length - asking :, None] == 1
    attention = _softmax(jnp.where(asked, of_key[:, :, :, 1], of_key[:, :, :, 0]))
    weight = (attention[..., None] * present[:, None, None]).reshape(*attention.shape[:-1], -1)
    mixed = jnp.einsum("bhix,xhc->bihc", weight, value.reshape(length * VOCABULARY, n_heads, width))
    return mixed.reshape(*mixed.shape[:2], -1), attention


def forward(weights: dict, bits: jax.Array, n_heads: int, first: int = 0) -> tuple[jax.Array, list[jax.Array]]:
    """Logits (batch × positions × 2), and the attention of every layer (batch × heads × queries × keys), of bits.

    Only positions from `first` (counted from 0) on are read: the last layer need not ask at the others.
    """
    tokens = weights["positions"][: bits.shape[1], None, :] + weights["tokens"][None]
    x, patterns = jnp.where(bits[:, :, None] == 1, tokens[None, :, 1], tokens[None, :, 0]), []
    for number, layer in enumerate(weights["layers"]):
        start = first if number == len(weights["layers"]) - 1 else 0
        source = tokens if number == 0 else x
        query, key, value = jnp.split(_apply(layer["qkv"], _normalise(layer["norm_1"], source)), 3, axis=-1)
        if number == 0:
            mixed, attention = _attend_to_tokens(query[start:], key, value, bits, n_heads)
        else:
            mixed, attention = _attend(query[:, start:], key, value, n_heads)
        x = x[:, start:] + _apply(layer["project"], mixed)
        x = x + _apply(layer["contract"], jax.nn.gelu(_apply(layer["expand"], _normalise(layer["norm_2"], x))))
        patterns.append(attention)
    return _normalise(weights["norm"], x) @ weights["tokens"].T, patterns


def next_bit_loss(weights: dict, sequence: jax.Array, n: int, n_heads: int) -> jax.Array:
    """Mean cross-entropy of the bits after position n+1; the last bit of `sequence` is a label only."""
    logits, _ = forward(weights, sequence[:, :-1], n_heads, first=n)
    labels = sequence[:, n + 1 :]
    log_likelihood = jax.nn.log_softmax(logits, axis=-1)
    return -jnp.take_along_axis(log_likelihood, labels[:, :, None], axis=-1).mean()
