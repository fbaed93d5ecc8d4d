"""The plain run beside which derivatives are carried: what it meets, and where it has none."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from flowsys.derivatives.turning import Turning
from flowsys.errors import InputError
from flowsys.integrate.record import Finished, Record
from flowsys.kernels import NativeRun, cannot_compile, run_problem
from flowsys.runs.flow import Flow


class NoDerivative(InputError):
    """What is asked for has no derivative at this point, or none that can be told; the message says why."""


@dataclass(frozen=True)
class Base:
    """A plain run of a flow: where it turned (`switches`: met a surface), and the records of what is asked for."""

    flow: Flow
    asked: tuple[str | float, ...]
    records: tuple[Record, ...]
    turns: tuple[float, ...]
    switches: frozenset[float]
    method: str
    rtol: float

    @cached_property
    def turning(self) -> Turning:
        """The flow's rates and switching functions."""
        return Turning(self.flow.problem)


def base_run(flow: Flow, asked: tuple[str | float, ...], rtol: float, ran: Finished | None = None) -> Base:
    """The flow itself, integrated natively to all that is asked for and to the events that end stages.

    `ran` is that run, if it was made already; it is made again where it does not have the ends of its stages.
    """
    if why_not := cannot_compile():
        raise InputError(f"derivatives along a flow run on compiled code, and {why_not}.")
    problem, (events, times) = flow.problem, parted(asked)
    run: Finished | NativeRun = ran or run_problem(problem, times, events, rtol)
    before = problem.stages[: max((r.stage for r in run.records), default=0)]
    if ends := {stage.ends_on for stage in before if stage.ends_on is not None} - {r.label for r in run.records}:
        run = run_problem(problem, times, [*events, *ends], rtol)
    if isinstance(run, NativeRun):
        refuse_handover(run)
    statistics = run.statistics
    method = "auto" if statistics.implicit else "explicit"
    turns, switches = tuple(sorted(set(statistics.turns))), frozenset(statistics.switch_times)
    return Base(flow, asked, tuple(run.records), turns, switches, method, rtol)


def parted(asked: Iterable[str | float]) -> tuple[list[str], list[float]]:
    """Events and times."""
    return [r for r in asked if isinstance(r, str)], [r for r in asked if not isinstance(r, str)]


def refuse_handover(run: NativeRun) -> None:
    """Where kinks are smoothed from some time on there is no derivative beyond it."""
    if run.handover is not None:
        raise NoDerivative(f"derivatives end at t = {run.handover.t:g}: {run.outcome.sentence}")
