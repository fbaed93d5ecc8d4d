"""Adaptive steps with diffrax methods, compiled once per field, that stop where something may happen.

`Stepper.advance` integrates from t to a target and stops early at the first step that goes beyond a time to look at, or
inside which a watched value may turn positive. Watched are events (oriented so that they fire upwards), kinks (oriented
so that they are negative while their gate is right), and, where the flow slides, the conditions to leave the surfaces.
Between step ends the values are followed along the method's own interpolant, so that two crossings within one step are
not overlooked. Every step begins with a slope of its own: where a call stops makes no difference to the next step.

Steps of dopri8 tell whether stability limits them: h|λ| ≈ ‖f(y) - f(Y)‖ h / ‖y - Y‖ at the end of the step, from the
last two stages (E. Hairer & G. Wanner, Solving Ordinary Differential Equations II, 2nd ed. 1996, IV.2).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from flowsys.integrate import sliding
from flowsys.integrate.compiling import jit
from flowsys.integrate.stepper_values import CUBIC, NODES, OFF_SURFACE, Advance, Patience, Slide, Status, Watch
from flowsys.system.problem import Field

# dopri8 is stable for h λ down to -5.167; the controller rests at -4.4 where stability limits its steps
STIFF_LIMIT = 4.0
# of a Jacobian, made at once
COLUMNS = 16


def method(name: str) -> diffrax.AbstractSolver:
    """The diffrax method of that name."""
    if name == "kvaerno5":
        # The Newton tolerance must be loose and explicit: tied to the step tolerance it rejects half of all steps.
        return diffrax.Kvaerno5(root_finder=diffrax.VeryChord(rtol=1e-5, atol=1e-6))
    return {"tsit5": diffrax.Tsit5, "dopri8": diffrax.Dopri8}[name]()


def stiffness(name: str, dense: dict):
    """h|λ| of the step just made with the method of that name; 0 where it does not tell."""
    if name != "dopri8":
        return jnp.asarray(0.0)
    weights = np.zeros(len(dense["k"]))
    row = diffrax.Dopri8.tableau.a_lower[-2]
    weights[: len(row)] = row
    before = dense["y0"] + weights @ dense["k"]
    moved = jnp.linalg.norm(dense["y1"] - before)
    return jnp.where(moved > 0, jnp.linalg.norm(dense["k"][-1] - dense["k"][-2]) / moved, 0.0)


@dataclass(frozen=True)
class Stepper:
    """Compiled stepping of one field with one method."""

    field: Field
    watched: tuple[str, ...]
    solver: str
    sliding: bool = False

    def values(self, y, arguments, watch: Watch, slide: Slide | None):
        """Everything watched at a state: positive means it happened."""
        parts = [jnp.zeros(0)]
        slid = slide if self.sliding else None
        if self.watched:
            parts.append(watch.directions * (self.field.observe(self.watched)(y, arguments) - watch.thresholds))
        if self.field.has_kinks:
            h = self.field.switching(y, arguments)
            kinks = -watch.orientations * h
            parts.append(kinks if slid is None else jnp.where(slid.loose, jnp.abs(h) - OFF_SURFACE, kinks))
        if slid is not None:
            parts.append(sliding.leaving(self.field, y, arguments, slid))
        return jnp.concatenate(parts)

    def _advance(
        self, y, t, dt, target, arguments, watch, slide, rtol, atol, budget, look, watching, patience: Patience
    ) -> Advance:
        rhs = self.field.rhs
        if self.sliding:
            rhs = lambda y, args: sliding.rhs(self.field, y, args, slide)
        term = diffrax.ODETerm(lambda t, y, args: rhs(y, args))
        solver = method(self.solver)
        controller = diffrax.PIDController(rtol=rtol, atol=atol)
        order = solver.error_order(term)
        first = t + dt
        _, control = controller.init(term, t, first, y, dt, arguments, solver.func, order)
        carry = {
            "status": jnp.asarray(-1),
            "t": t,
            "next": first,
            "y": y,
            "t_before": t,
            "y_before": y,
            "values": self.values(y, arguments, watch, slide),
            "solver": solver.init(term, t, first, y, arguments),
            "control": control,
            "accepted": jnp.asarray(0),
            "rejected": jnp.asarray(0),
            "evidence": patience.evidence,
            "dt": dt,
        }

        def body(c):
            clipped = c["next"] >= target
            end = jnp.where(clipped, target, c["next"])
            y1, error, dense, solver_state, result = solver.step(
                term, c["t"], end, c["y"], arguments, c["solver"], True
            )
            failed = result != diffrax.RESULTS.successful
            error = jax.tree.map(lambda e: jnp.where(failed | ~jnp.isfinite(e), jnp.inf, e), error)
            keep, t_new, t_next, _, control, _ = controller.adapt_step_size(
                c["t"], end, c["y"], y1, arguments, error, order, c["control"]
            )
            end_of_step = sliding.pulled_back(self.field, y1, arguments, slide) if self.sliding else y1
            y_new = jnp.where(keep, end_of_step, c["y"])
            interpolant = solver.interpolation_cls(t0=c["t"], t1=end, **dense)
            inner = [interpolant.evaluate(c["t"] + x * (end - c["t"])) for x in NODES[1:3]]
            at_nodes = jnp.stack(
                [c["values"], *jax.vmap(lambda z: self.values(z, arguments, watch, slide))(jnp.stack([*inner, y1]))]
            )
            inside = jnp.asarray(CUBIC) @ at_nodes
            n_events = len(self.watched)
            is_event = jnp.arange(at_nodes.shape[1]) < n_events
            was_negative = jnp.where(is_event, at_nodes[0] < 0, True)
            # an event that a step ends on has happened: the next step would not find it negative before
            happened = jnp.where(is_event, at_nodes[3] >= 0, at_nodes[3] > 0)
            # a kink that starts on its surface is judged at the end of the step only
            may_look_inside = at_nodes[0] < 0
            fired = was_negative & (happened | (may_look_inside & (inside.max(axis=0) > 0)))
            stop = keep & watching & fired.any()
            # the step that lands on the target is cut short: it says nothing about the next step's size
            natural = jnp.where(clipped & keep, jnp.maximum(t_next - t_new, c["dt"]), t_next - t_new)
            tiny = ~keep & (jnp.abs(t_next - c["t"]) <= 1e-15 * jnp.maximum(jnp.abs(c["t"]), 1e-300))
            status = jnp.where(
                stop,
                Status.WATCHED.value,
                jnp.where(keep & clipped, Status.REACHED.value, jnp.where(tiny, Status.STEP_TOO_SMALL.value, -1)),
            )
            status = jnp.where(
                (status == -1) & (c["accepted"] + c["rejected"] + 1 >= budget), Status.TOO_MANY_STEPS.value, status
            )
            change = jnp.where(stiffness(self.solver, dense) > STIFF_LIMIT, 2, -1)
            evidence = jnp.where(keep, jnp.maximum(c["evidence"] + change, 0), c["evidence"])
            is_stiff = watching & keep & (evidence >= patience.limit)
            status = jnp.where((status == -1) & is_stiff, Status.STIFF.value, status)
            status = jnp.where((status == -1) & keep & (end >= look), Status.LOOKED.value, status)
            return {
                "status": status,
                "evidence": evidence,
                "t": jnp.where(keep, end, c["t"]),
                "next": jnp.where(keep, end + natural, t_next),
                "y": y_new,
                "t_before": jnp.where(keep, c["t"], c["t_before"]),
                "y_before": jnp.where(keep, c["y"], c["y_before"]),
                "values": jnp.where(keep, at_nodes[3], c["values"]),
                "solver": jax.tree.map(
                    lambda new, old: jnp.where(keep, new, old) if eqx.is_array(new) else new,
                    solver_state,
                    c["solver"],
                ),
                "control": control,
                "accepted": c["accepted"] + keep,
                "rejected": c["rejected"] + ~keep,
                "dt": natural,
            }

        c = jax.lax.while_loop(lambda c: c["status"] == -1, body, carry)
        status = jnp.where(jnp.isfinite(c["y"]).all(), c["status"], Status.NOT_FINITE.value)
        counts = c["accepted"], c["rejected"], c["evidence"]
        return Advance(status, c["t"], c["y"], c["t_before"], c["y_before"], c["dt"], *counts)


@lru_cache(maxsize=128)
def compiled(stepper: Stepper) -> tuple[Callable, Callable]:
    """The jitted `advance` and `values` of a stepper."""
    return jit(stepper._advance), jit(stepper.values)


@lru_cache(maxsize=256)
def observer(field: Field, names: tuple[str, ...]) -> Callable:
    """The named observables at a state, compiled."""
    return jit(field.observe(names))


@lru_cache(maxsize=64)
def switching(field: Field) -> Callable:
    """All switching functions at a state, compiled."""
    return jit(field.switching)


@lru_cache(maxsize=64)
def right_hand_side(field: Field) -> Callable:
    """dy/dt at a state, compiled."""
    return jit(field.rhs)


@lru_cache(maxsize=64)
def jacobian(field: Field) -> Callable:
    """∂(dy/dt)/∂y at a state, compiled: few columns at a time, so that what they need stays in the cache."""

    def columns(y, arguments):
        _, change = jax.linearize(lambda state: field.rhs(state, arguments), y)
        return jax.lax.map(change, jnp.eye(len(y), dtype=y.dtype), batch_size=COLUMNS).T

    return jit(columns)
