"""When the mixture model trains what: Algorithm 1's three stages, simultaneous and attention-only training.

Stage ends are events: T_0.5 (the wrong head's gate closes on consistent samples), T_1 (a chosen time), T_2 (the score
S_cv_same reaches s_star), T_3 (the population loss falls to epsilon).
"""

from collections.abc import Callable
from typing import Any

from flowsys.system import Setup
from flowsys.system.problem import Event, Stage

MODES = {
    "three_stage": "Algorithm 1: neurons on all samples to T_1, attention on hard samples to T_2, neurons on all again",
    "simultaneous": "everything at once on all samples (Sec. 3.1)",
    "attention_only": "frozen Gaussian neurons, only the attention trains (App. A.2)",
}

EVENTS = {
    "T_0.5": "the positive head's gate closes on consistent samples of label -1 (end of stage 1.1)",
    "T_1": "end of stage 1, the parameter T_1",
    "T_2": "S_cv_same reaches s_star (end of stage 2)",
    "T_3": "the population loss falls to epsilon (end of stage 3)",
}


def stages_of(mode: str, setup: Setup, arguments: Callable[[bool, bool, bool], Any]) -> tuple[Stage, ...]:
    """The stages of a mode; `arguments` gives a stage's data from (trains neurons, trains attention, hard only)."""
    if mode == "three_stage":
        return (
            Stage("stage 1", arguments(True, False, False), until=setup["T_1"]),
            Stage("stage 2", arguments(False, True, True), ends_on="T_2"),
            Stage("stage 3", arguments(True, False, False), ends_on="T_3"),
        )
    if mode == "simultaneous":
        return (Stage("simultaneous", arguments(True, True, False)),)
    return (Stage("attention only", arguments(False, True, False)),)


def events_of(setup: Setup) -> tuple[Event, ...]:
    return (
        Event("T_0.5", "preactivation_minus_consistent", 0.0, -1, EVENTS["T_0.5"]),
        Event("T_2", "S_cv_same", setup["s_star"], +1, EVENTS["T_2"]),
        Event("T_3", "loss", setup["epsilon"], -1, EVENTS["T_3"]),
    )


def marks_of(setup: Setup) -> dict[str, float]:
    return {"T_1": setup["T_1"]}


def default_at(mode: str, setup: Setup) -> tuple[str | float, ...]:
    """What to look at when nothing is asked for; with neurons frozen no event need ever come (App. A.2)."""
    if mode == "attention_only":
        return (min(3000.0, setup["t_max"]),)
    return ("T_0.5", "T_1", "T_2", "T_3") if mode == "three_stage" else ("T_2", "T_3")
