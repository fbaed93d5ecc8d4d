"""The loss of the co-occurrence system: one formula on data, on word classes and on symbols."""

import jax
import numpy as np
import pytest
import sympy as sp

from flowsys.model import ops
from flowsys.systems.cooccurrence import blocks as bl
from flowsys.systems.cooccurrence.data import distinct_words
from flowsys.systems.cooccurrence.model import (
    Scores,
    bag_of_words_outputs,
    data_loss,
    data_outputs,
    limit_loss,
    limit_outputs,
    limit_test_loss,
    logistic_loss,
    type_sizes,
    unseen_words,
)
from tests.systems.cooccurrence_oracle import outputs_and_drives, symbolic_ops

SCALE = 0.7


def random_state(seed):
    generator = np.random.default_rng(seed)
    matrix = bl.Blocks(generator.normal(size=(7, 7)), generator.normal(size=4), generator.normal(size=4))
    return generator.normal(size=7), matrix


def block_loss(G, blocks, sizes):
    return limit_loss(G, bl.scores_within_sentences(blocks, sizes, ops), sizes, SCALE, ops)


def block_gradient(G, S, n, L):
    with jax.enable_x64(True):
        gradient = jax.jit(jax.grad(block_loss, argnums=(0, 1)))
        return gradient(ops.array(G), bl.Blocks(*map(ops.array, S)), type_sizes(n, L, ops))


def words_of(G, S, samples):
    classes = bl.word_classes(samples)
    return np.asarray(G)[classes], bl.matrix_of(S, samples)


def test_output_is_the_paper_formula_written_with_loops():
    samples, generator = distinct_words(6, 4), np.random.default_rng(0)
    G, S = generator.normal(size=samples.d), generator.normal(size=(samples.d, samples.d))
    expected = []
    for X in samples.words:
        total = 0.0
        for query in X:
            weights = np.exp([SCALE * S[key, query] for key in X])
            total += sum(weights * G[X]) / sum(weights)
        expected.append(total)
    with jax.enable_x64(True):
        got = data_outputs(ops.array(G), ops.array(S), samples.words, SCALE, ops)
    np.testing.assert_allclose(got, expected, rtol=1e-13)


@pytest.mark.parametrize("n, L", [(12, 5), (6, 4)])
def test_loss_on_word_classes_is_the_loss_on_the_sentences(n, L):
    samples, (G, S) = distinct_words(n, L), random_state(1)
    with jax.enable_x64(True):
        reduced = jax.jit(block_loss)(G, S, type_sizes(n, L, ops))
        loss = lambda values, matrix: data_loss(
            values, matrix, samples.words, samples.labels, np.full(n, 1 / n), SCALE, ops
        )
        full = jax.jit(loss)(*words_of(G, S, samples))
    np.testing.assert_allclose(reduced, full, rtol=1e-13)


def test_drives_of_the_word_classes_are_those_of_the_oracle_at_real_sizes():
    n, L = 17.3, 6.4
    G, S = random_state(2)
    F, r, M = outputs_and_drives(G, S, n, L, SCALE)
    with jax.enable_x64(True):
        sizes = type_sizes(n, L, ops)
        dG, dS = block_gradient(G, S, n, L)
        output = jax.jit(lambda G, S: limit_outputs(G, bl.scores_within_sentences(S, sizes, ops), sizes, SCALE, ops))
        np.testing.assert_allclose(output(G, S), F)
        np.testing.assert_allclose(-dG / bl.class_sizes(sizes, ops), r, atol=1e-14)
        for derivative, multiplicity, expected in zip(dS, bl.multiplicities(sizes), M):
            np.testing.assert_allclose(-derivative / multiplicity, expected, atol=1e-14)


