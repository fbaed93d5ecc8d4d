"""Random setups over the whole box of every system, all modes and limit variants, solved with the default budget.

    python benchmarks/draws.py [--draws 200] [--systems lego,mixture] [--seed 0] [--variants isotropic]

Setups that a system refuses are drawn again. Prints per system how the runs ended and what the longest took (CPU
seconds; deriving and building the problem is told apart), and every run that took longer than 20 s, used up its
budget of steps or stopped being finite: there should be none. On the way it counts to stderr. Limits that the engine
finds by enumeration (`found`) are left out unless named: their cost is that of the derivation, which grows with the
number of samples.
"""

import argparse
import sys
import time
from collections import Counter
from itertools import cycle
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import flowsys as fs
from flowsys.errors import InputError
from flowsys.integrate.outcome import Ending
from tests.sweeps.draws import draws

BAR = 20.0
FAULTS = (Ending.STEP_BUDGET, Ending.NOT_FINITE)


def runs(name: str, n: int, seed: int, asked: list[str]):
    """(mode, variant, setup, CPU seconds to build and to solve, trajectory) of n runs that a system accepts."""
    system = fs.load(name)
    variants = [v for v in system.levels["L3"].names if (v in asked if asked else v != "found")]
    kinds = cycle([(mode, variant) for mode in system.modes for variant in variants])
    found = tried = 0
    while found < n:
        mode, variant = next(kinds)
        tried += 1
        setup = next(s for s in draws(system, "L3", mode, 1, seed * 100_000 + tried) if s is not None)
        start = time.process_time()
        try:
            system.problem(setup, "L3", variant, mode)
            built = time.process_time()
            run = fs.solve(system, setup, level="L3", variant=variant, mode=mode, observe=[])
        except InputError:
            continue
        found += 1
        yield mode, variant, setup, built - start, time.process_time() - built, run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--systems", default="mixture,cooccurrence,lego,parity,prompt")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--variants", default="")
    given = parser.parse_args()
    for name in given.systems.split(","):
        endings, times, steps, builds = Counter(), [], [], []
        asked = [v for v in given.variants.split(",") if v]
        for mode, variant, setup, building, spent, run in runs(name, given.draws, given.seed, asked):
            builds.append(building)
            endings[run.outcome.ending.value] += 1
            times.append(spent)
            steps.append(run.statistics["steps"])
            print(f"  {name} {len(times)}", end="\r", file=sys.stderr, flush=True)
            if spent > BAR or run.outcome.ending in FAULTS:
                drawn = " ".join(f"{k}={setup[k]:g}" if isinstance(setup[k], float) else f"{k}={setup[k]}"
                                 for k in sorted(setup.given))  # fmt: skip
                print(f"  {name} {mode} {variant}: {spent:.1f} s, {run.outcome.sentence} [{drawn}]", flush=True)
        worst = sorted(times)[-3:]
        met = worst[-1] <= BAR and not any(endings[ending.value] for ending in FAULTS)
        print(
            f"{name}: {dict(endings)}; longest {', '.join(f'{t:.2f}' for t in worst)} s, in all {sum(times):.0f} s, "
            f"longest to build {max(builds):.1f} s, most steps {max(steps)}; bar {'met' if met else 'NOT met'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
