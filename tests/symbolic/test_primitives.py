"""One model definition, two readings: sympy expressions (as programs) and JAX arrays agree in value and gradient."""

from functools import cache
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from symbolic_oracle import number, program_of, spelt_out, symbols, value_and_gradient

from flowsys.model import ops
from flowsys.program.arrays import arguments, observed
from flowsys.symbolic import primitives

X = symbols(3)
COUNTS = np.array([2, 1, 3])

# a scalar function of three numbers for every differentiable name that both modules define
SMOOTH = {
    "array": lambda o, x: (o.array([1, 2, 3]) * x).sum(),
    "exp": lambda o, x: o.exp(x / 7).sum(),
    "log": lambda o, x: o.log(1 + x * x).sum(),
    "sqrt": lambda o, x: o.sqrt(1 + x * x).sum(),
    "tanh": lambda o, x: o.tanh(x).sum(),
    "sin": lambda o, x: (o.sin(x) * x).sum(),
    "cos": lambda o, x: (o.cos(x) * x).sum(),
    "arcsin": lambda o, x: o.arcsin(0.9 * o.tanh(x)).sum(),
    "erf": lambda o, x: (o.erf(x) * x).sum(),
    "einsum": lambda o, x: o.einsum("i,i,j->", x, x, o.array([1, 2, 3])),
    "abs": lambda o, x: (o.abs(x) * x).sum(),
    "maximum": lambda o, x: (o.maximum(x, x[::-1]) * x).sum(),
    "minimum": lambda o, x: (o.minimum(x, x[::-1]) * x).sum(),
    "sigmoid": lambda o, x: (o.sigmoid(x) * x).sum(),
    "softplus": lambda o, x: o.softplus(x).sum(),
    "relu": lambda o, x: (o.relu(x) * x).sum(),
    "smooth_relu": lambda o, x: o.smooth_relu(x, 0.25).sum(),
    "power_relu": lambda o, x: (o.power_relu(x, 0.5, 3) * x).sum(),
    "hinge": lambda o, x: o.hinge(x).sum(),
    "clip_above": lambda o, x: (o.clip_above(x, 0.3) * x).sum(),
    "concatenate": lambda o, x: (o.concatenate([x[:1], x[1:]]) * x).sum(),
    "stack": lambda o, x: (o.stack([x[0], x[2]]) * o.stack([x[1], x[2]])).sum(),
    "softmax": lambda o, x: (o.softmax(x, COUNTS) * x).sum(),
    "attend": lambda o, x: o.attend(x * x, x[::-1], COUNTS),
    "log_sum_exp": lambda o, x: o.log_sum_exp(x, COUNTS),
    "cross_entropy": lambda o, x: o.cross_entropy(o.stack([x, x[::-1] * x]), np.array([1, 2]), COUNTS).sum(),
    "name": lambda o, x: o.name("part", x[0] * x[1]) * x[2],
}
COUNTING = {
    "is_positive": lambda o, x: o.is_positive(x).sum(),
    "largest": lambda o, x: o.largest([x[0], x[1], x[2]]),
    "smallest": lambda o, x: o.smallest([x[0], x[1], x[2]]),
}


def in_jax(function, point):
    with jax.enable_x64(True):
        value, gradient = jax.value_and_grad(lambda x: function(ops, x))(jnp.asarray(point))
        return float(value), np.asarray(gradient)


def public_names(module) -> set[str]:
    found = {n for n, x in vars(module).items() if not n.startswith("_") and not isinstance(x, (ModuleType, type))}
    return {n for n in found if callable(getattr(module, n))}


