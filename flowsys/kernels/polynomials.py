"""Polynomials that stand for functions: coefficients found in exact rational arithmetic, Horner's rule on vectors."""

from collections.abc import Callable
from fractions import Fraction
from math import cos, pi

from flowsys.kernels.writer import Writer

_DIGITS = 2**400


def rounded(x: Fraction) -> Fraction:
    """x to 400 binary places, so that denominators stay small."""
    return Fraction(round(x * _DIGITS), _DIGITS)


def power_series(term: Callable[[int], Fraction]) -> Callable[[Fraction], Fraction]:
    """x ↦ Σ term(k) x^k, for |x| well below the radius of convergence: the first 40 terms."""
    terms = [term(k) for k in range(40)]

    def value(x: Fraction) -> Fraction:
        total = Fraction(0)
        for c in reversed(terms):
            total = rounded(total * x + c)
        return total

    return value


def interpolant(value: Callable[[Fraction], Fraction], low: float, high: float, degree: int) -> tuple[float, ...]:
    """Coefficients of the polynomial through a function's values at the Chebyshev nodes of [low, high]."""
    middle, half = (low + high) / 2, (high - low) / 2
    nodes = [Fraction(middle + half * cos(pi * (2 * i + 1) / (2 * degree + 2))) for i in range(degree + 1)]
    # Newton's divided differences, then expanded from the inside out
    differences = [value(x) for x in nodes]
    for order in range(1, degree + 1):
        for i in range(degree, order - 1, -1):
            differences[i] = (differences[i] - differences[i - 1]) / (nodes[i] - nodes[i - order])
    coefficients = [differences[degree]]
    for i in range(degree - 1, -1, -1):
        shifted = [Fraction(0), *coefficients]
        coefficients = [a - nodes[i] * b for a, b in zip(shifted, [*coefficients, Fraction(0)])]
        coefficients[0] += differences[i]
    return tuple(float(c) for c in coefficients)


def polynomial(w: Writer, coefficients: tuple[float, ...], x: str) -> str:
    """Horner in x² for even and odd parts, which halves the chain of dependent operations."""
    if len(coefficients) < 4:
        result = w.constant(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            result = w.fma(result, x, w.constant(c))
        return result
    square = w.mul(x, x)
    parts = []
    for start in (0, 1):
        chosen = coefficients[start::2]
        result = w.constant(chosen[-1])
        for c in reversed(chosen[:-1]):
            result = w.fma(result, square, w.constant(c))
        parts.append(result)
    return w.fma(parts[1], x, parts[0])
