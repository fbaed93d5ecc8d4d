"""What the claims measure: runs of the limit, courses of its stages, rates along them.

Unless a claim says otherwise K = 2, L = 3, b = 1/2, T_1 = 20, s_star = 1, ω = 0.1, at infinite width (L3). A claim that
names no level or parameter in a run is measured where `flowsys.claims.conditions` says; at L0 that is descent on inner
products, whose cost does not depend on the width.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from flowsys import claims
from flowsys.claims import Condition, Path, Regime, equals
from flowsys.claims.conditions import chosen_level, chosen_parameters, current, remembered
from flowsys.errors import InputError
from flowsys.model.concrete import View
from flowsys.program.arrays import vector_field
from flowsys.runs.asking import field
from flowsys.runs.solving import solve
from flowsys.runs.trajectory import Trajectory
from flowsys.system import Setup
from flowsys.systems.mixture import SYSTEM
from flowsys.systems.mixture.limits import onset_of_group_signal
from flowsys.systems.mixture.observables import OBSERVE

OMEGAS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
PLAIN = ("loss", *OBSERVE)
SCORES = ("S_cc", "S_cv", "S_vc", "S_vv")
SELF_SCORES = ("KK_cc", "KK_cv", "KK_vv", "QQ_cc", "QQ_cv", "QQ_vv")

TRAINED = "L0 L2 L3"
"""Levels of a claim that reads observables along a run."""
FLOWS = "L2 L3"
"""Levels of a claim that reads rates, which descent does not record, or margins late in stage 3."""

AFTER_ONSET = Condition("T_1 ≥ T_0.5", lambda p: (p.T_1, onset_of_group_signal(p.K, p.b)))
"""What Corollary D.7 asks of T_1: the neurons have found the group signal."""
SMALL_START = Condition("omega ≤ c", lambda p, c: (c, p.omega))
TWO_GROUPS = Regime(equals("K", 2), equals("L", 3), AFTER_ONSET, SMALL_START, c=1.0)
"""Condition 1, whose C is some constant below 1, at the sizes that the paper's proofs are for."""
BOUNDED_SCORES = Regime(*TWO_GROUPS.conditions, Condition("s_star ≤ C", lambda p, C: (C, p.s_star)), c=1.0, C=4.0)
"""The same in stage 2, where Lemmas E.1 to E.4 have scores below a constant."""
SMALLER_OMEGA = Path("omega", OMEGAS)

claim = partial(claims.claim, regime="K = 2, L = 3, infinite width", levels="L3")
finite = claims.claim
"""A claim on random starts or finite widths, which chooses its levels itself."""


def setup(**parameters: float) -> Setup:
    """The parameters of a run: those the claim sets, those asked for, the defaults."""
    return SYSTEM.setup(**chosen_parameters(parameters))


@remembered(512)
def run(*at: str | float, observe: tuple[str, ...] = PLAIN, rtol: float = 1e-10, level: str | None = None,
        variant: str | None = None, mode: str = "three_stage", kink_width: float | None = None,
        **parameters: float) -> Trajectory:  # fmt: skip
    """A solved trajectory, found again when asked for twice."""
    level = chosen_level(level, "L3")
    variant = "gram" if level == "L0" else variant
    return solve(SYSTEM, setup(**parameters), level=level, variant=variant, mode=mode, at=at, observe=observe,
                 rtol=rtol if level == "L3" else max(rtol, 1e-9), kink_width=kink_width)  # fmt: skip


def values(at: str | float, **options) -> dict[str, float]:
    """Observables at an event or time."""
    found = run(at, **options).at(at)
    if not found["reached"]:
        raise InputError(f"{found['at']} is never reached with these parameters.")
    return found["values"]


def time(event: str, **options) -> float:
    """When an event happens; nan if it never does."""
    found = run(event, **options).at(event)
    return found["t"] if found["reached"] else np.nan


def start_of_stage_2(mode: str = "three_stage", **options) -> float:
    """T_1; in simultaneous training 0."""
    return 0.0 if mode == "simultaneous" else setup(**_parameters(options))["T_1"]


