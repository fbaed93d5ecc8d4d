"""Exact lumping on flows whose coarsest partition is known because it was planted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsys.symbolic.lumping import Partition, describe, merged
from tests.symbolic.plain_lumping import certificate, lump


def planted(labels, signs, seed=0):
    """A nonlinear flow that keeps one signed partition: classes interact, and leave it at once when off it."""
    partition = Partition(np.array(labels), np.array(signs, dtype=float))
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((partition.n_classes, partition.n_classes))
    pull = rng.uniform(0.5, 2, len(labels))

    def field(y):
        z = partition.average(y)
        return partition.lift(np.tanh(A @ z) + z**2) + pull * (y - partition.lift(z))

    return partition, field, partition.lift(1.0 + np.arange(partition.n_classes))


@st.composite
def signed_partitions(draw):
    raw = draw(st.lists(st.integers(0, 3), min_size=2, max_size=9))
    order = {c: i for i, c in enumerate(dict.fromkeys(raw))}
    labels = [order[c] for c in raw]
    signs = [draw(st.sampled_from([1, -1])) for _ in labels]
    first = {c: signs[labels.index(c)] for c in set(labels)}
    return labels, [s * first[c] for s, c in zip(signs, labels)]


@settings(deadline=None, max_examples=60)
@given(signed_partitions(), st.integers(0, 5))
def test_the_planted_partition_is_found(plan, seed):
    partition, field, initial = planted(*plan)
    found = lump(field, initial, seed=seed)
    assert np.array_equal(found.labels, partition.labels) and np.array_equal(found.signs, partition.signs)


@settings(deadline=None, max_examples=30)
@given(signed_partitions())
def test_the_certificate_passes_on_what_was_found(plan):
    _, field, initial = planted(*plan)
    assert certificate(field, lump(field, initial)) < 1e-13


def test_the_certificate_notices_any_extra_merge():
    partition, field, _ = planted([0, 0, 1, 1, 2, 2, 3], [1, -1, 1, 1, 1, 1, 1])
    for a in range(partition.n_classes):
        for b in range(a + 1, partition.n_classes):
            assert certificate(field, merged(partition, a, b)) > 1e-3


def test_equal_initial_values_do_not_keep_what_moves_apart_together():
    field = lambda y: np.array([y[0] + y[1], y[0] + y[1], 3 * y[2]])
    assert lump(field, np.ones(3)).n_classes == 2


def test_a_coordinate_that_never_leaves_zero_is_apart():
    field = lambda y: np.array([y[0], y[1] * y[0], y[0] ** 2])
    found = lump(field, np.array([1.0, 0.0, 0.0]))
    assert list(found.labels) == [0, -1, 1]


def test_a_zero_that_is_moved_only_by_another_zero_is_found():
    field = lambda y: np.array([0.0, y[0], y[1], y[2]])
    assert list(lump(field, np.array([1.0, 0.0, 0.0, 0.0])).labels) == [0, 1, 2, 3]


def test_coordinates_that_leave_zero_in_opposite_directions_are_one_class():
    field = lambda y: np.array([y[1] ** 2, 0.0, -(y[1] ** 2)])
    found = lump(field, np.array([0.0, 1.0, 0.0]))
    assert found.labels[0] == found.labels[2] and found.signs[0] == -found.signs[2]


def test_a_field_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="not finite"):
        lump(lambda y: y * np.nan, np.ones(2))


@settings(deadline=None, max_examples=30)
@given(signed_partitions(), st.integers(0, 100))
def test_lift_is_undone_by_project_and_by_average(plan, seed):
    partition = planted(*plan)[0]
    z = np.random.default_rng(seed).standard_normal(partition.n_classes)
    assert np.allclose(partition.project(partition.lift(z)), z) and np.allclose(partition.average(partition.lift(z)), z)


def test_a_description_says_who_is_alike_and_what_stays_zero():
    names = ("w_plus_a", "w_plus_b", "w_minus_a", "w_minus_b", "u")
    words = describe(Partition(np.array([0, 0, 0, 0, -1]), np.array([1.0, 1, -1, -1, 1])), names)
    assert words.alike == ("a, b are alike", "minus, plus are alike (some coordinates up to sign)")
    assert words.classes == (
        "w_plus_a stands for 4 coordinates, 2 of them with opposite sign", "1 coordinate stays 0",
    )  # fmt: skip


def test_a_number_counts_within_what_it_stands_after():
    rows, columns = 12, 3
    names = [f"W_{i}_{j}" for i in range(rows) for j in range(columns)] + ["K_c2_c2", "K_c2_c10", "K_c10_c10"]
    labels = np.array([min(j, 1) for _ in range(rows) for j in range(columns)] + [2, 3, 2])
    words = describe(Partition(labels, np.ones(len(labels))), names)
    assert words.alike == (
        "W_0, W_1, W_2, …, W_11 (12 labels) are alike", "W_*_1, W_*_2 are alike", "c2, c10 are alike",
    )  # fmt: skip


def test_labels_alike_in_one_context_only_are_not():
    names = ("D_a_q", "D_b_q", "E_a_q", "E_b_q")  # a and b are alike in D, not in E
    assert describe(Partition(np.array([0, 0, 1, 2]), np.ones(4)), names).alike == ()
