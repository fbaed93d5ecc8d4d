"""Which solver runs a problem: the native one where it can, the reference ones where asked, a stiff one where needed.

auto       the default: for derived programs native and radau, each where it pays; dopri8 for other fields
native     DOP853 on compiled code, for derived programs
radau      Radau IIA of order 13 on compiled code, for derived programs
dopri8, tsit5, kvaerno5    diffrax, for any field: the reference
bdf, lsoda                 SciPy, for stiff flows without frozen gates

auto judges stiffness step by step. On derived programs kinks stay exact. Other fields (weights at L1, inner products
at L2) are handed over after ten steps that stability limits, if that is less work (`integrate.handover`): to bdf, until
explicit steps are cheaper again, or, with kinks, to kvaerno5.
A flow slides on as many switching surfaces as it meets; where that cannot be followed (gates that multiply gates, a
surface that repels on both sides) it goes on with kinks smoothed over 1e-5: native again for programs, lsoda in the
reference solvers, which do so whether chosen by auto or by name.
Where no machine code can be made, auto is dopri8 for programs too, and says so.
"""

from collections.abc import Sequence
from dataclasses import replace

from flowsys.errors import InputError
from flowsys.integrate.outcome import Outcome
from flowsys.integrate.record import Finished, Statistics, Tolerances
from flowsys.integrate.straight import is_straight, walk
from flowsys.kernels.host import cannot_compile
from flowsys.system.problem import Problem, ProgramField

SOLVERS = {
    "auto": "native and radau for derived programs, dopri8 otherwise; hands over to a stiff solver where needed",
    "native": "explicit, order 8, compiled from the program",
    "radau": "implicit, order 13, compiled from the program, for stiff flows",
    "dopri8": "explicit, order 8 (diffrax): the reference",
    "tsit5": "explicit, order 5 (diffrax): compiles fastest",
    "kvaerno5": "implicit, order 5 (diffrax), for stiff flows",
    "bdf": "BDF (SciPy), for stiff flows without kinks and with many variables",
    "lsoda": "Adams/BDF (SciPy), for stiff flows without kinks",
}
# the method of a native batch under each solver's name
NATIVE = {"auto": "auto", "native": "explicit", "radau": "implicit"}
FALLBACK_WIDTH = 1e-5


def integrate(
    problem: Problem,
    times: Sequence[float],
    events: Sequence[str],
    tolerances: Tolerances,
    solver: str = "auto",
    kink_width: float | None = None,
    on_progress=None,
) -> Finished:
    """Run a problem to everything asked for, with hand-overs where `solver` is auto; gradient steps need no solver."""
    if is_straight(problem):
        return walk(problem, times, events)
    is_program = isinstance(problem.field, ProgramField)
    if solver in ("native", "radau") and not is_program:
        raise InputError(
            f"solver = {solver} is not allowed here: it integrates derived programs; use auto, dopri8 or kvaerno5."
        )
    if solver in ("bdf", "lsoda") and problem.field.has_kinks and kink_width is None:
        raise InputError(f"solver = {solver} is not allowed on kinks: give kink_width, or use auto or kvaerno5.")
    why_not = cannot_compile() if solver in NATIVE and is_program else ""
    if solver in NATIVE and is_program and not why_not:
        return _native(problem, times, events, tolerances, kink_width, solver)
    if why_not and solver != "auto":
        raise InputError(f"solver = {solver} is not allowed here: {why_not}; use auto, dopri8 or kvaerno5.")
    chosen = "dopri8" if solver == "auto" else solver
    run = _reference(problem, times, events, tolerances, chosen, kink_width, on_progress, solver == "auto")
    if why_not:
        remark = f"ran on the reference solver, which is many times slower: {why_not}"
        run = replace(run, outcome=replace(run.outcome, remarks=(*run.outcome.remarks, remark)))
    return run


def _reference(problem, times, events, tolerances, solver, kink_width, on_progress, may_hand_over: bool) -> Finished:
    import jax

    from flowsys.integrate.driver import Run

    with jax.enable_x64(True):
        run = Run(problem, tolerances, solver, times, events, kink_width, on_progress, may_hand_over)
        outcome = run.run()
    return Finished(run.records, outcome, run.statistics)


def _native(problem, times, events, tolerances: Tolerances, kink_width, solver: str) -> Finished:
    from flowsys.kernels import run_problem

    run = run_problem(
        problem, times, events, tolerances.rtol, tolerances.atol, tolerances.max_steps, kink_width, NATIVE[solver]
    )
    done = Finished(run.records, run.outcome, run.statistics)
    if run.handover is None or solver != "auto":
        return done
    reached = {record.label for record in run.records}
    left = replace(
        problem,
        initial=run.handover.y,
        start=run.handover.t,
        stages=problem.stages[run.handover.stage :],
        marks={name: t for name, t in problem.marks.items() if t > run.handover.t},
    )
    later = [t for t in times if t > run.handover.t]
    pending = [e for e in events if e not in reached and (e in left.marks or e not in problem.marks)]
    remark = (
        f"smoothed the kinks over {FALLBACK_WIDTH:g} from t = {left.start:.8g} on: "
        "gates multiply gates, or a switching surface repels on both sides"
    )
    rest = _native(left, later, pending, tolerances, FALLBACK_WIDTH, solver)
    return _joined(done, rest, run.handover.stage, remark)


def _joined(first: Finished, rest: Finished, stage: int, remark: str) -> Finished:
    """Two stretches of one run as one."""
    records = [*first.records, *(replace(r, stage=r.stage + stage) for r in rest.records)]
    remarks = (*first.outcome.remarks, remark, *rest.outcome.remarks)
    a, b = first.statistics, rest.statistics
    statistics = Statistics(
        steps=a.steps + b.steps,
        rejected=a.rejected + b.rejected,
        kinks=a.kinks + b.kinks,
        slides=a.slides + b.slides,
        implicit=a.implicit + b.implicit,
        switch_times=[*a.switch_times, *b.switch_times],
        turns=[*a.turns, *b.turns],
        slid=[*a.slid, *b.slid],
        solvers=list(dict.fromkeys((*a.solvers, *b.solvers))),
    )
    outcome = Outcome(rest.outcome.ending, rest.outcome.sentence, remarks)
    return Finished(records, outcome, statistics, smoothed=True)
