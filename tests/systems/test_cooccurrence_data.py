"""Sentences, word classes and invariant matrices of the co-occurrence system."""

import numpy as np
import pytest

from flowsys.model import ops
from flowsys.systems.cooccurrence.blocks import (
    Blocks,
    blocks_of,
    class_values,
    matrix_of,
    multiplicities,
    pair_orbits,
    word_classes,
)
from flowsys.systems.cooccurrence.data import distinct_words, drawn_sentences, repeated_words
from flowsys.systems.cooccurrence.model import type_sizes
from tests.systems.cooccurrence_oracle import group_orbits


def random_blocks(seed):
    generator = np.random.default_rng(seed)
    return Blocks(generator.normal(size=(7, 7)), generator.normal(size=4), generator.normal(size=4))


def test_distinct_words_have_exact_proportions_and_no_repetition():
    samples = distinct_words(12, 5)
    assert np.bincount(samples.types).tolist() == [6, 2, 2, 2]
    assert samples.d == 35 and len(samples.random_words) == 32
    assert len(np.unique(samples.words[samples.words >= 3])) == np.sum(samples.words >= 3)


def test_the_label_is_positive_exactly_when_both_targets_occur():
    samples = drawn_sentences(3, 200, 5, 20)
    both = np.any(samples.words == 0, axis=1) & np.any(samples.words == 1, axis=1)
    assert np.array_equal(samples.labels == 1, both)
    assert np.all(np.sum(samples.words == 2, axis=1) == 1)


def test_the_experiment_of_appendix_a_repeats_irrelevant_words():
    samples = repeated_words(0, 60, 5, 64)
    assert np.bincount(samples.types).tolist() == [30, 10, 10, 10]
    assert np.sum(samples.words >= 3) == 30 * 2 + 20 * 3 + 10 * 4 > len(samples.random_words)


@pytest.mark.parametrize(
    "build, word",
    [
        (lambda: distinct_words(10, 5), "n = 10"),
        (lambda: distinct_words(12, 2), "L = 2"),
        (lambda: distinct_words(12, 5, d=20), "d = 20"),
        (lambda: repeated_words(0, 12, 5, 3), "d = 3"),
        (lambda: distinct_words(12, 5, mixture=(1, 1, -1, 1)), "mixture"),
        (lambda: word_classes(repeated_words(0, 60, 5, 10)), "occurs"),
    ],
)
def test_bad_input_is_named(build, word):
    with pytest.raises(ValueError, match=word):
        build()


@pytest.mark.parametrize(
    "n, L, swap, symmetric, count",
    [
        (12, 5, True, False, 35),
        (12, 5, False, False, 57),
        (12, 5, True, True, 24),
        (12, 5, False, True, 36),
        (6, 4, True, False, 32),
        (6, 4, True, True, 21),
    ],
)
def test_pair_orbits_are_those_of_the_group(n, L, swap, symmetric, count):
    samples = distinct_words(n, L)
    named = pair_orbits(samples, swap, symmetric).ravel()
    n_orbits, found = group_orbits(samples, swap, symmetric)
    assert n_orbits == len(np.unique(named)) == len(np.unique(np.stack([named, found]), axis=1).T) == count


@pytest.mark.parametrize("swap, count", [(True, 5), (False, 7)])
def test_word_orbits_are_those_of_the_group(swap, count):
    assert group_orbits(distinct_words(12, 5), swap, pairs=False)[0] == count


def test_blocks_multiply_like_the_matrices_they_stand_for():
    samples = distinct_words(12, 5)
    X, Z = random_blocks(0), random_blocks(1)
    product = blocks_of(matrix_of(X, samples) @ matrix_of(Z, samples), samples)
    expected = X.invariant @ Z.invariant, X.across * Z.across, X.within * Z.within
    for got, want in zip(product, expected):
        np.testing.assert_allclose(got, want, atol=1e-13)


def test_a_matrix_of_blocks_is_constant_on_the_pair_orbits():
    samples = distinct_words(12, 5)
    matrix, orbits = matrix_of(random_blocks(2), samples).ravel(), pair_orbits(samples, swap=False).ravel()
    for orbit in np.unique(orbits):
        assert np.ptp(matrix[orbits == orbit]) < 1e-13


def test_components_of_g_have_the_length_of_g_over_all_words():
    components, samples = np.arange(1.0, 8.0), distinct_words(12, 5)
    G = np.asarray(class_values(components, type_sizes(12, 5, ops), ops))[word_classes(samples)]
    assert np.sum(G**2) == pytest.approx(np.sum(components**2), rel=1e-6)


def test_multiplicities_add_up_to_the_vocabulary():
    once, across, within = multiplicities(type_sizes(12, 5, ops))
    assert 7 * once + across.sum() + within.sum() == distinct_words(12, 5).d
