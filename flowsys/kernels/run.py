"""run_problem: one `Problem` on the native back-end, with the records and outcome of the reference driver."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flowsys.integrate.outcome import Ending, Outcome
from flowsys.integrate.record import Record, Statistics
from flowsys.integrate.stretches import Stretch, slide_remarks
from flowsys.kernels.batch import Batch, BatchResult, StageBatch
from flowsys.kernels.built_in import SMALL
from flowsys.kernels.integrate import integrate
from flowsys.kernels.kernel import kernel
from flowsys.kernels.outcomes import Code
from flowsys.system.problem import Problem, ProgramField

_LOG = 10_001
_SWITCH, _SLIDE_ENDS, _IMPLICIT_BEGINS, _IMPLICIT_ENDS = 0, -1, -2, -3
# the solvers' names of the two methods
_EXPLICIT, _IMPLICIT = "native", "radau"
_CURES = {
    Code.STEP_BUDGET: "the budget of {max_steps} steps is used up; raise max_steps, or use auto.",
    Code.STEP_TOO_SMALL: "the step size underflowed; loosen rtol, or use auto.",
    Code.NOT_FINITE: "the state stopped being finite.",
    Code.CANNOT_SLIDE: "it cannot slide on these switching surfaces at once; smooth the kinks from here on.",
    Code.DROWNED: "rounding errors of the state drown the flow: only a looser rtol gets further.",
    Code.INTERRUPTED: "it was interrupted.",
}
_ENDINGS = {
    Code.STEP_BUDGET: Ending.STEP_BUDGET,
    Code.STEP_TOO_SMALL: Ending.STEP_TOO_SMALL,
    Code.NOT_FINITE: Ending.NOT_FINITE,
    Code.CANNOT_SLIDE: Ending.STEP_BUDGET,
    Code.DROWNED: Ending.STEP_TOO_SMALL,
    Code.INTERRUPTED: Ending.STEP_BUDGET,
}


@dataclass(frozen=True)
class Handover:
    """Where the native back-end stopped, for another solver to go on: it may not go on itself (`reason`)."""

    reason: Code
    t: float
    y: np.ndarray
    stage: int


@dataclass(frozen=True)
class NativeRun:
    """A finished run. With a `handover`, records and statistics reach up to it, and `outcome` says why."""

    records: list[Record]
    outcome: Outcome
    statistics: Statistics
    remarks: tuple[str, ...]
    handover: Handover | None


def stages_of(problem: Problem) -> list[StageBatch]:
    """A problem's stages as a batch has them."""
    names = [event.name for event in problem.events]
    return [
        StageBatch(
            parameters=np.asarray(stage.arguments.parameters),
            tables=stage.arguments.tables,
            links=stage.arguments.links,
            until=stage.until,
            ends_on=names.index(stage.ends_on) if stage.ends_on in names else None,
        )
        for stage in problem.stages
    ]


def run_problem(
    problem: Problem,
    times: Sequence[float] = (),
    events: Sequence[str] = (),
    rtol: float = 1e-8,
    atol: float | None = None,
    max_steps: int = 1_000_000,
    kink_width: float | None = None,
    method: str = "auto",
    most_written_out: int = SMALL,
) -> NativeRun:
    """Integrate a problem until all that was asked for is recorded, or nothing more can be.

    `events` may name marks, which are times. `kink_width` replaces every ReLU by a smoothed one, as in `solve`.
    `method` is that of a batch: explicit steps, implicit ones, or each where it pays; `most_written_out` is a kernel's.
    """
    field = problem.field
    if not isinstance(field, ProgramField):
        raise TypeError("the native back-end integrates derived programs (ProgramField); use another solver here.")
    smooths = kink_width is not None and field.has_kinks
    kinks = "smooth" if smooths else field.kinks
    stages = stages_of(problem)
    watched = tuple(event.observable for event in problem.events)
    asked = sorted({float(s) for s in times} | {float(problem.marks[e]) for e in events if e in problem.marks})
    compiled = kernel(field.program, watched, kinks, stages, most_written_out=most_written_out)
    width = kink_width if kink_width is not None else float(problem.stages[0].arguments.kink_width)
    batch = Batch(
        initial=problem.initial,
        stages=stages,
        thresholds=[event.threshold for event in problem.events],
        directions=[event.direction for event in problem.events],
        requested=[event.name in events for event in problem.events],
        times=asked,
        t_max=problem.t_max,
        start=problem.start,
        rtol=rtol,
        atol=atol if atol is not None else 1e-4 * rtol * problem.scale,
        kink_width=width,
        max_steps=max_steps,
        log_size=_LOG,
        method=method,
        alone=True,
    )
    result = integrate(compiled, batch)
    remarks = _remarks(result)
    return NativeRun(
        records=_records(problem, result, asked, events),
        outcome=_outcome(problem, result, asked, events, max_steps, remarks),
        statistics=_statistics(result),
        remarks=remarks,
        handover=_handover(result),
    )


