"""High-precision runs by other means (extrapolation in mpmath's numbers) lie inside enclosures, at random set-ups."""

import re

import mpmath
import numpy as np
import pytest

pytest.importorskip("flint", reason="the extra `proof` is not installed")

from test_enclosures import inside

import flowsys as fs
from flowsys.program.arrays import source

FUNCTIONS = {
    "quotient": lambda a, b: mpmath.mpf(a) / b,
    "exp": mpmath.exp,
    "log": mpmath.log,
    "max": max,
    "min": min,
    "masked": lambda score, count: score if count > 0 else -mpmath.inf,
}


COLUMNS = 14  # of the extrapolation: order 28


def high_precision(problem, parameters, t: float, steps: int) -> list:
    """The solution at t by Gragg's midpoint rule, extrapolated (Bulirsch and Stoer) on so many equal steps."""
    program = problem.field.program
    namespace = dict(FUNCTIONS)
    # a quotient of literals would be a float64
    exec(re.sub(r"\b(\d+) / (\d+)\b", r"quotient(\1, \2)", source(program, program.derivatives, "exact")), namespace)
    arguments = ([mpmath.mpf(str(x)) for x in parameters], {}, {}, (), 0)
    rates = lambda y: list(namespace["evaluate"](y, arguments))
    y = [mpmath.mpf(float(x)) for x in problem.initial]
    for _ in range(steps):
        y = extrapolated(rates, y, mpmath.mpf(t) / steps)
    return y


def extrapolated(rates, y, length) -> list:
    """One step: midpoint rules of 2, 4, 6 … parts, whose errors are even in their length."""
    table: list[list] = []
    for column in range(COLUMNS):
        n = 2 * (column + 1)
        h = length / n
        before, now = y, moved(y, rates(y), h)
        for _ in range(n - 1):
            before, now = now, moved(before, rates(now), 2 * h)
        row = [[(a + b + h * c) / 2 for a, b, c in zip(before, now, rates(now))]]
        for k, coarse in enumerate(table):
            ratio = (mpmath.mpf(n) / (n - 2 * (k + 1))) ** 2
            row.append([a + (a - b) / (ratio - 1) for a, b in zip(row[-1], coarse)])
        table = row
    return table[-1]


def moved(y, rate, h) -> list:
    return [a + h * b for a, b in zip(y, rate)]


def random_setup(seed: int):
    """A system, a set-up of it and a time, all drawn; numbers are simple, so that both sides read the same ones."""
    rng = np.random.default_rng(seed)
    t = float(rng.integers(1, 60)) / 4
    if seed % 2:
        system = fs.load("prompt")
        return system, system.setup(K=int(rng.integers(2, 4)), M=int(rng.integers(10, 200)),
                                    alpha=float(rng.integers(2, 9)) / 10), t  # fmt: skip
    system = fs.load("parity")
    return system, system.setup(n=int(rng.integers(8, 30)), k=int(rng.integers(3, 6)), m=int(rng.integers(20, 400))), t


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_a_high_precision_run_lies_inside(seed):
    system, setup, t = random_setup(seed)
    problem = system.problem(setup)
    names, parameters = problem.field.program.state, problem.stages[0].arguments.parameters
    proof = fs.prove(system, setup, at=[t], observe=[n for n in names if n in problem.field.observables])
    assert not proof.declined
    row = proof.rows[0]
    with mpmath.workdps(45):
        coarse, fine = (high_precision(problem, parameters, t, steps) for steps in (2, 3))
        assert max(abs(a - b) for a, b in zip(coarse, fine)) < row.radius / 4  # it is that precise
        exact = dict(zip(names, fine))
        assert row.values and all(inside(value, exact[name], row.radius / 4) for name, value in row.values.items())
        assert row.radius < 1e-20
        name = next(iter(row.values))
        assert not inside(row.values[name], exact[name] + 3 * row.radius, row.radius / 4)
