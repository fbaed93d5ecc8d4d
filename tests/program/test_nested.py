"""Nested tables: a sum over sums is the same from what is distinct and how often."""

import numpy as np
import pytest

from flowsys.errors import InputError
from flowsys.program import nested as module
from flowsys.program.nested import distinct_rows, nested

RNG = np.random.default_rng(0)
LEVELS = {
    "parts": {"x": RNG.integers(3, size=(40, 2, 4)), "y": RNG.integers(2, size=(40, 1, 4))},
    "halves": {"side": RNG.integers(2, size=(40, 2))},
    "wholes": {"kind": RNG.integers(2, size=40)},
}


def test_a_sum_over_sums_is_that_of_the_tables():
    parts, halves, wholes = (LEVELS[name] for name in LEVELS)
    inner = np.tanh(parts["x"] + 2.0 * parts["y"]).sum(axis=-1)
    written = (np.exp(inner * (1 + halves["side"])).sum(axis=-1) + wholes["kind"]) ** 2
    tables, links, place = nested(LEVELS)
    sums = links["parts_to_halves"] @ np.tanh(tables["parts"]["x"] + 2.0 * tables["parts"]["y"])
    outer = links["halves_to_wholes"] @ np.exp(sums * (1 + tables["halves"]["side"])) + tables["wholes"]["kind"]
    np.testing.assert_allclose((outer**2)[place], written, rtol=1e-13)
    assert len(tables["parts"]["x"]) == len({*zip(*(np.broadcast_arrays(*parts.values())[i].ravel() for i in (0, 1)))})


def test_the_order_of_parts_does_not_matter():
    parts = {name: np.concatenate([array, array[..., ::-1]]) for name, array in LEVELS["parts"].items()}
    twice = LEVELS | {"parts": parts, "halves": {"side": np.tile(LEVELS["halves"]["side"], (2, 1))}}
    place = nested(twice | {"wholes": {"kind": np.tile(LEVELS["wholes"]["kind"], 2)}})[2]
    np.testing.assert_array_equal(place[:40], place[40:])


def test_tables_that_do_not_fit_are_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_LINK", 10)
    with pytest.raises(InputError, match=r"a table of \d+ × \d+ numbers, more than is kept in memory: draw fewer"):
        nested(LEVELS, "draw fewer")


def test_distinct_rows_are_those_of_numpy():
    rows = np.random.default_rng(0).integers(5, size=(400, 40))
    rows = np.concatenate([rows, rows[:100]])
    expected, place = np.unique(rows, axis=0, return_inverse=True)
    found, found_place = distinct_rows(rows)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found_place, place.ravel())