def _records(problem: Problem, result: BatchResult, asked: Sequence[float], events: Sequence[str]) -> list[Record]:
    found = [
        Record(None, t, result.time_states[0, i], int(result.time_stages[0, i]))
        for i, t in enumerate(asked)
        if result.time_stages[0, i] >= 0
    ]
    for i, event in enumerate(problem.events):
        if result.reached[0, i] and event.name in events:
            t, stage = float(result.event_times[0, i]), int(result.event_stages[0, i])
            found.append(Record(event.name, t, result.event_states[0, i], stage))
    return sorted(found, key=lambda record: (record.t, record.stage))


def _outcome(
    problem: Problem, result: BatchResult, asked: Sequence[float], events: Sequence[str], max_steps: int, remarks: tuple
) -> Outcome:
    code, t = Code(result.outcome[0]), float(result.final_t[0])
    if code is Code.COMPLETED:
        return Outcome(Ending.COMPLETED, f"integrated to t = {t:.10g}", remarks)
    if code is Code.NOT_REACHED:
        missing = sorted(e.name for i, e in enumerate(problem.events) if e.name in events and not result.reached[0, i])
        sentence = f"{', '.join(missing)} not reached by t = {t:.6g}; raise t_max to integrate further."
        if not missing:
            late = next(s for i, s in enumerate(asked) if result.time_stages[0, i] < 0)
            sentence = f"t = {late:g} lies beyond t_max = {problem.t_max:g}."
        return Outcome(Ending.NOT_REACHED, sentence, remarks)
    where = f"at t = {t:.10g} in stage {problem.stages[int(result.final_stage[0])].name!r}"
    why = _CURES[code].format(max_steps=max_steps)
    return Outcome(_ENDINGS[code], f"the native solver gave up {where}: {why}", remarks)


def _log(result: BatchResult) -> list[tuple[int, float, int]]:
    entries = result.log[0, : result.log_counts[0]]
    return [(int(kind), float(t), int(gates)) for kind, t, gates in entries]


def _statistics(result: BatchResult) -> Statistics:
    count = lambda name: int(result.statistic(name)[0])
    implicit = count("implicit_steps")
    return Statistics(
        steps=count("steps"),
        rejected=count("rejected"),
        kinks=count("kinks"),
        slides=count("slides"),
        implicit=implicit,
        switch_times=[t for kind, t, _ in _log(result) if kind == _SWITCH],
        turns=[t for kind, t, _ in _log(result) if kind not in (_IMPLICIT_BEGINS, _IMPLICIT_ENDS)],
        slid=_slides(result),
        solvers=[*[_EXPLICIT] * (implicit < count("steps") or not implicit), *[_IMPLICIT] * (implicit > 0)],
    )


def _remarks(result: BatchResult) -> tuple[str, ...]:
    """The stretches on which the flow slid, and those of implicit steps."""
    return (*slide_remarks(_slides(result)), *_implicit_stretches(result))


def _implicit_stretches(result: BatchResult) -> tuple[str, ...]:
    begins = [(t, is_stiff) for kind, t, is_stiff in _log(result) if kind == _IMPLICIT_BEGINS]
    ends = [t for kind, t, _ in _log(result) if kind == _IMPLICIT_ENDS]
    if not begins:
        return ()
    (t, _), why = begins[0], "the flow is stiff" if any(is_stiff for _, is_stiff in begins) else "they are cheaper here"
    steps = f"{int(result.statistic('implicit_steps')[0])} implicit steps (Radau IIA of order 13)"
    if len(begins) > 1:
        return (f"{steps} on {len(begins)} stretches from t = {t:.8g} on: {why}",)
    return (f"{steps} from t = {t:.8g} {f'to {ends[0]:.8g}' if ends else 'on'}: {why}",)


def _slides(result: BatchResult) -> list[Stretch]:
    stretches: list[Stretch] = []
    sliding: tuple[float, int, int] | None = None
    for kind, t, gates in _log(result):
        if kind in (_SWITCH, _IMPLICIT_BEGINS, _IMPLICIT_ENDS):
            continue
        if sliding is not None:
            begin, *what = sliding
            stretches.append(Stretch(begin, t, *what))
        sliding = None if kind == _SLIDE_ENDS else (t, kind, gates)
    return stretches


def _handover(result: BatchResult) -> Handover | None:
    code = Code(result.outcome[0])
    if not code.is_handover:
        return None
    return Handover(code, float(result.final_t[0]), result.final_state[0], int(result.final_stage[0]))
