"""Claims of the prompt paper measured elsewhere: other sizes, gradient flow from random weights, training by SGD."""

import pytest

from flowsys import load
from flowsys.claims import Word
from flowsys.claims.checking import check
from flowsys.claims.conditions import Conditions, under
from flowsys.systems.prompt.claims import runs

SYSTEM = load("prompt")


def verdict(id, level=None, seeds=None, **parameters):
    return SYSTEM_CLAIMS[id].check(SYSTEM, Conditions(level, seeds, tuple(parameters.items())))


SYSTEM_CLAIMS = {claim.id: claim for claim in SYSTEM.claims}


def test_a_claim_stated_at_several_sizes_is_measured_at_the_one_asked_for():
    assert verdict("Eq49").parameters["(M, K, alpha)"] == runs.SIZES
    elsewhere = verdict("Eq49", M=30, alpha=0.35)
    assert elsewhere.parameters["(M, K, alpha)"] == ((30, 3, 0.35),)
    assert elsewhere.holds and "(20, 2" not in elsewhere.measured


def test_the_bounds_of_lemma_F5_depend_on_the_size():
    words = {K: verdict("F.5_30", M=20, K=K).word for K in (2, 3)}
    assert words == {2: Word.IN_PART, 3: Word.HOLDS}


def test_what_a_note_says_of_the_record_is_not_said_elsewhere():
    assert "M = 20, K = 3" in verdict("F.5_signs").note
    assert "M = 20, K = 3" not in verdict("F.5_signs", M=200).note


def test_a_higher_target_of_success_needs_more_examples_but_the_same_exponent():
    usual, strict = verdict("theorem_2_alpha"), verdict("theorem_2_alpha", success=0.995)
    assert all(more > less for more, less in zip(strict.values["measured"], usual.values["measured"]))
    assert strict.values["exponent"] == pytest.approx(usual.values["exponent"], abs=0.15)


def test_training_on_prompts_stays_within_the_time_of_theorem_1():
    found = verdict("theorem_1_time", "L0", M=6, K=2, l_tr=10)
    assert found.holds and len(found.values["ratios"]) == 2
    assert found.parameters["level"] == "L0" and found.parameters["l_tr"] == 10


@pytest.mark.slow
@pytest.mark.parametrize(
    "id", ["stage_2_bound", "late_score", "T_3_epsilon", "prop_1", "theorem_2_error", "theorem_3a"]
)
def test_gradient_flow_from_random_weights_agrees_with_the_record(id):
    assert verdict(id, "L2").holds


@pytest.mark.slow
@pytest.mark.parametrize("id", ["stage_2_bound", "surrogate_p", "prop_1", "noise", "theorem_2_error", "theorem_3a"])
def test_training_agrees_with_the_record(id):
    assert verdict(id, "L0").holds


def test_what_a_measurement_sets_itself_is_refused_in_a_sentence():
    found = verdict("theorem_1_step", "L0", learning_rate=0.5)
    assert found.word is Word.NOT_TESTABLE
    assert found.note == "learning_rate = 0.5 cannot be chosen here: this measurement sets learning_rate itself."
    (listed,) = check(SYSTEM, ["condition_1"])
    assert listed.claim.levels == ("L3",) and not listed.claim.takes


@pytest.mark.parametrize(("id", "level"), [("theorem_1_tasks", "L2"), ("theorem_1_step", "L0")])
def test_a_measurement_without_seeds_to_choose_says_so_in_a_sentence(id, level):
    found = verdict(id, level, seeds=2)
    assert found.word is Word.NOT_TESTABLE
    assert found.note.startswith("seeds cannot be chosen here: ") and found.note.count(".") == 1


def test_training_that_never_arrives_breaks_the_bounds_and_leaves_the_rest_unmeasured():
    """α = 0.01 at M = 20: below α M = 0.66 nothing is learnt."""
    words = {id: verdict(id, alpha=0.01) for id in ("theorem_1_time", "stage_2_bound", "prop_1", "F.5_signs")}
    assert all(words[id].word is Word.FAILS for id in ("theorem_1_time", "stage_2_bound", "prop_1"))
    assert words["F.5_signs"].note == "T_1 is never reached with these parameters."


def test_descent_is_followed_no_further_than_it_comes():
    with under(Conditions("L0")):
        assert runs.horizon(1e7) == runs.LONGEST_TRAINING
    assert runs.horizon(1e7) == 1e7
