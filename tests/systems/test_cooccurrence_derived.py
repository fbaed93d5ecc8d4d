"""The co-occurrence limit found by lumping and stated with symbols; the surrogates beside it."""

import numpy as np
import pytest
from scipy.linalg import expm

from flowsys.model.limit import draws_of
from flowsys.model.lumping import Lumping
from flowsys.program.arrays import vector_field
from flowsys.runs.solving import solve
from flowsys.symbolic.assemble import assemble
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence.derive import MATRICES, agreement
from flowsys.systems.cooccurrence.limits import program, program_arguments
from flowsys.systems.cooccurrence.sentences import training_sentences
from flowsys.systems.cooccurrence.statement import limit_statement
from tests.systems.cooccurrence_oracle import Limit


@pytest.fixture(scope="module")
def concrete():
    return SYSTEM.concrete(SYSTEM.setup(n=12, L=5), "L3", "limit")


ORBITS = {"G": 5, "c": 1, "VV": 24, "S": 35, "KK": 24, "QQ": 24}


def generic_start(concrete, split=0.0):
    """VV, S, KK, QQ multiples of exp(C), C how often two words occur in one sentence, over n; G(μ1) = split.

    Nothing but the data is put in. Words that a symmetry of the data exchanges start alike, and with every power of C
    in the exponential no others do; `split` ≠ 0 takes the swap of μ1 and μ2 away.
    """
    start = concrete.seen_at_limit()
    occurs = np.zeros((len(training_sentences(concrete.p({})).words), start["VV"].shape[0]))
    for sample, words in enumerate(training_sentences(concrete.p({})).words):
        occurs[sample, words] = 1
    start["G"][0, 0] = split
    alike = expm(occurs.T @ occurs / len(occurs))
    return start | {name: factor * alike for name, factor in zip(MATRICES, (1.0, 0.3, 1.1, 1.2))}


def class_counts(concrete, partition):
    """How many classes the words that are trained on have in G, c and each matrix."""
    d, counts = int(training_sentences(concrete.p({})).words.max()) + 1, {}
    for name, places in concrete.coordinates.positions.items():
        trained = places[:, :d] if name == "G" else places[:d, :d]
        labels = partition.labels[trained]
        counts["c" if name == "UU" else name] = len(set(labels[labels >= 0].tolist()))
    return {name: counts[name] for name in ("G", "c", *MATRICES)}


def counts(concrete, start=None):
    return class_counts(concrete, Lumping(draws_of(concrete, start)).partition)


def test_from_a_generic_symmetric_start_lumping_finds_the_orbits_by_itself(concrete):
    # the start is made of the counts of words that occur together; the lumping is told nothing of the symmetry group
    assert counts(concrete, generic_start(concrete)) == ORBITS and sum(ORBITS.values()) == 113
    told_apart = counts(concrete, generic_start(concrete, split=0.3))
    assert told_apart == {"G": 7, "c": 1, "VV": 36, "S": 57, "KK": 36, "QQ": 36} and sum(told_apart.values()) == 173


def test_with_one_sample_of_a_type_or_one_irrelevant_word_there_are_fewer_orbits():
    small = SYSTEM.concrete(SYSTEM.setup(n=6, L=4), "L3", "limit")
    assert counts(small, generic_start(small)) == {"G": 5, "c": 1, "VV": 21, "S": 32, "KK": 21, "QQ": 21}


def test_from_the_start_of_the_limit_the_classes_are_coarser_than_the_orbits(concrete):
    # S within a sentence does not tell a word from its neighbours (32 of 35), VV does not tell sentences apart (19)
    assert counts(concrete) == ORBITS | {"VV": 19, "S": 32}


@pytest.mark.parametrize("variant", ["113", "without_swap"])
def test_the_stated_program_is_the_found_one(concrete, variant):
    setup = SYSTEM.setup(n=12, L=5)
    assert agreement(variant, concrete, setup) < 1e-12
    wrong = SYSTEM.setup(n=12, L=5, alpha=1.1, beta=8.5, score_scale=0.6)
    assert agreement(variant, concrete, wrong) > 1e-3


def test_the_found_limit_reports_what_the_stated_one_does():
    setup = SYSTEM.setup(n=12, L=5)
    stated, found = (solve(SYSTEM, setup, variant=v, at=["T_1", 12.0], rtol=1e-11) for v in ("88", "found"))
    assert set(stated.series) == set(SYSTEM.observables) <= set(found.series)
    for name, values in stated.series.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-8, atol=1e-9, err_msg=name)


def test_a_wrong_multiplicity_is_noticed():
    setup = SYSTEM.setup(n=12, L=5)
    wrong = SYSTEM.setup(n=12, L=5, share_1=0.4)
    args = [program_arguments(s, "113") for s in (setup, wrong)]
    y = np.random.default_rng(0).normal(size=len(program("113").state))
    rates = [vector_field(program("113"), "exact", np)(y, a) for a in args]
    assert np.abs(rates[0] - rates[1]).max() > 1e-3


def test_the_committed_program_is_the_derived_one():
    fresh, committed = assemble(limit_statement("88")), program("88")
    arguments = program_arguments(SYSTEM.setup(n=17.5, L=6.5), "88")
    y = np.random.default_rng(1).normal(size=len(committed.state))
    rates = [vector_field(p, "exact", np)(y, arguments) for p in (fresh, committed)]
    np.testing.assert_allclose(*rates, rtol=1e-12, atol=1e-12)


