"""What a stepper that gave up says."""

from flowsys.integrate.outcome import Ending, Outcome
from flowsys.integrate.stepper_values import Status

_FAILURES = {
    Status.TOO_MANY_STEPS: (
        Ending.STEP_BUDGET,
        "the budget of {max_steps} steps is used up; raise max_steps or use a stiff solver (kvaerno5).",
    ),
    Status.STEP_TOO_SMALL: (
        Ending.STEP_TOO_SMALL,
        "the step size underflowed; loosen rtol or use a stiff solver (kvaerno5).",
    ),
    Status.NOT_FINITE: (Ending.NOT_FINITE, "the state stopped being finite."),
}


def failure(status: int, solver: str, t: float, stage: str, max_steps: int) -> Outcome | None:
    """The outcome of a call that stopped for good; None if it may go on."""
    if status not in _FAILURES:
        return None
    ending, why = _FAILURES[Status(status)]
    where = f"at t = {t:.10g} in stage {stage!r}"
    return Outcome(ending, f"the solver {solver} gave up {where}: {why.format(max_steps=max_steps)}")
