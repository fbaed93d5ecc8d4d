"""Claims measured elsewhere than where they are stated: every parameter a claim takes reaches its runs."""

import pytest

import flowsys
from flowsys.claims import Word
from flowsys.claims.checking import check
from flowsys.claims.conditions import Conditions
from flowsys.runs.solving import solve

OTHER = {
    "lego": {"d": 900.0, "C_B": 3.2, "rho": 0.28, "bias": 0.11},
    "mixture": {"omega": 0.12, "b": 0.55, "T_1": 25.0, "s_star": 1.1},
    "prompt": {"K": 4, "alpha": 0.35, "epsilon_1": 0.12, "p_2": 0.55},
}
OPEN = {("lego", "drive_of_gamma")}  # measured there, and not decided: a limit that is approached like d^-0.02
TAKING = [(name, c) for name in OTHER for c in flowsys.load(name).claims if c.takes and c.is_cheap]


@pytest.mark.parametrize(("name", "claim"), TAKING, ids=[f"{name}-{c.id}" for name, c in TAKING])
def test_a_claim_is_measured_with_the_parameters_it_takes(name, claim, monkeypatch):
    nudge = 1e-6 * TAKING.index((name, claim))  # so that no other claim's runs are found again
    given = {p: x if isinstance(x, int) else x + nudge for p, x in OTHER[name].items() if p in claim.takes}
    reached = {}
    watched = lambda system, setup, **more: reached.update(setup) or solve(system, setup, **more)
    monkeypatch.setattr(flowsys.claims.kit, "solve", watched)
    verdict = claim.check(flowsys.load(name), Conditions(parameters=tuple(given.items())))
    is_open = (name, claim.id) in OPEN and bool(verdict.measured) and "not yet asymptotic" in verdict.note
    assert verdict.word is not Word.NOT_TESTABLE or is_open, verdict.note
    assert given.items() <= reached.items()
    assert given.items() <= verdict.parameters.items()


def test_a_bias_beyond_its_range_is_outside_the_regime():
    system = flowsys.load("mixture")
    (default,) = check(system, ["D.7"])
    (large,) = check(system, ["D.7"], conditions=Conditions(parameters=(("b", 2.0),)))
    assert (default.verdict.word, large.verdict.word) == (Word.HOLDS, Word.OUTSIDE)


@pytest.mark.parametrize("level", ["L0", pytest.param("L2", marks=pytest.mark.slow)])
def test_descent_and_finite_width_follow_the_limit_in_stage_1(level):
    conditions = Conditions(level, 2, (("width", 200),))
    for found in check(flowsys.load("mixture"), ["D.8"], conditions=conditions):
        assert found.verdict.holds
        assert found.verdict.measured.startswith("holds for 2 of 2 seeds")


def test_random_starts_of_small_width_break_the_signs_of_the_limit():
    signs = lambda **more: check(flowsys.load("mixture"), ["E.5"], conditions=Conditions(**more))[0].verdict
    assert signs().holds
    assert signs(level="L0", parameters=(("width", 20),)).word is Word.IN_PART