def stage_2_length(mode: str = "three_stage", **options) -> float:
    """T_2 - T_1 (in simultaneous training, T_2)."""
    return time("T_2", mode=mode, **options) - start_of_stage_2(mode, **options)


def stage_3_length(**options) -> float:
    """T_3 - T_2."""
    return time("T_3", **options) - time("T_2", **options)


def start_deviation() -> float:
    """A generous bound on what a random start adds to stage 1: 10 ω² m^-1/2 at finite width, 0 in the limit."""
    if not current().is_finite:
        return 0.0
    return 10 * setup()["omega"] ** 2 / np.sqrt(setup()["width"])


def course(times: Sequence[float], **options) -> Trajectory:
    """A run recorded at many times; descent at the steps next to them."""
    there = run(*map(float, times), **options)
    return there.nearest_to(times) if there.origin.level == "L0" else there


def stage_2(n: int = 120, mode: str = "three_stage", **options) -> Trajectory:
    """The course of stage 2, T_1 excluded; in simultaneous training all of (0, T_2]."""
    start = start_of_stage_2(mode, **options)
    return course(np.linspace(start, time("T_2", mode=mode, **options), n)[1:], mode=mode, **options)


def stage_3(n: int = 250, end: float = 1e5, **options) -> tuple[np.ndarray, Trajectory]:
    """(t - T_2, course) from T_2 to t = `end`."""
    start = time("T_2", **options)
    lags = np.unique(np.concatenate([np.linspace(0.01, 300, n), np.geomspace(300, end - start, n // 2)]))
    later = course(start + lags, **options)
    return later.t - start, later


def rates(trajectory: Trajectory, stage: int) -> dict[str, np.ndarray]:
    """Time derivatives of w_c, w_v and all entries along a trajectory, under the arguments of a stage."""
    origin = trajectory.origin
    if origin.level != "L3":
        return _rates_at_finite_width(trajectory, stage)
    problem = SYSTEM.problem(SYSTEM.setup(**origin.parameters), "L3", "22", origin.mode)
    field, names = vector_field(problem.field.program, "exact", np), problem.field.names
    rows = np.array([field(y, problem.stages[stage].arguments) for y in trajectory.states]).T
    rate = dict(zip(names, rows))
    K = origin.parameters["K"]
    for name in (*SCORES, *SELF_SCORES):
        mean, difference = rate[f"{name}_mean"], rate[f"{name}_difference"]
        rate[f"{name}_same"], rate[f"{name}_diff"] = (mean + (K - 1) * difference) / K, (mean - difference) / K
    return rate


def _rates_at_finite_width(trajectory: Trajectory, stage: int) -> dict[str, np.ndarray]:
    """Entries are linear in what the loss sees: their rates are the entries of its rate."""
    origin = trajectory.origin
    there = SYSTEM.setup(origin.mode, **origin.parameters)
    concrete = SYSTEM.concrete(there, "L2", origin.mode)
    flow, p = field(SYSTEM, there, level="L2", mode=origin.mode, stage=stage), concrete.p(concrete.reals())
    seen = [View(concrete.coordinates.split(rate)) for rate in flow(trajectory.states)]
    names = ("w_c", "w_v", *(f"{name}_{part}" for name in (*SCORES, *SELF_SCORES) for part in ("same", "diff")))
    return {name: np.array([float(OBSERVE[name](None, w, None, p)) for w in seen]) for name in names}


def slope_of_loss(f: np.ndarray) -> np.ndarray:
    """g = 1 / (1 + e^(y f))."""
    return 1 / (1 + np.exp(f))


def mean_sector(v, name: str, K: int = 2):
    """same + (K - 1) diff: what symmetry between groups makes vanish."""
    return v[f"{name}_same"] + (K - 1) * v[f"{name}_diff"]


def local_exponents(y: Sequence[float], x: Sequence[float] = OMEGAS) -> np.ndarray:
    """Exponents of y in x between neighbouring points."""
    return np.diff(np.log(np.abs(y))) / np.diff(np.log(x))


def _parameters(options: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in options.items() if k not in ("observe", "rtol", "level", "variant", "kink_width")}
