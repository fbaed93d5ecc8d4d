"""The phases of training as events: nothing is switched by hand, the phases emerge.

T_theta and T_1_clock are other readings of T_1, the end of phase 1. In the limit every margin is 0 at t = 0, so T_1 is
the first *rise* through 0; where all margins rise from the start (n ≤ 3(L - 2) with the paper's proportions) T_1 is 0.
"""

from dataclasses import replace
from typing import Any

import numpy as np

import flowsys as fs
from flowsys.system import Setup
from flowsys.system.problem import Problem, decided
from flowsys.systems.cooccurrence.sentences import INCIDENCE, LABELS, SPECIAL_WORDS, shares_of

MODES = {
    "limit": "Assumption 2.3: exact proportions, every irrelevant word occurs once; Gaussian weights",
    "condition_1": "Condition 1 with the paper's m, m1, L: σ_0 = κ/(√(L m) log^logs m), σ_1 = 1/√m1, s = 1/√m",
    "dimensionless": "the limit with rho, delta, lambda_ in place of alpha, beta, m1, score_scale; t is τ",
    "data": "Appendix A: sentences of d words with repetitions, Kaiming weights, s = 1/√m",
}

EVENTS: dict[str, Any] = {
    "loss_peak": fs.Crossing("d_F_type2", 0.0, -1, "the loss of type 2 is largest: dF_type2/dt falls through 0"),
    "T_0.5": fs.Crossing("overtaking", 0.0, +1, "-Ġ(μ3) exceeds max(Ġ(μ1), Ġ(μ2)) (end of phase 1.1)"),
    "T_1": fs.Crossing("least_margin", 0.0, +1, "all samples correct: least_margin rises through 0 (end of phase 1)"),
    "T_theta": fs.Crossing("least_value", "theta", +1,
                           "min(G(μ1), G(μ2), -G(μ3)) reaches theta (end of phase 1 by thresholds)"),
    "T_star": fs.Crossing("loss", "epsilon", -1, "the training loss falls to epsilon (end of phase 2)"),
    "T_1_clock": fs.Mark(lambda p: p.C_T_1 / p.beta, "C_T_1 / beta, the paper's own end of phase 1"),
}  # fmt: skip
DEFAULT = ("loss_peak", "T_0.5", "T_1", "T_star")


def initial_output_rates(n, L, shares):
    """dF_T/dt of the four types at t = 0, where G = 0 and g = 1/2, over (c + m1·alpha)."""
    special = INCIDENCE.T @ np.array([y * share / 2 for y, share in zip(LABELS, shares)])
    own = [y * (L - len(words)) / (2 * n) for y, words in zip(LABELS, SPECIAL_WORDS)]
    return [of_words + of_type for of_words, of_type in zip(INCIDENCE @ special, own)]


def correct_from_the_start(problem: Problem, setup: Setup) -> Problem:
    """The problem with T_1 = 0 where all margins rise from 0 at once."""
    rates = initial_output_rates(setup["n"], setup["L"], shares_of(setup))
    if decided(np.minimum.reduce([y * rate for y, rate in zip(LABELS, rates)]) < -1e-15):
        return problem
    events = tuple(event for event in problem.events if event.name != "T_1")
    return replace(problem, events=events, marks={**problem.marks, "T_1": 0.0})
