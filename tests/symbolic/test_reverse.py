"""Reverse mode on the tape is the chain rule: it agrees with sympy's own differentiation of the same expression."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from symbolic_oracle import number, spelt_out, symbols, without_tape

from flowsys.symbolic import primitives as ops
from flowsys.symbolic.primitives import Named, Step
from flowsys.symbolic.reverse import Tape

X = symbols(3)
POINT = dict(zip(X, (0.37, -0.81, 1.24)))

leaves = st.sampled_from([*X, sp.Rational(1, 3), sp.Integer(-2)])


def compound(inner):
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] * p[1]),
        inner.map(ops.softplus),
        inner.map(ops.sigmoid),
        inner.map(ops.relu),
        inner.map(ops.tanh),
        pairs.map(lambda p: ops.attend(np.array([*p, 1], dtype=object), np.array([*p[::-1], 0], dtype=object))),
        pairs.map(lambda p: ops.log_sum_exp(np.array(p, dtype=object), np.array([1, 2], dtype=object))),
    )


expressions = st.recursive(leaves, compound, max_leaves=5)


@settings(deadline=None, max_examples=40)
@given(expression=expressions)
def test_the_tape_differentiates_like_sympy(expression):
    tape, expression = Tape("t_"), sp.sympify(expression)
    gradient = tape.gradient({tape.record(expression): sp.S.One}, X)
    plain = spelt_out(expression)
    for x in X:
        ours = number(spelt_out(without_tape(gradient[x], tape)), POINT)
        assert ours == pytest.approx(number(plain.diff(x), POINT), rel=1e-9, abs=1e-12)


def test_recording_changes_nothing():
    expression = ops.softplus(X[0] * ops.relu(X[1] - X[2])) + ops.sigmoid(X[2])
    tape = Tape("t_")
    assert without_tape(tape.record(expression), tape) == expression


def test_a_call_that_occurs_twice_is_recorded_once():
    call, tape = ops.softplus(X[0] + X[1]), Tape("t_")
    tape.record(call * X[2] + call**2)
    assert len(tape.definitions) == 1


def test_kinks_take_a_bare_name_on_the_tape():
    tape = Tape("t_")
    tape.record(ops.relu(X[0] - X[1]))
    argument, call = tape.definitions.values()
    assert argument == X[0] - X[1] and call.args[0].is_Symbol


def test_a_gate_has_no_derivative():
    tape = Tape("t_")
    value = tape.record(Step(X[0]) * X[1])
    assert tape.gradient({value: sp.S.One}, X)[X[0]] == 0


def test_a_name_is_kept_in_the_tape():
    tape = Tape("t_")
    assert tape.record(Named(sp.Symbol("margin"), X[0] * X[1])) == sp.Symbol("margin", real=True)


def test_one_name_for_two_expressions_is_refused():
    tape = Tape("t_")
    tape.record(ops.name("margin", X[0] * X[1]))
    with pytest.raises(ValueError, match="named margin"):
        tape.record(ops.name("margin", X[0] + X[1]))
