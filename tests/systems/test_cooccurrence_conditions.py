"""The co-occurrence claims measured elsewhere than where they are stated: other sizes and scales, finite width."""

import pytest

from flowsys.claims import Word
from flowsys.claims.conditions import Conditions, under
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence.claims.runs import FEW, SIZES, places, setup
from flowsys.systems.cooccurrence.max_margin import max_margin
from flowsys.systems.cooccurrence.scales import condition_1

CLAIMS = {claim.id: claim for claim in SYSTEM.claims}
SMALL = (("n", 12.0), ("width", 64))

SWEEPING = (
    "attention_starts_uniform",
    "phase_1_ends_after_a_time_of_order_one_over_m",
    "correlations_and_scores_hardly_move_in_phase_1",
    "training_has_the_two_phases_of_figure_1",
)


def conditions(level=None, **parameters):
    return Conditions(level, None, tuple(parameters.items()))


def test_what_is_not_asked_for_follows_condition_1():
    with under(conditions("L2", width=100, L=8.0)):
        (place,) = places()
        assert place == (60, condition_1(100, 16, 8), 8)
        assert setup(place)["width"] == 100
    with under(conditions(n=300.0, beta=64.0)):
        assert places() == ((300, FEW._replace(beta=64.0), 5),)
    assert places() == SIZES


def test_descent_is_stable_unless_another_rate_is_asked_for():
    with under(conditions("L0", n=12.0)):
        assert setup(places()[0])["learning_rate"] * (FEW.beta + FEW.m1 * FEW.alpha) == pytest.approx(0.5)
    with under(conditions("L0", n=12.0, learning_rate=1e-4)):
        assert setup(places()[0])["learning_rate"] == 1e-4


def test_the_late_gradient_ratio_is_that_of_the_size_asked_for():
    verdict = CLAIMS["the_gradient_ratio_tends_to_the_root_of_the_quadratic"].check(SYSTEM, conditions(n=300.0, L=8.0))
    assert verdict.holds and verdict.parameters["n"] == 300
    assert f"R* = {max_margin(300, 8).gradient_ratio:.4f}" in verdict.measured


def test_strong_attention_asked_for_turns_the_sign_of_a_score():
    strong = conditions(n=600.0, alpha=1.0, beta=1.0, m1=1.0, score_scale=2.0)
    assert CLAIMS["scores_have_the_stated_signs"].check(SYSTEM, strong).word is Word.FAILS


def test_first_rates_are_measured_at_the_width_and_seed_asked_for():
    output = CLAIMS["the_initial_output_is_small"]
    one, two = (output.check(SYSTEM, conditions("L0", width=96, seed=seed)) for seed in (0, 1))
    assert "(m=96)" in one.measured and one.measured != two.measured


@pytest.mark.parametrize(
    ("id", "asked", "why"),
    [
        ("attention_starts_uniform", conditions("L2", width=64), "width = 64 cannot be chosen"),
        ("the_initial_output_is_small", conditions("L2", n=300.0, L=8.0), "n = 300, L = 8 is not allowed"),
        ("attention_stays_uniform", conditions("L2", n=7.0), "n = 7"),
        ("phase_1_ends_after_a_time_of_order_one_over_m", conditions(n=12.0, L=20.0), "have no phase 1"),
        ("irrelevant_words_start_at_three_over_n", conditions(n=float("inf")), "n = inf is not allowed"),
        ("the_targets_are_balanced", conditions("L3", d=70), "d = 70"),
        ("coefficients_follow_the_first_term", conditions("L2"), "cannot be measured at level L2"),
    ],
)
def test_what_cannot_be_measured_is_told_in_a_sentence(id, asked, why):
    verdict = CLAIMS[id].check(SYSTEM, asked)
    assert verdict.word is Word.NOT_TESTABLE and why in verdict.note


@pytest.mark.slow
@pytest.mark.parametrize("level", ["L0", "L2"])
def test_every_claim_with_finite_levels_has_a_verdict_there(level):
    # the others sweep the width themselves, or are about Appendix A
    takers = [c for c in CLAIMS.values() if level in c.levels and c.id not in SWEEPING]
    silent = [c.id for c in takers if c.check(SYSTEM, conditions(level, **dict(SMALL))).word is Word.NOT_TESTABLE]
    assert len(takers) > 15 and silent == []


@pytest.mark.slow
@pytest.mark.parametrize("level", ["L0", "L2"])
def test_types_rise_as_in_the_limit_from_a_calm_start_only(level):
    # σ_0 a tenth of Condition 1's: outputs of order 0.1 at the start, where Condition 1 itself has them of order 1
    rising = CLAIMS["the_loss_of_one_target_rises_first"]
    assert rising.check(SYSTEM, conditions(level, alpha=0.002)).holds
    assert not rising.check(SYSTEM, conditions(level)).holds
