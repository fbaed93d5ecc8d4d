"""A direction carried along a slide: Filippov's field on the switching surfaces, and its derivative, by JAX."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from flowsys.integrate.stepper_values import Slide
from flowsys.program.arrays import Arguments
from flowsys.system.problem import ProgramField

ON_SURFACE = 1e-14


class Sliding:
    """The gates of a flow that meets surfaces it may slide on, as the reference driver has them."""

    def __init__(self, field: ProgramField, arguments: Arguments, y: np.ndarray):
        import jax

        from flowsys.integrate.kinks import Gates

        self.field = field
        with jax.enable_x64(True):
            self._gates = Gates(field, arguments, y)
            self._gates.arguments = self._gates.arguments._replace(gates=np.array(arguments.gates))
            self._gates.surfaces = ()

    @classmethod
    def on_entry(
        cls, field: ProgramField, arguments: Arguments, y: np.ndarray, gates: np.ndarray, h: np.ndarray
    ) -> "Sliding | None":
        """Where a stage begins on a surface that holds it, with the switching functions h; else None."""
        import jax

        if (np.abs(h) > ON_SURFACE).all():
            return None
        found = cls(field, arguments._replace(gates=gates), y)
        with jax.enable_x64(True):
            from flowsys.integrate.kinks import Gates

            found._gates = Gates(field, arguments, y)
        return found if found.is_sliding else None

    @property
    def is_sliding(self) -> bool:
        return bool(self._gates.surfaces)

    @property
    def is_slid(self) -> np.ndarray:
        return self._gates.is_slid | self._gates.is_resting

    @property
    def gates(self) -> np.ndarray:
        return np.asarray(self._gates.arguments.gates)

    def turn(self, y: np.ndarray, met: np.ndarray) -> None:
        """Meet a surface, or leave the one that lets go."""
        import jax

        with jax.enable_x64(True):
            if met.any():
                self._gates.meet(y, int(np.flatnonzero(met)[0]))
            elif self._gates.surfaces:
                self._gates._share(y)
                shares = np.array([self._gates.arguments.gates[s.representative] for s in self._gates.surfaces])
                self._gates.leave(y, int(np.abs(shares * (shares - 1)).argmin()))

    def rate(self, y: np.ndarray) -> np.ndarray:
        """dy/dt on the surfaces."""
        import jax

        with jax.enable_x64(True):
            return np.asarray(_rate(self.field)(y, self._gates.arguments, self._gates.slide))

    def carried(
        self,
        z: np.ndarray,
        moved: tuple[np.ndarray, Mapping[str, np.ndarray]],
        t: float,
        times: Sequence[float],
        rtol: float,
    ) -> dict[float, np.ndarray]:
        """State and direction at later times of the slide; `moved` are the derivatives of parameters and tables."""
        import jax
        from scipy.integrate import solve_ivp

        n = len(self.field.names)
        plain, slide = self._gates.arguments, self._gates.slide
        tables = {name: moved[1].get(name, np.zeros_like(rows)) for name, rows in plain.tables.items()}
        moved = moved[0], tables
        with jax.enable_x64(True):
            both = _rate_and_slope(self.field)
            rhs = lambda _, z: np.concatenate([np.asarray(x) for x in both(z[:n], z[n:], plain, moved, slide)])
            atol = 1e-3 * rtol * max(float(np.abs(z[n:]).max()), 1e-12)
            run = solve_ivp(rhs, (t, times[-1]), z, "DOP853", list(times), rtol=rtol, atol=atol)
        return {float(s): y for s, y in zip(run.t, run.y.T)}


@lru_cache(maxsize=16)
def _rate(field: ProgramField):
    from flowsys.integrate import sliding
    from flowsys.integrate.compiling import jit

    return jit(lambda y, arguments, slide: sliding.rhs(field, y, arguments, slide))


@lru_cache(maxsize=16)
def _rate_and_slope(field: ProgramField):
    import jax

    from flowsys.integrate import sliding
    from flowsys.integrate.compiling import jit

    def both(y, s, arguments: Arguments, moved, slide: Slide):
        at = lambda y, parameters, tables: sliding.rhs(
            field, y, arguments._replace(parameters=parameters, tables=tables), slide
        )
        return jax.jvp(at, (y, arguments.parameters, arguments.tables), (s, *moved))

    return jit(both)
