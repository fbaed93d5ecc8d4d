"""Robustness of the limit: does the full flow return to it, from how far, how fast; and what a width asks for.

From the limit's start plus ε·N(0, 1), ε = 1e-2 … 1e-8, the end must tend to the limit's, linearly in ε. The radius is
the largest ε from which, and from all smaller ones, it does. A width m starts a deviation ω²/√m away (ω² the scale of
the start), so the limit is followed from the width on at which this is below the radius. The constants are those of the
rung from finite to infinite width: the deviation of an observable is constant/√m, from the derivative of the full flow
along starts drawn as widths draw them.

How perturbations that break the symmetry grow on the way, and jump at kinks and slides, is told by the smallest
(`flowsys.analysis.transverse`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from flowsys.analysis.perturbed import Perturbed, Seen
from flowsys.analysis.result import Analysis
from flowsys.analysis.transverse import Path, transverse_path
from flowsys.runs import robust as kept
from flowsys.runs.flow import flow_of, spoken
from flowsys.runs.surfaces import Nearest, nearest_surface
from flowsys.system import Setup, System

SIZES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
SEEDS = 2
LINEAR = 10.0  # times the linear law of the smallest perturbations is still a return
RETURNS = 1e-3  # the end of the smallest ones must lie so near
IN_REACH = 1e6  # the largest width one would train
SHOWN = 0.1  # a change that tells where the end lies
SMALL = 1e-5  # of a drawn start: small enough that the flow's derivative is seen


@dataclass(frozen=True)
class Trial:
    """A size of perturbation: the largest deviation of the end over the seeds, and whether all of them return."""

    size: float
    deviation: float
    returns: bool
    values: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Robustness(Analysis):
    """How the full flow answers to perturbations of the limit's start, compared at `at`."""

    at: str
    limit: dict[str, float]
    trials: tuple[Trial, ...]
    growth: float
    scale: float
    nearest: Nearest | None
    path: Path
    constants: dict[str, float]
    rung_constant: float | None

    @property
    def radius(self) -> float:
        """The largest size from which on all smaller perturbations return; 0 if none does."""
        found = 0.0
        for trial in sorted(self.trials, key=lambda trial: trial.size):
            if not trial.returns:
                break
            found = trial.size
        return found

    @property
    def width(self) -> float:
        """From which width on the start lies within the radius."""
        return float((self.scale / self.radius) ** 2) if self.radius else np.inf

    @property
    def is_fragile(self) -> bool:
        return self.radius < max(trial.size for trial in self.trials) and self.width > IN_REACH

    @property
    def sentence(self) -> str:
        if not self.is_fragile:
            return f"the limit is robust: the full flow returns to it from {self.radius:g} on"
        outside = min((t for t in self.trials if not t.returns and t.size > self.radius), key=lambda t: t.size)
        change = {name: abs(outside.values[name] - x) / max(1.0, abs(x)) for name, x in self.limit.items()}
        moved = next((name for name, x in change.items() if x > SHOWN), max(change, key=change.__getitem__))
        near = f"; {self.nearest.sentence}" if self.nearest else ""
        follow = f"only widths from about {self.width:.0e} on follow it" if self.radius else "no width follows it"
        return (
            f"the limit is fragile: perturbations of its start above {self.radius:g} end elsewhere at {self.at} "
            f"(from {outside.size:g}: {moved} = {outside.values[moved]:.4g} instead of {self.limit[moved]:.4g}), so "
            f"{follow}{near} (flowsys analyse --robust)"
        )

    @property
    def title(self) -> str:
        return f"{self.origin.system}: perturbations of the limit's start, compared at {self.at}"

    @property
    def rows(self) -> list[dict[str, Any]]:
        first = list(self.limit)[:4]
        return [
            {"size": t.size, "deviation": t.deviation, "over_size": t.deviation / t.size, "returns": t.returns}
            | {name: t.values.get(name) for name in first}
            for t in self.trials
        ]

    def details(self) -> dict[str, Any]:
        return {
            "at": self.at, "limit": self.limit, "radius": self.radius, "fragile": self.is_fragile,
            "growth": self.growth, "scale": self.scale, "width": self.width,
            "nearest_surface": vars(self.nearest) if self.nearest else None,
            "path": {
                "t": self.path.t, "growth": self.path.growth, "rates": self.path.rates,
                "turns": [vars(turn) for turn in self.path.turns],
            },
            "constants": self.constants, "rung_constant": self.rung_constant,
        }  # fmt: skip

    def figure(self) -> Any:
        from flowsys.analysis.pictures.robustness import robustness

        return robustness(self)


