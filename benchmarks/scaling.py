"""How time and memory of a sweep grow with the number of points, and how long whole commands take.

    python benchmarks/scaling.py [--points 10000,1000000] [--commands]

Every sweep is a command in a process of its own: the kinked mixture over (omega, b) to t = 300, from process start to
the arrays on disk, two threads. Time is CPU time (user and system), memory the largest resident set. `--commands` times
single commands instead: warm, and with an empty cache of compiled code, as on the first run after an install.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from math import isqrt
from pathlib import Path

DIAGRAM = ("phase", "mixture")


def sweep(points: int) -> tuple[str, ...]:
    """The command of a square diagram with so many points."""
    side = isqrt(points)
    axes = ("--x", f"omega=0.01:0.5:{side}:log", "--y", f"b=0.1:1.5:{points // side}")
    return ("phase", "mixture", *axes, "--mode", "simultaneous", "--observable", "w_c@t=300", "--no-picture")


def run(arguments: tuple[str, ...], cache: str | None = None) -> tuple[float, float, float]:
    """CPU seconds, wall seconds and largest resident megabytes of a flowsys command."""
    environment = os.environ | ({"FLOWSYS_CACHE": cache} if cache else {})
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "flowsys", *arguments, "--out", str(Path(folder) / "d.nc"), "--threads", "2"]
        code = (
            "import resource, subprocess, sys; code = subprocess.run(sys.argv[1:], stdout=2).returncode; "
            "u = resource.getrusage(resource.RUSAGE_CHILDREN); print(u.ru_utime + u.ru_stime, u.ru_maxrss / 1024); "
            "sys.exit(code)"
        )
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", code, *command], capture_output=True, text=True, env=environment, check=True
        )
        wall = time.perf_counter() - start
    cpu, memory = map(float, done.stdout.split())
    return cpu, wall, memory


def scaling(sizes: list[int]) -> None:
    run(sweep(100))
    found = []
    for points in sizes:
        cpu, wall, memory = run(sweep(points))
        found.append((points, cpu, memory))
        each = 1e3 * cpu / points
        print(f"{points:9d} points: {cpu:8.2f} s CPU, {wall:8.2f} s, {memory:4.0f} MB, {each:.4f} ms each", flush=True)
    (n, few, small), (m, many, large) = found[0], found[-1]
    start = run(sweep(1))[0]
    print(f"x{m / n:g} points: x{many / few:.1f} time (without the start of {start:.2f} s: "
          f"x{(many - start) / (few - start):.1f}), x{large / small:.2f} memory")  # fmt: skip


def commands() -> None:
    for name, arguments in {"10,000 points": sweep(10_000), "the default diagram": DIAGRAM}.items():
        with tempfile.TemporaryDirectory() as empty:
            first = run(arguments, empty)
        warm = min(run(arguments) for _ in range(3))
        print(f"{name}: warm {warm[1]:.2f} s ({warm[0]:.2f} CPU), first run {first[1]:.2f} s ({first[0]:.2f} CPU)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", default="10000,1000000")
    parser.add_argument("--commands", action="store_true")
    given = parser.parse_args()
    commands() if given.commands else scaling([int(n) for n in given.points.split(",")])


if __name__ == "__main__":
    main()
