"""Every name of every system has a symbol that pictures can set, words, and a clock."""

import pytest
from matplotlib.mathtext import MathTextParser

from flowsys.sweeps.quantities import Term
from flowsys.system.names import FLOW, assignments, breadth, family, in_symbols, observables, spelled, wrapped
from flowsys.systems import load, names

PARSER = MathTextParser("path")


@pytest.mark.parametrize("name", names())
def test_every_name_has_a_symbol_that_can_be_set(name):
    system = load(name)
    known = (*(p.name for p in system.parameters), *system.events, *system.observables)
    step = -(-len(system.latex) // 150)  # thousands of single entries are spelled alike
    for each in {*known[:150], *list(system.latex)[::step]}:
        PARSER.parse(f"${system.names.symbol(each)}$")  # raises with the place of a mistake
    assert all(system.names.words(each) for each in known)


@pytest.mark.parametrize("name", names())
def test_different_observables_have_different_symbols(name):
    system = load(name)
    symbols: dict[str, str] = {}
    for each in system.observables:
        assert symbols.setdefault(system.names.symbol(each), each) == each


def test_a_name_without_a_symbol_is_spelled_by_rule():
    spellings = {
        "w_c": "w_{c}", "eta_0": r"\eta_{0}", "T_0.5": "T_{0.5}", "m1": "m_{1}", "lambda_": r"\lambda",
        "loss_type2": r"\mathcal{L}_{\mathrm{type2}}", "S_plus_0": "S_{+,0}", "least_margin": r"\mathrm{least\ margin}",
        "KK_0": r"\mathit{KK}_{0}", "Score_t0_q1": r"\mathrm{Score}_{t0,q1}", "rate_of_2": r"\mathrm{rate\ of\ 2}",
        "λ_2": r"\lambda_{2}", "τ_late": r"\tau_{\mathrm{late}}", "größe": r"\text{größe}", "S_cat_dog":
        r"S_{\mathrm{cat},\mathrm{dog}}", "a_name_that_nobody_sets": r"\mathrm{a\ name\ that\ nobody\ sets}",
    }  # fmt: skip
    assert {name: spelled(name) for name in spellings} == spellings
    for symbol in spellings.values():
        PARSER.parse(f"${symbol}$")


def test_names_in_words_become_symbols_and_words_stay():
    told = in_symbols("L2 → L3: a start of size xi, l_tr = inf", load("prompt").names)
    assert told == r"L2 → L3: a start of size $\xi$, $l_{\mathrm{tr}}$ = $\infty$"
    assert breadth(told) == len("L2 → L3: a start of size ξ, ltr = ∞")
    told = in_symbols("a, H of G(μ1) at t = 2, τ = 3 and T_0.5, Lemma E.3; a start of Student's t.", load("lego").names)
    assert told == (
        r"$a$, $H$ of $G$($\mu_{1}$) at $t$ = 2, $\tau$ = 3 and $T_{0.5}$, Lemma E.3; a start of Student's $t$."
    )
    told = in_symbols("w_+·c_k of x_{k-1}, W_KᵀW_Q (a 2-head w_ + 1)", load("mixture").names)
    assert told == r"$w_{+}$·$c_{k}$ of $x_{k-1}$, $W_{K}$ᵀ$W_{Q}$ (a 2-head $w$ + 1)"


def test_lines_never_break_inside_a_formula_or_beside_an_equals_sign():
    title = r"one two three, $b\,d^{1/2}/\log d$ = 1, four" + "\nfive"
    assert wrapped(title, 12) == "one two\nthree,\n$b\\,d^{1/2}/\\log d$ = 1,\nfour\nfive"


def test_pictures_say_choices_in_words_and_no_time_of_what_training_does_not_move():
    names, values = load("prompt").names, {"style": "attractor", "success": 0.9, "alpha": 0.4}
    told = ["errors towards a wrong chain", r"$\Pr(\mathrm{chain\ right})$ = 0.9", r"$\alpha$ = 0.4"]
    assert assignments(values, names.symbols(values)) == told
    label = lambda name: Term(name, 0.0).symbol(names, "population")
    assert label("examples_needed") == names.symbol("examples_needed")
    assert label("cot_error") == names.symbol("cot_error") + "(t = 0)"


def test_the_clock_is_the_modes_own():
    assert load("lego").names.clock("stage_2").symbol == r"\tau"
    assert load("lego").names.clock("stage_1") == FLOW


def test_a_family_of_names_takes_labels_into_names_and_what_is_said():
    found = family("p_<side>_<x>", "p^{<side>}_{<x>}", side={"plus": "+", "minus": "-"}, x="cv")
    assert found == {
        "p_plus_c": "p^{+}_{c}",
        "p_plus_v": "p^{+}_{v}",
        "p_minus_c": "p^{-}_{c}",
        "p_minus_v": "p^{-}_{v}",
    }


def test_observables_of_a_family_know_their_labels_and_their_meanings():
    found = observables("x_<i>", "the entry <i>", lambda i: lambda w: w[int(i)], i={"0": "first", "1": "second"})
    assert found["x_1"]("ab") == "b" and found["x_0"].__doc__ == "the entry first"
