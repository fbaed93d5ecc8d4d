"""The one-layer network over clauses: what it sees, how it goes on by itself, and its formulas written out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from flowsys.experiments.clauses import clause_weights, continued, forward, next_clause_loss

N_TOKENS, N_SLOTS, N_HEADS = 7, 3, 2
WEIGHTS = clause_weights(jax.random.key(0), N_TOKENS, N_SLOTS, embedding=4, hidden=16, n_heads=N_HEADS)
CLAUSES = np.random.default_rng(0).integers(N_TOKENS, size=(5, 6, N_SLOTS))


@pytest.mark.parametrize("adds_query", [False, True])
def test_logits_are_those_of_the_formulas_written_out(adds_query):
    W = {name: np.asarray(array, dtype=float) for name, array in WEIGHTS.items()}
    logits, attention = forward(WEIGHTS, CLAUSES, 2, adds_query)
    for n, place in np.ndindex(5, 4):
        seen = W["embedding"][CLAUSES[n, : 3 + place]].reshape(3 + place, -1)
        read = np.zeros(12)
        for head in range(N_HEADS):
            key, value, query = (seen @ W[name][:, head] for name in ("key", "value", "query"))
            A = softmax(key @ query[-1] / np.sqrt(6))
            np.testing.assert_allclose(attention[n, head, place, : 3 + place], A, atol=1e-5)
            read += A @ value @ W["output"][head]
        x = read + seen[-1] * adds_query
        x = x + np.maximum(x @ W["up"] + W["up_bias"], 0) @ W["down"]
        np.testing.assert_allclose(logits[n, place], np.einsum("w,wpd->pd", x, W["unembedding"]), atol=2e-4)


def test_no_place_sees_what_comes_after_it():
    changed = np.concatenate([CLAUSES[:, :4], (CLAUSES[:, 4:] + 1) % N_TOKENS], axis=1)
    one, other = (forward(WEIGHTS, jnp.asarray(c))[0] for c in (CLAUSES, changed))
    np.testing.assert_array_equal(one[:, :4], other[:, :4])
    assert np.abs(one[:, 4:] - other[:, 4:]).min() > 0


def test_clauses_before_the_one_that_asks_have_no_order():
    shuffled = CLAUSES[:, [2, 0, 1, 4, 3, 5]]
    one, other = (forward(WEIGHTS, jnp.asarray(c), first=5, adds_query=True)[0] for c in (CLAUSES, shuffled))
    np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("adds_query", [False, True])
def test_what_it_goes_on_with_is_the_likeliest_after_what_it_wrote(adds_query):
    written = np.asarray(continued(WEIGHTS, CLAUSES[:, :3], 4, adds_query))
    logits, _ = forward(WEIGHTS, np.concatenate([CLAUSES[:, :3], written], axis=1), 2, adds_query)
    assert written.shape == (5, 4, N_SLOTS) and len(np.unique(written)) > 1
    np.testing.assert_array_equal(np.asarray(logits.argmax(axis=-1))[:, :4], written)


def test_the_loss_counts_every_token_after_the_first_places():
    told = log_softmax(np.asarray(forward(WEIGHTS, CLAUSES[:, :-1], 2)[0], dtype=float), axis=-1)
    losses = -np.take_along_axis(told, CLAUSES[:, 3:, :, None], axis=-1)[..., 0].sum(axis=2)
    assert float(next_clause_loss(WEIGHTS, CLAUSES, 2)) == pytest.approx(losses.mean(), rel=1e-5)
