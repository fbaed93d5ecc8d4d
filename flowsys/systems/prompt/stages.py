"""When training has come how far: the events of the flow, each with its threshold as a parameter.

Nothing switches: the flow is smooth, and stages are read off it. Attention first leaves the columns of other steps (to
T_1, Lemma F.6), then those of other patterns (T_2 and T_3, Lemma F.7); at small M the two overlap.
"""

import numpy as np

from flowsys.system import Setup
from flowsys.system.problem import Event

MODES = {
    "population": "the average over all tasks and infinitely long prompts, at the M given",
    "planar": "its limit of many patterns: two scores a and g, all steps alike (L3 only)",
}

EVENTS = {
    "T_1": "attention on other steps, largest over query steps, falls to epsilon_1 (end of stage 1)",
    "T_2": "attention on the query's pattern and step, smallest over query steps, reaches p_2",
    "T_3": "that attention p reaches 1 - epsilon, or (1 - p)^2 = epsilon with T_3_rule = squared",
    "T_peak": "attention on other patterns of the query's step, mean over query steps, is largest (L3)",
    "T_given": "the time t_given itself, so that time can be an axis of a diagram",
}


def stage_events(setup: Setup) -> tuple[Event, ...]:
    """Ends of stages: crossings of logarithms, so that small thresholds are located as sharply as large ones."""
    missed = np.log(setup["epsilon"]) * (0.5 if setup["T_3_rule"] == "squared" else 1.0)
    return (
        Event("T_1", "log_other_step_max", np.log(setup["epsilon_1"]), -1, EVENTS["T_1"]),
        Event("T_2", "p_min", setup["p_2"], +1, EVENTS["T_2"]),
        Event("T_3", "log_missed_max", missed, -1, EVENTS["T_3"]),
    )


def events_of(setup: Setup) -> tuple[Event, ...]:
    """All events of the population flow."""
    return (*stage_events(setup), Event("T_peak", "rate_mass_other_same", 0.0, -1, EVENTS["T_peak"]))


def marks_of(setup: Setup) -> dict[str, float]:
    """Events at times that are parameters."""
    return {"T_given": setup["t_given"]}
