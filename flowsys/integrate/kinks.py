"""Kinks met by a run: gates frozen between switches, surfaces crossed, slid along, or given up for the smoothed flow.

At a switching surface the shares of all surfaces the state lies on are solved for (`complementarity`): the flow goes on
to the other side, and the gates flip, or it slides along this surface and those it slid along already, of which some
may let go. Gates that share a surface (same value, same velocity) switch together and have one share.
"""

from typing import NamedTuple

import numpy as np

from flowsys.integrate.complementarity import admit, slid_shares
from flowsys.integrate.sliding import Affine, affine_parts, rate_and_velocity
from flowsys.integrate.stepper import switching
from flowsys.integrate.stepper_values import Slide
from flowsys.system.problem import Field

# Gates whose switching functions agree this closely (in value and velocity) share one surface.
_SAME_SURFACE = 1e-9
_ON_SURFACE = 1e-14
# the field is affine in the shares if it is so up to this part of itself
_AFFINE = 1e-7
# so many kinks in a row, each within _HURRY of the time of the one before, mean that no side holds the flow
_MAX_HURRIED = 40
_HURRY = 1e-10
MAX_SURFACES = 16


class CannotSlide(Exception):
    """The flow cannot be followed with exact kinks from here on; the message says why."""


class Surface(NamedTuple):
    """A switching surface: the gates that share it, and the one that represents it."""

    members: np.ndarray
    representative: int


