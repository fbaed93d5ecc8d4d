"""Where the claims are measured and what they read: runs at given places, and phase 2 from T_1 on.

A claim names its own places: numbers of samples and scales, at infinite width (L3). Asked for elsewhere
(`flowsys.claims.conditions`) it is measured at one place, its first with what was asked for in it. Scales that were not
asked for follow Condition 1 at the width, m1 and L asked for, so `--width` is the m of Condition 1. At L0 that is
descent on inner products; its rate, unless asked for, is half over β + m1 α, an eighth of what is stable.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from flowsys.claims import AsMeasured, Claim, Regime
from flowsys.claims.conditions import chosen_level, chosen_parameters, current, remembered
from flowsys.errors import InputError
from flowsys.runs.solving import solve
from flowsys.runs.trajectory import Trajectory
from flowsys.system import Setup
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence.max_margin import MaxMargin, max_margin
from flowsys.systems.cooccurrence.scales import Scales, condition_1, from_dimensionless
from flowsys.systems.cooccurrence.sentences import shares_of

FEW = condition_1(512, 16, 5)
"""Condition 1 at m = 512, m1 = 16, L = 5: the scales for n = 60."""
MANY = condition_1(4096, 16, 5)
"""Condition 1 at m = 4096: the scales for n = 600 and more."""
STRONG = from_dimensionless(1.0, 1.0, 4.0)
"""Attention that learns as fast as the values (lambda = 4): outside Condition 1."""
READING_A = Scales(2 / 3, 256 / 3, 256.0, 128**-0.5)
"""Appendix A with signs as output weights, in the limit's parameters."""
READING_E = Scales(2 / 3, 1 / 9, 1 / 3, 128**-0.5)
"""Appendix A with uniform output weights, in the limit's parameters."""


class Place(NamedTuple):
    """Samples, scales, and words in a sample."""

    n: float
    scales: Scales
    L: float = 5

    def parameters(self, **more: Any) -> dict[str, Any]:
        """What a verdict says it was measured at."""
        return {"n": self.n, "L": self.L, **self.scales._asdict(), **more}


SIZES = (Place(60, FEW), Place(600, MANY), Place(6000, MANY))
MEMORISING = (Place(12, FEW),)
"""So few samples that they are learned by their irrelevant words."""
WIDTH = 512
"""The width at finite levels, that of the scales for n = 60; more samples are too many to write out."""
STEP = 0.5
"""Rate of descent times β + m1 α; below 3.9 it is stable."""

TRAINED = "L0 L2 L3"
"""Levels of a claim that reads phase 2, as far as descent comes."""
FLOWS = "L2 L3"
"""Levels of a claim on times that only the flow reaches."""
SCALES = "alpha beta m1 score_scale"
PLACE = f"n L {SCALES}"
ANYWHERE = f"{PLACE} share_1 share_4"
"""What a claim takes that can be measured at any place."""


def claim(place: str, measure, control, regime: str = "Condition 1", is_cheap: bool = True, levels: str = "",
          takes: str = "") -> Claim:  # fmt: skip
    """A claim named after its function and stated by the first line of its docstring."""
    statement = measure.__doc__.strip().splitlines()[0]
    return Claim(measure.__name__, place, statement, AsMeasured(), measure, regime=Regime(text=regime), control=control,
                 is_cheap=is_cheap, levels=levels, takes=takes)  # fmt: skip


def asked(name: str, own: Any) -> Any:
    """A parameter asked for, or the claim's own."""
    return dict(current().parameters).get(name, own)


def moved(own: Place) -> Place:
    """A place with what was asked for in it."""
    wanted, (n, scales, L) = dict(current().parameters), own
    if wanted.keys() & {"width", "m1", "L"}:
        L = asked("L", L)
        scales = condition_1(asked("width", scales.beta), asked("m1", scales.m1), L)
    chosen = {name: wanted[name] for name in Scales._fields if name in wanted}
    return Place(asked("n", n), scales._replace(**chosen), L)


def is_elsewhere() -> bool:
    """Whether another place is asked for than the claim's own."""
    names = {"n", "L", "width", *Scales._fields}
    return current().is_finite or bool(names & dict(current().parameters).keys())


