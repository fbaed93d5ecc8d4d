"""Stiff stretches: SciPy's LSODA on a program's compiled field, behind the stepper's interface.

LSODA switches between Adams and BDF by itself and reaches times of 1e13 in a few thousand steps. It is a multistep
method: a solver is kept alive between calls, and states between its steps come from its own interpolant, which is as
accurate as the method. Fields with frozen gates are not served here (their kinks are met in `stepper`).
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from flowsys.integrate.stepper_values import CUBIC, NODES, Advance, Status, Watch
from flowsys.system.problem import Field, ProgramField


class Lsoda:
    """LSODA on one field with one set of arguments; make a new one when either changes."""

    def __init__(self, field: Field, watched: tuple[str, ...], arguments, rtol: float, atol: float):
        self.rhs, self.observe, self._jacobian = _compiled(field, watched, arguments)
        self.rtol, self.atol = rtol, atol
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
            if accepted >= budget:
                return self._result(Status.TOO_MANY_STEPS, solver.t, solver.y, t_before, y_before, accepted)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                message = solver.step()
            if solver.status == "failed":
                return self._failed(solver, message, t_before, y_before, accepted)
            accepted += 1
            self._interpolant = solver.dense_output()

    def _resume(self, y: np.ndarray, t: float, dt: float):
        from scipy.integrate import LSODA

        live = self._solver
        inside = live is not None and live.t_old is not None and live.t_old <= t <= live.t
        if inside and np.array_equal(y, live.y if t == live.t else self.state(t)):
            return live
        jacobian = self._jacobian
        slopes = None if jacobian is None else lambda s, z: jacobian(z)
        self._solver = LSODA(
            lambda s, z: self.rhs(z), t, y, np.inf, first_step=dt, rtol=self.rtol, atol=self.atol, jac=slopes
        )
        return self._solver

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

    Of a program native code, whose slopes are so cheap that LSODA takes differences of them.
    """
    if isinstance(field, ProgramField):
        from flowsys.kernels import Slope, StageBatch, kernel

        stage = StageBatch(np.asarray(arguments.parameters, dtype=float), arguments.tables, arguments.links)
        slope = Slope(kernel(field.program, watched, field.kinks, [stage]), stage, float(arguments.kink_width))
        return slope, slope.observe, None
    from flowsys.integrate.stepper import jacobian, observer, right_hand_side

    parts = right_hand_side(field), observer(field, watched), jacobian(field)
    rhs, observe, slopes = (lambda y, part=part: np.asarray(part(y, arguments)) for part in parts)
    return rhs, observe, slopes


def numpy_observer(field: Field, names: tuple[str, ...]) -> Callable:
    """The named observables on NumPy arrays."""
    if isinstance(field, ProgramField):
        from flowsys.program.arrays import observed

        return observed(field.program, names, "exact" if field.kinks == "frozen" else field.kinks, np)
    from flowsys.integrate.stepper import observer

    evaluate = observer(field, names)
    return lambda y, arguments: np.asarray(evaluate(y, arguments))