def robust(
    system: System,
    setup: Setup | None,
    *,
    at: Sequence[str | float] | None = None,
    sizes: Sequence[float] = SIZES,
    seeds: int = SEEDS,
    draws: int = 0,
    level: str | None = None,
    variant: str | None = None,
    mode: str | None = None,
    rtol: float = 1e-10,
    command: str = "",
) -> Robustness:
    """Perturb the limit's start; with `draws`, also predict the constants of the rung, from so many drawn starts."""
    flow = flow_of(system, setup, level, variant, mode)
    place = flow.requests(at)[-1]
    around = Perturbed(flow, place, rtol)
    if isinstance(place, str):
        # all are compared when the limit is there: a perturbed observable may cross its threshold at once
        own_event, around = around, Perturbed(flow, around.limit.t, rtol)
    else:
        own_event = around
    limit, rng = around.limit, np.random.default_rng(0)
    trials: list[tuple[float, float, dict[str, float]]] = []
    for size in sizes:
        met = [around.run(size * rng.standard_normal(len(around.problem.initial))) for _ in range(seeds)]
        deviations = [deviation(limit, end) for end in met]
        worst = int(np.argmax(deviations))
        values = end.values if (end := met[worst]) is not None else dict.fromkeys(limit.values, np.nan)
        trials.append((size, deviations[worst], values))
    smallest = sorted(trials)[:2]
    growth = float(np.median([d / size for size, d, _ in smallest]))
    comes_near = min(trials)[1] <= RETURNS
    judged = tuple(
        Trial(size, d, bool(comes_near and d <= LINEAR * growth * size), values) for size, d, values in trials
    )
    constants, rung = _constants(own_event, draws) if draws else ({}, None)
    found = Robustness(
        origin=flow.origin(command), symbols=system.names.symbols({*limit.values, *flow.setup}, mode), at=spoken(place),
        limit=limit.values, trials=judged, growth=growth, scale=float(around.problem.scale),
        nearest=nearest_surface(flow, limit.t, rtol), path=transverse_path(around, min(sizes)),
        constants=constants, rung_constant=rung,
    )  # fmt: skip
    kept.keep(system, flow.setup, flow.mode, found.sentence if found.is_fragile else "")
    return _with_remarks(found)


def _with_remarks(found: Robustness) -> Robustness:
    remarks = [found.sentence, found.path.sentence]
    if found.rung_constant is not None:
        remarks.append(f"predicted: the deviation of the state from the limit is {found.rung_constant:.4g}/√width")
    return replace(found, remarks=tuple(remarks))


def deviation(limit: Seen, end: Seen | None) -> float:
    """The largest change of an observable, in units of the larger of 1 and its value; infinite if not met."""
    if end is None:
        return np.inf
    moved = [abs(end.values[name] - x) / max(1.0, abs(x)) for name, x in limit.values.items()]
    return max([*moved, abs(end.t - limit.t) / max(limit.t, 1e-300)])


def _constants(around: Perturbed, draws: int) -> tuple[dict[str, float], float | None]:
    """√width times the standard deviation of every observable, and times the rms of the state's largest deviation."""
    base = around.run(np.zeros(len(around.problem.initial)))
    rng = np.random.default_rng(1)
    slopes: list[dict[str, float]] = []
    largest: list[float] = []
    for _ in range(draws):
        end = around.run(SMALL * around.of_width(rng))
        if base is None or end is None:
            return {}, None
        slopes.append(
            {name: (end.values[name] - x) / SMALL for name, x in base.values.items()} | {"t": (end.t - base.t) / SMALL}
        )
        largest.append(float(np.abs(end.state - base.state).max()) / SMALL)
    rms = lambda x: float(np.sqrt(np.mean(np.square(x))))
    return {name: rms([s[name] for s in slopes]) for name in slopes[0]}, rms(largest)
