"""Groups, actions and sentences of the LEGO system: laws that hold, and tables that are refused."""

import json
from itertools import combinations, permutations

import numpy as np
import pytest

import flowsys as fs
from flowsys.errors import InputError
from flowsys.runs.training import train
from flowsys.systems import load
from flowsys.systems.lego import data, groups
from tests.systems import lego_oracle as oracle


@pytest.mark.parametrize("name", ["C2", "C6", "S3", "S5"])
def test_named_groups_have_the_elements_of_their_definition(name):
    assert {tuple(row) for row in groups.named(name).action} == set(oracle.elements(name))


@pytest.mark.parametrize("name", ["C5", "S4"])
def test_every_fibre_has_as_many_elements(name):
    group = groups.named(name)
    found = {len(group.fibre(j, y)) for j in range(group.n_y) for y in range(group.n_y)}
    assert found == {group.fibre_size}


def test_sizes_need_no_table():
    assert groups.sizes("S9") == (362880, 9)


@pytest.mark.parametrize(
    ("law", "action"),
    [
        (r"closure of the action fails, row 2 = \[5, 0, 1\] is no permutation", [[0, 1, 2], [1, 2, 0], [5, 0, 1]]),
        (r"closure of the action fails, row 1 = \[1, 1, 2\] is no permutation", [[0, 1, 2], [1, 1, 2]]),
        (r"closure fails, 0·0 = \[2, 0, 1\] is not among", [[1, 2, 0]]),
        (r"closure fails, 1·1 = \[1, 2, 0\] is not among", [[0, 1, 2], [2, 0, 1]]),
        (r"equally often, but row 0 stands there 2 times and row 1 1 times", [[0, 1], [1, 0], [0, 1]]),
        (r"transitivity fails, no element sends value 0 to value 2", [[0, 1, 2, 3], [1, 0, 3, 2]] * 2),
    ],
)
def test_wrong_tables_are_refused_by_law_and_element(law, action):
    with pytest.raises(InputError, match=law):
        groups.check_action(np.array(action))


def test_a_table_is_accepted_exactly_where_its_rows_are_a_group():
    """Every set of up to four permutations of three values, against the laws written out."""
    everything = list(permutations(range(3)))
    for size in (1, 2, 3, 4):
        for rows in combinations(everything, size):
            product = lambda g, h: tuple(g[h[y]] for y in range(3))
            is_group = all(product(g, h) in rows for g in rows for h in rows) and (0, 1, 2) in rows
            is_group = is_group and all(any(product(g, h) == (0, 1, 2) for h in rows) for g in rows)
            is_transitive = {g[0] for g in rows} == {0, 1, 2}
            if is_group and is_transitive:
                groups.check_action(np.array(rows))
            else:
                with pytest.raises(InputError, match="fails"):
                    groups.check_action(np.array(rows))


def cyclic_table(n):
    return ((np.arange(n)[:, None] + np.arange(n)) % n).tolist()


def written(folder, **content):
    path = folder / "group.json"
    path.write_text(json.dumps(content))
    return str(path)


def test_files_of_too_many_values_are_refused(tmp_path):
    with pytest.raises(InputError, match="action has 65 columns, but with 65 rows at most 63 values"):
        groups.read(written(tmp_path, action=cyclic_table(65)))
    assert groups.read(written(tmp_path, action=cyclic_table(64))).value.n_y == 64


def test_files_of_many_elements_may_have_fewer_values(tmp_path):
    n_g, n_y = 960, 32
    action = (np.arange(n_g)[:, None] + np.arange(n_y)) % n_y
    with pytest.raises(InputError, match="action has 32 columns, but with 960 rows at most 25 values are allowed"):
        groups.read(written(tmp_path, action=action.tolist()))


def test_an_action_that_is_not_faithful_is_accepted(tmp_path):
    group = groups.read(written(tmp_path, action=[[0, 1], [1, 0]] * 2)).value
    assert (group.n_g, group.n_y, group.fibre_size) == (4, 2, 2)


@pytest.mark.parametrize("name", ["D4", "C", "S7", "C1", "c5", ""])
def test_unknown_group_names_are_refused(name):
    with pytest.raises(InputError, match="needed"):
        groups.named(name)


def test_population_counts_every_sentence_once():
    group = groups.named("C3")
    sentences = data.population(group, 4, 2, variables_read=3)
    rows = np.concatenate([sentences.variables, sentences.actions, sentences.values], axis=1)
    assert len(np.unique(rows, axis=0)) == len(rows) == 4 * 3 * 2 * 3**3


def test_values_follow_the_action():
    group = groups.named("S3")
    s = data.sample(np.random.default_rng(0), group, 9, 6, 50)
    assert (s.values[:, 1:] == group.action[s.actions, s.values[:, :-1]]).all()


def test_variables_of_a_sentence_are_distinct():
    s = data.sample(np.random.default_rng(0), groups.named("C3"), 7, 6, 50)
    assert all(len(set(row)) == 7 for row in s.variables)


def test_clauses_stand_in_their_slots():
    vocabulary = data.Vocabulary(4, groups.named("C2"))  # tokens: 0-3 variables, 4-5 actions, 6-7 values, 8 blank
    sentence = fs.Samples(variables=[[2, 0, 3]], actions=[[1, 0]], values=[[0, 1, 1]])
    expected = [[0, 5, 2, 8, 8], [3, 4, 0, 8, 8], [8, 8, 8, 2, 6], [8, 8, 8, 0, 7], [8, 8, 8, 3, 7]]
    assert data.clauses(vocabulary, sentence)[0].tolist() == expected


@pytest.mark.parametrize("L", [0, 4])
def test_lengths_without_enough_variables_are_refused(L):
    with pytest.raises(InputError, match=f"L = {L} is not allowed"):
        data.population(groups.named("C3"), 4, L, variables_read=2)


@pytest.mark.parametrize("features", ["ideal", "trained"])
def test_a_population_too_large_to_list_is_refused(features):
    system = load("lego")
    setup = system.setup("algorithm_2", group="S5", n_x=20, features=features)
    with pytest.raises(InputError, match="too large together for the exact population"):
        train(system, setup, mode="algorithm_2", steps=1)
