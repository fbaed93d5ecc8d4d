"""The compiled slope of one state against the program's NumPy reading."""

import numpy as np
import pytest

import flowsys as fs
from flowsys.kernels import Slope, kernel, stages_of
from flowsys.program.arrays import observed, vector_field

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
