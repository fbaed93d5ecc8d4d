"""solve: a system, a setup, what to look at -> a Trajectory.

All dynamics run in float64 inside a precision scope of their own; the importing program's JAX settings are untouched.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from flowsys.errors import InputError, did_you_mean
from flowsys.integrate.record import Tolerances
from flowsys.runs import robust
from flowsys.runs.automatic import SOLVERS, integrate
from flowsys.runs.trajectory import Origin, Trajectory
from flowsys.system import Setup, System
from flowsys.system.names import Names
from flowsys.system.problem import Problem, ProgramField
from flowsys.version import VERSION

Request = str | float


def solve(
    system: System,
    setup: Setup | None = None,
    *,
    level: str | None = None,
    variant: str | None = None,
    mode: str | None = None,
    at: Sequence[Request] | np.ndarray | None = None,
    observe: Sequence[str] | None = None,
    rtol: float = 1e-8,
    atol: float | None = None,
    solver: str = "auto",
    max_steps: int = 1_000_000,
    kink_width: float | None = None,
    start: Mapping[str, Any] | None = None,
    command: str = "",
    on_progress=None,
) -> Trajectory:
    """Integrate a system's reduced (or finite-width) gradient flow and record it where asked.

    `at` mixes event names and times; by default the system's own events. `atol` defaults to 1e-4 · rtol times the
    smallest initial scale of the system. `kink_width` δ replaces every ReLU by δ log(1 + e^(x/δ)). `start` overrides
    some of the start (`flowsys.start`) by name.
    """
    if not isinstance(system, System):
        raise InputError(f"system = {system!r} is none: flowsys.load(name) gives one.")
    setup = system.setup_in(mode, setup)
    level = level or system.default_level
    if level == "L0":
        return _trained(system, setup, variant, mode, at, observe, start, command)
    variant, mode = system.variant(level, variant), system.mode(mode)
    setup = system.settled(setup, level, variant, mode)
    problem = system.started(setup, level, variant, mode, start)
    requests = plain_requests(at if at is not None else problem.default_at)
    events, times = _sorted_requests(system, problem, requests)
    observe = tuple(observe) if observe is not None else system.unasked(level, problem)
    _check_observables(system, problem, observe, f"{level} ({variant}) in mode {mode}")
    check_numbers(rtol, atol, solver, max_steps, kink_width)
    atol = atol if atol is not None else 1e-4 * rtol * problem.scale
    fragile = robust.known(system, setup, mode) if level == "L3" and start is None else ""
    trajectory = _integrate(
        problem, requests, events, times, observe,
        (rtol, atol, max_steps), solver, kink_width, on_progress,
        Origin(system.name, level, variant, mode, dict(setup), VERSION, command, system.place), system.names,
    )  # fmt: skip
    if not fragile:
        return trajectory
    outcome = trajectory.outcome
    return replace(trajectory, outcome=replace(outcome, remarks=(*outcome.remarks, fragile)))


def _trained(system: System, setup: Setup, variant, mode, at, observe, start, command: str) -> Trajectory:
    """Level L0 is gradient descent until everything asked for is reached, or to t_max; unasked, the usual steps."""
    from flowsys.runs.training import train

    steps = max(1, int(np.ceil(setup["t_max"] / setup["learning_rate"]))) if at is not None else None
    trained = train(
        system, setup, variant=variant, mode=mode, at=at, observe=observe, steps=steps, records=1,
        stop_when_done=at is not None, start=start, command=command,
    )  # fmt: skip
    return trained if at is None else trained.asked_for()


def _integrate(
    problem: Problem,
    requests,
    events,
    times,
    observe,
    tolerances,
    solver,
    kink_width,
    on_progress,
    origin: Origin,
    named: Names,
) -> Trajectory:
    with double_precision(problem):
        run = integrate(problem, times, events, Tolerances(*tolerances), solver, kink_width, on_progress)
        outcome = run.outcome
        states = np.array([r.y for r in run.records]).reshape(len(run.records), len(problem.initial))
        series = observe_states(problem, run.records, observe)
        drift = conserved_drift(problem, states)
    marks = {float(s): name for name, s in problem.marks.items() if name in events}
    labels = tuple(r.label or marks.get(r.t, "") for r in run.records)
    statistics: dict[str, Any] = {
        "steps": run.statistics.steps,
        "rejected": run.statistics.rejected,
        "kinks": run.statistics.kinks,
        "slides": run.statistics.slides,
        "implicit": run.statistics.implicit,
        "switch_times": run.statistics.switch_times,
        "solvers": run.statistics.solvers,
        "rtol": tolerances[0],
        "atol": tolerances[1],
    }
    if drift is not None:
        statistics["conserved_drift"] = drift
    return Trajectory(
        t=np.array([r.t for r in run.records]),
        series=series,
        labels=labels,
        states=states,
        state_names=problem.field.names,
        outcome=outcome,
        origin=origin,
        statistics=statistics,
        requested=requests,
        meanings=named.meanings(series),
        symbols=named.symbols({*series, *filter(None, labels), *origin.parameters}, origin.mode),
        layout=problem.layout,
    )


def double_precision(problem: Problem):
    """The precision scope of a field in JAX; a derived program runs natively and does not import jax for it."""
    if isinstance(problem.field, ProgramField) and "jax" not in sys.modules:
        return nullcontext()
    import jax

    return jax.enable_x64(True)


def conserved_drift(problem: Problem, states: np.ndarray) -> float | None:
    """The largest change of any conserved quantity over the recorded states."""
    if problem.conserved is None or not len(states):
        return None
    quantities = problem.conserved(np.vstack([problem.initial, states]))
    return float(np.abs(quantities - quantities[0]).max())


def observe_states(problem: Problem, records, observe: Sequence[str]) -> dict[str, np.ndarray]:
    """The named observables at every recorded state."""
    direct = tuple(n for n in observe if n in problem.field.observables)
    values = np.empty((len(records), len(direct)))
    if direct:
        evaluate = _observer(problem, direct)
        for row, record in enumerate(records):
            values[row] = np.asarray(evaluate(record.y, problem.stages[record.stage].arguments))
    series = {name: values[:, i] for i, name in enumerate(direct)}
    for name in observe:
        if name in problem.derived:
            series[name] = np.array([float(problem.derived[name](r.y)) for r in records])
    return {name: series[name] for name in observe}


def _observer(problem: Problem, names: tuple[str, ...]):
    """The named observables of a state: on NumPy for programs, compiled for functions."""
    from flowsys.integrate.lsoda import numpy_observer

    return numpy_observer(problem.field, names)


def plain_requests(at: Request | Iterable[Request]) -> tuple[Request, ...]:
    """Names and times as Python's own, whatever array they came in; one may come alone."""
    at = (at,) if isinstance(at, str | float | int) else at
    return tuple(str(request) if isinstance(request, str) else float(request) for request in at)


