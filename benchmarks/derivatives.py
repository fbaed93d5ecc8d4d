"""What an exact derivative costs: `solve` with one against `solve` without, in turns, CPU, the second call on.

    python benchmarks/derivatives.py [--rounds 60]

A line a system: the plain solve, the solve with a derivative beside every observable, what the derivative adds in plain
solves (the bar), and the same of the integration alone (variational equations, turns and observables against the run).
"""

import argparse
import time

import flowsys as fs
from flowsys.derivatives.base import base_run
from flowsys.derivatives.directions import direction_of
from flowsys.derivatives.variational import varied
from flowsys.runs.flow import flow_of

CASES = {
    "mixture": (["T_1", "T_2"], "omega"),
    "cooccurrence": (["T_0.5", "T_1"], "alpha"),
    "lego": (["stage_2_1"], "bias"),
    "parity": (["lock", "margin_1"], "epsilon"),
    "prompt": (["T_1", "T_2"], "alpha"),
}
MOST = 2.5  # plain runs that one parameter may cost
RTOL = 1e-8


def least(calls, rounds: int) -> list[float]:
    """The least CPU milliseconds of every call, called in turns."""
    for call in calls:
        call()
    times = [[] for _ in calls]
    for _ in range(rounds):
        for call, of_call in zip(calls, times):
            start = time.process_time()
            call()
            of_call.append(1e3 * (time.process_time() - start))
    return [min(of_call) for of_call in times]


def measured(name: str, rounds: int) -> str:
    at, parameter = CASES[name]
    system = fs.load(name)
    setup = system.setup()
    flow = flow_of(system, setup)
    asked, direction = flow.requests(at), direction_of(flow, parameter)
    plain, beside, run, along = least(
        [
            lambda: fs.solve(system, setup, at=at, rtol=RTOL),
            lambda: fs.solve(system, setup, at=at, rtol=RTOL, derivatives=[parameter]),
            lambda: base_run(flow, asked, RTOL),
            lambda: varied(flow, at, [direction], RTOL),
        ],
        rounds,
    )
    added = (beside - plain) / plain
    return (f"{name:14}{plain:6.2f} ms, with a derivative {beside:6.2f}: it adds {added:.2f} plain solves "
            f"(bar {MOST:g}: {'met' if added <= MOST else 'NOT met'}), in all {beside / plain:.2f}; "
            f"run {run:.2f}, with it {along:.2f}")  # fmt: skip


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=60)
    rounds = arguments.parse_args().rounds
    for name in CASES:
        print(measured(name, rounds), flush=True)


if __name__ == "__main__":
    main()