def places(own: Sequence[Place] = SIZES) -> Sequence[Place]:
    """The claim's own places, or the one that was asked for: at finite width n = 60 unless asked for otherwise."""
    first = SIZES[0] if current().is_finite else own[0]
    return (moved(first),) if is_elsewhere() else own


def setup(place: Place, **own: Any) -> Setup:
    """All parameters of a run."""
    given = chosen_parameters(own) | place.parameters()
    level = chosen_level(None, "L3")
    if current().is_finite:
        given = {"width": WIDTH} | given
    if level == "L0":
        given = {"learning_rate": STEP / (given["beta"] + given["m1"] * given["alpha"])} | given
    return SYSTEM.setup(**given)


def separator(place: Place, **own: Any) -> MaxMargin:
    """The max-margin direction of a place."""
    return max_margin(place.n, place.L, shares_of(setup(place, **own)))


@remembered(32)
def run(place: Place, at: tuple[str, ...] = (), taus: tuple[float, ...] = (), observe: tuple[str, ...] | None = None,
        variant: str | None = None, **own: Any) -> Trajectory:  # fmt: skip
    """A place at events and at values of τ = βt; in training at the steps nearest to them."""
    there, level = setup(place, **own), chosen_level(None, "L3")
    times = [float(tau) / there["beta"] for tau in taus]
    if level == "L0":
        return _descent(there, at, times, observe)
    found = solve(SYSTEM, there, level=level, variant=variant, at=[*at, *times], observe=observe, rtol=1e-9)
    return replace(found, states=np.empty((len(found), 0)), state_names=())  # at L2 many megabytes, never read


def _descent(there: Setup, at: tuple[str, ...], times: list[float], observe: tuple[str, ...] | None) -> Trajectory:
    """Descent to the last τ at most, at the events and times asked for alone, each step once."""
    rate, end = there["learning_rate"], last_tau() / there["beta"]
    found = solve(SYSTEM, SYSTEM.setup(**(dict(there) | {"t_max": end})), level="L0", variant="gram",
                  at=[*at, *times], observe=observe)  # fmt: skip
    steps, wanted = np.round(found.t / rate), {round(t / rate) for t in times}
    rows = [i for i, step in enumerate(steps) if (found.labels[i] or step in wanted) and (not i or step > steps[i - 1])]
    return replace(found, t=found.t[rows], labels=tuple(found.labels[i] for i in rows), states=found.states[rows],
                   series={name: values[rows] for name, values in found.series.items()})  # fmt: skip


def last_tau() -> float:
    """The end of phase 2 in the measurements; descent, whose steps do not grow, ends it sooner."""
    return 1e3 if current().level == "L0" else 1e6


def limit(n: float, scales: Scales, at=(), taus=(), L: float = 5, observe=None, **more) -> Trajectory:
    """The limit at these parameters whatever is asked for, for what a note adds."""
    times = [float(tau) / scales.beta for tau in taus]
    there = SYSTEM.setup(n=n, L=L, **scales._asdict(), **more)
    return solve(SYSTEM, there, at=[*at, *times], observe=observe, rtol=1e-9)


def at_event(found: Trajectory, event: str, name: str) -> float:
    """An observable at an event."""
    return float(found[name][_row(found, event)])


def _row(found: Trajectory, event: str) -> int:
    if event not in found.labels:
        raise InputError(f"{event} is not reached with these parameters.")
    return found.labels.index(event)


def phase_2(place: Place, since: str | None = "T_1", **own: Any) -> dict[str, np.ndarray]:
    """Every observable from T_1 on (or from τ = 1), densely at first and logarithmically later.

    Where all samples are correct from the start, T_1 = 0 and nothing moves yet: that row is left out.
    """
    taus = np.concatenate([np.linspace(1, 50, 50), np.geomspace(51, last_tau(), 60)])
    found = run(place, (since,) if since else (), tuple(taus.tolist()), **own)
    first = _row(found, since) if since else 0
    rows = slice(first + int(found.t[first] == 0), None)
    return {name: values[rows] for name, values in found.series.items()}
