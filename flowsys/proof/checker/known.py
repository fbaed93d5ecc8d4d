"""The solution on one piece of a certificate: boxes, and signs and values of functions of the state."""

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flint import arb

from flowsys.proof.checker.enclosures import Polynomials, has_signs, values_on
from flowsys.proof.checker.reading import fraction, rational

if TYPE_CHECKING:
    from flowsys.proof.checker.verify import _Checking


class Known:
    """The solution on one piece: boxes, signs and values of an observable."""

    def __init__(self, checking: "_Checking", piece: dict[str, Any]):
        self.piece, self.reading = piece, checking.readings[piece["stage"]]
        self.start = fraction(piece["before"]["t"])
        self.end = self.start + fraction(piece["length"])
        self.gates = [arb(0.5, 0.5) if gate is None else gate for gate in piece["gates"]]
        if piece["kind"] == "step":
            largest = arb(0)
            for error in piece["errors"]:
                largest = largest.max(rational(fraction(error)))
            radii = []
            for i in range(len(piece["polynomials"])):
                if i in piece["before"]["moving"]:
                    exponent = piece["before"]["exponents"][i]
                    radii.append((largest / rational(Fraction(2) ** exponent)).upper())
                else:
                    radii.append(rational(fraction(piece["before"]["radii"].get(str(i), "0p0"))))
            coefficients = [[rational(fraction(c)) for c in p] for p in piece["polynomials"]]
            self.solution = Polynomials(coefficients, radii)

    def values(self, function, low: Fraction, high: Fraction) -> arb:
        if self.piece["kind"] == "step":
            return values_on(function, self.solution, low - self.start, high - self.start)[0]
        return arb(function(self._tube())[0])

    def _tube(self) -> list[arb]:
        return [rational(fraction(m)) + arb(0, rational(fraction(r))) for m, r in self.piece["tube"]]

    def is_below(self, function, low: Fraction, high: Fraction) -> bool:
        """Whether a function is negative on a part of the piece."""
        if self.piece["kind"] == "step":
            return has_signs(function, [-1], self.solution, low - self.start, high - self.start)
        return self.values(function, low, high) < 0

    def is_above(self, functions, low: Fraction, high: Fraction) -> bool:
        """Whether a few functions are positive on a part of the piece."""
        if self.piece["kind"] != "step":
            return all(arb(value) > 0 for value in functions(self._tube()))
        signs = [1] * len(functions(self.solution.box(arb(0), arb(0))))
        return has_signs(functions, signs, self.solution, low - self.start, high - self.start)
