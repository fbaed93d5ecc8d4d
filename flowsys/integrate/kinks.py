"""Kinks met by a run: gates frozen between switches, surfaces crossed, slid along, or given up for the smoothed flow.

At a switching surface the shares of all surfaces the state lies on are solved for (`complementarity`): the flow goes on
to the other side, and the gates flip, or it slides along this surface and those it slid along already, of which some
may let go. Gates that share a surface (same value, same velocity) switch together and have one share. A surface that
depends on those slid on is kept by them where it is: it rests, and is looked at again when they change.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from flowsys.integrate.complementarity import placed, rests, slid_shares
from flowsys.integrate.sliding import Affine, affine_parts, rate_and_velocity
from flowsys.integrate.stepper import switching
from flowsys.integrate.stepper_values import Slide
from flowsys.system.problem import Field

# Gates whose switching functions agree this closely (in value and velocity) share one surface.
_SAME_SURFACE = 1e-9
_ON_SURFACE = 1e-14
# surfaces whose switching functions are this small are met together
_TOUCHES = 1e-12
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
        # gates whose surface the surfaces slid on keep where it is, at a bound of its share
        self.is_resting = np.zeros(len(h), dtype=bool)
        is_met = np.abs(h) > _ON_SURFACE
        for i in range(len(h)):
            # where they cannot be followed, gates stay closed
            with suppress(CannotSlide):
                if not is_met[i]:
                    is_met |= self.meet(y, i)

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
    def is_loose(self) -> np.ndarray:
        """Which gates lie on a surface without representing one that is slid along: they may come off."""
        loose = self.is_slid | self.is_resting
        loose[[s.representative for s in self.surfaces]] = False
        return loose

    @property
    def slide(self) -> Slide | None:
        return _padded(self.surfaces, self.is_loose) if self.surfaces else None

    @property
    def orientations(self) -> np.ndarray:
        """+1 where a switching function must stay positive, -1 negative, 0 where a surface is slid on."""
        return np.where(self.is_slid | self.is_resting, 0.0, np.where(self.arguments.gates > 0, 1.0, -1.0))

    def hurries(self, t: float) -> bool:
        """Count a kink; whether they come without end in no time."""
        self._hurried = self._hurried + 1 if t - self._last_time <= _HURRY * abs(t) else 0
        self._last_time = t
        return self._hurried > _MAX_HURRIED

    def meet(self, y: np.ndarray, i: int) -> np.ndarray:
        """On the surface of gate i, and perhaps others: go through or slide; returns the gates on all of them."""
        self._share(y)
        members, slowest = self._surface_of(y, i)
        self._set(members, self.arguments.gates[i])
        n_held = len(self.surfaces)
        if n_held == MAX_SURFACES:
            raise CannotSlide(f"more than {MAX_SURFACES} switching surfaces at once")
        met = [*self.surfaces, Surface(members, i)]
        touching = np.abs(np.asarray(switching(self.field)(y, self.arguments))) <= _TOUCHES
        for j in np.flatnonzero(touching & ~self.is_slid & ~self.is_resting & ~members)[: MAX_SURFACES - len(met)]:
            met.append(Surface(np.arange(len(members)) == j, int(j)))
        on = self._affine(y, met)
        if len(met) > 1 and not self._is_affine(y, met, on):
            if n_held > 1 or (n_held == 1 and not self._goes_through(y, members, i, slowest)):
                raise CannotSlide("gates multiply gates on several switching surfaces")
            if n_held == 1:
                return members
            met = met[:1]
            on = self._affine(y, met)
        found = placed(on.a, on.B, self.arguments.gates[[s.representative for s in met]], n_held)
        if found is None:
            raise CannotSlide("a switching surface repels on both sides")
        shares, held = found
        if (held != (np.arange(len(met)) < n_held)).any():
            self.is_resting[:] = False
        self._take(met, shares, held)
        for k in map(int, np.flatnonzero(~held)) if held.any() else ():
            self.is_resting |= met[k].members & rests(on.a, on.B, shares, held, k)
        self._hurried -= int(self.is_resting[i])
        return np.any([s.members for s in met], axis=0)

    def leave(self, y: np.ndarray, k: int) -> None:
        """The slide along surface k ends, on the side its share has reached.

        Where opening the gate pushes up (B_kk > 0) it ends on the side away from it.
        """
        self._share(y)
        on, gone = self._affine(y, self.surfaces), self.surfaces[k]
        shares = np.array([self.arguments.gates[s.representative] for s in self.surfaces])
        shares[k] = float((shares[k] > 0.5) == (on.B[k, k] < 0))
        held = np.arange(len(shares)) != k
        self.is_resting[:] = False
        if held.any() and rests(on.a, on.B, shares, held, k):
            self.is_resting |= gone.members
        self.surfaces = self.surfaces[:k] + self.surfaces[k + 1 :]
        self._set(gone.members, shares[k])

    def come_off(self, y: np.ndarray, i: int) -> None:
        """A gate that was said to lie on a surface does not: it is on the side its switching function tells."""
        self.is_resting[i] = False
        others = np.arange(len(self.is_resting)) != i
        self.surfaces = tuple(s._replace(members=s.members & others) for s in self.surfaces)
        self._set(~others, float(switching(self.field)(y, self.arguments)[i] > 0))

    def _take(self, surfaces: Sequence[Surface], shares: np.ndarray, held: np.ndarray) -> None:
        for surface, share in zip(surfaces, shares):
            self._set(surface.members, share)
        self.surfaces = tuple(s for s, is_held in zip(surfaces, held) if is_held)

    def _share(self, y: np.ndarray) -> None:
        """The gates of surfaces slid along have their shares at this state."""
        if self.surfaces:
            on = self._affine(y, self.surfaces)
            self._take(self.surfaces, slid_shares(on.a, on.B), np.ones(len(self.surfaces), dtype=bool))

    def _surface_of(self, y: np.ndarray, i: int) -> tuple[np.ndarray, float]:
        """All gates that share the surface of gate i, and how far apart their velocities may be.

        Where the flow slides they must move alike whichever of the surfaces slid on is open.
        """
        tolerance = lambda x: _SAME_SURFACE * (1 + np.abs(x).max())
        close = lambda x: np.abs(x - x[i]) <= tolerance(x)
        v = self._velocity(y, self.arguments)
        alike = close(np.asarray(switching(self.field)(y, self.arguments))) & close(v) & ~self.is_slid
        closed = self._with(self.is_slid, 0.0)
        for gates in (closed.gates, *(np.where(s.members, 1.0, closed.gates) for s in self.surfaces)):
            alike &= close(self._velocity(y, closed._replace(gates=gates))) if self.surfaces else True
        return alike & ~self.is_resting, tolerance(v)

    def _velocity(self, y: np.ndarray, arguments) -> np.ndarray:
        return np.asarray(rate_and_velocity(self.field)(y, arguments)[1])

    def _affine(self, y: np.ndarray, surfaces: Sequence[Surface]) -> Affine:
        n = len(surfaces)
        on = affine_parts(self.field)(y, self.arguments, _padded(surfaces, self.is_resting))
        f, columns, a, B, h = (np.asarray(part) for part in on)
        return Affine(f, columns[:n], a[:n], B[:n, :n], h[:n])

    def _is_affine(self, y: np.ndarray, surfaces: Sequence[Surface], on: Affine) -> bool:
        """Whether opening all surfaces at once does what opening them one by one promises."""
        every = np.any([s.members for s in surfaces], axis=0)
        rate, velocity = rate_and_velocity(self.field)(y, self._with(every, 1.0))
        velocity = np.asarray(velocity)[[s.representative for s in surfaces]]
        sizes = lambda start, parts: np.abs(start).max() + np.abs(parts).sum()
        same_rate = np.abs(rate - on.closed - on.columns.sum(axis=0)).max() <= _AFFINE * sizes(on.closed, on.columns)
        return same_rate and np.abs(velocity - on.a - on.B.sum(axis=1)).max() <= _AFFINE * sizes(on.a, on.B)

    def _goes_through(self, y: np.ndarray, members: np.ndarray, i: int, slowest: float) -> bool:
        """Where gates multiply gates: take a flow that slides on one surface through another if it goes on beyond."""
        gate = self.arguments.gates[i]
        onward = -1.0 if gate > 0 else 1.0
        arrives = onward * self._velocity(y, self.arguments)[i]
        self._set(members, 1.0 - gate)
        on = self._affine(y, self.surfaces)
        share, width = -on.a / on.B[0], on.B[0]
        holds = (share > 0) & (share < 1) & (width < 0)
        self._take(self.surfaces, np.where(holds, share, (share > 0.5) == (width < 0)), holds)
        return bool(arrives > slowest and onward * self._velocity(y, self.arguments)[i] > slowest)

    def _with(self, members: np.ndarray, value):
        return self.arguments._replace(gates=np.where(members, value, self.arguments.gates))

    def _set(self, members: np.ndarray, value) -> None:
        self.arguments = self._with(members, value)


def _padded(surfaces: Sequence[Surface], loose: np.ndarray) -> Slide:
    """Surfaces as arrays of a few fixed sizes, so that steppers are compiled for a few sizes only."""
    size = next(n for n in (1, 4, 8, MAX_SURFACES) if n >= len(surfaces))
    groups = np.zeros((size, len(loose)))
    groups[: len(surfaces)] = [s.members for s in surfaces]
    representatives = np.zeros(size, dtype=np.int64)
    representatives[: len(surfaces)] = [s.representative for s in surfaces]
    return Slide(groups, representatives, loose)