class Gates:
    """The gates of a kinked field at the current state, and the surfaces it slides on, if any.

    `arguments` (a NamedTuple with a field `gates`) is replaced, never changed; read it after every call.
    """

    def __init__(self, field: Field, arguments, y: np.ndarray):
        self.field, self.arguments = field, arguments
        self.surfaces: tuple[Surface, ...] = ()
        self._last_time, self._hurried = -np.inf, 0
        h = self._opened(y)
        seen = np.zeros(len(h), dtype=bool)
        for i in np.flatnonzero(np.abs(h) <= _ON_SURFACE):
            if not seen[i]:
                seen |= self.meet(y, i)

    def _opened(self, y: np.ndarray) -> np.ndarray:
        """Set every gate as the state has it: one that stands behind others is known once these are right."""
        while True:
            h = np.asarray(switching(self.field)(y, self.arguments))
            gates = (h > 0).astype(float)
            if np.array_equal(gates, self.arguments.gates):
                return h
            self._set(np.ones(len(h), dtype=bool), gates)

    @property
    def is_slid(self) -> np.ndarray:
        """Which gates lie on a surface that is slid along."""
        none = np.zeros(len(self.arguments.gates), dtype=bool)
        return np.any([none, *(s.members for s in self.surfaces)], axis=0)

    @property
    def slide(self) -> Slide | None:
        return _padded(self.surfaces) if self.surfaces else None

    @property
    def orientations(self) -> np.ndarray:
        """+1 where a switching function must stay positive, -1 negative, 0 where it is slid on."""
        return np.where(self.is_slid, 0.0, np.where(self.arguments.gates > 0, 1.0, -1.0))

    def hurries(self, t: float) -> bool:
        """Count a kink; whether they come without end in no time."""
        self._hurried = self._hurried + 1 if t - self._last_time <= _HURRY * abs(t) else 0
        self._last_time = t
        return self._hurried > _MAX_HURRIED

    def meet(self, y: np.ndarray, i: int) -> np.ndarray:
        """On the surface of gate i: go through, or slide along it too; returns the gates that share it."""
        self._share(y)
        members, slowest = self._surface_of(y, i)
        gate = self.arguments.gates[i]
        self._set(members, gate)
        met = (*self.surfaces, Surface(members, i))
        if len(met) > MAX_SURFACES:
            raise CannotSlide(f"more than {MAX_SURFACES} switching surfaces at once")
        on = self._affine(y, met)
        if len(met) > 1 and not self._is_affine(y, met, on):
            self._go_through(y, members, i, slowest)
            return members
        held = np.arange(len(met)) < len(met) - 1
        found = admit(on.a, on.B, np.append(self._shares(on, gate), gate), held, len(met) - 1)
        if found is None:
            raise CannotSlide("a switching surface repels on both sides")
        self._take(met, *found)
        return members

    def leave(self, y: np.ndarray, k: int) -> None:
        """The slide along surface k ends, on the side its share has reached.

        Where opening the gate pushes up (B_kk > 0) it ends on the side away from it.
        """
        self._share(y)
        gone = self.surfaces[k]
        pushes_down = self._affine(y, self.surfaces).B[k, k] < 0
        self.surfaces = self.surfaces[:k] + self.surfaces[k + 1 :]
        self._set(gone.members, float((self.arguments.gates[gone.representative] > 0.5) == pushes_down))

    def _take(self, surfaces: tuple[Surface, ...], shares: np.ndarray, held: np.ndarray) -> None:
        for surface, share in zip(surfaces, shares):
            self._set(surface.members, share)
        self.surfaces = tuple(s for s, is_held in zip(surfaces, held) if is_held)

    def _share(self, y: np.ndarray) -> None:
        """The gates of surfaces slid along have their shares at this state."""
        if self.surfaces:
            on = self._affine(y, self.surfaces)
            self._take(self.surfaces, slid_shares(on.a, on.B), np.ones(len(self.surfaces), dtype=bool))

    @staticmethod
    def _shares(on: Affine, last: float) -> np.ndarray:
        """The shares of all surfaces but the last, which has its gate as given."""
        return slid_shares(on.a[:-1] + on.B[:-1, -1] * last, on.B[:-1, :-1])

    def _surface_of(self, y: np.ndarray, i: int) -> tuple[np.ndarray, float]:
        """All gates that share the surface of gate i, and how far apart their velocities may be."""
        h = np.asarray(switching(self.field)(y, self.arguments))
        v = np.asarray(rate_and_velocity(self.field)(y, self.arguments)[1])
        tolerance = lambda x: _SAME_SURFACE * (1 + np.abs(x).max())
        close = lambda x: np.abs(x - x[i]) <= tolerance(x)
        return close(h) & close(v) & ~self.is_slid, tolerance(v)

    def _affine(self, y: np.ndarray, surfaces: tuple[Surface, ...]) -> Affine:
        n = len(surfaces)
        on = affine_parts(self.field)(y, self.arguments, _padded(surfaces))
        f, columns, a, B, h = (np.asarray(part) for part in on)
        return Affine(f, columns[:n], a[:n], B[:n, :n], h[:n])

    def _is_affine(self, y: np.ndarray, surfaces: tuple[Surface, ...], on: Affine) -> bool:
        """Whether opening all surfaces at once does what opening them one by one promises."""
        every = np.any([s.members for s in surfaces], axis=0)
        rate, velocity = rate_and_velocity(self.field)(y, self._with(every, 1.0))
        velocity = np.asarray(velocity)[[s.representative for s in surfaces]]
        sizes = lambda start, parts: np.abs(start).max() + np.abs(parts).sum()
        same_rate = np.abs(rate - on.closed - on.columns.sum(axis=0)).max() <= _AFFINE * sizes(on.closed, on.columns)
        return same_rate and np.abs(velocity - on.a - on.B.sum(axis=1)).max() <= _AFFINE * sizes(on.a, on.B)

    def _go_through(self, y: np.ndarray, members: np.ndarray, i: int, slowest: float) -> None:
        """Where gates multiply gates: take the sliding flow through a surface if it goes on beyond."""
        gate = self.arguments.gates[i]
        onward = -1.0 if gate > 0 else 1.0
        velocity = lambda: onward * float(rate_and_velocity(self.field)(y, self.arguments)[1][i])
        arrives = velocity()
        self._set(members, 1.0 - gate)
        on = self._affine(y, self.surfaces)
        if len(self.surfaces) == 1:
            share, width = -on.a / on.B[0], on.B[0]
            holds = (share > 0) & (share < 1) & (width < 0)
            self._take(self.surfaces, np.where(holds, share, (share > 0.5) == (width < 0)), holds)
            if arrives > slowest and velocity() > slowest:
                return
        raise CannotSlide("gates multiply gates on several switching surfaces")

    def _with(self, members: np.ndarray, value):
        return self.arguments._replace(gates=np.where(members, value, self.arguments.gates))

    def _set(self, members: np.ndarray, value) -> None:
        self.arguments = self._with(members, value)


def _padded(surfaces: tuple[Surface, ...]) -> Slide:
    """Surfaces as arrays of a few fixed sizes, so that steppers are compiled for a few sizes only."""
    size = next(n for n in (1, 4, 8, MAX_SURFACES) if n >= len(surfaces))
    groups = np.zeros((size, len(surfaces[0].members)))
    groups[: len(surfaces)] = [s.members for s in surfaces]
    representatives = np.zeros(size, dtype=np.int64)
    representatives[: len(surfaces)] = [s.representative for s in surfaces]
    return Slide(groups, representatives)
