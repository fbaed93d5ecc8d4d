"""Errors of `auto` and `radau` over their rtol on random stiff points, against LSODA on the same slope at 1e-13.

    python benchmarks/accuracy.py [--points 20] [--rtol 1e-8]

Lego's stage 2 (group, d, C_B, rho, bias) to 1e10, and the mixture smoothed over 1e-4 (omega, b) to 1e8. The reference
computes in double precision, too: where two tight solutions differ, their distance is printed as its own uncertainty.
"""

import argparse
import warnings

import numpy as np
from stiff_cases import Case

import flowsys as fs
from flowsys.kernels import Slope, integrate


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
            lambda t, y: slope(y), (0, case.end), case.problem.initial, "LSODA", rtol=rtol, atol=1e-4 * rtol
        )
    return found.y[:, -1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=20)
    parser.add_argument("--rtol", type=float, default=1e-8)
    given = parser.parse_args()
    for make in (lego, mixture):
        rng, errors = np.random.default_rng(1), {"auto": [], "implicit": [], "between the references": []}
        for _ in range(given.points):
            case = make(rng)
            exact = lsoda(case, 1e-13)
            size = max(1.0, np.abs(exact).max()) * given.rtol
            tight = integrate(case.kernel, case.batch(1e-12, "implicit")).time_states[0, 0]
            errors["between the references"].append(np.abs(tight - exact).max() / size)
            for method in ("auto", "implicit"):
                y = integrate(case.kernel, case.batch(given.rtol, method)).time_states[0, 0]
                errors[method].append(np.abs(y - exact).max() / size)
        for name, found in errors.items():
            median, worst = np.median(found), np.max(found)
            bar = (
                ""
                if name not in ("auto", "implicit")
                else f"; bar {'met' if median <= 10 and worst <= 100 else 'NOT met'}"
            )
            print(f"{make.__name__}, {name}: error / rtol median {median:.2g}, worst {worst:.2g}{bar}", flush=True)


if __name__ == "__main__":
    main()
