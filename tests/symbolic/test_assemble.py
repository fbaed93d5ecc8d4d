"""From statements to programs: tables and links are sums written once, and nothing is computed twice."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp
from symbolic_oracle import symbols

from flowsys.program.arrays import arguments, observed, vector_field
from flowsys.symbolic import primitives as ops
from flowsys.symbolic.assemble import Level, Statement, assemble, symbol
from flowsys.symbolic.flow import Direct
from flowsys.symbolic.lower import Lowering, program_text

X, Y, _ = symbols(3)
B, WEIGHT, SIGN, COUNT = map(symbol, ("b", "weight", "sign", "count"))

# rows of `parts` feed rows of `samples` through a link, as distractor queries feed sample orbits
TABLES = {
    "parts": {"sign": [1.0, -1.0, 1.0], "count": [1.0, 2.0, 0.0]},
    "samples": {"weight": [0.25, 0.75]},
}
LINK = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]])


def two_levels() -> Statement:
    values = np.array([X, Y], dtype=object)
    scores, counts = np.array([SIGN * Y, X], dtype=object), np.array([1, COUNT], dtype=object)
    part = ops.attend(values, scores, counts)
    parts = Level("parts", (SIGN, COUNT), {"part": part})
    samples = Level("samples", (WEIGHT,), {"output": ops.relu(symbol("sum_of_parts") * X + B)},
                    {symbol("sum_of_parts"): "part"})  # fmt: skip
    loss = WEIGHT * ops.softplus(-symbol("output"))
    return Statement(
        blocks=[Direct((X, Y), (sp.Integer(2), sp.Integer(1)))], parameters=(B,), loss=loss, levels=(parts, samples),
        totals={"sum_loss": loss}, observables={"loss": symbol("sum_loss")},
    )  # fmt: skip


def loss_in_jax(z, b):
    total = 0.0
    for weight, row in zip(TABLES["samples"]["weight"], LINK):
        inner = 0.0
        for n, s, count in zip(row, TABLES["parts"]["sign"], TABLES["parts"]["count"]):
            e = jnp.stack([jnp.exp(s * z[1]), count * jnp.exp(z[0])])
            inner += n * (e @ z) / e.sum()
        total += weight * jax.nn.softplus(-jax.nn.relu(inner * z[0] + b))
    return total


@pytest.mark.parametrize("b", [0.5, 2.0])
def test_tables_and_links_differentiate_like_the_sums_they_stand_for(b):
    program, point = assemble(two_levels()), np.array([0.7, -0.4])
    args = arguments(program, {"b": b}, TABLES, {"parts_to_samples": LINK})
    with jax.enable_x64(True):
        value, gradient = jax.value_and_grad(loss_in_jax)(jnp.asarray(point), b)
    assert observed(program, ("loss",), "exact", np)(point, args)[0] == pytest.approx(float(value), rel=1e-13)
    assert np.allclose(vector_field(program, "exact", np)(point, args), -np.asarray(gradient) / [2, 1], rtol=1e-12)


def test_what_does_not_vary_over_rows_is_computed_once():
    for block in assemble(two_levels()).blocks:
        for line in block.lines:
            assert not block.over or line.reads - {"s0", "s1", "b"}, f"{line.name} does not depend on the row"


def test_the_kinks_of_a_program_are_its_relu_arguments():
    assert len(assemble(two_levels()).kinks) == 1


def test_a_missing_parameter_is_named():
    with pytest.raises(ValueError, match=r"\['b'\]"):
        arguments(assemble(two_levels()), {}, TABLES, {"parts_to_samples": LINK})


def test_equal_softmaxes_are_written_once():
    scores = np.array([X, Y], dtype=object)
    loss = ops.attend(np.array([X, Y], dtype=object), scores) * ops.attend(np.array([Y, X], dtype=object), scores)
    text = str(assemble(Statement([Direct((X, Y), (sp.S.One, sp.S.One))], (), loss)))
    assert text.count("_top =") == 1


def test_shared_subexpressions_are_computed_once():
    (shared, *_) = Lowering().lines({}, {sp.Symbol("a"): sp.exp(X + Y) * X, sp.Symbol("b"): sp.exp(X + Y) * Y})
    assert shared.expression == "exp(s0 + s1)"


def test_a_function_without_counterpart_is_refused():
    with pytest.raises(ValueError, match="gamma"):
        program_text(sp.gamma(X))
