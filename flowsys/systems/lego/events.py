"""Where the stages of both flows end: events on their observables, every threshold a parameter."""

import numpy as np

from flowsys.system import Setup
from flowsys.system.problem import Event
from flowsys.systems.lego.closed_forms import clip_level, log_loss_threshold
from flowsys.systems.lego.vocabulary import STAGE_1_EVENTS, STAGE_2_EVENTS

UP, DOWN = 1, -1


def stage_1_events(setup: Setup) -> tuple[Event, ...]:
    """Phases I, II.1, II.2, II.3 of a feature, and the end of stage 1."""
    B = clip_level(setup["C_B"], setup["d"])
    crossings = {
        "phase_1": ("x", setup["rho"], UP),
        "phase_2_1": ("V_psi", setup["V_level"], UP),
        "phase_2_2": ("log_miss", np.log(setup["miss_target"]), DOWN),
        "phase_2_3": ("unsettled", 0.0, DOWN),
        "stage_1_end": ("F_c", B - setup["clip_margin"], UP),
        "loss_threshold": ("log_loss", np.log(setup["loss_target"]), DOWN),
    }
    return tuple(Event(name, *crossing, STAGE_1_EVENTS[name]) for name, crossing in crossings.items())


def stage_2_events(setup: Setup) -> tuple[Event, ...]:
    """Stages 2.1, 2.2, 2.3 and what else is worth a stop."""
    crossings = {
        "stage_2_1": ("alpha", setup["alpha_1"], UP),
        "stage_2_2": ("alpha", setup["alpha_2"], UP),
        "stage_2_3": ("unsettled", 0.0, DOWN),
        "stage_1_2_1": ("log_eps", np.log(setup["eps_first"]), DOWN),
        "eps_reached": ("log_eps", np.log(setup["eps_target"]), DOWN),
        "gap_peak": ("gap_growth", 0.0, DOWN),
        "loss_threshold": ("log_loss", np.log(setup["loss_target"]), DOWN),
        "stage_k_end": ("log_loss", log_loss_threshold(setup["C_B"], setup["d"]), DOWN),
    }
    return tuple(Event(name, *crossing, STAGE_2_EVENTS[name]) for name, crossing in crossings.items())
