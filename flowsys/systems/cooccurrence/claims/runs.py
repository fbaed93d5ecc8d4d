"""Runs that several claims read: the limit at given scales, and phase 2 from T_1 on."""

from functools import lru_cache

import numpy as np

from flowsys.claims import Claim
from flowsys.references import Ref
from flowsys.solve import solve
from flowsys.systems.cooccurrence.scales import Scales, condition_1, from_dimensionless
from flowsys.trajectory import Trajectory

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


def claim(place: str, measure, control, regime: str = "Condition 1", is_cheap: bool = True) -> Claim:
    """A claim named after its function and stated by the first line of its docstring."""
    statement = measure.__doc__.strip().splitlines()[0]
    return Claim(measure.__name__, Ref("cooccurrence", place), statement, regime, measure, control, is_cheap)


def parameters(n: float, scales: Scales, L: float = 5, **more) -> dict:
    """What a verdict says it was measured at."""
    return {"n": n, "L": L, **scales._asdict(), **more}


def limit(n: float, scales: Scales, at=(), taus=(), L: float = 5, observe=None, variant=None, **more) -> Trajectory:
    """The limit at events and at values of τ = βt."""
    from flowsys.systems.cooccurrence import SYSTEM

    setup = SYSTEM.setup(n=n, L=L, **scales._asdict(), **more)
    times = [float(tau) / scales.beta for tau in taus]
    return solve(SYSTEM, setup, at=[*at, *times], observe=observe, variant=variant, rtol=1e-9)


def at_event(found: Trajectory, event: str, name: str) -> float:
    """An observable at an event."""
    return float(found[name][found.labels.index(event)])


@lru_cache(maxsize=16)
def phase_2(n: float, scales: Scales, L: float = 5, end: float = 1e6) -> dict[str, np.ndarray]:
    """Every observable of the limit from T_1 to τ = end, on a grid that is dense at first and logarithmic later."""
    taus = np.concatenate([np.linspace(1, 50, 50), np.geomspace(51, end, 60)])
    found = limit(n, scales, ["T_1"], taus, L)
    after = found.t >= found.t[found.labels.index("T_1")]
    return {name: values[after] for name, values in found.series.items()}
