"""Theorems 1 and 2 of the parity paper, and the entropy of Eq. (1)."""

import jax
import numpy as np
import pytest

from flowsys.systems.parity import construction, data, embeddings, hardness
from flowsys.systems.parity.entropy import attention_entropy


@pytest.mark.parametrize(("n", "k"), [(12, 3), (12, 5)])
def test_theorem_1_computes_every_parity(n, k):
    problem = data.ascending(n, k, chain_of_thought=False)
    d = int(20 * k * np.log(n / 0.1))
    for seed in range(3):
        assert (
            construction.exhaustive_accuracy(problem, embeddings.hypercube(jax.random.key(seed), problem.n_tokens, d))
            == 1
        )


def test_theorem_1_holds_although_lemma_4s_bound_on_leaks_fails():
    # specification, section 6: c = 6 (d = 86), leaks |<V, e>| of 0.58 on average where Lemma 4 needs at most 1/2
    problem = data.ascending(12, 3, chain_of_thought=False)
    tokens = [embeddings.hypercube(jax.random.key(seed), problem.n_tokens, 86) for seed in range(8)]
    assert min(construction.exhaustive_accuracy(problem, e) for e in tokens) == 1
    assert np.mean([construction.largest_leak(problem, e) for e in tokens]) > 0.5


def test_theorem_1_fails_in_too_few_dimensions():
    problem = data.ascending(12, 3, chain_of_thought=False)
    accuracies = [
        construction.exhaustive_accuracy(problem, embeddings.hypercube(jax.random.key(seed), problem.n_tokens, 8))
        for seed in range(3)
    ]
    assert min(accuracies) < 1


def test_the_ramps_make_a_zigzag():
    offsets, h = construction.ramps(5)
    c = np.arange(6)
    assert np.array_equal(np.maximum(offsets[None] + 2.0 * c[:, None], 0) @ h, (-1.0) ** (c + 1))


def test_theorem_1_is_refused_with_a_chain_of_thought():
    with pytest.raises(ValueError, match="chain_of_thought"):
        construction.construct(data.ascending(4, 2), embeddings.orthonormal(12))


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_gradient_without_chain_of_thought_is_zero_at_the_start(k):
    assert hardness.largest_entry(hardness.no_cot_gradient(jax.random.key(0), 8, k, 32, 1.0)) < 1e-19


def test_for_one_secret_the_gradient_is_not_zero():
    # h_r · 1/(n+1) · 1/2
    measured = hardness.largest_entry(hardness.no_cot_gradient(jax.random.key(0), 8, 1, 32, 1.0))
    assert abs(measured - 1 / (2 * 32 * 9 * 2)) < 1e-15


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_gradient_vanishes_to_order_k_minus_1(k):
    assert abs(hardness.order_of_vanishing(jax.random.key(1), 6, k, 16, 5.0, (0.01, 0.02)) - (k - 1)) < 0.15


def test_uniform_causal_attention_has_entropy_one():
    attention = np.tril(np.ones((7, 7)))
    assert abs(attention_entropy(attention / attention.sum(axis=1, keepdims=True)) - 1) < 1e-14


def test_one_sharp_query_makes_the_entropy_zero():
    attention = np.tril(np.ones((3, 2, 7, 7)))
    attention /= attention.sum(axis=-1, keepdims=True)
    attention[1, 0, 4] = np.eye(7)[2]
    entropy = attention_entropy(attention)
    assert entropy.shape == (3, 2) and entropy[1, 0] == 0 and np.allclose(np.delete(entropy.ravel(), 2), 1)


def test_half_on_one_key_gives_the_entropy_by_hand():
    attention = np.array([[0.5, 0.25, 0.25]])
    assert abs(attention_entropy(attention, lengths=[3]) - 1.5 * np.log(2) / np.log(3)) < 1e-15


def test_class_totals_have_the_entropy_of_their_members():
    members = np.array([[0.4, 0.2, 0.2, 0.2]])
    totals = attention_entropy(np.array([[0.4, 0.6]]), lengths=[4], counts=np.array([1, 3]))
    assert abs(attention_entropy(members, lengths=[4]) - totals) < 1e-15


def test_rows_that_are_no_distributions_are_refused():
    with pytest.raises(ValueError, match="attention"):
        attention_entropy(np.ones((3, 3)))
