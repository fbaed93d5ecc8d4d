"""LaTeX read back: plain text, MathML, and every symbol of the systems in both."""

from xml.etree import ElementTree

import pytest

from flowsys.errors import InputError
from flowsys.system.names import enclosed
from flowsys.systems import load, names
from flowsys.typeset import formula, mathml, plain


@pytest.mark.parametrize("latex, text", [
    (r"S_{cv}^{\mathrm{same}}", "S_cv^same"), (r"\frac{1}{2 K - 2}", "1/(2K − 2)"), ("T_2 - T_1", "T₂ − T₁"),
    (r"\frac{x}{2 c}", "x/(2c)"), (r"\frac{\chi}{2} \left(x + y\right)", "(χ/2)(x + y)"), ("S_{13} s", "S₁₃ s"),
    (r"\frac{F (M - 5)}{3}", "F(M − 5)/3"), (r"\partial_x \mathcal{L}", "∂_x ℒ"), (r"\dot{G}(\mu_3)", "G\u0307(μ₃)"),
    (r"\begin{bmatrix} a & b \\ c & d \end{bmatrix}", "[a, b; c, d]"),
    (r"\log{\left(1 + e^{- f} \right)}", "log(1 + e^{−f})"), ("M'", "M′"), (r"\mathrm{least\ margin}", "least margin"),
])  # fmt: skip
def test_formulas_as_plain_text(latex, text):
    assert formula(latex) == text


def test_only_formulas_between_dollars_are_read():
    assert plain(r"length $L \geq 4$, 50% of runs") == "length L ≥ 4, 50% of runs"
    assert plain("x_1 costs 3 $") == "x_1 costs 3 $"


@pytest.mark.parametrize("name", names())
def test_every_symbol_reads_as_text_and_as_mathml(name):
    system = load(name)
    for each in {*system.latex, *system.observables, *system.events, *(p.name for p in system.parameters)}:
        symbol = system.names.symbol(each)
        assert not {"\\", "{}"} & set(formula(symbol))
        ElementTree.fromstring(mathml(symbol))  # well-formed


@pytest.mark.parametrize("latex", [r"\undefined{x}", r"\left(x", "x}", r"\frac{1}{2"])
def test_what_is_not_understood_is_refused(latex):
    with pytest.raises((InputError, IndexError)):
        formula(latex)


@pytest.mark.parametrize(
    ("symbol", "shown"),
    [("F_c-F_w", "(F_c-F_w)"), ("1-p", "(1-p)"), ("w_c", "w_c"), (r"\epsilon_{a+b}", r"\epsilon_{a+b}"), ("-x", "-x")],
)
def test_a_sum_that_takes_an_argument_stands_in_parentheses(symbol, shown):
    assert enclosed(symbol) == shown
