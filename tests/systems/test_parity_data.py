"""Parity data: sequences, tables, symmetry classes, and the messages for bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flowsys.systems.parity import collapsed, data


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
    problem = data.Parity(4, (3, 1))
    table = data.population(problem)
    by_position = table.counts.reshape(16, 2, 6, 2).sum(axis=-1)
    assert np.all(by_position[:, 0] == [1, 1, 1, 1, 1, 0]) and np.all(by_position[:, 1] == 1)


def test_the_label_is_uncorrelated_with_every_context_token_but_the_target():
    problem = data.Parity(5, (2, 5, 1))
    table = data.population(problem)
    third = table.query // 2 == 2
    correlation = (table.sign[:, None] * table.counts)[third & (table.query == 4)].sum(axis=0)
    assert set(np.flatnonzero(correlation)) == {0, 1}


def test_sampled_tables_agree_with_enumerated_rows():
    problem = data.Parity(4, (3, 1))
    bits = data.sample_bits(jax.random.key(1), problem, 50)
    table, whole = data.table_of_bits(problem, jnp.asarray(bits)), data.population(problem)
    row = 2 * (bits @ [8, 4, 2, 1])
    assert np.array_equal(np.asarray(table.counts)[::2], whole.counts[row])
    assert np.array_equal(np.asarray(table.sign)[1::2], whole.sign[row + 1])


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_number_of_live_scores(k):
    live = collapsed.live_scores(collapsed.collapsed_table(20, k)).sum()
    assert live == (4 if k == 1 else 6 * k * k - 2 * k - 2)


def test_collapsed_table_is_the_full_table_summed_over_classes():
    problem = data.Parity(6, (5, 2))
    full = data.population(problem)
    classes = collapsed.class_of_token(problem)
    counts = np.stack([full.counts[:, classes == c].sum(axis=1) for c in range(9)], axis=1)
    small = collapsed.collapsed_table(6, 2)
    rows = {tuple(np.r_[q, c, s]): 0.0 for q, c, s in zip(small.query, small.counts, small.sign)}
    for query, count, sign, weight in zip(full.query, counts, full.sign, full.weight):
        rows[tuple(np.r_[query, count, sign])] += weight
    assert np.allclose(list(rows.values()), small.weight)


def test_a_symbolic_number_of_bits_is_kept():
    sympy = pytest.importorskip("sympy")
    n = sympy.Symbol("n")
    assert collapsed.collapsed_table(n, 2).counts[0, 4] == n - 2


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: data.Parity(4, (1, 1)), "secrets"),
        (lambda: data.Parity(4, (5,)), "secrets"),
        (lambda: data.ascending(3, 4), "k = 4"),
        (lambda: data.ascending(0, 1), "n = 0"),
        (lambda: data.all_bits(20), "n = 20"),
        (lambda: collapsed.collapsed_table(3, 3), "n = 3"),
    ],
)
def test_bad_sizes_are_refused_by_name(make, name):
    with pytest.raises(ValueError, match=name):
        make()
