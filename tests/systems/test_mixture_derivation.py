"""The mixture limit as derived: found by lumping and stated with K as a symbol, each certifying the other.

The program is compared with `jax.grad` of the finite-width model pushed to inner products, and with the oracle's
formulas: no sympy in either.
"""

import time
from functools import cache

import jax
import mixture_oracle as oracle
import numpy as np
import pytest

from flowsys.program.arrays import arguments, function, observed, vector_field
from flowsys.symbolic.assemble import assemble
from flowsys.symbolic.found import found_statement
from flowsys.symbolic.lumping import certificate, describe, lump, merged
from flowsys.systems.mixture.derive import sectors_of_classes
from flowsys.systems.mixture.enumerated import enumerated, infinite_width_start, unlumped_field
from flowsys.systems.mixture.limits import initial_state, onset_of_group_signal, program, stage_1_neurons
from flowsys.systems.mixture.model import attention_scores
from flowsys.systems.mixture.network import ReducedLayout
from flowsys.systems.mixture.population import all_samples, hard_weights, orbit_tables, orbits
from flowsys.systems.mixture.statement import limit_statement

SIZES = [(2, 3), (3, 3), (4, 3), (8, 3), (2, 4), (3, 4), (2, 5), (3, 5)]


@cache
def full_field(K, L, mode="simultaneous"):
    return unlumped_field(K, L, 0.5, mode)


@cache
def partition(K, L, seed=0):
    return lump(full_field(K, L), infinite_width_start(K, 0.1), seed=seed)


def limit_arguments(text, K, L, b=0.5, omega=0.1, hard=False):
    tables, links = orbit_tables(K, L)
    if hard:
        tables = tables | {"samples": tables["samples"] | {"weight": hard_weights(K, L)}}
    values = {"K": K, "omega": omega, "b": b, "train_neurons": 1, "train_attention": 1}
    return arguments(text, values, tables, links)


def random_state(text, seed, scale=0.7):
    return scale * np.random.default_rng(seed).standard_normal(len(text.state))


# -- lumping --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("K", "L"), SIZES)
def test_all_coordinates_of_both_heads_lump_to_twenty_two(K, L):
    assert len(partition(K, L).labels) == 16 * K**2 + 8 * K and partition(K, L).n_classes == 22


@pytest.mark.parametrize(("K", "n"), [(2, 80), (3, 168), (4, 288), (8, 1088)])
def test_section_2_number_of_coordinates(K, n):
    assert len(ReducedLayout(K).names) == n


@pytest.mark.parametrize(("K", "L"), SIZES)
def test_the_lumping_is_certified(K, L):
    assert certificate(full_field(K, L), partition(K, L)) < 1e-10


@pytest.mark.parametrize("seed", range(6))
def test_a_random_extra_merge_is_not(seed):
    a, b = np.random.default_rng(seed).choice(22, 2, replace=False)
    assert certificate(full_field(2, 3), merged(partition(2, 3), int(a), int(b))) > 1e-3


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_lumping_does_not_depend_on_the_seed(seed):
    assert np.array_equal(partition(3, 4, seed).labels, partition(3, 4).labels)
    assert np.array_equal(partition(3, 4, seed).signs, partition(3, 4).signs)


def test_stage_2_lumps_further_at_two_groups():
    start = infinite_width_start(2, 0.1, (0.31, 0.87))
    found = lump(full_field(2, 3, "stage 2"), start)
    assert found.n_classes == 19 and certificate(full_field(2, 3, "stage 2"), found) < 1e-10


def test_the_lumping_says_which_tokens_and_heads_are_alike():
    words = describe(partition(3, 3), ReducedLayout(3).names)
    assert words.alike == (
        "c1, c2, c3 are alike", "minus, plus are alike (some coordinates up to sign)", "v1, v2, v3 are alike",
    )  # fmt: skip
    assert "w_plus_v1 stands for 6 coordinates, 3 of them with opposite sign" in words.classes


# -- found and stated -------------------------------------------------------------------------------------------------


@cache
def found_program():
    return assemble(found_statement(enumerated(2, 3), partition(2, 3)))


def test_the_eight_samples_of_two_groups_merge_to_two():
    text = found_program()
    merged_samples = function(text, (text.observables["n_merged_samples"],), "exact", np)
    assert merged_samples(np.zeros(22), arguments(text, {"b": 0.5}))[0] == 2


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_found_program_is_the_stated_program(seed):
    found, stated = found_program(), program("22")
    to_sectors = sectors_of_classes(stated, partition(2, 3), 2)
    z = 0.7 * np.random.default_rng(seed).standard_normal(22)
    ours = vector_field(stated, "exact", np)(to_sectors @ z, limit_arguments(stated, 2, 3))
    theirs = to_sectors @ vector_field(found, "exact", np)(z, arguments(found, {"b": 0.5}))
    assert np.abs(ours - theirs).max() < 1e-13


def test_the_program_is_small():
    assert program("22").operations <= 1000 and found_program().operations <= 1000


def test_the_derivation_is_quick():
    start = time.process_time()
    assert assemble(limit_statement()) == program("22")
    assert time.process_time() - start < 20


