"""A stage's vector field as functions on balls and series, with its gates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from flint import arb, arb_series

from flowsys.proof.numbers import precision
from flowsys.proof.taylor import coefficient
from flowsys.proof.unrolled import Unrolled

JACOBIAN_BITS = 64


@dataclass(frozen=True, eq=False)
class Flow:
    """dy/dt = f(y) of a stage while its gates are as given: 0, 1, or a ball where they are not known."""

    unrolled: Unrolled
    bits: int
    gates: tuple[int | arb, ...] = ()

    @cached_property
    def _constants(self) -> dict[int, list[arb]]:
        found = {}
        for bits in (self.bits, JACOBIAN_BITS):
            with precision(bits):
                found[bits] = self.unrolled.constants()
        return found

    @property
    def size(self) -> int:
        return len(self.unrolled.program.state)

    def with_gates(self, gates: Sequence[int | arb]) -> "Flow":
        other = replace(self, gates=tuple(gates))
        other.__dict__["_constants"] = self._constants
        return other

    def rates(self, y: Sequence) -> list:
        """f of a state of balls or series."""
        return self.unrolled.field(y, self.gates, self._constants[self.bits])

    def kinks(self, y: Sequence) -> list:
        """The arguments of all ReLUs and steps."""
        return self.unrolled.switching(y, self.gates, self._constants[self.bits])

    def reader(self, names: Sequence[str]) -> Callable[[Sequence], list]:
        """Named observables as a function of the state."""
        observables = self.unrolled.program.observables
        function = self.unrolled.function([observables[name] for name in names])
        return lambda y: function(y, self.gates, self._constants[self.bits])

    def jacobian(self, box: Sequence[arb], moving: Sequence[int]) -> list[list[arb]]:
        """∂f_i/∂y_j over a box, i and j among those that move."""
        columns = []
        with precision(JACOBIAN_BITS, 2):
            for j in moving:
                state: list[arb | arb_series] = list(box)
                state[j] = arb_series([box[j], 1], 2)
                rates = self.unrolled.field(state, self.gates, self._constants[JACOBIAN_BITS])
                columns.append([coefficient(rates[i], 1) for i in moving])
        return [list(row) for row in zip(*columns)]

    def velocities(self, functions: Callable[[Sequence], list], box: Sequence[arb]) -> list[arb]:
        """How fast functions of the state change along the flow, over a box."""
        with precision(self.bits, 2):
            rates = [coefficient(rate, 0) for rate in self.rates(box)]
            moved = [arb_series([y, rate], 2) for y, rate in zip(box, rates)]
            return [coefficient(value, 1) for value in functions(moved)]
