"""The phases of training as events: nothing is switched by hand, the phases emerge.

loss_peak   the loss of samples with one target is largest (it rises first iff n > 3(L - 2))
T_0.5       the common word overtakes the targets: -Ġ(μ3) exceeds Ġ(μ1) and Ġ(μ2)
T_1         all samples are correct; T_theta and T_1_clock are the other readings of the end of phase 1
T_star      the training loss falls to epsilon

In the limit every margin is 0 at t = 0, so T_1 is the first *rise* through 0; where all margins rise from the start
(n ≤ 3(L - 2) with the paper's proportions) T_1 is 0.
"""

from flowsys.system.problem import Event
from flowsys.systems.cooccurrence.data import LABELS, SPECIAL_WORDS

MODES = {
    "limit": "Assumption 2.3: exact proportions, every irrelevant word occurs once; Gaussian weights",
    "dimensionless": "the limit with rho, delta, lambda_ in place of alpha, beta, m1, score_scale; t is τ (L3, L4)",
    "data": "Appendix A: sentences of d words with repetitions, Kaiming weights, s = 1/√m (L0, L1, L2)",
}

EVENTS = {
    "loss_peak": "the loss of type 2 is largest: dF_type2/dt falls through 0",
    "T_0.5": "-Ġ(μ3) exceeds max(Ġ(μ1), Ġ(μ2)) (end of phase 1.1)",
    "T_1": "all samples correct: least_margin rises through 0 (end of phase 1)",
    "T_theta": "min(G(μ1), G(μ2), -G(μ3)) reaches theta (end of phase 1 by thresholds)",
    "T_star": "the training loss falls to epsilon (end of phase 2)",
    "T_1_clock": "C_T_1 / beta, the paper's own end of phase 1",
}
DEFAULT = ("loss_peak", "T_0.5", "T_1", "T_star")

_WATCHED = {
    "loss_peak": ("d_F_type2", None, -1),
    "T_0.5": ("overtaking", None, +1),
    "T_1": ("least_margin", None, +1),
    "T_theta": ("least_value", "theta", +1),
    "T_star": ("loss", "epsilon", -1),
}


def events_of(setup, without: tuple[str, ...] = ()) -> tuple[Event, ...]:
    """The located events."""
    return tuple(
        Event(name, observable, setup[threshold] if threshold else 0.0, direction, EVENTS[name])
        for name, (observable, threshold, direction) in _WATCHED.items()
        if name not in without
    )


def marks_of(setup) -> dict[str, float]:
    return {"T_1_clock": setup["C_T_1"] / setup["beta"]}


def initial_output_rates(n, L, shares):
    """dF_T/dt of the four types at t = 0, where G = 0 and g = 1/2, over (c + m1·alpha)."""
    p_1, p_2, p_3, p_4 = shares
    special = ((p_1 - p_2) / 2, (p_1 - p_3) / 2, (p_1 - p_2 - p_3 - p_4) / 2)
    random = 1 / (2 * n)
    return tuple(
        sum(special[word] for word in words) + y * (L - len(words)) * random for words, y in zip(SPECIAL_WORDS, LABELS)
    )


def is_correct_from_the_start(n: float, L: float, shares) -> bool:
    """Whether all margins rise from 0 at once."""
    return min(y * rate for y, rate in zip(LABELS, initial_output_rates(n, L, shares))) >= -1e-15
