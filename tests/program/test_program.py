"""Programs as values: text and back, refusals, and array printers that agree with each other."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsys.program import Block, Line, Link, Program, written
from flowsys.program.arrays import arguments, function, observed, switching_functions, vector_field

TOY = """\
state x y
parameters b
table parts: sign
table samples: weight
link parts -> samples
for each parts:
    part = sign*tanh(x) + y
for each samples:
    whole = linked(part)
    margin = whole - b
    gain = weight*relu(margin)
    gate = weight*step(margin)
for each parts:
    back = spread(gate)
once:
    value = total(gain)
    d_x = -total(back)*(1 - tanh(x)**2)
    d_y = -value/b
derivative x = d_x
derivative y = d_y
observe value = value
observe largest = x
"""
PROGRAM = Program.parse(TOY)
LINKS = {"parts_to_samples": [[1.0, 2.0], [0.0, -1.0], [3.0, 1.0]]}
TABLES = {"parts": {"sign": [1.0, -1.0]}, "samples": {"weight": [0.2, 0.3, 0.5]}}


def data(b: float = 0.7, kink_width: float = 0.0):
    return arguments(PROGRAM, {"b": b}, TABLES, LINKS, kink_width)


def with_lines(*lines: tuple[str, str], **changes) -> Program:
    fields = {
        "state": ("x",),
        "parameters": ("b",),
        "blocks": (Block("", tuple(Line(*line) for line in lines)),),
        "derivatives": ("d_x",),
        "observables": {},
    }
    return Program(**fields | changes)


def test_a_written_flow_has_its_rates_and_sees_its_state_or_what_is_told():
    y, rates = np.array([2.0, 3.0]), {"x": "-rate*both", "y": "0"}
    seen, told = (written(rates, ("rate",), {"both": "x*y"}, of) for of in (None, {"difference": "x - both"}))
    data = arguments(seen, {"rate": 0.5})
    assert np.array_equal(vector_field(seen, "exact", np)(y, data), [-3.0, 0.0])
    assert np.array_equal(observed(seen, ("x", "y"), "exact", np)(y, data), y) and tuple(told.observables) == (
        "difference",
    )
    assert observed(told, ("difference",), "exact", np)(y, data) == [-4.0]


def test_a_written_flow_may_not_read_what_is_not_there():
    with pytest.raises(ValueError, match="reads"):
        written({"x": "-rate*x"})


def test_text_and_back():
    assert str(PROGRAM) == TOY and Program.parse(str(PROGRAM)) == PROGRAM


@st.composite
def programs(draw):
    """Straight-line programs of one block."""
    names, lines = ["x", "b"], []
    for i in range(draw(st.integers(1, 8))):
        a, c = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        form = draw(st.sampled_from(["{a} + {c}", "{a}*{c}", "exp(-{a}**2)", "max({a}, {c})", "relu({a})", "-{a}/3"]))
        lines.append((f"n{i}", form.format(a=a, c=c)))
        names.append(f"n{i}")
    return with_lines(*lines, ("d_x", names[-1]), observables={"last": names[-1]})


@settings(deadline=None, max_examples=60)
@given(programs())
def test_any_program_survives_its_text(program):
    again = Program.parse(str(program))
    assert again == program and again.digest == program.digest


@settings(deadline=None, max_examples=40)
@given(programs(), st.floats(-2, 2))
def test_lines_that_are_not_needed_do_not_change_what_is(program, x):
    whole = function(program, program.derivatives, "exact", np)(np.array([x]), arguments(program, {"b": 0.3}))
    kept = Program(program.state, program.parameters, program.needed_for(program.derivatives), program.derivatives, {})
    assert function(kept, kept.derivatives, "exact", np)(np.array([x]), arguments(kept, {"b": 0.3})) == whole
    assert kept.operations <= program.operations


def test_different_programs_have_different_digests():
    assert with_lines(("d_x", "x")).digest != with_lines(("d_x", "-x")).digest


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([("a", "x"), ("a", "b"), ("d_x", "a")], "'a' is used twice"),
        ([("x", "b"), ("d_x", "x")], "'x' is used twice"),
        ([("exp", "x"), ("d_x", "x")], "'exp' is used twice"),
        ([("d_x", "missing")], r"\['missing'\] before they are defined"),
        ([("d_x", "later"), ("later", "x")], r"\['later'\] before they are defined"),
        ([("a", "x")], r"\['d_x'\] are never defined"),
    ],
)
def test_a_program_that_does_not_hang_together_is_refused(lines, message):
    with pytest.raises(ValueError, match=message):
        with_lines(*lines)


def test_state_and_derivatives_must_match():
    with pytest.raises(ValueError, match="2 state names but 1"):
        with_lines(("d_x", "x"), state=("x", "y"))


def test_a_name_used_as_state_and_parameter_is_refused():
    with pytest.raises(ValueError, match="used twice"):
        with_lines(("d_x", "x"), parameters=("x",))


def test_an_observable_that_is_never_computed_is_refused():
    with pytest.raises(ValueError, match="never defined"):
        with_lines(("d_x", "x"), observables={"loss": "loss"})


def test_a_line_that_is_no_program_is_quoted():
    with pytest.raises(ValueError, match="'nonsense here'"):
        Program.parse("state x\nnonsense here\n")


def test_a_kink_must_be_a_bare_name():
    with pytest.raises(ValueError, match="bare name"):
        _ = with_lines(("d_x", "relu(x + b)")).kinks


def test_operations_are_counted_once_per_line_of_text():
    assert with_lines(("a", "x*b + 2"), ("d_x", "-exp(a)")).operations == 4


def test_tables_and_links_are_found_by_name():
    assert PROGRAM.table_of == {"sign": "parts", "weight": "samples", "part": "parts", "whole": "samples",
                                "margin": "samples", "gain": "samples", "gate": "samples", "back": "parts"}  # fmt: skip
    assert PROGRAM.links == (Link("parts", "samples"),) and PROGRAM.kinks == ("margin",)


@pytest.mark.parametrize("kinks", ["exact", "frozen", "smooth"])
def test_numpy_and_jax_print_the_same_field(kinks):
    y, args = np.array([0.3, -0.2]), data(kink_width=0.05)
    with jax.enable_x64(True):
        in_jax = jax.jit(vector_field(PROGRAM, kinks, jnp))(y, args)
    assert np.allclose(vector_field(PROGRAM, kinks, np)(y, args), in_jax, rtol=1e-14)


def test_numpy_and_jax_print_the_same_functions():
    lines = [("d_x", "exp(-x)*log(2 + x)*sqrt(b) + tanh(x)*sinh(b)/cosh(x) + sigmoid(x)*softplus(-x)*max(x, b)")]
    lines += [("round", "sin(x)*cos(b*x)"), ("bell", "erf(x) + asin(x*b)")]
    program = with_lines(*lines, observables={"round": "round", "bell": "bell"})
    names, args = (*program.derivatives, "round", "bell"), arguments(program, {"b": 0.7})
    for x in (-1.3, 1e-9, 0.4, 1.2):
        with jax.enable_x64(True):
            in_jax = jax.jit(function(program, names, "exact", jnp))(np.array([x]), args)
        in_numpy = function(program, names, "exact", np)(np.array([x]), args)
        assert np.allclose(in_numpy, in_jax, rtol=1e-14, atol=0)
        assert in_numpy[2] == pytest.approx(math.erf(x) + math.asin(0.7 * x), rel=1e-15)


def test_crossings_are_the_sums_they_say():
    x, y, b = 0.3, -0.2, 0.7
    C, weight = np.array(LINKS["parts_to_samples"]), np.array(TABLES["samples"]["weight"])
    margin = C @ (np.array([1.0, -1.0]) * np.tanh(x) + y) - b
    d_x = -(C.T @ (weight * (margin > 0))).sum() * (1 - np.tanh(x) ** 2)
    expected = [d_x, -(weight * np.maximum(margin, 0)).sum() / b]
    assert np.allclose(vector_field(PROGRAM, "exact", np)(np.array([x, y]), data(b)), expected, rtol=1e-14)


def test_frozen_gates_that_are_right_are_the_exact_reading():
    y, args = np.array([0.3, 0.4]), data()
    gates = (switching_functions(PROGRAM, "exact", np)(y, args) > 0).astype(float)
    assert 0 < gates.sum() < len(gates)
    frozen = vector_field(PROGRAM, "frozen", np)(y, args._replace(gates=gates))
    assert np.array_equal(frozen, vector_field(PROGRAM, "exact", np)(y, args))


def test_frozen_gates_that_are_wrong_are_not():
    y, args = np.array([0.3, 0.4]), data()
    assert not np.allclose(vector_field(PROGRAM, "frozen", np)(y, args), vector_field(PROGRAM, "exact", np)(y, args))


def test_smoothed_kinks_tend_to_the_exact_ones():
    y = np.array([0.3, 0.4])
    exact = vector_field(PROGRAM, "exact", np)(y, data())
    errors = [
        np.abs(vector_field(PROGRAM, "smooth", np)(y, data(kink_width=d)) - exact).max() for d in (0.1, 0.02, 1e-3)
    ]
    assert errors[0] > errors[1] > errors[2] and errors[2] < 1e-12


def test_observables_come_in_the_order_asked_for():
    y, args = np.array([0.3, 0.4]), data()
    value, largest = observed(PROGRAM, ("value", "largest"), "exact", np)(y, args)
    assert list(observed(PROGRAM, ("largest", "value"), "exact", np)(y, args)) == [largest, value] and largest == 0.3


def test_functions_of_a_program_do_not_overflow():
    program = with_lines(("d_x", "sigmoid(x) + softplus(-x) + masked(x, b)"))
    field = vector_field(program, "exact", np)
    assert field(np.array([1000.0]), arguments(program, {"b": 1.0}))[0] == 1001
    assert field(np.array([-1000.0]), arguments(program, {"b": 1.0}))[0] == 0
