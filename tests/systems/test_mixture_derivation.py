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

import flowsys as fs
from flowsys.model.compared import stated_against_found
from flowsys.model.concrete import View
from flowsys.model.limit import found_limit
from flowsys.program.arrays import arguments, observed, vector_field
from flowsys.symbolic.assemble import assemble
from flowsys.symbolic.lumping import describe, merged
from flowsys.systems.mixture.limits import initial_state, onset_of_group_signal, program, stage_1_neurons
from flowsys.systems.mixture.model import attention_scores, sequence_of
from flowsys.systems.mixture.observables import OBSERVE
from flowsys.systems.mixture.population import orbit_tables, orbits
from flowsys.systems.mixture.statement import limit_statement
from tests.symbolic.plain_lumping import certificate, lump

S = fs.load("mixture")

SIZES = [(2, 3), (3, 3), (4, 3), (8, 3), (2, 4), (3, 4), (2, 5), (3, 5)]


@cache
def concrete(K, L):
    return S.concrete(S.setup(K=K, L=L), "L3", "simultaneous")


def all_samples(K, L):
    return concrete(K, L).populations[0].samples


def names(K, L=3):
    return concrete(K, L).coordinates.names


@cache
def full_field(K, L, mode="simultaneous", stage=0):
    """The flow of all inner products by autodiff, as a NumPy function."""
    rhs = jax.jit(fs.field(S, S.setup(K=K, L=L), level="L2", mode=mode, stage=stage).jax)

    def evaluate(y):
        with jax.enable_x64(True):
            return np.asarray(rhs(np.asarray(y, dtype=float)))

    return evaluate


def start(K, L=3, neurons=(0.0, 0.0)):
    seen = S.start(S.setup(K=K, L=L), "L3")
    seen["w"] = np.repeat([neurons, (neurons[0], -neurons[1])], K, axis=1)
    return concrete(K, L).coordinates.join(seen)


@cache
def partition(K, L, seed=0):
    return lump(full_field(K, L), start(K, L), seed=seed)


def sectors_of(K, L, flat):
    """The stated program's coordinates of a symmetric state (or of its rate: entries are linear)."""
    there = concrete(K, L)
    w, p = View(there.coordinates.split(flat)), there.p(there.reals())
    entries = {n: f(None, w, None, p) for n, f in OBSERVE.items() if n.startswith(("w_", "S_", "KK_", "QQ_"))}
    for stem in {n.removesuffix("_same") for n in entries if n.endswith("_same")}:
        same, diff = entries[f"{stem}_same"], entries[f"{stem}_diff"]
        entries |= {f"{stem}_mean": same + (K - 1) * diff, f"{stem}_difference": same - diff}
    return np.array([entries[name] for name in program("22").state])


def limit_arguments(text, K, L, b=0.5, omega=0.1, hard=False):
    values = {"K": K, "omega": omega, "b": b, "train_neurons": 1, "train_attention": 1}
    return arguments(text, values, *orbit_tables(K, L, hard))


def random_state(text, seed, scale=0.7):
    return scale * np.random.default_rng(seed).standard_normal(len(text.state))


# -- lumping --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("K", "L"), SIZES)
def test_all_coordinates_of_both_heads_lump_to_twenty_two(K, L):
    assert len(partition(K, L).labels) == 16 * K**2 + 8 * K and partition(K, L).n_classes == 22


@pytest.mark.parametrize(("K", "n"), [(2, 80), (3, 168), (4, 288), (8, 1088)])
def test_section_2_number_of_coordinates(K, n):
    assert len(names(K)) == n


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
    stage_2 = full_field(2, 3, "three_stage", 1)
    found = lump(stage_2, start(2, neurons=(0.31, 0.87)))
    assert found.n_classes == 19 and certificate(stage_2, found) < 1e-10


def test_the_lumping_says_which_tokens_and_heads_are_alike():
    words = describe(partition(3, 3), names(3))
    assert words.alike == (
        "c1, c2, c3 are alike", "minus, plus are alike (some coordinates up to sign)", "v1, v2, v3 are alike",
    )  # fmt: skip
    assert "w_plus_v1 stands for 6 coordinates, 3 of them with opposite sign" in words.classes


# -- found and stated -------------------------------------------------------------------------------------------------


