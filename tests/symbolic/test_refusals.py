"""What `assemble` refuses: symbols that a statement does not declare, functions that a program does not have."""

import numpy as np
import pytest
import sympy as sp

from flowsys.errors import InputError
from flowsys.program.arrays import arguments, observed
from flowsys.symbolic import primitives as ops
from flowsys.symbolic.assemble import Level, Statement, assemble, symbol
from flowsys.symbolic.flow import Direct, Gram, pair
from flowsys.symbolic.refusals import OFFERED

S, KK, QQ, GOAL, WEIGHT = map(symbol, ("S", "KK", "QQ", "s", "weight"))
PLAIN = sp.Symbol("S")  # written like S, but not S: a loss that reads it is constant in S


def stated(loss=(S - GOAL) ** 2, **more) -> Statement:
    block = Gram(pair(*(sp.Matrix([[x]]) for x in (KK, S, QQ))))
    return Statement([block], (GOAL,), loss, **more)


OF_ANOTHER_MAKE = {
    "the loss": lambda: stated((PLAIN - GOAL) ** 2),
    "the loss inside a primitive": lambda: stated(ops.softplus(-PLAIN)),
    "the loss in a named part": lambda: stated(ops.name("part", PLAIN) ** 2),
    "an entry": lambda: stated(symbol("T") ** 2, entries={symbol("T"): PLAIN + 1}),
    "a level": lambda: stated(WEIGHT * symbol("f"), levels=(Level("rows", (WEIGHT,), {"f": PLAIN**2}),)),
    "a total": lambda: stated(totals={"sum": PLAIN}),
    "an observable": lambda: stated(observables={"S": PLAIN}),
    "a metric": lambda: Statement([Direct((S,), (PLAIN,))], (GOAL,), S**2),
    "what trains": lambda: Statement([Direct((S,), (sp.S.One,), trains=PLAIN)], (GOAL,), S**2),
}


@pytest.mark.parametrize("make", OF_ANOTHER_MAKE.values(), ids=OF_ANOTHER_MAKE.keys())
def test_a_symbol_of_the_same_name_and_another_make_is_refused(make):
    with pytest.raises(
        InputError, match=r"reads a symbol S that is not the S the statement declares.*assemble\.symbol"
    ):
        assemble(make())


def test_a_symbol_that_is_nowhere_declared_is_refused():
    with pytest.raises(InputError, match="the loss reads rate, which is no state, entry, parameter, column or total"):
        assemble(stated(symbol("rate") * S))


def test_symbols_of_any_make_will_do_if_they_are_the_same_ones():
    program = assemble(Statement([Direct((PLAIN,), (sp.S.One,))], (), PLAIN**2))
    assert "gradient_S = 2*S" in str(program)


@pytest.mark.parametrize("function", [sp.zeta, sp.tan, sp.Abs, sp.gamma, lambda x: sp.Max(x, 0), sp.Function("f")])
@pytest.mark.parametrize("place", [lambda f: stated(f), lambda f: stated(observables={"f": f})])
def test_a_function_that_a_program_does_not_have_is_named_with_those_there_are(function, place):
    with pytest.raises(InputError, match=rf"{type(function(S)).__name__}.*softplus, relu.*flowsys.symbolic.primitives"):
        assemble(place(function(S)))


@pytest.mark.parametrize("function", [ops.largest, ops.smallest])
def test_what_is_only_for_observing_is_refused_in_the_loss(function):
    assemble(stated(observables={"f": function([S, KK])}))
    with pytest.raises(InputError, match="only for observing"):
        assemble(stated(function([S, KK])))


def test_the_functions_named_are_there():
    assert all(callable(getattr(ops, name)) for name in OFFERED)


def test_a_constant_is_written_as_its_number():
    program = assemble(stated(sp.pi * S, observables={"e": sp.E + sp.pi}))
    assert observed(program, ("e",), "exact", np)([0.0] * 3, arguments(program, {"s": 1.0}))[0] == (
        pytest.approx(5.859874482048838, rel=1e-15)
    )
