"""How long a slider of `fs.explore` takes from its move to the new picture, for every system: median and 95 %.

    python benchmarks/sliders.py [SYSTEM …]

The bars are 120 ms and 250 ms. Each of the leading sliders is moved to places over its range, as a hand would: solving,
drawing and handing the picture over are timed, the browser is not. Code is compiled for each size once a machine, a
second or more each: the longest first visit of an integer's places is told apart, and so is the first move.
"""

import sys
import time

import numpy as np

import flowsys as fs
from flowsys.explorer.controls import LEADING

PLACES = 8
BARS = (0.120, 0.250)


def places(control) -> np.ndarray:
    """Values over the range of a number's slider, near its default first."""
    ends = (control.low, control.high)
    return np.geomspace(*ends, PLACES + 2)[1:-1] if control.log else np.linspace(*ends, PLACES + 2)[1:-1]


def latencies(name: str) -> tuple[float, float, list[float]]:
    """Seconds of the longest first visit of a size, of the first move of a slider, and of the others."""
    explorer = fs.explore(name)
    numbers = [c for c in explorer.controls.values() if not c.choices][:LEADING]
    visits = [_time(explorer, c, value) for c in numbers if c.integer for value in [*places(c), c.value]]
    times = [_time(explorer, c, value) for c in numbers for value in [*places(c), c.value]]
    return max(visits, default=0.0), times[0], times[1:]


def _time(explorer, control, value: float) -> float:
    before = time.perf_counter()
    explorer.move(**{control.name: value})
    return time.perf_counter() - before


def main(names: list[str]) -> None:
    print(f"{'system':14}{'new size':>10}{'first':>10}{'median':>10}{'95 %':>10}{'longest':>10}   ms, of moves")
    for name in names or fs.names():
        visit, first, times = latencies(name)
        middle, late = np.quantile(times, [0.5, 0.95])
        said = "met" if middle < BARS[0] and late < BARS[1] else "missed"
        told = "".join(f"{1e3 * t:10.0f}" for t in (visit, first, middle, late, max(times)))
        print(f"{name:14}{told}   {len(times)}, {said}")


if __name__ == "__main__":
    main(sys.argv[1:])
