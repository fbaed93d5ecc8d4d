"""The benchmark's problem: the mixture's limit (22 variables, K = 2, L = 3, trained at once) over (ω, b), to T = 300.

Two fields: "smooth" (every ReLU smoothed over 1e-3) and "kink" (exact ReLUs). Other engines get the same program: as
scalar code with its tables written out (`scalar_code`, `diffsl`), or as NumPy and JAX functions.
"""

from functools import lru_cache

import numpy as np

from flowsys import load as find

T, WIDTH, N = 300.0, 1e-3, 24


@lru_cache(maxsize=1)
def points() -> np.ndarray:
    """(ω, b) of the points, spread over the diagram."""
    rng = np.random.default_rng(7)
    return np.column_stack([np.exp(rng.uniform(np.log(0.01), np.log(0.5), N)), rng.uniform(0.1, 1.5, N)])


def problem(omega: float = 0.1, b: float = 0.5):
    system = find("mixture")
    return system.problem(system.setup(omega=float(omega), b=float(b), t_max=T), "L3", "22", "simultaneous")


@lru_cache(maxsize=1)
def problems() -> tuple:
    return tuple(problem(*point) for point in points())


def initial() -> np.ndarray:
    return np.array([p.initial for p in problems()])


def parameters() -> np.ndarray:
    return np.array([p.stages[0].arguments.parameters for p in problems()])


def atol(rtol: float) -> np.ndarray:
    """The absolute tolerance of every point: that of the package, for all engines."""
    return 1e-4 * rtol * points()[:, 0] ** 2


@lru_cache(maxsize=2)
def reference(kinks: str) -> np.ndarray:
    """The states at T, to about 1e-12: SciPy's DOP853 on the smooth field, located kinks on the other one."""
    if kinks == "kink":
        from flowsys.kernels import run_problem

        return np.array([run_problem(p, [T], rtol=2e-13, atol=1e-18).records[0].y for p in problems()])
    from scalar_code import smooth_field
    from scipy.integrate import solve_ivp

    field, found = smooth_field(), []
    for y, p in zip(initial(), parameters()):

        def right_hand_side(t, y, p=p):
            dy = np.empty_like(y)
            field(y, p, dy)
            return dy

        found.append(solve_ivp(right_hand_side, (0, T), y, "DOP853", rtol=1e-13, atol=1e-18).y[:, -1])
    return np.array(found)


def errors(states: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Per point, the largest error relative to the size of the state."""
    return np.abs(states - exact).max(axis=1) / np.maximum(1.0, np.abs(exact).max(axis=1))
