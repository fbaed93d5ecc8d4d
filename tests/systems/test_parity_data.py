"""Parity data: sequences, rows, symmetry classes, and the messages for bad input."""

import numpy as np
import pytest

import flowsys as fs
from flowsys.errors import InputError
from flowsys.systems.parity import data
from flowsys.systems.parity.model import rows_of_classes


def test_every_chain_bit_is_the_previous_one_plus_its_secret():
    problem = data.Parity(5, (4, 1, 3))
    b = data.sequences(problem, data.all_bits(5))
    for step, secret in enumerate(problem.secrets):
        assert np.array_equal(b[:, 6 + step], b[:, 5 + step] ^ b[:, secret - 1])


def test_without_chain_of_thought_the_label_is_the_parity_of_the_secrets():
    problem = data.Parity(5, (4, 1, 3), chain_of_thought=False)
    b = data.sequences(problem, data.all_bits(5))
    assert b.shape == (32, 7)
    assert np.array_equal(b[:, 6], b[:, 3] ^ b[:, 0] ^ b[:, 2])


def test_a_context_holds_one_token_of_every_position_up_to_the_query():
    counts = data.rows(data.Parity(4, (3, 1)), data.all_bits(4))["counts"]
    by_position = counts.reshape(16, 2, 6, 2).sum(axis=-1)
    assert np.all(by_position[:, 0] == [1, 1, 1, 1, 1, 0]) and np.all(by_position[:, 1] == 1)


def test_the_label_is_uncorrelated_with_every_context_token_but_the_target():
    found = data.rows(data.Parity(5, (2, 5, 1)), data.all_bits(5))
    third = (found["sign"][:, 2, None] * found["counts"][:, 2])[found["query"][:, 2] == 4].sum(axis=0)
    assert set(np.flatnonzero(third)) == {0, 1}


def test_rows_of_classes_are_the_rows_of_all_strings_summed_over_classes():
    full, small = data.rows(data.Parity(6, (1, 2)), data.all_bits(6)), rows_of_classes(6, 2)
    classes = np.array([0, 1, 2, 3, *[4] * 8, 5, 6, 7, 8])
    counts = np.stack([full["counts"][..., classes == c].sum(axis=-1) for c in range(9)], axis=-1)
    flat = lambda query, counts, sign: np.concatenate([query, counts.reshape(len(sign), -1), sign], axis=1)
    listed = lambda *parts: [tuple(row) for row in flat(*parts)]
    alike = listed(small["query"], small["counts"], small["sign"])
    seen = listed(full["query"], counts, full["sign"])
    assert sorted(set(seen)) == sorted(alike) and all(seen.count(row) == 16 for row in alike)


@pytest.mark.parametrize("sizes", [{"k": 11, "n": 30}, {"k": 10**9, "n": 3 * 10**9}, {"n": 10**6, "tokens": "all"}])
def test_strings_that_cannot_be_written_out_are_refused_before_anything_is_made_of_them(sizes):
    with pytest.raises(InputError, match=f"^{next(iter(sizes))} = {next(iter(sizes.values()))} is not allowed"):
        fs.start("parity", level="L2", **sizes)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: data.Parity(4, (1, 1)), "secrets"),
        (lambda: data.Parity(4, (5,)), "secrets"),
        (lambda: data.ascending(3, 4), "secrets"),
        (lambda: data.ascending(0, 1), "n = 0"),
        (lambda: data.all_bits(20), "n = 20"),
    ],
)
def test_bad_sizes_are_refused_by_name(make, name):
    with pytest.raises(ValueError, match=name):
        make()
