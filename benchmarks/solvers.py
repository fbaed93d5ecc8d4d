"""`python benchmarks/solvers.py`: auto against every fixed solver on the mixture system's cases, warm, in one process.

Prints CPU milliseconds (the least of several rounds) and the ratio of auto to the best fixed choice.
"""

import time

import flowsys as fs

SYSTEM = fs.load("mixture")
CASES = {
    "three stages to T_3": {"at": ["T_1", "T_2", "T_3"]},
    "simultaneous, t = 300": {"mode": "simultaneous", "at": [300.0]},
    "smoothed over 1e-4, t = 1e6": {"mode": "simultaneous", "at": [1e6], "kink_width": 1e-4},
}
FIXED = ("native", "dopri8", "tsit5", "kvaerno5", "lsoda")
ROUNDS = 5


def cost(solver: str, case: dict) -> float:
    """CPU milliseconds of a warm run, the least of several rounds."""
    times = []
    for _ in range(ROUNDS + 1):
        start = time.process_time()
        fs.solve(SYSTEM, SYSTEM.setup(), solver=solver, observe=["w_c"], **case)
        times.append(time.process_time() - start)
    return 1e3 * min(times[1:])


def main() -> None:
    for name, case in CASES.items():
        costs = {}
        for solver in FIXED:
            if solver == "lsoda" and "kink_width" not in case:
                continue
            costs[solver] = cost(solver, case)
        auto = cost("auto", case)
        fixed = ", ".join(f"{s} {c:.1f}" for s, c in costs.items())
        print(f"{name}: auto {auto:.1f} ms; {fixed}; auto / best = {auto / min(costs.values()):.2f}")


if __name__ == "__main__":
    main()
