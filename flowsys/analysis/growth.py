"""Directions at infinity: where a flow does not come to rest, which way it grows, and how far that has settled."""

from dataclasses import dataclass

import numpy as np

from flowsys.laws.law import law
from flowsys.runs.flow import Flow

GROWS = 1.02  # a state that is so much larger than a decade before keeps growing
LEADING = 0.02  # smaller parts of the direction are not named
DECADES = 3


@dataclass(frozen=True)
class Growth:
    """|y| over the last decades of time, its law in t, and the direction y/|y|; `turn` is its change in a decade."""

    t: float
    size: float
    law: str
    direction: dict[str, float]
    turn: float
    margin: float | None
    best_margin: float | None

    @property
    def sentence(self) -> str:
        names = ", ".join(f"{name} {x:.4g}" for name, x in list(self.direction.items())[:6])
        margins = "" if self.margin is None else f"; margin {self.margin:.5g} of at most {self.best_margin:.5g}"
        return (
            f"the state grows without end ({self.law} in t, |y| = {self.size:.4g} at t = {self.t:.4g}) towards "
            f"({names}), which turns by {self.turn:.2g} rad in a decade{margins}"
        )


def growth(flow: Flow, t: np.ndarray, states: np.ndarray) -> Growth | None:
    """How a flow grows at the end of its time; None if it does not."""
    sizes = np.linalg.norm(states, axis=1)
    if len(t) < 12 or sizes[-1] == 0:
        return None
    before = int(np.abs(np.log(np.maximum(t, 1e-300)) - np.log(t[-1] / 10)).argmin())
    if sizes[-1] < GROWS * sizes[before]:
        return None
    late = t >= t[-1] / 10**DECADES
    found = law(t[late], sizes[late]) if late.sum() >= 6 else None
    way, was = states[-1] / sizes[-1], states[before] / sizes[before]
    order = np.argsort(-np.abs(way))
    named = {flow.problem.field.names[i]: float(way[i]) for i in order if abs(way[i]) >= LEADING}
    turn = float(np.arccos(np.clip(way @ was, -1, 1)))
    margin, best = _margins(flow, states[-1])
    return Growth(float(t[-1]), float(sizes[-1]), found.kind if found else "growing", named, turn, margin, best)


def _margins(flow: Flow, y: np.ndarray) -> tuple[float | None, float | None]:
    """The margin of the direction and the largest there is, where the system measures both."""
    derived = flow.problem.derived
    if not {"margin", "max_margin"} <= set(flow.problem.field.observables) | set(list(derived)[:50]):
        return None, None
    from flowsys.integrate.multistep import numpy_observer

    arguments, found = flow.problem.stages[-1].arguments, []
    for name in ("margin", "max_margin"):
        of = numpy_observer(flow.problem.field, (name,)) if name in flow.problem.field.observables else None
        found.append(float(of(y, arguments)[0] if of else derived[name](y)))
    return found[0], found[1]
