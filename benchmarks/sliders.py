"""How long a slider of `fs.explore` takes from its move to the new picture, for every system: median and 95 %.

    python benchmarks/sliders.py [SYSTEM …]

The bars are 120 ms and 250 ms. Each of the leading sliders is moved to places over its range, as a hand would: solving,
drawing and handing the picture over are timed, the browser is not. The first move is told apart, and so are the seconds
that compiling the sizes takes which an explorer compiles behind its sliders (next to nothing where they are kept).
"""

import sys
import time

import numpy as np

import flowsys as fs
from flowsys.explorer.ahead import compile_ahead
from flowsys.explorer.controls import LEADING

PLACES = 8
BARS = (0.120, 0.250)


def places(control) -> np.ndarray:
    """Values over the range of a number's slider, near its default first."""
    ends = (control.low, control.high)
    return np.geomspace(*ends, PLACES + 2)[1:-1] if control.log else np.linspace(*ends, PLACES + 2)[1:-1]


def latencies(name: str) -> tuple[float, float, list[float]]:
    """Seconds of compiling ahead, of the first move, and of the others."""
    explorer = fs.explore(name)
    before = time.perf_counter()
    compile_ahead(explorer.view, explorer.controls.values())
    ahead = time.perf_counter() - before
    numbers = [c for c in explorer.controls.values() if not c.choices][:LEADING]
    times = []
    for control in numbers:
        start = explorer.view.setup[control.name]
        for value in [*places(control), start]:
            before = time.perf_counter()
            explorer.move(**{control.name: value})
            times.append(time.perf_counter() - before)
    return ahead, times[0], times[1:]


def main(names: list[str]) -> None:
    print(f"{'system':14}{'ahead':>10}{'first':>10}{'median':>10}{'95 %':>10}{'longest':>10}   ms, of moves")
    for name in names or fs.names():
        ahead, first, times = latencies(name)
        middle, late = np.quantile(times, [0.5, 0.95])
        said = "met" if middle < BARS[0] and late < BARS[1] else "missed"
        told = "".join(f"{1e3 * t:10.0f}" for t in (ahead, first, middle, late, max(times)))
        print(f"{name:14}{told}   {len(times)}, {said}")


if __name__ == "__main__":
    main(sys.argv[1:])
