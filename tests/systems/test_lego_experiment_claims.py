"""Claims on the experiment of Section 7 judge what is kept: made-up results that agree with the paper, and others."""

from dataclasses import replace

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
        "trained_to": trained_to, "losses": [1.0, 0.1],
        "experiment": {"group": group, "L": trained_to, "seed": 0, "architecture": {"adds_query": False}},
        "all_right": {str(n): 1.0 if n <= solved else 0.2 for n in LENGTHS},
        "attention": {"5": {"order": order, **{name: {"map": m} for name, m in maps.items()}}, **lines},
    }  # fmt: skip


AS_IN_THE_PAPER = {
    "C6": [result("C6", 5, 160, "answer")],
    "S5": [result("S5", 5, 10, "predicate"), result("S5", 10, 40, "predicate"), result("S5", 40, 160, "predicate")],
}
IDS = ["fig_1a_C6", "fig_1a", "fig_1b", "fig_2", "fig_5", "fig_6_7", "fig_6", "fig_7"]
CLAIMS = {claim.id: claim for claim in experiment.CLAIMS}
WORSE = {
    "fig_1a_C6": {"goal": 161}, "fig_1a": {"scale": 9.0}, "fig_1b": {"last": 0}, "fig_2": {"shift": 1},
    "fig_5": {"shift": 1}, "fig_6_7": {"share": 0.1}, "fig_6": {"tilt": -9.0}, "fig_7": {"tilt": -9.0},
}  # fmt: skip


def keep(monkeypatch, kept):
    found = lambda group, adds_query=False, longer=0: {seed: kept(group, seed) for seed in (0, 1)}
    monkeypatch.setattr(section_7, "kept", found)


@pytest.mark.parametrize("id", IDS)
def test_results_like_the_paper_s_are_reproduced_and_others_are_not(id, monkeypatch):
    keep(monkeypatch, lambda group, seed: AS_IN_THE_PAPER[group])
    assert CLAIMS[id].check(SYSTEM).word is Word.REPRODUCED
    assert replace(CLAIMS[id], control=WORSE[id]).controlled().check(SYSTEM).word is Word.NOT_REPRODUCED


def test_one_seed_that_does_not_separate_is_enough_against_it(monkeypatch):
    of_seed = {0: AS_IN_THE_PAPER["S5"], 1: [result("S5", 5, 80, "predicate")]}
    keep(monkeypatch, lambda group, seed: of_seed[seed] if group == "S5" else AS_IN_THE_PAPER["C6"])
    verdict = CLAIMS["fig_1a"].check(SYSTEM)
    assert verdict.word is Word.NOT_REPRODUCED and "S5 within a small multiple of 5" in verdict.note
