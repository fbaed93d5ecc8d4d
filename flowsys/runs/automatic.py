"""Which solver runs a problem: the native one where it can, the reference ones where asked, a stiff one where needed.

auto       the default: native for derived programs, dopri8 for other fields, with hand-overs that the remarks name
native     DOP853 on compiled code, for derived programs; stops where auto would hand over
dopri8, tsit5, kvaerno5    diffrax, for any field: the reference
lsoda      SciPy, for stiff flows without frozen gates

A flow that turns out stiff is handed over to lsoda, a program's kinks then smoothed over 1e-5; a field of functions
with kinks keeps them, on kvaerno5. A flow slides on as many switching surfaces as it meets; where that cannot be
followed (gates that multiply gates, a surface that repels on both sides) it goes on with kinks smoothed over 1e-5:
native again for programs, lsoda in the reference solvers, which do so whether chosen by auto or by name.
"""

from collections.abc import Sequence
from dataclasses import replace

from flowsys.errors import InputError
from flowsys.integrate.outcome import Outcome
from flowsys.integrate.record import Finished, Statistics, Tolerances
from flowsys.system.problem import Problem, ProgramField

SOLVERS = {
    "auto": "native for derived programs, dopri8 otherwise; hands over to a stiff solver where needed",
    "native": "explicit, order 8, compiled from the program",
    "dopri8": "explicit, order 8 (diffrax): the reference",
    "tsit5": "explicit, order 5 (diffrax)",
    "kvaerno5": "implicit, order 5 (diffrax), for stiff flows",
    "lsoda": "Adams/BDF (SciPy), for stiff flows without kinks",
}
# explicit steps on one stretch after which a flow that has no stiffness test of its own counts as stiff
PATIENCE = 20_000
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
    """Run a problem to everything asked for, with hand-overs where `solver` is auto."""
    is_program = isinstance(problem.field, ProgramField)
    if solver == "native" and not is_program:
        raise InputError("solver = native is not allowed here: it integrates derived programs; use auto or dopri8.")
    if solver == "lsoda" and problem.field.has_kinks and kink_width is None:
        raise InputError("solver = lsoda is not allowed on kinks: give kink_width, or use auto or kvaerno5.")
    if solver in ("auto", "native") and is_program:
        return _native(problem, times, events, tolerances, kink_width, may_hand_over=solver == "auto")
    patience = PATIENCE if solver == "auto" else None
    chosen = "dopri8" if solver == "auto" else solver
    return _reference(problem, times, events, tolerances, chosen, kink_width, on_progress, patience)


def _reference(problem, times, events, tolerances, solver, kink_width, on_progress=None, patience=None) -> Finished:
    import jax

    from flowsys.integrate.driver import Run

    with jax.enable_x64(True):
        run = Run(problem, tolerances, solver, times, events, kink_width, on_progress, patience)
        outcome = run.run()
    return Finished(run.records, outcome, run.statistics)


def _native(problem, times, events, tolerances: Tolerances, kink_width, may_hand_over: bool) -> Finished:
    from flowsys.kernels import Code, run_problem

    run = run_problem(problem, times, events, tolerances.rtol, tolerances.atol, tolerances.max_steps, kink_width)
    done = Finished(run.records, run.outcome, run.statistics)
    if run.handover is None or not may_hand_over:
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
    if run.handover.reason == Code.CANNOT_SLIDE:
        remark = (
            f"smoothed the kinks over {FALLBACK_WIDTH:g} from t = {left.start:.8g} on: "
            "gates multiply gates, or a switching surface repels on both sides"
        )
        rest = _native(left, later, pending, tolerances, FALLBACK_WIDTH, may_hand_over)
    else:
        remark = f"handed over to lsoda at t = {left.start:.8g}: the flow is stiff from there on"
        if problem.field.has_kinks and kink_width is None:
            kink_width = FALLBACK_WIDTH
            remark = f"smoothed the kinks over {FALLBACK_WIDTH:g} and {remark}"
        rest = _reference(left, later, pending, tolerances, "lsoda", kink_width)
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
        switch_times=[*a.switch_times, *b.switch_times],
        solvers=[*a.solvers, *b.solvers],
    )
    return Finished(records, Outcome(rest.outcome.ending, rest.outcome.sentence, remarks), statistics)
