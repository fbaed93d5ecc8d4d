"""Named phase diagrams: points, seconds, and the share of the kernel, for every diagram that a limit (L3, L4) has.

    python benchmarks/systems.py [SYSTEM …]

Sweeps run twice in this process, with two threads; the second run counts. `kernel` is the native integration of the
trajectories, `observed` the native evaluation of observables, and what is integrated meanwhile (shares of sweeps of
several chunks overlap); the rest is Python: building, derived observables.
CPU seconds are of the whole process; wall seconds depend on what else the machine does.
"""

import sys
import threading
import time
from collections.abc import Callable

from flowsys.sweeps import run, together
from flowsys.sweeps.memory import sweep_of
from flowsys.systems import load, names

THREADS = 2
LIMITS = (None, "L3", "L4")


class Stopwatch:
    """A function with the CPU time spent in it: the process's, but for what another thread did meanwhile."""

    def __init__(self, function: Callable):
        self.function, self.seconds = function, 0.0

    def __call__(self, *arguments, **options):
        begun = time.process_time() - self._of_others()
        try:
            return self.function(*arguments, **options)
        finally:
            self.seconds += time.process_time() - self._of_others() - begun

    @staticmethod
    def _of_others() -> float:
        """CPU time of the main thread, if this is another one: it makes points ready while these are integrated."""
        main = threading.main_thread()
        apart = threading.current_thread() is not main and main.ident is not None
        return time.clock_gettime(time.pthread_getcpuclockid(main.ident)) if apart else 0.0


def measured(sweep) -> tuple[float, float, float, float, int]:
    """Wall, CPU, kernel and observation seconds of a sweep, and the trajectories that were integrated."""
    kernel, observed, n = Stopwatch(together.integrate), Stopwatch(together.observe), []
    counted = lambda compiled, batch, *how, **stop: (
        n.append(len(batch.initial)) or kernel(compiled, batch, *how, **stop)
    )
    plain = together.integrate, together.observe
    together.integrate, together.observe = counted, observed
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        for _ in run(sweep, threads=THREADS):
            pass
    finally:
        together.integrate, together.observe = plain
    return time.perf_counter() - wall, time.process_time() - cpu, kernel.seconds, observed.seconds, sum(n)


def main(chosen: list[str]) -> None:
    print(
        f"{'diagram':44}{'points':>8}{'runs':>8}{'wall s':>9}{'CPU s':>9}{'kernel':>9}{'observed':>10}{'µs/point':>10}"
    )
    for name in chosen or names():
        system = load(name)
        for title, diagram in system.diagrams.items():
            if diagram.level not in LIMITS or diagram.seeds > 1:
                continue
            sweep = sweep_of(system, diagram)
            measured(sweep)
            wall, cpu, kernel, observed, runs = measured(sweep)
            shares = f"{kernel / cpu:9.0%}{observed / cpu:10.0%}{cpu / sweep.size * 1e6:10.1f}"
            print(f"{name + ' ' + title:44}{sweep.size:8}{runs:8}{wall:9.2f}{cpu:9.2f}{shares}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