def test_every_program_reports_every_observable_of_the_vocabulary():
    for variant in ("88", "113", "without_swap"):
        assert set(program(variant).observables) == set(SYSTEM.observables)


def test_the_derived_field_is_the_oracle_at_real_sizes():
    n, L, scales = 17.3, 6.4, (1.3, 2.1, 3.0, 0.7)
    oracle = Limit(n, L, *scales)
    y = oracle.solve([0.7])[-1]
    G, c, VV, S, KK, QQ = oracle.unpack(y)
    text = program("without_swap")
    values = {"tau": 0.0, "clock": 0.0, "u_u": c / scales[2]}
    basis = ("mu1", "mu2", "mu3", "f1", "f2", "f3", "f4")
    values |= dict(zip((f"g_{x}" for x in basis), np.sqrt(oracle.class_sizes) * G / np.sqrt(scales[2])))
    for name, blocks in (("VV", VV), ("S", S), ("KK", KK), ("QQ", QQ)):
        values |= {f"{name}_all_{a}_{b}": blocks[0][i, j] for i, a in enumerate(basis) for j, b in enumerate(basis)}
        for T in range(4):
            values |= {f"{name}_across_{T + 1}": blocks[1][T], f"{name}_within_{T + 1}": blocks[2][T]}
    setup = SYSTEM.setup(n=n, L=L, alpha=scales[0], beta=scales[1], m1=scales[2], score_scale=scales[3])
    state = np.array([values[name] for name in text.state])
    rates = dict(zip(text.state, vector_field(text, "exact", np)(state, program_arguments(setup, "without_swap"))))
    dG, dc, dVV, dS, *_ = oracle.unpack(oracle.field(0.0, y))
    assert rates["u_u"] * scales[2] == pytest.approx(dc, rel=1e-10)
    assert rates["g_mu1"] * np.sqrt(scales[2]) == pytest.approx(dG[0], rel=1e-10)
    assert rates["S_all_mu2_mu1"] == pytest.approx(dS[0][1, 0], rel=1e-10)
    assert rates["S_across_1"] == pytest.approx(dS[1][0], rel=1e-10)
    assert rates["VV_all_mu1_mu3"] == pytest.approx(dVV[0][0, 2], rel=1e-10)


def test_frozen_attention_is_the_limit_of_small_lambda_and_delta():
    limit = solve(SYSTEM, SYSTEM.setup(beta=1e5, alpha=0.01, score_scale=1e-3), at=["T_1"])
    bag = solve(SYSTEM, SYSTEM.setup(beta=1e5, alpha=0.01, score_scale=1e-3), level="L4", at=["T_1"])
    for name in ("clock", "G_mu1", "G_r2", "loss", "test_loss", "R", "g_type2"):
        assert bag.series[name][0] == pytest.approx(limit.series[name][0], rel=1e-6), name


def test_the_bag_of_words_has_the_constants_of_the_spec_at_infinitely_many_samples():
    setup = SYSTEM.setup(n=np.inf)
    found = solve(SYSTEM, setup, level="L4", at=["T_0.5", "T_1", 1e6 / 12], rtol=1e-11)
    np.testing.assert_allclose(found.series["clock"][:2], [3.56472, 12.97941], atol=1e-5)
    assert found.series["loss_type2"][0] == pytest.approx(0.80257, abs=1e-5)
    np.testing.assert_allclose((found.series["G_mu1"][1], found.series["G_mu3"][1]), (0.99618, -0.99618), atol=1e-5)
    assert found.series["R"][2] == pytest.approx(1.5, abs=1e-4)
    assert found.series["loss"][2] * 1e6 == pytest.approx(17, abs=5e-3)


@pytest.mark.parametrize(
    "n, L, R, constant", [(60, 5, 1.2693, 8.216), (600, 5, 1.4745, 15.354), (600, 10, 1.4425, 13.057)]
)
def test_the_bag_of_words_comes_to_its_late_constants(n, L, R, constant):
    found = solve(SYSTEM, SYSTEM.setup(n=n, L=L), level="L4", at=[1e6 / 12], rtol=1e-10).series
    assert found["R"][0] == pytest.approx(R, abs=1e-4)
    assert found["loss"][0] * found["clock"][0] == pytest.approx(constant, abs=2e-3)


def test_the_surrogates_fall_as_they_say():
    setup = SYSTEM.setup()
    margin = solve(SYSTEM, setup, level="L4", variant="max_margin", at=[1e5]).series
    assert margin["loss"][0] * margin["clock"][0] == pytest.approx(8.2233, rel=1e-4)
    assert margin["R"][0] == pytest.approx(1.2687, abs=1e-4)
    paper = solve(SYSTEM, setup, level="L4", variant="paper", at=["T_1_clock", 100.0])
    t, loss = paper.t, paper.series["loss"]
    assert t[0] == 13 / 8 and loss[0] == pytest.approx(np.log(2))
    assert 1 / loss[1] == pytest.approx(8 * (100 - t[0]) + 1 / np.log(2), rel=1e-8)
    assert paper.series["S_21"][1] == -paper.series["S_31"][1] > 0
