"""Claims of every kind whose truth is known: the word and the best constant are right in each of sixty cases."""

from math import exp, inf, log

import numpy as np
import pytest
from synthetic import verdict

from flowsys.claims import (
    Condition,
    Existence,
    Experiment,
    HighProbability,
    Identity,
    Inequality,
    Limit,
    Order,
    Path,
    Regime,
    Series,
    Sides,
    Sign,
)
from flowsys.claims.bounded import bounded
from flowsys.claims.probability import failure_interval
from flowsys.claims.regime import DECADES, drawn_value, equals
from flowsys.errors import InputError
from flowsys.system import Parameter

T = np.linspace(0.0, 10.0, 201)
LARGE = {"path": Path("x", np.geomspace(10, 1e5, 9))}
SMALL = {"path": Path("w", np.geomspace(0.3, 1e-5, 10))}
FEW = {"path": Path("w", (0.3, 0.1, 0.03, 0.01, 0.003, 0.001))}
MANY_SAMPLES = Regime(Condition("n ≥ c L² log²L", lambda p, c: (p.n, c * p.L**2 * log(p.L) ** 2)), c=1.0)
INSIDE = {"regime": MANY_SAMPLES, "at": {"n": 600}}
NOWHERE = Regime(Condition("n ≥ L⁴ 10⁶", lambda p: (p.n, 1e6 * p.L**4)))
HOLDS, PART, FAILS = "holds", "holds in part", "does not hold"
OUTSIDE, UNTESTABLE = "outside the regime", "not testable"


def noise(p, size: float = 1e-2) -> float:
    """1 plus a relative noise that a point's parameters determine."""
    return 1 + size * np.random.default_rng(abs(hash((p.x, p.w, p.n))) % 2**32).normal()


def ratios(rate: float):
    """Starts of which a share `rate` exceeds the bound."""
    draw = lambda seed: np.random.default_rng(seed).random()
    return lambda run: [0.5 / (1 - 0.5 * (draw(s) < rate)) * (2.5 if draw(s) < rate else 1) for s in run.starts]


