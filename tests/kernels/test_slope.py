"""The compiled slope of one state against the program's NumPy reading."""

import numpy as np
import pytest

import flowsys as fs
from flowsys.kernels import FrozenSlope, Slope, kernel, stages_of
from flowsys.program.arrays import observed, switching_functions, vector_field

MIXTURE = fs.load("mixture")


@pytest.mark.parametrize("kinks", ["exact", "smooth"])
def test_slope_and_observables_are_those_of_the_program(kinks):
    problem = MIXTURE.problem(MIXTURE.setup(K=3, L=4), mode="simultaneous")
    program, [stage] = problem.field.program, stages_of(problem)
    slope = Slope(kernel(program, ("w_c", "loss"), kinks, [stage]), stage, kink_width=1e-2)
    arguments = problem.stages[0].arguments._replace(kink_width=np.float64(1e-2))
    rng = np.random.default_rng(0)
    for _ in range(3):
        y = problem.initial + 0.3 * rng.normal(size=len(problem.initial))
        np.testing.assert_allclose(slope(y), vector_field(program, kinks, np)(y, arguments), rtol=1e-12, atol=1e-13)
        expected = observed(program, ("w_c", "loss"), kinks, np)(y, arguments)
        np.testing.assert_allclose(slope.observe(y), expected, rtol=1e-12)


def test_frozen_gates_are_refused():
    problem = MIXTURE.problem(MIXTURE.setup(), mode="simultaneous")
    stages = stages_of(problem)
    with pytest.raises(ValueError, match="frozen"):
        Slope(kernel(problem.field.program, (), "frozen", stages), stages[0])


def test_rates_and_switching_functions_under_given_gates():
    """Written out, some gates play no part: they are told as open, and do not move."""
    problem = MIXTURE.problem(MIXTURE.setup(K=3, L=4), mode="simultaneous")
    program, [stage] = problem.field.program, stages_of(problem)
    rng, plain = np.random.default_rng(0), problem.stages[0].arguments
    y = problem.initial + 0.3 * rng.normal(size=len(problem.initial))
    v, gates, step = rng.normal(size=len(y)), rng.integers(0, 2, len(plain.gates)).astype(float), 1e-3
    rate, h = vector_field(program, "frozen", np), switching_functions(program, "frozen", np)
    at = plain._replace(gates=gates)
    weights = {-2: 1 / 12, -1: -8 / 12, 1: 8 / 12, 2: -1 / 12}
    velocity = sum(w * h(y + i * step * v, at) for i, w in weights.items()) / step
    for stages in ([stage], []):
        compiled = kernel(program, ("loss",), "frozen", stages)
        slope = FrozenSlope(compiled, stage)
        counts = np.ones(len(gates), dtype=bool) if compiled.gate_places is None else compiled.gate_places >= 0
        assert counts.any()
        np.testing.assert_allclose(slope(y, gates), rate(y, at), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(slope.switching(y, gates), np.where(counts, h(y, at), 1.0), rtol=1e-12)
        np.testing.assert_allclose(slope.velocity(y, v, gates), np.where(counts, velocity, 0.0), rtol=1e-9, atol=1e-9)
