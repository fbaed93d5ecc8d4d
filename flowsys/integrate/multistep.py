"""Stiff stretches: SciPy's multistep methods behind the stepper's interface.

    lsoda   Adams and BDF by turns, by itself; its Jacobian is new every ten steps or so
    bdf     BDF alone; its Jacobian is kept while Newton's iterations converge, which pays with many variables

They reach times of 1e13 in a few thousand steps. A solver is kept alive between calls, and states between its steps
come from its own interpolant, which is as accurate as the method. Fields with frozen gates are not served here (their
kinks are met in `stepper`). Fields in JAX have exact Jacobians; for them a stretch over which explicit steps would be
cheaper ends a call (`handover.Calm`). Programs run on compiled code, whose differences are cheap.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from flowsys.integrate.handover import Calm
from flowsys.integrate.record import Tolerances
from flowsys.integrate.stepper_values import CUBIC, NODES, Advance, Status, Watch
from flowsys.system.problem import Field, ProgramField

METHODS = {"lsoda": "LSODA", "bdf": "BDF"}


class Multistep:
    """One field with one set of arguments; make a new one when either changes."""

    def __init__(
        self, method: str, field: Field, watched: tuple[str, ...], arguments, tolerances: Tolerances, may_end=False
    ):
        self.rhs, self.observe, self._jacobian = _compiled(field, watched, arguments)
        self._method, self._tolerances = method, tolerances
        self.calm = Calm(may_end and self._jacobian is not None, len(field.names))
        self._solver: Any = None
        self._interpolant: Callable[[float], np.ndarray] | None = None

    def values(self, y: np.ndarray, watch: Watch) -> np.ndarray:
        """Everything watched at a state: positive means it happened."""
        if not len(watch.thresholds):
            return np.zeros(0)
        return watch.directions * (self.observe(y) - watch.thresholds)

    def state(self, s: float) -> np.ndarray:
        """The state at a time inside the last step."""
        assert self._interpolant is not None
        return self._interpolant(s)

    def advance(self, y: np.ndarray, t: float, dt: float, target: float, watch: Watch, budget: int) -> Advance:
        """Step from t until the target is inside a step, something watched fires, or the budget is used up."""
        solver = self._resume(y, t, dt)
        before = self.values(y, watch)
        accepted, t_before, y_before = 0, t, y
        while True:
            if solver.t >= target:
                y_target = y if target == t_before else self.state(target)
                status = Status.WATCHED if self._fired(before, t_before, target, watch) else Status.REACHED
                return self._result(status, target, y_target, t_before, y_before, accepted)
            if solver.t > t_before:
                if self._fired(before, t_before, solver.t, watch):
                    return self._result(Status.WATCHED, solver.t, solver.y.copy(), t_before, y_before, accepted)
                t_before, y_before, before = solver.t, solver.y.copy(), self.values(solver.y, watch)
            if self.calm.has_come:
                return self._result(Status.CALM, solver.t, solver.y.copy(), t_before, y_before, accepted)
            if accepted >= budget:
                return self._result(Status.TOO_MANY_STEPS, solver.t, solver.y, t_before, y_before, accepted)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                message = solver.step()
            if solver.status == "failed":
                return self._failed(solver, message, t_before, y_before, accepted)
            accepted += 1
            self.calm.see(solver.step_size)
            self._interpolant = solver.dense_output()

    def _resume(self, y: np.ndarray, t: float, dt: float):
        import scipy.integrate

        live = self._solver
        inside = live is not None and live.t_old is not None and live.t_old <= t <= live.t
        if inside and np.array_equal(y, live.y if t == live.t else self.state(t)):
            return live
        self.calm.begin()
        slopes = None if self._jacobian is None else lambda s, z: self._slopes(z)
        make, tolerances = getattr(scipy.integrate, METHODS[self._method]), self._tolerances
        self._solver = make(
            lambda s, z: self.rhs(z),
            t,
            y,
            np.inf,
            first_step=dt,
            rtol=tolerances.rtol,
            atol=tolerances.atol,
            jac=slopes,
        )
        return self._solver

    def _slopes(self, y: np.ndarray) -> np.ndarray:
        assert self._jacobian is not None
        found = self._jacobian(y)
        self.calm.norm = float(np.linalg.norm(found))
        return found

    def _fired(self, before: np.ndarray, a: float, b: float, watch: Watch) -> bool:
        if b <= a or not (before < 0).any():
            return False
        inner = [self.values(self.state(a + x * (b - a)), watch) for x in NODES[1:]]
        at_nodes = np.stack([before, *inner])
        return bool(((before < 0) & ((at_nodes[-1] >= 0) | ((CUBIC @ at_nodes).max(axis=0) > 0))).any())

    def _result(self, status: Status, t, y, t_before, y_before, accepted: int) -> Advance:
        if not np.isfinite(y).all():
            status = Status.NOT_FINITE
        dt = float(self._solver.step_size or 0.0)
        return Advance(int(status), float(t), np.array(y), float(t_before), y_before, dt, accepted, 0)

    def _failed(self, solver, message, t_before, y_before, accepted: int) -> Advance:
        return self._result(Status.STEP_TOO_SMALL, solver.t, solver.y, t_before, y_before, accepted)


def _compiled(field: Field, watched: tuple[str, ...], arguments) -> tuple[Callable, Callable, Callable | None]:
    """dy/dt, the watched observables and the Jacobian at a state: compiled JAX for a function.

    Of a program native code, whose slopes are so cheap that differences of them serve.
    """
    if isinstance(field, ProgramField):
        from flowsys.kernels import Slope, StageBatch, kernel

        stage = StageBatch(np.asarray(arguments.parameters, dtype=float), arguments.tables, arguments.links)
        slope = Slope(kernel(field.program, watched, field.kinks, [stage]), stage, float(arguments.kink_width))
        return slope, slope.observe, None
    import jax

    from flowsys.integrate.stepper import jacobian, observer, right_hand_side

    parts, there = (right_hand_side(field), observer(field, watched), jacobian(field)), jax.device_put(arguments)
    rhs, observe, slopes = (lambda y, part=part: np.asarray(part(y, there)) for part in parts)
    return rhs, observe, slopes


def numpy_observer(field: Field, names: tuple[str, ...]) -> Callable:
    """The named observables on NumPy arrays."""
    if isinstance(field, ProgramField):
        from flowsys.program.arrays import observed

        return observed(field.program, names, "exact" if field.kinks == "frozen" else field.kinks, np)
    from flowsys.integrate.stepper import observer

    evaluate = observer(field, names)
    return lambda y, arguments: np.asarray(evaluate(y, arguments))