CASES = {
    # identities
    "identity": (Identity(1e-8), lambda r: (np.sin(T), np.sin(T) + 1e-12), {}, {}, HOLDS, None),
    "identity, off by 1 %": (Identity(1e-3), lambda r: (1.01 * T, T), {}, {}, FAILS, 0.01),
    "identity along a path": (Identity(1e-6), lambda r: (r.p.w**2, r.p.w**2), SMALL, {}, HOLDS, None),
    "identity in one of two parts": (Identity(1e-6), lambda r: {"a": (1, 1), "b": (2, 1)}, {}, {}, PART, 1.0),
    "identity at some places": (Identity(1e-6), lambda r: (r.p.x, min(r.p.x, 1e3)), LARGE, {}, PART, None),
    "identity, absolute": (Identity(0.1, relative=False), lambda r: (100.05, 100.0), {}, {}, HOLDS, 0.05),
    "identity on an empty window": (Identity(), lambda r: (T[:0], T[:0]), {}, {}, UNTESTABLE, None),
    "identity, noisy": (Identity(0.05), lambda r: (noise(r.p), 1.0), LARGE, {}, HOLDS, None),
    # inequalities and signs
    "inequality": (Inequality("<="), lambda r: Sides(np.sin(T), 1.25, T), {}, {}, HOLDS, 0.8),
    "inequality, broken by a constant": (Inequality("<="), lambda r: Sides(2 * T, 1 + T, T), {}, {}, FAILS, 20 / 11),
    "a constant that serves": (Inequality("<=", 2.0), lambda r: Sides(2 * T, 1 + T, T), {}, {}, HOLDS, 20 / 11),
    "lower bound": (Inequality(">="), lambda r: Sides(2 + np.sin(T), 1.0, T), {}, {}, HOLDS, 1.0),
    "lower bound, broken": (Inequality(">="), lambda r: Sides(2 + np.sin(T), 1.5, T), {}, {}, FAILS, 2 / 3),
    "inequality where both sides vanish": (Inequality("<="), lambda r: Sides(0.5 * T, T, T), {}, {}, HOLDS, 0.5),
    "inequality, some constant, one part undecided": (
        Inequality("<=", None), lambda r: {"level": (7.0, 1.0), "slow": (log(log(r.p.x)), 1.0)}, LARGE, {},
        UNTESTABLE, 7.0),
    "inequality, some constant": (Inequality("<=", None), lambda r: Sides(7 * T, T, T), {}, {}, HOLDS, 7.0),
    "some constant along a path": (Inequality(">=", None), lambda r: (3 + r.p.w, 1.0), SMALL, {}, HOLDS, 3.0),
    "no constant along a path": (Inequality("<=", None), lambda r: (r.p.x**0.5, 1.0), LARGE, {}, FAILS, 1e5**0.5),
    "inequality at some places": (Inequality("<="), lambda r: (r.p.x, 1e3), LARGE, {}, PART, 100.0),
    "inequality on an empty window": (Inequality("<="), lambda r: Sides(T[:0], 1, T[:0]), {}, {}, UNTESTABLE, None),
    "signs": (Sign({"a": 1, "b": -1}), lambda r: {"a": T, "b": -1 - T}, {}, {}, HOLDS, None),
    "signs, one wrong": (Sign({"a": 1, "b": 1}), lambda r: {"a": T, "b": 5 - T}, {}, {}, PART, None),
    "signs, all wrong": (Sign({"a": -1}), lambda r: {"a": 1 + T}, {}, {}, FAILS, None),
    "signs, strict": (Sign({"a": 1}, strict=True), lambda r: {"a": T}, {}, {}, FAILS, None),
    # orders
    "O": (Order("O", lambda p: log(1 / p.w)), lambda r: 3 * log(1 / r.p.w) + 2, SMALL, {}, HOLDS, 3 + 2 / log(1 / 0.3)),
    "O from below": (Order("O", lambda p: log(1 / p.w)), lambda r: 3 * log(1 / r.p.w) - 2, FEW, {}, HOLDS, None),
    "O that begins late": (
        Order("O", lambda p: log(1 / p.w)), lambda r: 2.2 * np.arcsinh(0.004 / r.p.w**2), FEW, {}, HOLDS, None,
    ),
    "O of what is far smaller": (Order("O", lambda p: p.x), lambda r: r.p.x**0.3, LARGE, {}, HOLDS, None),
    "O, a power too large": (Order("O", lambda p: p.x), lambda r: r.p.x**1.5, LARGE, {}, FAILS, 1e5**0.5),
    "O, a logarithm too large": (Order("O", lambda p: p.x), lambda r: r.p.x * log(r.p.x), LARGE, {}, FAILS, log(1e5)),
    "Õ, a logarithm": (Order("Õ", lambda p: p.x), lambda r: r.p.x * log(r.p.x), LARGE, {}, HOLDS, log(1e5)),
    "Õ, a squared logarithm": (Order("Õ", lambda p: p.w), lambda r: r.p.w * log(r.p.w) ** 2, SMALL, {}, HOLDS, None),
    "Õ, a power too large": (Order("Õ", lambda p: p.x), lambda r: r.p.x**1.4, LARGE, {}, FAILS, 1e5**0.4),
    "Õ, a power in a small parameter": (Order("Õ", lambda p: p.w), lambda r: r.p.w**0.7, SMALL, {}, FAILS, None),
    "O, an exponential": (Order("O", 1.0), lambda r: exp(r.p.x**0.2), LARGE, {}, FAILS, exp(10.0)),
    "Õ, an exponential": (Order("Õ", 1.0), lambda r: exp(0.1 / r.p.w), FEW, {}, FAILS, None),
    "Ω, falls like an exponential": (Order("Ω", 1.0), lambda r: exp(-(r.p.x**0.2)), LARGE, {}, FAILS, exp(-10.0)),
    "Ω": (Order("Ω", lambda p: p.x**2), lambda r: 0.2 * r.p.x**2 + r.p.x, LARGE, {}, HOLDS, 0.2),
    "Ω, falls short by a power": (Order("Ω", lambda p: p.x**2), lambda r: r.p.x**1.5, LARGE, {}, FAILS, 1e5**-0.5),
    "Ω, falls short by a logarithm": (Order("Ω", 1.0), lambda r: 1 / log(r.p.x), LARGE, {}, FAILS, 1 / log(1e5)),
    "Ω̃, falls short by a logarithm": (Order("Ω̃", 1.0), lambda r: 1 / log(r.p.x), LARGE, {}, HOLDS, None),
    "Ω of a quantity with the wrong sign": (Order("Ω", 1.0), lambda r: -1.0 - r.p.w, SMALL, {}, FAILS, None),
    "Θ": (Order("Θ", lambda p: p.w**2), lambda r: 5 * r.p.w**2 * (1 + r.p.w), SMALL, {}, HOLDS, (5.0, 6.5)),
    "Θ, from above only": (Order("Θ", 1.0), lambda r: r.p.w, SMALL, {}, PART, None),
    "Θ with a logarithm": (Order("Θ", lambda p: p.x), lambda r: r.p.x * log(r.p.x), LARGE, {}, PART, None),
    "Θ̃ with a logarithm": (Order("Θ̃", lambda p: p.x), lambda r: r.p.x * log(r.p.x), LARGE, {}, HOLDS, None),
    "Θ, noisy": (Order("Θ", lambda p: p.x), lambda r: 2 * r.p.x * noise(r.p), LARGE, {}, HOLDS, None),
    "O, noisy and growing": (Order("O", 1.0), lambda r: r.p.x**0.4 * noise(r.p), LARGE, {}, FAILS, None),
    "O that levels off": (Order("O", 1.0), lambda r: 4 - 3 * r.p.x**-0.5, LARGE, {}, HOLDS, 4.0),
    "O along a run": (
        Order("O", lambda p, t: 1 / (1 + t), along="t"), lambda r: Series(1 + 9 * T**2, 2 / (2 + 9 * T**2)), {}, {},
        HOLDS, 2.0,
    ),
    "O along a run, too slow": (
        Order("O", lambda p, t: 1 / t, along="t"), lambda r: Series(10.0 ** (T / 2), 10.0 ** (-0.3 * T)), {}, {},
        FAILS, 100.0,
    ),
    "O of a time that never comes": (Order("O", 1.0), lambda r: np.inf, SMALL, {}, FAILS, None),
    # limits
    "limit": (Limit(1.5), lambda r: 1.5 + r.p.w, SMALL, {}, HOLDS, 1.5),
    "limit, settles elsewhere": (Limit(0.0), lambda r: 0.0526 + r.p.w, SMALL, {}, FAILS, 0.0526),
    "limit along a run": (Limit(2.0), lambda r: Series(1 + T**3, 2 - 1 / (1 + T**3)), {}, {}, HOLDS, 2.0),
    # existence
    "existence": (Existence(), lambda r: 0.3, {}, {}, HOLDS, 0.3),
    "existence, none found": (Existence(), lambda r: -0.1, {}, {}, UNTESTABLE, None),
    "existence, none there": (Existence(exhaustive=True), lambda r: -0.1, {}, {}, FAILS, None),
    # high probability
    "with high probability": (HighProbability((0.1,)), ratios(0.02), {}, {}, HOLDS, None),
    "with too high a failure rate": (HighProbability((0.1,)), ratios(0.5), {}, {}, FAILS, None),
    "with a failure rate that is δ": (HighProbability((0.1,), 50, 200), ratios(0.1), {}, {}, UNTESTABLE, None),
    # experiments
    "experiment": (Experiment(), lambda r: {"longer": Sides(0.97, 0.9), "falls": True}, {}, {}, "reproduced", None),
    "experiment, not seen": (
        Experiment(), lambda r: {"longer": Sides(0.4, 0.9)}, {}, {}, "not reproduced at our settings", None,
    ),
    # regimes
    "inside": (Inequality("<="), lambda r: (r.p.L, r.p.n), INSIDE, {}, HOLDS, 5 / 600),
    "outside": (Inequality("<="), lambda r: (r.p.n, 1.0), INSIDE, {"n": 30}, OUTSIDE, 30),
    "nowhere": (Inequality("<="), lambda r: (r.p.n, 1.0), {"regime": NOWHERE}, {}, UNTESTABLE, None),
    "an order outside": (Order("O", 1.0), lambda r: 1.0, SMALL | {"regime": MANY_SAMPLES}, {}, OUTSIDE, None),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_word_and_the_constant_are_right(name):
    kind, measure, more, asked, word, constant = CASES[name]
    found = verdict(kind, measure, more, asked)
    assert str(found.word) == word, (found.measured, found.note)
    if constant is not None:
        np.testing.assert_allclose(found.constant, constant, rtol=1e-2)


def test_there_are_sixty_cases():
    assert len(CASES) >= 60


def test_what_vanishes_along_the_path_is_bounded_at_once():
    """One rounding error and then exact zeros: no law is fitted to it."""
    found = verdict(Order("Õ", lambda p: p.w), lambda run: 2e-16 * (run.p.w > 0.2), FEW, {})
    assert str(found.word) == HOLDS


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e200])
@pytest.mark.parametrize(("power", "word"), [(-8.0, HOLDS), (0.0, HOLDS), (1.0, FAILS)])
def test_constants_of_any_size_along_a_path_of_ten_decades(size, power, word):
    x = np.geomspace(1e2, 1e12, 11)
    assert str(bounded(x, size * (x / 1e12) ** power, "")[0]) == word


