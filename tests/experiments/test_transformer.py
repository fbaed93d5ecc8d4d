"""The transformer of experiments: causal, at chance before training, equal to itself without regard to cost."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flowsys.experiments import transformer
from flowsys.experiments.transformer import Architecture, attend, forward, next_token_loss, transformer_weights

TINY = Architecture(n_layers=1, n_heads=2, hidden=32, feed_forward=64)


@pytest.mark.parametrize("n_tokens", [2, 9])
def test_a_prediction_does_not_see_later_tokens(n_tokens):
    weights = transformer_weights(0, TINY, n_tokens, 8, size=0.1)
    tokens = np.zeros((2, 8), dtype=int)
    tokens[1, 5] = 1
    logits, attention = forward(weights, tokens, n_heads=2)
    changed = np.abs(np.asarray(logits[0] - logits[1])).max(axis=1) > 0
    assert np.array_equal(np.flatnonzero(changed), [5, 6, 7]) and logits.shape == (2, 8, n_tokens)
    assert attention[0].shape == (2, 2, 8, 8) and np.allclose(attention[0].sum(axis=-1), 1, atol=1e-6)


def plain_forward(weights, tokens, n_heads):
    """The same transformer without regard to cost: every position asks, every sequence is projected."""
    apply, normalise = transformer._apply, transformer._normalise
    x = weights["tokens"][tokens] + weights["positions"][None, : tokens.shape[1]]
    for layer in weights["layers"]:
        projected = jnp.split(apply(layer["qkv"], normalise(layer["norm_1"], x)), 3, axis=-1)
        query, key, value = (part.reshape(*x.shape[:2], n_heads, -1) for part in projected)
        mixed, attention = attend(query, key, value)
        x = x + apply(layer["project"], mixed.reshape(x.shape))
        x = x + apply(layer["contract"], jax.nn.gelu(apply(layer["expand"], normalise(layer["norm_2"], x))))
    return normalise(weights["norm"], x) @ weights["tokens"].T, attention


@pytest.mark.parametrize(("n_layers", "n_tokens"), [(1, 2), (2, 3), (2, 7)])
def test_what_is_not_read_need_not_be_computed(n_layers, n_tokens):
    weights = transformer_weights(1, Architecture(n_layers, 2, 16, 32), n_tokens, 9, size=0.5)
    tokens = np.random.default_rng(0).integers(0, n_tokens, (20, 9))
    logits, attention = plain_forward(weights, tokens, 2)
    ours, patterns = forward(weights, tokens, 2, first=5)
    assert np.allclose(ours, logits[:, 5:], atol=4e-5) and np.allclose(patterns[-1], attention[:, :, 5:], atol=4e-6)
    assert float(jnp.abs(logits).max()) > 1 and float(attention.max()) > 0.5


def test_queries_may_be_told_what_they_see():
    rng = np.random.default_rng(0)
    query, key, value = (jnp.asarray(rng.standard_normal((1, n, 2, 4))) for n in (1, 5, 5))
    mixed, attention = attend(query, key, value, np.array([[False, True, False, False, False]]))
    assert np.allclose(attention[0, :, 0], [0, 1, 0, 0, 0]) and np.allclose(mixed[0, 0], value[0, 1])


def test_what_is_predicted_is_the_likeliest_token():
    weights = transformer_weights(2, TINY, 5, 8, size=0.5)
    sequence = np.random.default_rng(1).integers(0, 5, (7, 9))
    logits, _ = forward(weights, sequence[:, :-1], 2)
    right = np.asarray(logits)[:, 3:].argmax(axis=-1) == sequence[:, 4:]
    assert np.array_equal(transformer.predicted(weights, sequence, 2, first=3, at_once=3), right)


def test_an_untrained_transformer_is_at_chance():
    tokens = np.random.default_rng(0).integers(0, 7, (64, 9))
    loss = next_token_loss(transformer_weights(0, TINY, 7, 8), tokens, n_heads=2, first=5)
    assert abs(float(loss) - np.log(7)) < 0.1


def test_residual_projections_of_deeper_models_start_smaller():
    deep = transformer_weights(0, Architecture(8, 1, 64, 64), 3, 4, size=0.04)["layers"]
    spread = lambda name: float(np.std([layer[name]["weight"] for layer in deep]))
    assert abs(spread("expand") - 0.04) < 1e-3 and abs(spread("contract") - 0.01) < 1e-3 and len(deep) == 8


def test_heads_must_divide_the_width():
    with pytest.raises(ValueError, match="n_heads = 3"):
        Architecture(n_heads=3, hidden=8)
