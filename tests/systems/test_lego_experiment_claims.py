"""Claims on the experiment of Section 7 judge what is kept: made-up results that agree with the paper, and others."""

import numpy as np
import pytest

from flowsys.claims import Word
from flowsys.systems.lego import SYSTEM, section_7
from flowsys.systems.lego.claims import experiment

LENGTHS = (5, 10, 20, 40, 80, 160)


def result(group, trained_to, solved, falling):
    """A model that solves lengths up to `solved`; `falling` names the attention that is lost along the chain."""
    order, L = [2, 0, 4, 1, 3], 5
    maps = {"in_order": np.full((L, 2 * L), 0.02), "shuffled": np.full((L, 2 * L), 0.02)}
    for name, place in (("in_order", np.arange(L)), ("shuffled", np.argsort(order))):
        maps[name][np.arange(L), place] = maps[name][np.arange(L), L + np.arange(L)] = 0.4
    lines = {
        str(n): {"order": order, "in_order": {kind: (np.linspace(0.4, 0.1, n) if kind == falling else np.full(n, 0.4))
                                              * 10 / n for kind in ("predicate", "answer")}}
        for n in (10, 20)
    }  # fmt: skip
    return {
        "trained_to": trained_to, "losses": [1.0, 0.1], "experiment": {"group": group, "L": trained_to, "seed": 0},
        "all_right": {str(n): 1.0 if n <= solved else 0.2 for n in LENGTHS},
        "attention": {"5": {"order": order, **{name: {"map": m} for name, m in maps.items()}}, **lines},
    }  # fmt: skip


AS_IN_THE_PAPER = {
    "C6": [result("C6", 5, 160, "answer")],
    "S5": [result("S5", 5, 10, "predicate"), result("S5", 10, 40, "predicate"), result("S5", 40, 160, "predicate")],
}
MEASURES = {
    experiment.cyclic_group_is_solved_far_beyond_its_training: {"scale": 0.5},
    experiment.cyclic_group_goes_further_than_symmetric: {"scale": 9.0},
    experiment.self_training_extends_the_symmetric_group: {"last": 0},
    experiment.attention_has_two_diagonals: {"shift": 1},
    experiment.predicates_in_any_order_are_found: {"shift": 1},
    experiment.attention_dilutes_with_length: {"lengths": (20, 10)},
    experiment.symmetric_group_loses_predicates_with_position: {"tilt": -9.0},
    experiment.cyclic_group_loses_answers_with_position: {"tilt": -9.0},
}


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.__name__)
def test_results_like_the_paper_hold_and_their_control_does_not(measure, monkeypatch):
    monkeypatch.setattr(section_7, "packaged", lambda group, adds_query=True, seed=0: AS_IN_THE_PAPER[group])
    monkeypatch.setattr(section_7, "packaged_seeds", lambda group: [0, 1])
    monkeypatch.setattr(section_7, "packaged_controls", lambda group: {0: AS_IN_THE_PAPER[group][0]})
    assert measure().word is Word.HOLDS
    assert measure(**MEASURES[measure]).word is Word.FAILS


def test_without_kept_runs_a_claim_says_how_to_make_them(monkeypatch):
    def nothing(group, seed):
        raise FileNotFoundError

    monkeypatch.setattr(section_7, "packaged", nothing)
    claim = experiment._stored_claim(("S5",), "x", "Figure 1b", "s", None, control={})
    assert claim.check(SYSTEM).word is Word.NOT_TESTABLE and "no finished run of S5" in claim.check(SYSTEM).note


def test_one_seed_that_does_not_separate_is_enough_against_it(monkeypatch):
    kept = {0: AS_IN_THE_PAPER["S5"], 1: [result("S5", 5, 80, "predicate")]}
    monkeypatch.setattr(section_7, "packaged_seeds", lambda group: [0, 1])
    monkeypatch.setattr(
        section_7,
        "packaged",
        lambda group, adds_query=True, seed=0: kept[seed] if group == "S5" else AS_IN_THE_PAPER["C6"],
    )
    verdict = experiment.cyclic_group_goes_further_than_symmetric()
    assert verdict.word is Word.FAILS and "S5 10, 80 (2 seeds)" in verdict.measured