def test_what_is_claimed_of_a_note_is_said_outside_the_regime_too():
    more = INSIDE | {"note": "with n = {n}"}
    assert "with n = 30" in verdict(Inequality("<="), lambda run: (run.p.n, 1.0), more, {"n": 30}).note


def test_constants_that_jump_once_and_are_level_before_and_after_are_bounded():
    x = np.geomspace(1, 1e6, 20)
    jump = np.where(x < 1e4, 0.25, 0.5) * (1 + 1e-6 * np.log(x))
    assert bounded(x, jump, "")[0].value == "holds"
    stairs = 2.0 ** np.floor(np.log10(x))  # jumps that go on are a power
    assert bounded(x, stairs, "")[0].value != "holds"


def test_constants_that_are_level_may_rise_a_little_at_the_end():
    x = 40.0 * 2 ** np.arange(6)
    level = x ** np.cumsum([0, -0.002, -0.001, -0.002, -0.002, 0.004])
    assert str(bounded(x, [1.0, 0.9929686, 0.98801168, 0.97936599, 0.97036539, 0.99757], "")[0]) == HOLDS
    assert str(bounded(x, level * x**0.5, "")[0]) == FAILS


def test_where_every_start_fails_the_rate_may_be_one_and_no_more():
    assert failure_interval(20, 20)[1] == 1.0 and failure_interval(0, 20)[0] == 0.0