def test_the_eight_samples_of_two_groups_merge_to_two():
    assert len(all_samples(2, 3)) == 8 and len(found_limit(concrete(2, 3)).slots.rows[0]) == 2


def agreement(concrete, setup):
    """How far the stated program at a setup is from what the engine finds."""
    data = S.problem(setup, "L3", "22", "simultaneous").stages[0].arguments
    return stated_against_found(concrete, program("22"), data)


@pytest.mark.parametrize(("K", "L"), [(2, 3), (3, 4)])
def test_the_found_program_is_the_stated_program(K, L):
    assert agreement(concrete(K, L), S.setup(K=K, L=L)) < 1e-13


def test_a_wrong_statement_is_noticed():
    assert agreement(concrete(3, 3), S.setup(K=3, L=3, b=0.5001)) > 1e-6


def test_the_program_is_small():
    assert program("22").operations <= 1000


def test_the_derivation_is_quick():
    start = time.process_time()
    assert assemble(limit_statement()) == program("22")
    assert time.process_time() - start < 20


@pytest.mark.parametrize(("K", "L"), [(2, 3), (3, 4), (3, 5), (4, 3)])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_program_is_autodiff_of_the_model_pushed_to_inner_products(K, L, seed):
    stated, lumped = program("22"), partition(K, L)
    y = lumped.lift(0.7 * np.random.default_rng(seed).standard_normal(22))
    ours = vector_field(stated, "exact", np)(sectors_of(K, L, y), limit_arguments(stated, K, L))
    assert np.abs(ours - sectors_of(K, L, full_field(K, L)(y))).max() <= 1e-12


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
    assert sum(orbits(K, L).values()) == 1
    assert np.allclose(sorted(map(float, orbits(K, L).values())), counted, rtol=1e-14)


@pytest.mark.parametrize(("K", "L"), [(2, 3), (3, 4), (4, 5)])
def test_hard_samples_are_conditioned_to_weigh_one(K, L):
    samples = all_samples(K, L)
    share = samples.weight[samples.hard > 0].sum()
    of_all, hard = (orbit_tables(K, L, hard)[0]["samples"]["weight"] for hard in (False, True))
    assert hard.sum() == pytest.approx(1) and of_all[hard > 0].sum() == pytest.approx(share)


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
    scores = np.asarray(attention_scores(np.arange(16.0).reshape(4, 4), sequence_of(samples)))[0]
    key, query = samples.keys[0][:2]
    sign = samples.signs[0][0] * samples.signs[0][1]
    assert scores[0, 1] == sign * (4 * key + query) and not jax.config.jax_enable_x64


@pytest.mark.parametrize(("K", "L"), [(2, 3), (3, 4)])
def test_every_observable_is_the_stated_limits_at_symmetric_states(K, L):
    """The same public names mean the same numbers at L2 and at L3."""
    setup = S.setup(K=K, L=L)
    text = program("22")
    y = partition(K, L).lift(0.7 * np.random.default_rng(3).standard_normal(22))
    problem = S.problem(setup, "L2", mode="simultaneous")
    shared = tuple(n for n in ("loss", *OBSERVE) if n in text.observables)
    with jax.enable_x64(True):
        finite = np.asarray(problem.field.observe(shared)(jax.numpy.asarray(y), problem.stages[0].arguments))
    limit = observed(text, shared, "exact", np)(sectors_of(K, L, y), limit_arguments(text, K, L))
    assert np.abs(finite - np.asarray(limit)).max() < 1e-12
    margins = [S.problem(setup, level, mode="simultaneous").derived["max_margin"] for level in ("L2", "L3")]
    assert margins[0](y) == pytest.approx(margins[1](sectors_of(K, L, y)), abs=1e-9)


@pytest.mark.parametrize("variant", ["22", "10"])
def test_single_entries_of_the_limit_are_their_classes_up_to_sign(variant):
    """Every entry of both heads by name, stated against found."""
    setup, names_of = S.setup(K=3), sorted(names(3))
    stated, found = (
        fs.solve(S, setup, mode="simultaneous", variant=v, at=[200.0], observe=names_of, rtol=1e-11)
        for v in (variant, "found")
    )
    assert max(abs(stated[n][0] - found[n][0]) for n in names_of) < 1e-8