def test_both_readings_define_the_same_names():
    assert public_names(ops) <= public_names(primitives)
    assert set(SMOOTH) | set(COUNTING) == public_names(ops)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_two_readings_agree_in_value_and_gradient(name, seed):
    point = np.random.default_rng(seed).standard_normal(3)
    value, gradient = value_and_gradient(SMOOTH[name](primitives, np.array(X, dtype=object)), X, point)
    expected = in_jax(SMOOTH[name], point)
    assert value == pytest.approx(expected[0], rel=1e-13) and np.allclose(gradient, expected[1], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", sorted(set(SMOOTH) - {"exp"}))
@pytest.mark.parametrize("point", [(1000.0, -1000.0, 3.0), (-1000.0, 1000.0, 1000.0)])
def test_both_readings_are_finite_and_equal_at_scores_of_a_thousand(name, point):
    value, gradient = value_and_gradient(SMOOTH[name](primitives, np.array(X, dtype=object)), X, np.array(point))
    expected = in_jax(SMOOTH[name], point)
    assert np.isfinite(value) and np.isfinite(gradient).all()
    assert value == pytest.approx(expected[0], rel=1e-12) and np.allclose(gradient, expected[1], rtol=1e-11, atol=1e-13)


def test_the_largest_of_one_is_itself():
    assert primitives.largest([X[0]]) == X[0] == primitives.smallest([X[0]])


@pytest.mark.parametrize("name", COUNTING)
def test_the_two_readings_agree_on_what_is_only_counted(name):
    point = np.array([0.3, -1.2, 0.8])
    program = program_of(sp.sympify(COUNTING[name](primitives, np.array(X, dtype=object))), X, differentiate=False)
    assert observed(program, ("value",), "exact", np)(point, arguments(program, {}))[0] == COUNTING[name](ops, point)


@pytest.mark.parametrize("name", sorted(set(SMOOTH) - {"exp", "log", "sqrt", "tanh"}))
def test_symbolic_derivatives_are_those_of_the_functions_spelt_out(name):
    expression = sp.sympify(SMOOTH[name](primitives, np.array(X, dtype=object)))
    point = dict(zip(X, (0.4, -0.7, 1.1)))
    for x in X:
        assert number(spelt_out(expression.diff(x)), point) == pytest.approx(
            number(spelt_out(expression).diff(x), point), rel=1e-12, abs=1e-14
        )


def test_a_key_that_does_not_occur_is_not_seen_however_large_its_score():
    scores, counts = np.array(X, dtype=object), np.array([1, 0, 2], dtype=object)
    value, gradient = value_and_gradient(primitives.attend(scores, scores, counts), X, np.array([0.1, 1e4, -0.3]))
    assert value == pytest.approx(in_jax(lambda o, x: o.attend(x[::2], x[::2], np.array([1, 2])), (0.1, 1e4, -0.3))[0])
    assert gradient[1] == 0


def test_counts_that_are_symbols_may_vanish_at_run_time():
    n = sp.Symbol("n", real=True)
    expression = primitives.attend(
        np.array(X, dtype=object), np.array(X, dtype=object), np.array([1, n, 2], dtype=object)
    )
    value, _ = value_and_gradient(expression, X, np.array([0.1, 1e4, -0.3]), {n: 0.0})
    assert value == pytest.approx(in_jax(lambda o, x: o.attend(x[::2], x[::2], np.array([1, 2])), (0.1, 1e4, -0.3))[0])


@cache
def attention_program():
    return program_of(primitives.attend(np.array([1, -2, 4]), np.array(X, dtype=object), COUNTS), X)


scores = st.lists(st.floats(-30, 30), min_size=3, max_size=3)


@settings(deadline=None, max_examples=40)
@given(s=scores, shift=st.floats(-900, 900))
def test_attention_does_not_see_a_common_shift_of_scores(s, shift):
    program = attention_program()
    at = lambda scores: observed(program, ("value",), "exact", np)(np.array(scores), arguments(program, {}))[0]
    assert at([x + shift for x in s]) == pytest.approx(at(s), rel=1e-9, abs=1e-11)


@settings(deadline=None, max_examples=40)
@given(s=scores)
def test_a_key_of_multiplicity_n_is_n_equal_keys(s):
    with jax.enable_x64(True):
        s = jnp.asarray(s)
        repeated = ops.attend(jnp.sin(s)[jnp.array([0, 0, 1, 2, 2, 2])], s[jnp.array([0, 0, 1, 2, 2, 2])])
        assert float(ops.attend(jnp.sin(s), s, COUNTS)) == pytest.approx(float(repeated), rel=1e-12, abs=1e-14)


def test_attention_merges_equal_keys_so_equal_samples_are_equal_expressions():
    a, b, c = X
    one = primitives.attend(np.array([a, b, a], dtype=object), np.array([b, c, b], dtype=object))
    other = primitives.attend(np.array([b, a], dtype=object), np.array([c, b], dtype=object), np.array([1, 2]))
    assert one == other


def test_attention_under_equal_scores_is_a_plain_mean():
    v, n, score = sp.symbols("v0:3"), sp.symbols("n0:3"), sp.Symbol("s")
    for scores in ([0, 0, 0], [score] * 3):
        mean = primitives.attend(np.array(v), np.array(scores, dtype=object), np.array(n))
        assert sp.simplify(mean - sum(a * b for a, b in zip(v, n)) / sum(n)) == 0
    assert primitives.attend(np.array(v), np.array([0, 0, score], dtype=object), np.array(n)).has(score)
