"""Sliding on several surfaces at once: gradient flows of convex, piecewise quadratic functions.

L(x) = Σ_i c_i relu(a_i·x - d_i) + k/2 |x - m|²,        dx/dt = -k (x - m) - Σ_i c_i λ_i a_i
"""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from toys import program

from flowsys.integrate.record import Tolerances
from flowsys.program.arrays import arguments
from flowsys.runs.automatic import integrate as solve
from flowsys.system.problem import Problem, ProgramField, Stage

SOLVERS = ("native", "dopri8")
SEEDS = (4, 8)


class Convex:
    """The function, its flow as a program, and what is known of it."""

    def __init__(self, A, c, d, m, k=1.0):
        self.A, self.c, self.d = np.atleast_2d(np.asarray(A, float)), np.asarray(c, float), np.asarray(d, float)
        self.m, self.k = np.asarray(m, float), k

    @property
    def program(self):
        return _program(*self.A.shape)

    def problem(self, x0, t_max=1e3) -> Problem:
        values = {f"c{i}": c for i, c in enumerate(self.c)} | {f"d{i}": d for i, d in enumerate(self.d)}
        values |= {f"m{j}": m for j, m in enumerate(self.m)} | {"k": self.k}
        values |= {f"a{i}_{j}": x for i, row in enumerate(self.A) for j, x in enumerate(row)}
        stage = Stage("only", arguments(self.program, values))
        return Problem(ProgramField(self.program), np.asarray(x0, float), (stage,), t_max=t_max)

    def run(self, x0, times, solver, rtol=1e-11, **options):
        return solve(self.problem(x0), times, (), Tolerances(rtol, 1e-3 * rtol, 100_000), solver, **options)

    def smoothed(self, x0, t, δ) -> np.ndarray:
        def slope(_, x):
            with np.errstate(over="ignore"):
                return -self.k * (x - self.m) - (self.c / (1 + np.exp(-(self.A @ x - self.d) / δ))) @ self.A

        return solve_ivp(slope, (0, t), np.asarray(x0, float), "Radau", rtol=1e-11, atol=1e-13).y[:, -1]


@cache
def _program(n_surfaces: int, dim: int):
    names = [
        *(f"c{i}" for i in range(n_surfaces)),
        *(f"d{i}" for i in range(n_surfaces)),
        *(f"m{j}" for j in range(dim)),
    ]
    names += ["k", *(f"a{i}_{j}" for i in range(n_surfaces) for j in range(dim))]
    rows = [f"state {' '.join(f'x{j}' for j in range(dim))}", f"parameters {' '.join(names)}", "once:"]
    for i in range(n_surfaces):
        rows += [f"h{i} = {' + '.join(f'a{i}_{j}*x{j}' for j in range(dim))} - d{i}", f"g{i} = step(h{i})"]
    for j in range(dim):
        rows.append(f"dx{j} = -k*(x{j} - m{j}) - {' - '.join(f'c{i}*a{i}_{j}*g{i}' for i in range(n_surfaces))}")
    rows += [f"derivative x{j} = dx{j}" for j in range(dim)]
    return program("\n".join([*rows, "observe x0 = x0"]))


def orthogonal(n: int) -> Convex:
    """Σ 2 relu(x_i) with the minimum of the quadratic at +1: every x_i comes down to 0 by itself and stays there."""
    return Convex(np.eye(n), np.full(n, 2.0), np.zeros(n), np.ones(n))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n", [2, 3, 5])
def test_surfaces_are_entered_one_after_the_other(n, solver):
    # x_i = (x_i(0) + 1) e^-t - 1 until 0: the last one arrives at t = log(1 + n)
    run = orthogonal(n).run(np.arange(1.0, n + 1), [np.log(1.5), np.log(n + 1) + 1], solver)
    early, late = (record.y for record in run.records)
    assert np.allclose(early, (np.arange(1, n + 1) + 1) / 1.5 - 1, atol=1e-10) and np.abs(late).max() < 1e-13
    assert np.allclose(run.statistics.switch_times, np.log(1 + np.arange(1, n + 1)), rtol=1e-10)
    assert run.statistics.slides == run.statistics.kinks == n and run.statistics.solvers == [solver]
    begin = np.log(n + 1)
    where = f"from t = {begin:.8g} to {begin + 1:.8g} (Filippov)"
    assert run.outcome.remarks[-1] == f"slid along {n} switching surfaces ({n} gates) {where}"


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_of_two_surfaces_lets_go_when_the_other_is_entered(solver):
    # down the first surface x = 0 with share 1/2, then the second, 60° to it, takes over what held the first
    toy = Convex([[1.0, 0.0], [0.5, np.sqrt(3) / 2]], [1.0, 20.0], [0.0, 0.0], [0.6, 0.8])
    run = toy.run([0.2, -1.0], [0.1, 0.5, 1.0, 5.0], solver)
    for t, record in zip((0.1, 0.5, 1.0, 5.0), run.records):
        errors = [np.abs(toy.smoothed([0.2, -1.0], t, δ) - record.y).max() for δ in (1e-4, 1e-5)]
        assert errors[1] < 0.2 * errors[0] < 1e-3 or errors[0] < 1e-12
    assert len(run.statistics.solvers) == 1


def random_toy(seed: int) -> tuple[Convex, np.ndarray]:
    rng = np.random.default_rng(seed)
    n, dim = rng.integers(2, 7), rng.integers(2, 7)
    A = rng.standard_normal((n, dim))
    toy = Convex(A, rng.uniform(0.5, 4, n), 0.1 * rng.standard_normal(n), rng.uniform(0, 2, n) @ A)
    return toy, rng.uniform(0, 2, n) @ A


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_smoothed_flows_tend_to_random_convex_flows(seed, solver):
    toy, x0 = random_toy(seed)
    times = [0.3, 1.0, 4.0]
    run = toy.run(x0, times, solver)
    assert run.outcome.is_complete and run.statistics.solvers == [solver]
    for record in run.records:
        coarse, fine = (np.abs(toy.smoothed(x0, record.t, δ) - record.y).max() for δ in (1e-4, 1e-5))
        assert fine < 0.2 * coarse < 1e-3 or coarse < 1e-12


def test_the_random_flows_slide_on_up_to_five_surfaces():
    runs = [toy.run(x0, [4.0], SOLVERS[0]) for toy, x0 in map(random_toy, SEEDS)]
    remarks = " ".join(remark for run in runs for remark in run.outcome.remarks)
    assert all(f"{what} switching surface" in remarks for what in ("a", "2", "3", "4", "5"))
