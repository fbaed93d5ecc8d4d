"""Known solutions lie inside what is proven; what blows up is declined before."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

pytest.importorskip("flint", reason="the extra `proof` is not installed")

import flowsys as fs
from flowsys.program import Program
from flowsys.program.arrays import arguments
from flowsys.proof.proving import prove_problem
from flowsys.system.problem import Event, Problem, ProgramField, Stage

fs.load("mixture")


def problem_of(text: str, initial, t_max: float = 1e3, parameters=None, events=()) -> Problem:
    program = Program.parse(text)
    stage = Stage("flow", arguments(program, parameters or {}))
    return Problem(ProgramField(program), np.array(initial, dtype=float), (stage,), tuple(events), t_max=t_max)


def linear_program(matrix) -> str:
    n = len(matrix)
    names = [f"y{i}" for i in range(n)]
    lines = [
        f"    d{i} = " + " + ".join(f"({Fraction(a)})*{y}" for a, y in zip(row, names)) for i, row in enumerate(matrix)
    ]
    text = [f"state {' '.join(names)}", "parameters ", "once:", *lines]
    text += [f"derivative {y} = d{i}" for i, y in enumerate(names)]
    text += [f"observe {y} = {y}" for y in names]
    return "\n".join(text) + "\n"


def inside(value, exact, unsure=1e-45) -> bool:
    """Whether a ball contains a number known to many digits, up to what is unsure of it."""
    middle, radius = value.mid(), value.rad()
    mantissa, exponent = middle.man_exp()
    centre = mpmath.mpf(int(mantissa)) * mpmath.mpf(2) ** int(exponent)
    return abs(centre - exact) <= mpmath.mpf(float(radius)) * (1 + mpmath.mpf(10) ** -9) + mpmath.mpf(unsure)


@pytest.mark.parametrize("seed, stiffness", [(0, 1), (1, 1), (2, 40), (3, 300)])
def test_random_linear_systems_are_enclosed(seed, stiffness):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-4, 5, (3, 3)) / 4
    matrix[0] = [-stiffness, 0.25, 0.5]
    start = rng.integers(-8, 9, 3) / 8
    proof = prove_problem(problem_of(linear_program(matrix.tolist()), start), [2.0], ("y0", "y1", "y2"))
    assert not proof.declined
    with mpmath.workdps(50):
        exact = mpmath.expm(2 * mpmath.matrix(matrix.tolist())) * mpmath.matrix(start.tolist())
        row = proof.rows[0]
        assert all(inside(row.values[f"y{i}"], exact[i]) for i in range(3))
        assert row.radius < 1e-17
        shifted = exact[0] + 3 * row.radius
        assert not inside(row.values["y0"], shifted)


def test_a_solution_that_blows_up_is_declined_before():
    square = "state y\nparameters \nonce:\n    d = y**2\nderivative y = d\nobserve y = y\n"
    proof = prove_problem(problem_of(square, [1.0]), [2.0], ("y",), tolerance=1e-10)
    assert proof.declined and 0.9 < proof.pieces[-1].start < proof.pieces[-1].end < 1
    last = proof.pieces[-1]
    with mpmath.workdps(40):
        value = last.polynomials[0][0]
        assert inside(value + 0 * value, 1 / (1 - mpmath.mpf(last.start.numerator) / last.start.denominator)) or (
            last.before.error > 0
        )


def test_an_event_is_bracketed_and_its_first_crossing():
    rotation = linear_program([[0, 1], [-1, 0]])  # y0 = sin t
    events = [Event("half", "y0", 0.5, 1), Event("down", "y0", 0.0, -1)]
    proof = prove_problem(problem_of(rotation, [0.125, 1.0], events=events), ["half"], ("y0",))
    bracket = proof.events["half"]
    with mpmath.workdps(40):
        # y0 = sin t + cos t / 8
        exact = mpmath.findroot(lambda t: mpmath.sin(t) + mpmath.cos(t) / 8 - mpmath.mpf(1) / 2, 0.4)
        low, high = (mpmath.mpf(x.numerator) / x.denominator for x in (bracket.low, bracket.high))
        assert low <= exact <= high and high - low < 1e-20


def test_a_relu_is_crossed_with_its_time_enclosed():
    # y' = -1 - step(y - 1), so y = 2 - 2t down to 1 at t = 1/2, then 1 - (t - 1/2)
    text = """state y
parameters
once:
    x = y - 1
    d = -1 - step(x)
derivative y = d
observe y = y
"""
    proof = prove_problem(problem_of(text.replace("parameters\n", "parameters \n"), [2.0]), [1.0], ("y",))
    assert not proof.declined
    with mpmath.workdps(40):
        assert inside(proof.rows[0].values["y"], mpmath.mpf(1) / 2)
    assert proof.rows[0].radius < 1e-20


def test_a_slide_is_declined_in_a_sentence():
    text = "state y\nparameters \nonce:\n    x = y - 1\n    d = 1 - 2*step(x)\nderivative y = d\nobserve y = y\n"
    proof = prove_problem(problem_of(text, [0.5]), [1.0], ("y",))
    assert "slide" in proof.declined and abs(proof.reached - 0.5) < 1e-9


@pytest.mark.parametrize("s, start", [(1, Fraction(1, 64)), (3, Fraction(1, 8))])
def test_the_modes_of_a_linear_network_lie_inside(s, start):
    # a b of dL/dt for the loss (s - a b)²/2, balanced: u' = 2 u (s - u), a sigmoid
    text = "state u\nparameters s\nonce:\n    d = 2*u*(s - u)\nderivative u = d\nobserve u = u\n"
    proof = prove_problem(problem_of(text, [float(start)], parameters={"s": float(s)}), [2.0], ("u",))
    with mpmath.workdps(45):
        u0 = mpmath.mpf(start.numerator) / start.denominator
        exact = s / (1 + (s / u0 - 1) * mpmath.exp(-4 * s))
        value = proof.rows[0].values["u"]
        assert inside(value, exact) and 2 * float(value.rad()) <= 1e-18
        assert not inside(value, exact + 1e-18)


def test_the_closed_form_of_stage_1_lies_inside():
    system = fs.load("mixture")
    proof = fs.prove(system, system.setup(), at=[15.0], observe=["w_c", "w_v"])
    with mpmath.workdps(40):
        K, b, t = 2, mpmath.mpf(1) / 2, mpmath.mpf(15)
        half = b + (mpmath.exp(2 * b) - 1) / 2
        c = 2 * b + mpmath.exp(2 * b) + mpmath.mpf(5) / 8 * (2 * t / K - half)
        F = mpmath.findroot(lambda F: F + mpmath.exp(F) - c, 2.0)
        w_c, w_v = (F - 2 * b) / 5, b / 2 + 2 * (F - 2 * b) / 5
        row = proof.rows[0]
        assert inside(row.values["w_c"], w_c) and inside(row.values["w_v"], w_v)
        assert row.radius <= 1e-18
        assert not inside(row.values["w_c"], w_c + 1e-18)