def test_sympy_and_jax_differentiate_the_same_loss_at_symbolic_sizes():
    n, L = sp.symbols("n L", positive=True)
    entry = lambda name, *shape: np.array(sp.symbols(f"{name}:{np.prod(shape)}")).reshape(shape)
    G, S = entry("G", 7), bl.Blocks(entry("M", 7, 7), entry("s", 4), entry("k", 4))
    sizes = type_sizes(n, L, symbolic_ops)
    scores = bl.scores_within_sentences(S, sizes, symbolic_ops)
    loss = limit_loss(G, scores, sizes, SCALE, symbolic_ops)
    assert loss.free_symbols >= {n, L} and not loss.atoms(sp.Float) - {sp.Float(SCALE)}
    values, matrix = random_state(3)
    symbols = [*G, *S.invariant.ravel(), *S.across, *S.within, n, L]
    point = [*values, *np.concatenate([*map(np.ravel, matrix)]), 17.25, 6.5]
    chosen = [G[0], G[5], S.invariant[1, 0], S.invariant[4, 4], S.within[0]]
    derivatives = sp.lambdify(symbols, [loss.diff(symbol) for symbol in chosen], cse=True)(*point)
    dG, dS = block_gradient(values, matrix, 17.25, 6.5)
    expected = dG[0], dG[5], dS.invariant[1, 0], dS.invariant[4, 4], dS.within[0]
    np.testing.assert_allclose(derivatives, expected, rtol=1e-11, atol=1e-14)


def test_even_and_odd_blocks_are_a_seven_by_seven_block_that_commutes_with_the_swap():
    generator = np.random.default_rng(4)
    swapped = bl.SwapBlocks(*(generator.normal(size=shape) for shape in [(5, 5), (2, 2), 3, 3]))
    with jax.enable_x64(True):
        blocks = bl.without_swap(bl.SwapBlocks(*map(ops.array, swapped)), ops)
    mirror = np.array([1, 0, 2, 3, 5, 4, 6])
    np.testing.assert_allclose(blocks.invariant[mirror][:, mirror], blocks.invariant, atol=1e-15)
    np.testing.assert_allclose(
        np.sort(np.linalg.eigvals(blocks.invariant)),
        np.sort(np.concatenate([*map(np.linalg.eigvals, swapped[:2])])),
        atol=1e-12,
    )


def test_the_scalars_of_types_2_and_3_count_twice_with_the_swap():
    with jax.enable_x64(True):
        sizes = type_sizes(12, 5, ops)
        even, odd, across, within = bl.swap_multiplicities(sizes)
        across, within = np.asarray(across), np.asarray(within)
    assert 5 * even + 2 * odd + across.sum() + within.sum() == distinct_words(12, 5).d


def test_uniform_attention_is_a_bag_of_words():
    G, zero = np.arange(7.0), bl.Blocks(np.zeros((7, 7)), np.zeros(4), np.zeros(4))
    with jax.enable_x64(True):
        sizes = type_sizes(60, 5, ops)
        output = jax.jit(lambda G: limit_outputs(G, bl.scores_within_sentences(zero, sizes, ops), sizes, SCALE, ops))
        np.testing.assert_allclose(output(G), bag_of_words_outputs(G, sizes), rtol=1e-14)


def test_the_test_loss_is_the_loss_on_sentences_of_unseen_words():
    trained, (G, S) = distinct_words(12, 5), random_state(5)
    unseen = distinct_words(6, 5, first_word=trained.d)
    values, matrix = words_of(G, S, trained)
    values = np.pad(values, (0, unseen.d - trained.d))
    matrix = np.pad(matrix, (0, unseen.d - trained.d))
    with jax.enable_x64(True):
        sizes = type_sizes(12, 5, ops)
        scores = Scores(*map(ops.array, bl.scores_within_sentences(S, sizes, ops)))
        limit = jax.jit(lambda G, scores: limit_test_loss(G, scores, sizes, SCALE, ops))(ops.array(G), scores)
        F = jax.jit(lambda G, S: data_outputs(G, S, unseen.words, SCALE, ops))(values, matrix)
        np.testing.assert_allclose(limit, logistic_loss(F, unseen.labels, np.full(6, 1 / 6), ops), rtol=1e-13)
        assert not np.any(unseen_words(ops.array(G), scores, ops)[1].same_word)


def test_sentences_without_other_irrelevant_words_have_finite_gradients_at_large_scores():
    G, S = random_state(6)
    gradient = block_gradient(G, [1e3 * x for x in S], 6, 4)
    assert all(np.all(np.isfinite(x)) for x in jax.tree.leaves(gradient))
