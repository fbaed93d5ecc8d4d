"""The times the package has set itself, measured one after the other: on a machine that does nothing else.

    python benchmarks/bars.py [--only commands,solves,sweep,memory] [--rounds 2]

    commands   named diagrams of lego as commands, from process start to picture: the best of the rounds, wall
    solves     a default `solve` of every system and `train mixture --steps 1000`, the second call in a process, wall
    sweep      160,000 points of the mixture over (omega, b): wall and CPU beyond start-up, against the kernel alone
    memory     the largest resident set at 10⁴ and 10⁶ points

Other bars have scripts of their own: `stiff.py` (stiff flows against LSODA and CVODE-BDF), `accuracy.py` (errors over
rtol), `draws.py` (random setups), `systems.py` (every named diagram of a limit, warm), `sweep.py` (other engines).
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from scaling import run, sweep

COMMANDS = {"gap_cyclic": 2.5, "gap_symmetric": 4.0, "solvable_length": 4.0, "solvable_length_time": 4.0,
            "accuracy_doubling": 4.0}  # fmt: skip
SECOND_SOLVE, SECOND_TRAINING = 0.05, 0.5
POINTS, MOST_WALL, MOST_OVER_KERNEL, MOST_GROWTH = 160_000, 3.3, 1.4, 1.1


def said(what: str, found: float, bar: float, unit: str = "s") -> None:
    print(f"{what:48}{found:8.3g} {unit:4} bar {bar:g}: {'met' if found <= bar else 'NOT met'}", flush=True)


def commands(rounds: int) -> None:
    for name, bar in COMMANDS.items():
        times = []
        for _ in range(rounds + 1):
            with tempfile.TemporaryDirectory() as folder:
                start = time.perf_counter()
                command = [sys.executable, "-m", "flowsys", "phase", "lego", "--diagram", name]
                subprocess.run([*command, "--out", str(Path(folder, "d.nc"))], check=True, capture_output=True)
                times.append(time.perf_counter() - start)
        said(f"phase lego --diagram {name}", min(times[1:]), bar)


def solves(rounds: int) -> None:
    import flowsys as fs
    from flowsys.systems import names

    def second(call) -> float:
        call()
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        return min(times)

    for name in names():
        system = fs.load(name)
        said(f"solve {name}, second call", second(partial(fs.solve, system)), SECOND_SOLVE)
    mixture = fs.load("mixture")
    said("train mixture --steps 1000, second call", second(lambda: fs.train(mixture, steps=1000)), SECOND_TRAINING)


def whole_sweep(rounds: int) -> None:
    cpu, wall = _least(POINTS, rounds)
    start_cpu, start_wall = _least(1, rounds)
    said(f"{POINTS} points beyond start-up, wall", wall - start_wall, MOST_WALL)
    kernel = _kernel()
    said("the same, CPU over the kernel's own", (cpu - start_cpu) / kernel, MOST_OVER_KERNEL, "×")


def _least(points: int, rounds: int) -> tuple[float, float]:
    """CPU and wall seconds of a sweep's command."""
    each = [run(sweep(points)) for _ in range(rounds)]
    return min(cpu for cpu, _, _ in each), min(wall for _, wall, _ in each)


def _kernel() -> float:
    """CPU seconds of the native integration of the same points, two threads."""
    from systems import measured

    from flowsys.sweeps import make_sweep, parse_axis
    from flowsys.systems import load

    side = int(POINTS**0.5)
    axes = [parse_axis(f"omega=0.01:0.5:{side}:log"), parse_axis(f"b=0.1:1.5:{side}")]
    made = make_sweep(load("mixture"), axes, ["w_c@t=300"], mode="simultaneous")
    measured(made)
    return measured(made)[2]


def memory(rounds: int) -> None:
    small, large = (run(sweep(points))[2] for points in (10_000, 1_000_000))
    said(f"largest memory, 10⁶ over 10⁴ points ({large:.0f} MB)", large / small, MOST_GROWTH, "×")


def main() -> None:
    parts = {"commands": commands, "solves": solves, "sweep": whole_sweep, "memory": memory}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(parts))
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    if (load := os.getloadavg()[0]) > 0.5:
        print(f"the machine is not quiet (load {load:.1f}): times of the wall are too long")
    for name in given.only.split(","):
        parts[name](given.rounds)


if __name__ == "__main__":
    main()
