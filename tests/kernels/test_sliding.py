"""Sliding on several surfaces at once: gradient flows of convex, piecewise quadratic functions.

L(x) = Σ_i c_i relu(a_i·x - d_i) + k/2 |x - m|²,        dx/dt = -k (x - m) - Σ_i c_i λ_i a_i
"""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from toys import batch_of, kernel_of, program

from flowsys.integrate.record import Tolerances
from flowsys.kernels import Code, integrate
from flowsys.program.arrays import arguments
from flowsys.runs.automatic import integrate as solve
from flowsys.system.problem import Problem, ProgramField, Stage

SOLVERS = ("native", "dopri8")


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


@pytest.mark.parametrize(("n", "solver"), [(2, "native"), (5, "native"), (16, "native"), (3, "dopri8")])
def test_surfaces_are_entered_one_after_the_other(n, solver):
    # x_i = (x_i(0) + 1) e^-t - 1 until 0: the last one arrives at t = log(1 + n)
    run = orthogonal(n).run(np.arange(1.0, n + 1), [np.log(1.5), np.log(n + 1) + 1], solver)
    early, late = (record.y for record in run.records)
    assert np.allclose(early, (np.arange(1, n + 1) + 1) / 1.5 - 1, atol=1e-10) and np.abs(late).max() < 1e-13
    assert np.allclose(run.statistics.switch_times, np.log(1 + np.arange(1, n + 1)), rtol=1e-10)
    assert run.statistics.slides == run.statistics.kinks == n and run.statistics.solvers == [solver]
    begin, last = np.log(n + 1), run.outcome.remarks[-1]
    if n <= 8:
        where = f"from t = {begin:.8g} to {begin + 1:.8g} (Filippov)"
        assert last == f"slid along {n} switching surfaces ({n} gates) {where}"
    else:
        assert last.startswith(
            f"slid along up to {n} switching surfaces at once {n} times from t = {np.log(2):.8g} to "
        )


def test_one_surface_lets_go_when_another_is_entered():
    # up x = 0 with share 0.6 to z = -1/2, where x + z = -1/2 takes over; along it to the point nearest to m
    toy = Convex([[1.0, 0.0], [1.0, 1.0]], [1.0, 9.0], [0.0, -0.5], [0.6, 0.8])
    run = toy.run([0.2, -2.0], [0.5, 40.0], "native")
    assert run.records[0].y == pytest.approx([0.0, 0.8 - 2.8 * np.exp(-0.5)], abs=1e-9)
    assert run.records[1].y == pytest.approx([-0.35, -0.15], abs=1e-9)
    assert run.statistics.slides == run.statistics.kinks == 2
    assert run.outcome.remarks[0].startswith("slid along a switching surface (1 gate) from t = 0.4054")


def random_toy(seed: int) -> tuple[Convex, np.ndarray]:
    rng = np.random.default_rng(seed)
    n, dim = rng.integers(2, 7), rng.integers(2, 7)
    A = rng.standard_normal((n, dim))
    toy = Convex(A, rng.uniform(0.5, 4, n), 0.1 * rng.standard_normal(n), rng.uniform(0, 2, n) @ A)
    return toy, rng.uniform(0, 2, n) @ A


@pytest.mark.parametrize("seed", range(12))
def test_smoothed_flows_tend_to_random_convex_flows(seed):
    toy, x0 = random_toy(seed)
    run = toy.run(x0, [0.3, 1.0, 4.0], "native")
    assert run.outcome.is_complete
    for record in run.records:
        coarse, fine = (np.abs(toy.smoothed(x0, record.t, δ) - record.y).max() for δ in (1e-4, 1e-5))
        assert fine < 0.2 * coarse < 1e-3 or coarse < 1e-12


def test_the_random_flows_slide_on_up_to_five_surfaces():
    runs = [toy.run(x0, [4.0], "native") for toy, x0 in map(random_toy, range(12))]
    remarks = " ".join(remark for run in runs for remark in run.outcome.remarks)
    assert all(f"{what} switching surface" in remarks for what in ("a", "2", "3", "4", "5"))


@pytest.mark.parametrize("seed", [8])
def test_both_drivers_find_the_same_flow(seed):
    toy, x0 = random_toy(seed)
    native, reference = (toy.run(x0, [0.3, 1.0, 4.0], solver, 1e-12) for solver in SOLVERS)
    for ours, theirs in zip(native.records, reference.records):
        assert np.allclose(ours.y, theirs.y, atol=1e-10)
    assert np.allclose(native.statistics.switch_times, reference.statistics.switch_times, rtol=1e-9)
    assert native.statistics.slides == reference.statistics.slides
    for ours, theirs in zip(native.outcome.remarks, reference.outcome.remarks, strict=True):
        assert ours.split("from")[0] == theirs.split("from")[0]


def test_three_lines_through_one_point_hold_the_flow_there():
    turns = 2 * np.pi * np.arange(3) / 3 + 0.1
    toy = Convex(np.column_stack([np.cos(turns), np.sin(turns)]), [3.0, 3.0, 3.0], np.zeros(3), [0.4, 0.3])
    run = toy.run([1.0, 0.2], [0.05, 5.0], "native")
    assert run.outcome.is_complete and np.abs(run.records[-1].y).max() < 1e-12


