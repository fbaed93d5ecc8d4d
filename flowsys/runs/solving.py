"""solve: a system, a setup, what to look at -> a Trajectory.

All dynamics run in float64 inside a precision scope of their own; the importing program's JAX settings are untouched.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from flowsys.errors import InputError, did_you_mean
from flowsys.integrate.record import Finished, Tolerances
from flowsys.integrate.straight import is_straight
from flowsys.program.arrays import observed_rows
from flowsys.runs.automatic import SOLVERS, integrate
from flowsys.runs.horizon import POINTS, Horizon, check_points
from flowsys.runs.requests import Request, plain_requests
from flowsys.runs.trajectory import Origin, Trajectory
from flowsys.system import Setup, System, asked
from flowsys.system.names import Names
from flowsys.system.problem import Problem, ProgramField
from flowsys.version import VERSION

MOST_STEPS = 2**53  # counted exactly in float64


def solve(
    system: System | str,
    setup: Setup | None = None,
    *,
    level: str | None = None,
    variant: str | None = None,
    mode: str | None = None,
    at: Sequence[Request] | np.ndarray | None = None,
    until: float | None = None,
    points: int | None = None,
    observe: Sequence[str] | None = None,
    rtol: float = 1e-8,
    atol: float | None = None,
    solver: str = "auto",
    max_steps: int = 1_000_000,
    kink_width: float | None = None,
    start: Mapping[str, Any] | None = None,
    derivatives: Sequence[str] = (),
    command: str = "",
    on_progress=None,
    **parameters: Any,
) -> Trajectory:
    """Integrate a system's reduced (or finite-width) gradient flow and record it where asked.

    system      a name (`flowsys.names()`), a loaded system or an `fs.Model`; parameters are keywords, or a `setup`
    level       L0 gradient descent, L1 flow of the weights, L2 flow of their inner products, L3 the limit of infinite
                width (the default), L4 the paper's own surrogate
    variant     a form within a level, mode a way of training (in stages, all at once); `flowsys show` lists them
    at          event names and times, by default the system's own events
    until       a horizon: `points` evenly spaced times up to it (200), and every event met on the way; `points` alone:
                up to the last of what is looked at
    observe     names of observables, by default all that are not dear
    solver      auto (native and stiff steps, each where it pays), native, radau, dopri8, tsit5, kvaerno5, bdf,
                lsoda
    rtol, atol  tolerances of a step; atol defaults to 1e-4 · rtol times the smallest initial scale of the system
    kink_width  δ replaces every ReLU by δ log(1 + e^(x/δ)); without it kinks are exact
    start       overrides some of the start (`flowsys.start`) by name
    derivatives in parameters, or in coordinates of the start (`start:w_c`): exact ones beside every observable,
                d_b(w_c), and d_b(t) of an event's time; single ones may be observed by that name

    The result is a `Trajectory`: `run["w_c"]` the series, `run.t` the times, `run.at("T_1")` a row, `run.events` the
    times of events, `run(t)` the observables at any time inside, `run.plot()` a picture.

    >>> import flowsys as fs
    >>> run = fs.solve("mixture", omega=0.2, until=100, points=200)
    >>> round(run.events["T_1"], 6), round(run.events["T_2"], 4)
    (20.0, 90.0971)
    >>> float(run(10.0)["w_c"]) == run.at(10.0)["values"]["w_c"]
    True
    """
    system, setup = asked(system, setup, mode, parameters)
    level = level or system.default_level
    if points is not None:
        check_points(points)
    if level == "L0":
        _refuse_derivatives(observe or (), derivatives, "level = L0 is descent, not a flow")
        return _trained(system, setup, variant, mode, at, until, points, observe, start, command)
    variant, mode, given = system.variant(level, variant), system.mode(mode), setup
    setup = system.settled(setup, level, variant, mode)
    problem = system.started(setup, level, variant, mode, start)
    observe = tuple(observe) if observe is not None else system.unasked(level, problem)
    names, observe = _with_derivatives(observe, derivatives, problem)
    if start is not None or kink_width is not None:
        what = "a start of one's own" if start is not None else "smoothed kinks"
        _refuse_derivatives(names, (), f"{what} cannot be varied")
    _check_observables(system, problem, observe, f"{level} ({variant}) in mode {mode}")
    check_numbers(rtol, atol, solver, max_steps, kink_width)
    is_usual = atol is None and solver == "auto"
    atol = atol if atol is not None else 1e-4 * rtol * problem.scale
    form = level, variant, mode
    flow = _varied_flow(system, given, form, problem, names) if len(names) > len(observe) else None
    origin = Origin(system.name, level, variant, mode, dict(setup), VERSION, command, system.place)

    def run(problem: Problem, requests: tuple[Request, ...], on_progress=None) -> Trajectory:
        events, times = _sorted_requests(system, problem, requests)
        found, ran = _integrate(
            problem, requests, events, times, observe, (rtol, atol, max_steps), solver, kink_width, on_progress, origin,
            system.names,
        )  # fmt: skip
        if flow is None:
            return found
        is_plain = is_usual and not ran.smoothed and not is_straight(problem)
        return _beside(found, flow, names, rtol, ran if is_plain else None)

    requests = plain_requests(at) if at is not None else None
    usual = plain_requests(problem.default_at) if requests is None else requests
    if points is not None and until is None:
        found = run(problem, usual)
        until = float(found.t[-1]) if len(found) else problem.t_max
    if until is None:
        trajectory = run(problem, usual, on_progress)
    else:
        horizon = Horizon(float(until), points or POINTS, requests)
        problem = horizon.cut(problem)
        trajectory = run(problem, horizon.requests(problem), on_progress)
        outcome = horizon.outcome(trajectory.outcome, trajectory.labels)
        trajectory = replace(trajectory, outcome=outcome)
    events = [request for request in trajectory.requested if isinstance(request, str)]  # steps end on them
    look = lambda times: run(problem, plain_requests([*events, *times]))
    if level == "L3" and start is None:
        trajectory = _with_fragility(trajectory, system, problem)
    return replace(trajectory, look=look)


def _with_fragility(run: Trajectory, system: System, problem: Problem) -> Trajectory:
    """A run of a limit says where the limit is known, or suspected, to be fragile."""
    from flowsys.runs import robust

    is_native = isinstance(problem.field, ProgramField) and not run.outcome.is_failure
    slid = lambda: (problem, float(run.t[-1])) if is_native and run.statistics["slides"] and len(run) else None
    fragile = robust.remark(system, run.origin.parameters, run.origin.mode, slid)
    if not fragile:
        return run
    return replace(run, outcome=replace(run.outcome, remarks=(*run.outcome.remarks, fragile)))


def _with_derivatives(observe, along: Sequence[str], problem: Problem) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """All names asked for, derivatives beside what they are of; and those of them that are observed."""
    if not along and not any(name.startswith("d_") for name in observe):
        return observe, observe
    from flowsys.derivatives.columns import TIME, Column, column

    plain = tuple(name for name in observe if column(name) is None)
    of = lambda name: [Column(p, name).name for p in along] if name in problem.field.observables else []
    beside = [*(Column(p, TIME).name for p in along), *(n for name in observe for n in (name, *of(name)))]
    return tuple(dict.fromkeys(beside)), plain


def _varied_flow(system: System, setup: Setup, form: tuple[str, str, str], problem: Problem, names: Sequence[str]):
    """The flow whose derivatives are asked for, once these are known to be such."""
    from flowsys.derivatives.columns import check, column
    from flowsys.runs.flow import flow_of

    flow = replace(flow_of(system, setup, *form), built=problem)
    check(flow, [found for name in names if (found := column(name))])
    return flow


def _beside(run: Trajectory, flow, names: Sequence[str], rtol: float, ran: Finished | None) -> Trajectory:
    """A run with the derivatives among these names."""
    from flowsys.derivatives.columns import column, with_columns

    return with_columns(run, flow, [found for name in names if (found := column(name))], names, rtol, ran)


def _refuse_derivatives(observe: Sequence[str], along: Sequence[str], why: str) -> None:
    from flowsys.derivatives.columns import column

    named = [*along, *(name for name in observe if column(name))]
    if named:
        raise InputError(f"derivative {named[0]} is not allowed here: {why}.")


def _trained(system, setup: Setup, variant, mode, at, until, points, observe, start, command: str) -> Trajectory:
    """Level L0 is gradient descent until everything asked for is reached, or to t_max; unasked, the usual steps."""
    from flowsys.runs.training import train

    is_course = until is not None or points is not None
    steps = max(1, int(np.ceil(setup["t_max"] / setup["learning_rate"]))) if at is not None and not is_course else None
    trained = train(
        system, setup, variant=variant, mode=mode, at=at, observe=observe, steps=steps, until=until,
        records=(points or POINTS) if is_course else 1, stop_when_done=steps is not None, start=start, command=command,
    )  # fmt: skip
    return trained if at is None or is_course else trained.asked_for()


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
) -> tuple[Trajectory, Finished]:
    """What was asked for of a run, and the run itself."""
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
    trajectory = Trajectory(
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
    return trajectory, run


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
    for stage in sorted({record.stage for record in records} if direct else ()):
        rows = [i for i, record in enumerate(records) if record.stage == stage]
        evaluate = _observer(problem, direct)
        values[rows] = evaluate(np.array([records[i].y for i in rows]), problem.stages[stage].arguments)
    series = {name: values[:, i] for i, name in enumerate(direct)}
    for name in observe:
        if name in problem.derived:
            series[name] = np.array([float(problem.derived[name](r.y)) for r in records])
    return {name: series[name] for name in observe}


def _observer(problem: Problem, names: tuple[str, ...]) -> Callable:
    """The named observables of states, a row each: all at once for programs, one by one for compiled functions."""
    field = problem.field
    if isinstance(field, ProgramField):
        return observed_rows(field.program, names, "exact" if field.kinks == "frozen" else field.kinks)
    from flowsys.integrate.multistep import numpy_observer

    evaluate = numpy_observer(field, names)
    return lambda states, arguments: np.array([evaluate(y, arguments) for y in states])


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


def check_numbers(
    rtol: float, atol: float | None = None, solver: str = "auto", max_steps: int = 1, kink_width: float | None = None
) -> None:
    """Refuse tolerances, solvers, budgets and widths that mean nothing."""
    if not 1e-14 <= rtol <= 1e-1:
        raise InputError(f"rtol = {rtol:g} is not allowed: it must lie between 1e-14 and 0.1.")
    if atol is not None and not (np.isfinite(atol) and atol > 0):
        raise InputError(f"atol = {atol:g} is not allowed: it must be a positive number.")
    if solver not in SOLVERS:
        raise InputError(f"solver = {solver} is not known: it must be one of {', '.join(SOLVERS)}.")
    if not 1 <= max_steps <= MOST_STEPS:
        raise InputError(f"max_steps = {max_steps} is not allowed: it must be at least 1 and at most {MOST_STEPS}.")
    if kink_width is not None and not (np.isfinite(kink_width) and kink_width > 0):
        raise InputError(f"kink_width = {kink_width:g} is not allowed: it must be a positive number.")
