"""Exact numbers behind floats: what a theorem is stated with.

A set-up's numbers arrive as float64, each the rounding of something simple: 1/10, ω² = 1/100, a weight 1/3, a threshold
log(1/10). Here each is read as the simplest rational within a few units in the last place, or as a simple function of
one (`log`, `sqrt`, their reciprocals). A number that is neither stays an interval of a few units in the last place. The
theorem that is proven is about these numbers, and its text states every one of them.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import flint

from flowsys.errors import InputError

_ULPS = 8
_SIMPLE = 10**6  # numerators and denominators of what counts as recognised: 2⁻⁵⁰ < 1/_SIMPLE², no chance agreement
_FORMS = ("", "log", "sqrt", "1/log", "1/sqrt")


@dataclass(frozen=True)
class Exact:
    """A rational, a simple function of one, or the interval between two rationals."""

    low: Fraction
    high: Fraction
    form: str = ""

    @property
    def is_rational(self) -> bool:
        return not self.form and self.low == self.high

    @property
    def is_interval(self) -> bool:
        return self.low != self.high

    def arb(self) -> flint.arb:
        """An enclosure at the current precision."""
        inside = _ball(self.low).union(_ball(self.high)) if self.is_interval else _ball(self.low)
        root = inside.log() if "log" in self.form else inside.sqrt() if "sqrt" in self.form else inside
        return 1 / root if self.form.startswith("1/") else root

    def __str__(self) -> str:
        if self.is_interval:
            return f"[{self.low}, {self.high}]"
        return f"{self.form}({self.low})" if self.form else str(self.low)

    @classmethod
    def parse(cls, text: str) -> "Exact":
        """The number whose `str` is `text`."""
        if text.startswith("["):
            low, high = text[1:-1].split(", ")
            return cls(Fraction(low), Fraction(high))
        for form in _FORMS[1:]:
            if text.startswith(form + "("):
                value = Fraction(text[len(form) + 1 : -1])
                return cls(value, value, form)
        return cls(Fraction(text), Fraction(text))


def _ball(x: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(x.numerator, x.denominator))


def exactly(x: float | int | Fraction) -> Exact:
    """The exact number behind a float."""
    if isinstance(x, Fraction | int):
        return Exact(Fraction(x), Fraction(x))
    x = float(x)
    if not math.isfinite(x):
        raise InputError(f"{x} is no number that a proof could be about.")
    if (found := _simple(x)) is not None:
        return Exact(found, found)
    for form, inverse in (
        ("log", math.exp),
        ("sqrt", _square),
        ("1/log", _exp_of_inverse),
        ("1/sqrt", _inverse_square),
    ):
        if x < 0 and "sqrt" in form:
            continue
        inside = inverse(x)
        candidate = _simple(inside, slack=4 * max(1.0, abs(x))) if 0 < inside < 1e15 else None
        if candidate and _agrees(x, Exact(candidate, candidate, form)):
            return Exact(candidate, candidate, form)
    reach = _ULPS * math.ulp(x)
    return Exact(Fraction(x) - Fraction(reach), Fraction(x) + Fraction(reach))


def _square(x: float) -> float:
    return x * x


def _exp_of_inverse(x: float) -> float:
    return math.exp(1 / x) if abs(1 / x) < 300 else math.inf


def _inverse_square(x: float) -> float:
    return 1 / (x * x)


def _agrees(x: float, value: Exact) -> bool:
    return abs(float(value.arb().mid()) - x) <= _ULPS * math.ulp(x)


def _simple(x: float, slack: float = 1.0) -> Fraction | None:
    """The simplest rational within a few units in the last place, if it is simple enough not to be chance."""
    if x == int(x) and abs(x) < 1e15:
        return Fraction(int(x))
    if abs(x) < 1e-30:
        return None
    decimal = Fraction(repr(x))
    if decimal.denominator * abs(decimal.numerator) < 10**15:
        return decimal
    reach = Fraction(_ULPS * math.ulp(x) * slack)
    value = Fraction(x)
    simple = _between(abs(value) - reach, abs(value) + reach)
    if simple.denominator * simple.numerator > _SIMPLE**2:
        return None
    return simple if x > 0 else -simple


def _between(low: Fraction, high: Fraction) -> Fraction:
    """The rational of least denominator in [low, high], both positive (Stern and Brocot)."""
    whole = math.floor(low)
    if whole == low or whole + 1 <= high:
        return Fraction(whole if whole == low else whole + 1)
    return whole + 1 / _between(1 / (high - whole), 1 / (low - whole))


def dyadic(x: flint.arb) -> Fraction:
    """The exact value of a ball without radius."""
    if not x.is_exact():
        raise ValueError(f"{x} is no exact number")
    mantissa, exponent = x.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