@pytest.mark.parametrize(("K", "L"), [(2, 3), (3, 4), (3, 5), (4, 3)])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_program_is_autodiff_of_the_model_pushed_to_inner_products(K, L, seed):
    stated = program("22")
    z = 0.7 * np.random.default_rng(seed).standard_normal(22)
    to_sectors = sectors_of_classes(stated, partition(K, L), K)
    ours = vector_field(stated, "exact", np)(to_sectors @ z, limit_arguments(stated, K, L))
    theirs = to_sectors @ partition(K, L).project(full_field(K, L)(partition(K, L).lift(z)))
    assert np.abs(ours - theirs).max() <= 1e-12


@pytest.mark.parametrize(("K", "L"), [(2, 3), (5, 3), (3, 4), (4, 5), (3, 6)])
@pytest.mark.parametrize("stage", [0, 2])
def test_the_program_is_the_oracles_formulas(K, L, stage):
    text, y = program("22"), random_state(program("22"), seed=K + L)
    args = limit_arguments(text, K, L, hard=stage == 2)
    rates = oracle.from_program(vector_field(text, "exact", np)(y, args), text.state)
    flow, state = oracle.flow(K, L, 0.5, stage), oracle.from_program(y, text.state)
    expected = flow.rhs(state, (flow.preactivations(state) > 0).astype(float))
    trained = slice(2 if stage == 2 else 0, None)
    assert np.abs(rates - expected)[trained].max() < 1e-13


@pytest.mark.parametrize("seed", [0, 1])
def test_ten_variables_are_twenty_two_on_the_balanced_surface(seed):
    small, large = program("10"), program("22")
    y = random_state(small, seed)
    args = limit_arguments(small, 3, 4, omega=0.4)
    names = [n for n in large.observables if n.startswith(("S_", "KK_", "QQ_", "w_"))]
    entries = dict(zip(names, observed(small, names, "exact", np)(y, args)))
    pick = lambda n: entries[n] if n in entries else _sector(entries, n, 3)
    full = np.array([pick(n) for n in large.state])
    fast = vector_field(small, "exact", np)(y, args)
    slow = vector_field(large, "exact", np)(full, limit_arguments(large, 3, 4, omega=0.4))
    assert np.allclose([slow[large.state.index(n)] for n in small.state], fast, rtol=1e-12, atol=1e-14)


def _sector(entries, name, K):
    base, part = name.rsplit("_", 1)
    return entries[f"{base}_same"] + (K - 1 if part == "mean" else -1) * entries[f"{base}_diff"]


# -- the population ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("D", "n"), [(1, 2), (2, 6), (3, 14), (4, 33), (5, 70), (6, 149), (7, 298)])
def test_section_3_number_of_orbits(D, n):
    assert len(orbits(D + 1, D + 2)) == len(orbits(8, D + 2)) == n


def test_section_3_number_of_orbits_of_few_groups():
    assert [len(orbits(2, L)) for L in range(3, 10)] == [L - 1 for L in range(3, 10)] and len(orbits(3, 5)) == 10


@pytest.mark.parametrize(("K", "L"), [(2, 3), (3, 4), (3, 6), (4, 5)])
def test_orbit_probabilities_are_counted_correctly(K, L):
    counted = sorted(oracle.population(K, L).probability)
    assert sum(o.probability for o in orbits(K, L)) == 1
    assert np.allclose(sorted(float(o.probability) for o in orbits(K, L)), counted, rtol=1e-14)


@pytest.mark.parametrize(("K", "L"), [(2, 3), (3, 4), (4, 5)])
def test_hard_samples_are_conditioned_to_weigh_one(K, L):
    samples = all_samples(K, L)
    share = samples.weight[samples.is_hard].sum()
    hard = [float(o.probability) for o in orbits(K, L) if o.is_hard]
    assert hard_weights(K, L).sum() == pytest.approx(1) and sum(hard) == pytest.approx(share)


# -- closed forms -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("K", "b"), [(2, 0.5), (3, 0.2), (8, 1.0)])
def test_closed_form_of_stage_1_is_continuous_where_the_gate_closes(K, b):
    before, after = (stage_1_neurons(onset_of_group_signal(K, b) * (1 + s), K, b) for s in (-1e-12, 1e-12))
    assert np.allclose(before, after, atol=1e-10) and after[1] == pytest.approx(b / 2, abs=1e-9)


@pytest.mark.parametrize(("K", "b"), [(2, 0.5), (3, 0.2), (8, 1.0)])
def test_closed_form_of_stage_1_solves_its_equation(K, b):
    assert stage_1_neurons(10.0 * K, K, b) == pytest.approx(oracle.stage_1_end(10.0 * K, K, b), rel=1e-12)


def test_infinite_width_starts_balanced():
    text = program("22")
    start = oracle.from_program(initial_state(text.state, 0.3), text.state)
    assert np.array_equal(start, oracle.start(0.3))


def test_scores_read_the_key_first():
    samples = all_samples(2, 3)
    S = np.arange(16.0).reshape(4, 4)
    scores = np.asarray(attention_scores(S, samples.sequence))[0]
    key, query = samples.sequence.keys[0][0], samples.sequence.queries[0][1]
    sign = samples.sequence.key_signs[0][0] * samples.sequence.query_signs[0][1]
    assert scores[0, 1] == sign * S[key, query] and not jax.config.jax_enable_x64