def _sorted_requests(system: System, problem: Problem, requests: Sequence[Request]) -> tuple[list[str], list[float]]:
    events, times = [], []
    for request in requests:
        if isinstance(request, str):
            if request not in problem.event_names:
                known = ", ".join(problem.event_names) or "none"
                raise InputError(
                    f"at = {request} is not an event of {system.name} here; there are {known}, or t=NUMBER."
                    + did_you_mean(request, problem.event_names)
                )
            events.append(request)
        else:
            if not (np.isfinite(request) and problem.start <= request <= problem.t_max):
                raise InputError(
                    f"at: t = {request:g} is not allowed: it must lie between {problem.start:g}, where the run starts, "
                    f"and t_max = {problem.t_max:g}."
                )
            times.append(float(request))
    if not requests:
        raise InputError("at is empty: name an event or a time (t=NUMBER) to look at.")
    return events, times


def _check_observables(system: System, problem: Problem, names: Sequence[str], where: str) -> None:
    for name in names:
        if name in problem.derived or name in problem.field.observables:
            continue
        if name not in system.observables:
            hint = did_you_mean(name, problem.observable_names)
            raise InputError(
                f"observe = {name} is not an observable of {system.name}; `flowsys show` lists them.{hint}"
            )
        there = ", ".join(problem.observable_names[:12]) + (", …" if len(problem.observable_names) > 12 else "")
        raise InputError(f"observe = {name} is not an observable of {system.name} at {where}; there are {there}.")


def check_numbers(rtol: float, atol: float | None, solver: str, max_steps: int, kink_width: float | None) -> None:
    """Refuse tolerances, solvers, budgets and widths that mean nothing."""
    if not 1e-14 <= rtol <= 1e-1:
        raise InputError(f"rtol = {rtol:g} is not allowed: it must lie between 1e-14 and 0.1.")
    if atol is not None and not (np.isfinite(atol) and atol > 0):
        raise InputError(f"atol = {atol:g} is not allowed: it must be a positive number.")
    if solver not in SOLVERS:
        raise InputError(f"solver = {solver} is not known: it must be one of {', '.join(SOLVERS)}.")
    if max_steps < 1:
        raise InputError(f"max_steps = {max_steps} is not allowed: it must be at least 1.")
    if kink_width is not None and not (np.isfinite(kink_width) and kink_width > 0):
        raise InputError(f"kink_width = {kink_width:g} is not allowed: it must be a positive number.")
