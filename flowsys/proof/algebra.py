"""Power series whose coefficients are polynomials over ℚ in what is not known: the exact test of zeros.

A quantity that vanishes at a time, with some of its derivatives, is a ball around 0 in ball arithmetic, however small:
nothing is proven. Here rational numbers stay rational, and every other number (a coordinate that has moved, e^x, 1/x,
log x, √x) is an indeterminate of its own, the same one wherever the same number is meant. A polynomial that is 0 in
these is 0 whatever their values are. The converse is not claimed: what is not 0 here may still be 0.
"""

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any

import flint
from flint import arb, fmpq, fmpq_mpoly

from flowsys.proof.exact import Exact, dyadic

_MOST = 48  # indeterminates
Function = Callable[[Sequence], list]  # of a state of series


class Unknown(Exception):
    """Something that the algebra cannot express."""


class Algebra:
    """The ring ℚ[x₀, x₁, …]; indeterminates are given away as they are met."""

    def __init__(self):
        ring = flint.fmpq_mpoly_ctx.get(("x", _MOST), flint.Ordering.lex)
        self._free, self._known = list(reversed(ring.gens())), {}
        self._constant = ring.constant

    def constant(self, x: int | Fraction) -> fmpq_mpoly:
        value = Fraction(x)
        return self._constant(fmpq(value.numerator, value.denominator))

    def indeterminate(self, meaning: Hashable) -> fmpq_mpoly:
        """The indeterminate that stands for something, always the same one."""
        if meaning not in self._known:
            if not self._free:
                raise Unknown(f"more than {_MOST} numbers that are not rational")
            self._known[meaning] = self._free.pop()
        return self._known[meaning]

    def series(self, coefficients: list[fmpq_mpoly], length: int) -> "Germ":
        return Germ(self, (coefficients + [self.constant(0)] * length)[:length])

    def number(self, x: Exact, name: Hashable) -> "Germ":
        """A number of a program's data: rational, or an indeterminate (of an interval, by the datum's own name)."""
        if x.is_rational:
            return Germ(self, [self.constant(x.low)])
        return self.unknown(name if x.is_interval else str(x))

    def unknown(self, meaning: Hashable) -> "Germ":
        return Germ(self, [self.indeterminate(meaning)])

    def lifted(self, x: Any) -> "Germ":
        """An exact number as a series."""
        if isinstance(x, arb):
            if not x.is_exact():
                raise Unknown("a number that is known up to rounding only")
            x = dyadic(x)
        return x if isinstance(x, Germ) else Germ(self, [self.constant(x)])


class Germ:
    """A power series in time, to as many coefficients as it has; constants are lifted to the other's length."""

    def __init__(self, algebra: Algebra, coefficients: list[fmpq_mpoly]):
        self.algebra, self.coefficients = algebra, coefficients

    def __getitem__(self, k: int) -> fmpq_mpoly:
        return self.coefficients[k] if k < len(self.coefficients) else self.algebra.constant(0)

    def __len__(self) -> int:
        return len(self.coefficients)

    def _pair(self, other: Any) -> tuple[list[fmpq_mpoly], list[fmpq_mpoly]]:
        other = self.algebra.lifted(other)
        n = max(len(self), len(other))
        return [self[k] for k in range(n)], [other[k] for k in range(n)]

    def _germ(self, coefficients: list[fmpq_mpoly]) -> "Germ":
        return Germ(self.algebra, coefficients)

    def is_zero(self) -> bool:
        return all(c == 0 for c in self.coefficients)

    # -- arithmetic -----------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> "Germ":
        return self._germ([a + b for a, b in zip(*self._pair(other))])

    def __neg__(self) -> "Germ":
        return self._germ([-a for a in self.coefficients])

    def __sub__(self, other: Any) -> "Germ":
        return self._germ([a - b for a, b in zip(*self._pair(other))])

    def __rsub__(self, other: Any) -> "Germ":
        return -self + other

    def __mul__(self, other: Any) -> "Germ":
        a, b = self._pair(other)
        zero = self.algebra.constant(0)
        return self._germ([
            sum((a[i] * b[k - i] for i in range(k + 1) if a[i] != 0 and b[k - i] != 0), zero) for k in range(len(a))
        ])  # fmt: skip

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Any) -> "Germ":
        a, b = self._pair(other)
        inverse = self._inverse(b[0])
        found: list[fmpq_mpoly] = []
        for k in range(len(a)):
            found.append((a[k] - sum(b[i] * found[k - i] for i in range(1, k + 1))) * inverse)
        return self._germ(found)

    def __rtruediv__(self, other: Any) -> "Germ":
        return self._germ(self._pair(other)[1]) / self

    def _inverse(self, x: fmpq_mpoly) -> fmpq_mpoly:
        if not x.is_constant():
            return self.algebra.indeterminate(("1/", str(x)))
        if x == 0:
            raise Unknown("a quotient by 0")
        return self.algebra.constant(1 / _rational(x))

    # -- functions: f' by the chain rule, f(x₀) an indeterminate ---------------------------------------------------

    def exp(self) -> "Germ":
        x, found = self.coefficients, [self._value("exp", 0, 1)]
        for k in range(1, len(x)):
            found.append(sum(i * x[i] * found[k - i] for i in range(1, k + 1)) * self.algebra.constant(Fraction(1, k)))
        return self._germ(found)

    def log(self) -> "Germ":
        x, found, inverse = self.coefficients, [self._value("log", 1, 0)], self._inverse(self[0])
        for k in range(1, len(x)):
            rest = k * x[k] - sum(i * found[i] * x[k - i] for i in range(1, k))
            found.append(rest * inverse * self.algebra.constant(Fraction(1, k)))
        return self._germ(found)

    def sqrt(self) -> "Germ":
        x, found = self.coefficients, [self._value("sqrt", 1, 1)]
        inverse = self._inverse(found[0])
        for k in range(1, len(x)):
            rest = x[k] - sum(found[i] * found[k - i] for i in range(1, k))
            found.append(rest * inverse * self.algebra.constant(Fraction(1, 2)))
        return self._germ(found)

    def _value(self, name: str, simple: int, there: int) -> fmpq_mpoly:
        """f(x₀): a number where x₀ is the simple one, else an indeterminate."""
        x = self[0]
        return self.algebra.constant(there) if x == simple else self.algebra.indeterminate((name, str(x)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise Unknown(f"{name} of what is not known")

    # -- comparisons, of numbers alone -----------------------------------------------------------------------------

    def _number(self) -> Fraction:
        if not self[0].is_constant():
            raise Unknown("a comparison of what is not known")
        return _rational(self[0])

    def __gt__(self, other: int) -> bool:
        return self._number() > other

    def __lt__(self, other: int) -> bool:
        return self._number() < other

    def __le__(self, other: int) -> bool:
        return self._number() <= other


def _rational(x: fmpq_mpoly) -> Fraction:
    value = x.leading_coefficient() if x != 0 else fmpq(0)
    return Fraction(int(value.p), int(value.q))


def zeros_of(rates: Function, functions: Function, start: Sequence[Germ], most: int) -> int:
    """How many of the first coefficients of a function along the solution from a start are exactly 0."""
    algebra = start[0].algebra
    coefficients = [[y[0]] for y in start]
    for k in range(most + 1):
        state = [algebra.series(c, k + 1) for c in coefficients]
        if algebra.lifted(functions(state)[0])[k] != 0:
            return k
        for c, rate in zip(coefficients, rates(state)):
            c.append(algebra.lifted(rate)[k] * algebra.constant(Fraction(1, k + 1)))
    return most + 1
