"""What the claims measure: runs of the limit, courses of its stages, rates along them, and how a claim is written.

Unless a claim says otherwise K = 2, L = 3, b = 1/2, T_1 = 20, s_star = 1, ω = 0.1, at infinite width (L3).
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from flowsys.claims import Claim, Verdict
from flowsys.printers.arrays import vector_field
from flowsys.references import Ref
from flowsys.solve import solve
from flowsys.systems.mixture import SYSTEM
from flowsys.trajectory import Trajectory

OMEGAS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
PLAIN = tuple(name for name in SYSTEM.observables if name != "max_margin")
SCORES = ("S_cc", "S_cv", "S_vc", "S_vv")
SELF_SCORES = ("KK_cc", "KK_cv", "KK_vv", "QQ_cc", "QQ_cv", "QQ_vv")


def claim(
    id: str,
    place: str,
    statement: str,
    measure: Callable[..., Verdict],
    *,
    control: dict[str, Any],
    regime: str = "K = 2, L = 3, infinite width",
    is_cheap: bool = True,
) -> Claim:
    """A claim whose control is its own measurement with some arguments changed."""
    return Claim(id, Ref("mixture", place), statement, regime, measure, partial(measure, **control), is_cheap)


@lru_cache(maxsize=512)
def run(*at: str | float, observe: tuple[str, ...] = PLAIN, rtol: float = 1e-10, level: str = "L3",
        variant: str | None = None, mode: str = "three_stage", kink_width: float | None = None,
        **parameters: float) -> Trajectory:  # fmt: skip
    """A solved trajectory, found again when asked for twice."""
    setup = SYSTEM.setup(**parameters)
    return solve(SYSTEM, setup, level=level, variant=variant, mode=mode, at=at, observe=observe, rtol=rtol,
                 kink_width=kink_width)  # fmt: skip


def values(at: str | float, **options) -> dict[str, float]:
    """Observables at an event or time."""
    return run(at, **options).at(at)["values"]


def time(event: str, **options) -> float:
    """When an event happens; nan if it never does."""
    found = run(event, **options).at(event)
    return found["t"] if found["reached"] else np.nan


def stage_2_length(mode: str = "three_stage", **options) -> float:
    """T_2 - T_1 (in simultaneous training, T_2)."""
    start = 0.0 if mode == "simultaneous" else SYSTEM.setup(**_parameters(options))["T_1"]
    return time("T_2", mode=mode, **options) - start


def stage_3_length(**options) -> float:
    """T_3 - T_2."""
    return time("T_3", **options) - time("T_2", **options)


def course(times: Sequence[float], **options) -> Trajectory:
    """A run recorded at many times."""
    return run(*map(float, times), **options)


def stage_2(n: int = 120, mode: str = "three_stage", **options) -> Trajectory:
    """The course of stage 2, T_1 excluded; in simultaneous training all of (0, T_2]."""
    start = 0.0 if mode == "simultaneous" else SYSTEM.setup(**_parameters(options))["T_1"]
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
    problem = SYSTEM.problem(SYSTEM.setup(**origin.parameters), "L3", "22", origin.mode)
    field, names = vector_field(problem.field.program, "exact", np), problem.field.names
    rows = np.array([field(y, problem.stages[stage].arguments) for y in trajectory.states]).T
    rate = dict(zip(names, rows))
    K = origin.parameters["K"]
    for name in (*SCORES, *SELF_SCORES):
        mean, difference = rate[f"{name}_mean"], rate[f"{name}_difference"]
        rate[f"{name}_same"], rate[f"{name}_diff"] = (mean + (K - 1) * difference) / K, (mean - difference) / K
    return rate


def slope_of_loss(f: np.ndarray) -> np.ndarray:
    """g = 1 / (1 + e^(y f))."""
    return 1 / (1 + np.exp(f))


def mean_sector(v, name: str, K: int = 2):
    """same + (K - 1) diff: what symmetry between groups makes vanish."""
    return v[f"{name}_same"] + (K - 1) * v[f"{name}_diff"]


def local_exponents(y: Sequence[float], x: Sequence[float] = OMEGAS) -> np.ndarray:
    """Exponents of y in x between neighbouring points."""
    return np.diff(np.log(np.abs(y))) / np.diff(np.log(x))


def listed(numbers: Sequence[float], form: str = ".4g") -> str:
    """Numbers as text."""
    return ", ".join(format(float(x), form) for x in numbers)


def _parameters(options: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in options.items() if k not in ("observe", "rtol", "level", "variant", "kink_width")}
