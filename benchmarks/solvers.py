"""`python benchmarks/solvers.py`: auto against every fixed solver on the mixture system's cases, warm, in one process.

Prints CPU milliseconds (the least of several rounds) and the ratio of auto to the best fixed choice that gets there.
"""

import math
import time

import flowsys as fs

SYSTEM = fs.load("mixture")
# name: parameters, what is asked for
CASES = {
    "three stages to T_3": ({}, {"at": ["T_1", "T_2", "T_3"]}),
    "simultaneous, t = 300": ({}, {"mode": "simultaneous", "at": [300.0]}),
    "K = 3, L = 4 (slides), t = 300": ({"K": 3, "L": 4}, {"mode": "simultaneous", "at": [300.0]}),
    "K = 8, L = 9, t = 600": ({"K": 8, "L": 9, "b": 1.0}, {"mode": "simultaneous", "at": [600.0], "kink_width": 1e-3}),
    "smoothed over 1e-4, t = 1e6": ({}, {"mode": "simultaneous", "at": [1e6], "kink_width": 1e-4}),
    "smoothed over 1e-4, t = 1e13": ({"t_max": 1e13}, {"mode": "simultaneous", "at": [1e13], "kink_width": 1e-4}),
}
FIXED = ("native", "dopri8", "tsit5", "kvaerno5", "lsoda")
ROUNDS = 5


def cost(solver: str, parameters: dict, request: dict) -> float:
    """CPU milliseconds of a warm run, the least of several rounds; infinite where the solver does not get there."""
    times = []
    for _ in range(ROUNDS + 1):
        start = time.process_time()
        found = fs.solve(SYSTEM, SYSTEM.setup(**parameters), solver=solver, observe=["w_c"], **request)
        times.append(time.process_time() - start)
        if not found.outcome.is_complete:
            return math.inf
        if len(times) > 1 and times[-1] > 5:
            break
    return 1e3 * min(times[1:])


def main() -> None:
    for name, (parameters, request) in CASES.items():
        fixed = [s for s in FIXED if s != "lsoda" or "kink_width" in request]
        costs = {solver: cost(solver, parameters, request) for solver in fixed}
        auto = cost("auto", parameters, request)
        listed = ", ".join(f"{s} {c:.1f}" if c < math.inf else f"{s} gives up" for s, c in costs.items())
        print(f"{name}: auto {auto:.1f} ms; {listed}; auto / best = {auto / min(costs.values()):.2f}", flush=True)


if __name__ == "__main__":
    main()