def test_parameters_without_bounds_are_drawn_some_decades_to_both_sides():
    free = Parameter("z", 0.0, "any number", low=-inf, high=inf)
    for default, size in ((0.0, 1.0), (-50.0, 50.0)):
        ends = [drawn_value(free, u, default) for u in (0.0, 1.0)]
        assert ends == pytest.approx([-size * 10.0**DECADES, size * 10.0**DECADES])


def test_parameters_from_zero_on_are_drawn_by_decades_below_their_default():
    size = Parameter("z", inf, "a size", low=0.0, high=1e6)
    assert drawn_value(size, 0.0, inf) == pytest.approx(10.0**-DECADES)
    assert drawn_value(size, 0.0, 100.0) == pytest.approx(10.0 ** (2 - DECADES))
    assert drawn_value(Parameter("z", 0.0, "nothing", low=0.0, high=0.0), 0.5, 0.0) == 0


def test_a_regime_that_is_just_reached_is_not_empty():
    narrow = Regime(Condition("w ≥ 2/3", lambda p: (p.w, 2 / 3)))
    assert verdict(Inequality("<="), lambda r: (1.0, 2.0), {"regime": narrow}).word == OUTSIDE


def test_where_a_parameter_is_fixed_another_value_of_it_lies_outside():
    fixed = {"regime": Regime(equals("n", 60))}
    assert verdict(Inequality("<="), lambda r: (1.0, 2.0), fixed).word == HOLDS
    other = verdict(Inequality("<="), lambda r: (1.0, 2.0), fixed, {"n": 30})
    assert (other.word, other.margin) == (OUTSIDE, 0.5)


def test_what_cannot_be_measured_is_told_from_the_edge_of_the_regime_on():
    def refuse(run):
        raise InputError("n is no prime.")

    regime = Regime(Condition("n ≥ 60", lambda p: (p.n, 60)))
    assert verdict(Inequality("<="), refuse, {"regime": regime}, {"n": 59}).word == OUTSIDE
    edge = verdict(Inequality("<="), refuse, {"regime": regime}, {"n": 60})
    assert (edge.word, edge.note) == (UNTESTABLE, "n is no prime.")
