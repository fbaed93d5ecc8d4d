"""Kinks met by a run: gates frozen between switches, surfaces crossed, slid along, or given up for the smoothed flow.

On a switching surface the surface's velocity is compared under both gate values. If the flow goes on, the gates flip;
if both sides point back, the flow slides (Filippov) until one side lets go. Gates that share a surface (same value,
same velocity) switch together.
"""

import numpy as np

from flowsys.integrate.stepper import Slide, sliding_velocity, surface_velocity, switching
from flowsys.system.problem import Field

# Gates whose switching functions agree this closely (in value and velocity) share one surface.
_SAME_SURFACE = 1e-9
_ON_SURFACE = 1e-14
# A gate that has switched this often within a stage is not crossing any more: it slides on several surfaces at once.
_CHATTER = 20


class Gates:
    """The gates of a kinked field at the current state, and the surface it slides on, if any.

    `arguments` (a NamedTuple with a field `gates`) is replaced, never changed; read it after every call.
    """

    def __init__(self, field: Field, arguments, y: np.ndarray):
        self.field, self.arguments = field, arguments
        self.slide: Slide | None = None
        h = np.asarray(switching(field)(y, arguments))
        self._switches = np.zeros(len(h), dtype=int)
        self._set(np.ones(len(h), dtype=bool), (h > 0).astype(float))
        for i in np.flatnonzero(np.abs(h) <= _ON_SURFACE):
            self.choose_side(y, self.surface_of(y, i), i)

    @property
    def orientations(self) -> np.ndarray:
        """+1 where a switching function must stay positive, -1 negative, 0 where it is slid on."""
        signs = np.where(self.arguments.gates > 0, 1.0, -1.0)
        return signs if self.slide is None else np.where(self.slide.members, 0.0, signs)

    def surface_of(self, y: np.ndarray, i: int) -> np.ndarray:
        """All gates that share the surface of gate i."""
        h = np.asarray(switching(self.field)(y, self.arguments))
        v = self._velocity(y, self.arguments)
        close = lambda x: np.abs(x - x[i]) <= _SAME_SURFACE * (1 + np.abs(x).max())
        return close(h) & close(v)

    def chatters(self, members: np.ndarray) -> bool:
        """Count a switch of these gates; whether one of them switches without end."""
        self._switches += members
        return bool(self._switches.max() > _CHATTER)

    def choose_side(self, y: np.ndarray, members: np.ndarray, i: int) -> None:
        """On a surface: go on to the side the flow points to, or begin to slide where both sides point back."""
        v_on = self._velocity(y, self._with(members, 1.0))[i]
        v_off = self._velocity(y, self._with(members, 0.0))[i]
        came_from_open = self.arguments.gates[i] > 0
        if v_on < 0 < v_off:
            self.slide = Slide(members, np.int64(i))
        elif v_on <= 0 <= v_off:
            self._set(members, float(not came_from_open))
        else:
            self._set(members, float(v_on > 0 and (v_off > 0 or not came_from_open)))

    def crosses_while_sliding(self, y: np.ndarray, members: np.ndarray, i: int) -> bool:
        """Flip a second surface's gates if the sliding flow goes on through it; say whether it did."""
        flipped = self._with(members, float(self.arguments.gates[i] == 0))
        velocity = sliding_velocity(self.field)
        before, after = (float(velocity(y, a, self.slide)[i]) for a in (self.arguments, flipped))
        if before * after <= 0:
            return False
        self.arguments = flipped
        return True

    def leave_surface(self, gate: float) -> None:
        """The slide ends on the side of the given gate value."""
        members, self.slide = self.slide.members, None
        self._set(members, gate)

    def _velocity(self, y: np.ndarray, arguments) -> np.ndarray:
        return np.asarray(surface_velocity(self.field)(y, arguments))

    def _with(self, members: np.ndarray, value):
        return self.arguments._replace(gates=np.where(members, value, self.arguments.gates))

    def _set(self, members: np.ndarray, value) -> None:
        self.arguments = self._with(members, value)
