"""The generated module: it reads back as the programs it was written from, and carries nothing of its maker."""

import re

import numpy as np
import pytest
import sympy as sp
from symbolic_oracle import program_of, symbols

from flowsys.program import Program
from flowsys.symbolic import primitives as ops
from flowsys.symbolic.assemble import Level, Statement, symbol
from flowsys.symbolic.flow import Direct, Gram
from flowsys.symbolic.render import flow_equations, latex, loss_equations, module_text, written_out

X = symbols(3)
PROGRAM = program_of(ops.softplus(X[0] * X[1]) + ops.relu(X[2]), X)
TEXT = module_text("toy", "A toy.", {"PROGRAM": PROGRAM}, {"s0": r"\frac{d}{dt} s_0 = 1"})


def test_the_module_reads_back_as_its_programs():
    namespace: dict = {}
    exec(TEXT, namespace)
    assert Program.parse(namespace["PROGRAM"]) == PROGRAM and namespace["EQUATIONS"] == {"s0": r"\frac{d}{dt} s_0 = 1"}


def test_the_module_says_how_to_make_it_again_and_no_more():
    assert "python -m derivations toy" in TEXT
    assert not re.search(r"\d{4}-\d{2}-\d{2}|/work|/home|version", TEXT)


def test_every_coordinate_has_an_equation():
    M = sp.Matrix(2, 2, [X[1], X[2], X[2], X[1]])
    statement = Statement([Direct((X[0],), (sp.S.One,)), Gram(M)], (), X[0] ** 2 + X[1] * X[2])
    equations = flow_equations(statement, {"s0": "w"})
    assert set(map(str, X)) <= set(equations) and equations["s0"].startswith(r"\frac{d}{dt} w =")


def test_latex_uses_the_papers_symbols():
    assert latex(X[0] ** 2, {X[0]: r"\omega"}) == r"\omega^{2}"


def test_a_loss_is_written_out_for_reading_without_changing_its_value():
    scores, counts = np.array(X, dtype=object), np.array([1, 2, 3], dtype=object)
    loss = ops.softplus(ops.attend(scores * scores, scores, counts)) * ops.sigmoid(ops.log_sum_exp(scores, counts))
    loss = loss + ops.softmax(scores, counts)[1]
    s = np.array([0.3, -0.2, 0.5])
    e = counts.astype(float) * np.exp(s)
    value = np.log1p(np.exp(e @ s**2 / e.sum())) / (1 + 1 / e.sum()) + e[1] / e.sum()
    assert float(written_out(loss).subs(dict(zip(X, s)))) == pytest.approx(value, rel=1e-14)


def test_a_loss_that_is_too_long_to_read_is_left_out():
    long = sp.Add(*[sp.exp(k * X[0]) for k in range(1, 60)])
    assert loss_equations(Statement([Direct((X[0],), (sp.S.One,))], (), long), {}) == {}


def test_a_loss_over_a_table_is_shown_as_its_sum():
    rows = Level("rows", (symbol("weight"),), {"f": X[0] ** 2})
    statement = Statement([Direct((X[0],), (sp.S.One,))], (), symbol("weight") * symbol("f"), levels=(rows,))
    assert loss_equations(statement, {}) == {"loss": r"\mathcal{L} = \sum_{\text{rows}} f weight"}