def test_a_surface_given_twice_counts_as_one():
    once = Convex(np.eye(2), [2.0, 3.0], [0.0, 0.0], [0.5, 0.7])
    twice = Convex([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [1.2, 3.0, 0.8], np.zeros(3), [0.5, 0.7])
    ours, theirs = (toy.run([1.0, 2.0], [0.6, 3.0], "native") for toy in (twice, once))
    assert np.allclose([r.y for r in ours.records], [r.y for r in theirs.records], atol=1e-12)
    assert ours.statistics.kinks == ours.statistics.slides == 2
    assert "2 switching surfaces (3 gates)" in ours.outcome.remarks[-1]


def test_a_surface_that_repels_is_crossed_in_a_slide():
    # sliding down x = 0; at z = 1 a kink with φ < 0 pushes further down
    toy = Convex(np.eye(2), [2.0, -1.0], [0.0, 1.0], [0.5, -1.0])
    run = toy.run([0.1, 2.0], [3.0], "native")
    # z + 1 = 3 e^-t with the push off; above z = 1 the push is up: z + 0 = 2 e^-t
    assert run.records[0].y == pytest.approx([0.0, 2 * np.exp(np.log(2.0) - 3.0) - 1], abs=1e-9)
    assert run.statistics.slides == 1 and run.statistics.kinks == 2


# s is the time; on both surfaces the shares are g = s/2 - 1/7, k = s/4 + 1/2 - g/2; g reaches 1 at s = 16/7
LEAVING = program(
    """
    state x z u s
    parameters a
    once:
    g = step(x)
    k = step(z)
    dx = s - 2*g - k/2
    dz = s/4 + 1/2 - k - g/2
    ds = a + 0*x
    derivative x = dx
    derivative z = dz
    derivative u = k
    derivative s = ds
    observe x = x
    """
)


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_of_two_surfaces_lets_go_and_the_other_holds(solver):
    stage = Stage("only", arguments(LEAVING, {"a": 1.0}))
    problem = Problem(ProgramField(LEAVING), np.array([0.0, 0.0, 0.0, 1.0]), (stage,), t_max=10.0)
    run = solve(problem, [2.0], (), Tolerances(1e-11, 1e-13, 10_000), solver)
    leaves = 16 / 7
    x = 7 / 16 * (9 - leaves**2) - 2 * (3 - leaves)
    u = (4 / 7) * (leaves - 1) + (9 - leaves**2) / 8
    assert run.records[0].y == pytest.approx([x, 0.0, u, 3.0], abs=1e-9)
    both, one = run.outcome.remarks
    assert both == f"slid along 2 switching surfaces (2 gates) from t = 0 to {leaves - 1:.8g} (Filippov)"
    assert one == f"slid along a switching surface (1 gate) from t = {leaves - 1:.8g} to 2 (Filippov)"


# on both surfaces the product of the gates matters: their shares are not one problem in a box
PRODUCT = program(
    """
    state x z u
    parameters a
    once:
    g = step(x)
    k = step(z)
    dx = 1 - 2*g + a*g*k
    dz = 1/2 - k - a*g*k/4
    derivative x = dx
    derivative z = dz
    derivative u = k
    observe x = x
    """
)


@pytest.mark.parametrize("solver", ["auto", "dopri8"])
def test_gates_that_multiply_gates_are_smoothed_and_it_is_said(solver):
    stage = Stage("only", arguments(PRODUCT, {"a": 0.5}))
    problem = Problem(ProgramField(PRODUCT), np.array([0.5, 1.0, 0.0]), (stage,), t_max=10.0)
    run = solve(problem, [2.0], (), Tolerances(1e-9, 1e-11, 100_000), solver)
    assert run.outcome.is_complete and len(run.statistics.solvers) == 2
    [remark] = [remark for remark in run.outcome.remarks if "smoothed" in remark]
    assert remark.startswith("smoothed the kinks over 1e-05 from t = ") and "gates multiply gates" in remark
    assert np.abs(run.records[0].y[:2]).max() < 1e-4


@pytest.mark.parametrize("threads", [1, 3])
def test_numbers_do_not_depend_on_company(threads):
    rng = np.random.default_rng(5)
    toy, n = random_toy(4)[0], 37
    stage = toy.problem(np.zeros(6)).stages[0]
    parameters = np.asarray(stage.arguments.parameters) * rng.uniform(0.8, 1.2, (n, len(stage.arguments.parameters)))
    initial = rng.uniform(0, 2, (n, 5)) @ toy.A
    native = kernel_of(toy.program)
    options = {"times": [0.4, 3.0], "log_size": 40}
    whole = integrate(native, batch_of(initial, parameters, **options), threads=threads)
    assert {Code(c) for c in whole.outcome} == {Code.COMPLETED}
    assert {0, 1, 2, 3, 4, 5} <= set(whole.log[:, :, 0].astype(int).ravel())
    order = rng.permutation(n)
    parts = [integrate(native, batch_of(initial[i], parameters[i], **options)) for i in np.array_split(order, 7)]
    for name in ("outcome", "time_states", "final_state", "final_t", "statistics", "log"):
        shuffled = np.concatenate([getattr(part, name) for part in parts])
        assert np.array_equal(getattr(whole, name)[order], shuffled, equal_nan=True)
