"""Claims of the parity system measured elsewhere: what is asked for reaches their runs; what cannot be is said."""

import pytest

import flowsys
from flowsys.claims import Word
from flowsys.claims.conditions import Conditions
from flowsys.systems.parity import sgd
from flowsys.systems.parity.claims import pairs, runs

CLAIMS = {claim.id: claim for claim in flowsys.load("parity").claims}
OTHER = {"n": 24, "k": 4, "m": 900.0, "rho": 0.25}
SMALL = (("n", 10), ("k", 2))


def found(id, level=None, seeds=None, **parameters):
    return CLAIMS[id].check(flowsys.load("parity"), Conditions(level, seeds, tuple(parameters.items())))


@pytest.mark.parametrize(
    "id", ["lemma_8", "lemma_18", "lemma_19", "theorem_3", "lemma_25", "lemma_26", "three_step_map"]
)
def test_three_steps_are_taken_at_the_sizes_asked_for(id, monkeypatch):
    rates, limit = [], sgd.limit_steps
    monkeypatch.setattr(sgd, "limit_steps", lambda *given, **more: rates.append(given) or limit(*given, **more))
    nudge = 1e-6 * list(CLAIMS).index(id)  # so that no other claim's steps are found again
    verdict = found(id, "L3", **(OTHER | {"rho": 0.25 + nudge}))
    assert verdict.word is not Word.NOT_TESTABLE, verdict.note
    expected = runs.lemma_rates(24, 900.0, 0.25 + nudge)
    assert all(given == (24, 4, 900.0, expected) for given in rates) and rates


def test_the_flow_is_solved_at_the_sizes_asked_for(monkeypatch):
    setups, solve = [], runs.solve
    monkeypatch.setattr(
        runs, "solve", lambda system, setup, **more: setups.append(setup) or solve(system, setup, **more)
    )
    assert found("phase_order", n=300, m=123.0).holds
    assert all((setup["n"], setup["m"], setup["k"]) == (300, 123.0, 3) for setup in setups) and setups


def test_few_neurons_of_the_limit_of_many_learn_too():
    verdict = found("theorem_3", "L2", seeds=2, width=200)
    assert verdict.holds and verdict.measured.startswith("holds for 2 of 2 seeds")


def test_three_steps_on_batches_learn_if_the_batch_is_large():
    words = [found("theorem_3", "L0", **dict(SMALL), m=2000.0, width=100, batch=batch).word for batch in (4096, 16)]
    assert words == [Word.HOLDS, Word.FAILS]


def test_descent_on_the_hinge_learns_what_the_balanced_design_does():
    assert found("hinge_accuracy", "L0", width=64, learning_rate=8.0).holds


def test_at_finite_width_later_positions_do_not_follow_the_limit():
    assert found("one_hot_elsewhere", n=50, k=3, m=100.0).holds
    assert found("one_hot_elsewhere", "L2", n=50, k=3, m=100.0).word is Word.FAILS


def test_what_fails_at_finite_width_is_the_token_of_a_query_with_fewer_neurons():
    """Equal counts within pairs mend it; the limit's overlaps between positions do not."""
    setup = runs.SYSTEM.setup(n=50, k=3, m=100.0)
    ways = (pairs.as_drawn, pairs.independent_positions, pairs.equal_pairs)
    drawn, independent, equal = (pairs.one_hot_share(setup, way) for way in ways)
    assert drawn < 1 and independent < 1 and equal == 1


def test_a_token_fails_beyond_a_difference_of_order_one_over_n():
    assert 50 * pairs.critical_difference(50, 3, halvings=6) == pytest.approx(0.8, abs=0.1)


@pytest.mark.parametrize(
    ("id", "level", "given", "name"),
    [
        ("multi_pass", "L2", {}, "L2"),
        ("lock_time", "L2", {"n": 50}, "n = 50"),
        ("theorem_3", "L2", {"batch": 100}, "batch = 100"),
        ("theorem_3", "L3", {"k": 12}, "k = 12"),
        ("lemma_18", None, {"k": 1}, "k = 1"),
        ("theorem_2_gradient", None, {"n": 40}, "n = 40"),
    ],
)
def test_what_cannot_be_measured_is_said_in_a_sentence(id, level, given, name):
    verdict = found(id, level, **given)
    assert verdict.word is Word.NOT_TESTABLE and name in verdict.note
