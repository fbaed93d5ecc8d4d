"""High-precision runs by other means (mpmath's Taylor solver) lie inside the enclosures, at random set-ups."""

import mpmath
import numpy as np
import pytest

pytest.importorskip("flint", reason="the extra `proof` is not installed")

from test_enclosures import inside

import flowsys as fs
from flowsys.program.arrays import source

FUNCTIONS = {
    "exp": mpmath.exp,
    "log": mpmath.log,
    "max": max,
    "min": min,
    "masked": lambda score, count: score if count > 0 else -mpmath.inf,
}


def high_precision(problem, parameters, t: float) -> list:
    program = problem.field.program
    namespace = dict(FUNCTIONS)
    exec(source(program, program.derivatives, "exact"), namespace)
    arguments = ([mpmath.mpf(str(x)) for x in parameters], {}, {}, (), 0)
    rates = lambda t, y: list(namespace["evaluate"](y, arguments))
    start = [mpmath.mpf(float(y)) for y in problem.initial]
    return mpmath.odefun(rates, 0, start, tol=mpmath.mpf(10) ** -32)(mpmath.mpf(t))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_a_high_precision_run_lies_inside(seed):
    rng, system = np.random.default_rng(seed), fs.load("parity")
    setup = system.setup(n=int(rng.integers(8, 30)), k=int(rng.integers(3, 6)), m=int(rng.integers(20, 400)))
    t = float(rng.integers(1, 60)) / 4
    problem = system.problem(setup)
    names = problem.field.program.state
    proof = fs.prove(system, setup, at=[t], observe=[n for n in names if n in problem.field.observables])
    assert not proof.declined
    row = proof.rows[0]
    with mpmath.workdps(40):
        exact = dict(zip(names, high_precision(problem, problem.stages[0].arguments.parameters, t)))
        assert row.values and all(inside(value, exact[name]) for name, value in row.values.items())
        assert row.radius < 1e-20
