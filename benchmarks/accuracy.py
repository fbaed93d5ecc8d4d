"""Errors of `auto` and `radau` over their rtol on random stiff points, against the same program in 80 bits.

    python benchmarks/accuracy.py [--systems lego,mixture] [--points 20] [--rtol 1e-8] [--seed 1]

Lego's stage 2 (group, d, C_B, rho, bias) to 1e10, and the mixture smoothed over 1e-4 (omega, b) to 1e8; LSODA on the
same compiled slope for comparison. A point's condition is by how much its flow multiplies a relative error made
somewhere on the way (of size rtol, at sixty times, in every variable, of either sign): what no solver can avoid to pay.
Lego's balanced solution may lose its stability when a neuron saturates; from then on its gap multiplies errors by t.
`--tighter 100` shows what steps held to rtol / 100 would bring.
"""

import argparse
import warnings
from dataclasses import replace

import numpy as np
from precise import reference
from stiff_cases import Case

import flowsys as fs
from flowsys.kernels import Slope, integrate

MEDIAN, WORST = 10.0, 100.0


def lego(rng: np.random.Generator) -> Case:
    system = fs.load("lego")
    drawn = {"group": str(rng.choice(["C3", "C5", "C7", "S3", "S4"])), "d": float(10 ** rng.uniform(2, 4)),
             "C_B": float(rng.uniform(1.5, 4)), "rho": float(10 ** rng.uniform(-1, 0)),
             "bias": float(rng.uniform(0, 0.2))}  # fmt: skip
    setup = system.setup("stage_2", t_max=1e10, **drawn)
    return Case(f"lego {drawn}", 1e10, lambda: system.build(setup, "L3", system.variant("L3", None), "stage_2"))


def mixture(rng: np.random.Generator) -> Case:
    system = fs.load("mixture")
    drawn = {"omega": float(10 ** rng.uniform(-2, 0)), "b": float(rng.uniform(0.1, 1.5))}
    setup = system.setup("simultaneous", t_max=1e8, **drawn)
    build = lambda: system.build(setup, "L3", system.variant("L3", None), "simultaneous")
    return Case(f"mixture {drawn}", 1e8, build, 1e-4)


def lsoda(case: Case, rtol: float) -> np.ndarray:
    from scipy.integrate import solve_ivp

    slope = Slope(case.kernel, case.stages[0], case.kink_width)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = solve_ivp(
            lambda t, y: slope(y), (0, case.end), case.problem.initial, "LSODA", rtol=rtol, atol=case.atol(rtol)
        )
    return found.y[:, -1]


def native(method: str):
    return lambda case, rtol: integrate(case.kernel, case.batch(rtol, method)).time_states[0, 0]


SOLVERS = {"auto": native("auto"), "radau": native("implicit"), "LSODA": lsoda}


def relative(difference: np.ndarray, state: np.ndarray) -> np.ndarray:
    return np.abs(difference).max(axis=-1) / np.maximum(1, np.abs(state).max(axis=-1))


def condition(case: Case, rtol: float, end: np.ndarray) -> float:
    """The largest relative change of the end over the relative change of a state on the way."""
    times = np.geomspace(1e-12 * case.end, case.end, 61)
    tight = replace(case.batch(1e-2 * rtol, "implicit"), times=times)
    states = integrate(case.kernel, tight).time_states[0, :-1]
    sizes = rtol * np.maximum(1, np.abs(states).max(axis=1))
    changes = np.concatenate([np.eye(states.shape[1]), -np.eye(states.shape[1])])
    moved = (states[:, None] + sizes[:, None, None] * changes).reshape(-1, states.shape[1])
    starts = np.repeat(times[:-1], len(changes))
    ends = integrate(case.kernel, replace(tight, initial=moved, start=starts, times=[case.end])).time_states[:, 0]
    return float(np.nanmax(relative(ends - end, end)) / rtol)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", default="lego,mixture")
    parser.add_argument("--points", type=int, default=20)
    parser.add_argument("--rtol", type=float, default=1e-8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tighter", type=float, default=1.0)
    given = parser.parse_args()
    for make in [{"lego": lego, "mixture": mixture}[name] for name in given.systems.split(",")]:
        rng, errors, conditions = np.random.default_rng(given.seed), {name: [] for name in SOLVERS}, []
        for _ in range(given.points):
            case = make(rng)
            exact = reference(case)
            conditions.append(condition(case, given.rtol, exact))
            for name, solver in SOLVERS.items():
                found = float(relative(solver(case, given.rtol / given.tighter) - exact, exact) / given.rtol)
                errors[name].append(found)
            if max(errors[name][-1] for name in SOLVERS) > WORST:
                shown = ", ".join(f"{name} {errors[name][-1]:.2g}" for name in SOLVERS)
                print(f"  {case.name}: condition {conditions[-1]:.2g}; {shown}", flush=True)
        good = np.array(conditions) <= MEDIAN
        print(f"{make.__name__}, {given.points} points at rtol = {given.rtol:g}; condition above {MEDIAN:g} at "
              f"{(~good).sum()} of them, up to {max(conditions):.2g}")  # fmt: skip
        for name, found in errors.items():
            median, worst, calm = np.median(found), np.max(found), np.max(np.array(found)[good])
            paid = np.max(np.array(found) / np.maximum(1, conditions))
            met = "met" if median <= MEDIAN and worst <= WORST else "NOT met"
            bar = f"; bar {met}" if name != "LSODA" else ""
            print(f"  {name}: error / rtol median {median:.2g}, worst {worst:.2g}, worst of the well-conditioned "
                  f"{calm:.2g}; over rtol times condition {paid:.2g}{bar}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
