"""The generated module: it reads back as the programs it was written from, and carries nothing of its maker."""

import re

import sympy as sp
from symbolic_oracle import program_of, symbols

from flowsys.program import Program
from flowsys.symbolic import primitives as ops
from flowsys.symbolic.assemble import Statement
from flowsys.symbolic.flow import Direct, Gram
from flowsys.symbolic.render import flow_equations, latex, module_text

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
