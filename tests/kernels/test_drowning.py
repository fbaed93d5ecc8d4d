"""Flows that rounding errors drown are told so after few steps, and only they."""

import numpy as np
from toys import batch_of, kernel_of, program

from flowsys.kernels import Code, integrate

# x follows the difference of two numbers that grow together: their last digits are a noise of its slope
DIFFERENCE = program(
    """
    state a b x
    parameters rate
    once:
    dx = 3*a - b - x
    db = 3*rate
    derivative a = rate
    derivative b = db
    derivative x = dx
    observe x = x
    """
)
# a line of fixed points, on which only rounding moves the state: late 1/h is lost beside the Jacobian's last digits
LINE = program(
    """
    state a b
    parameters rate
    once:
    gap = exp((a + b)/2) + a + b - 3
    d = -rate*gap
    derivative a = d
    derivative b = d
    observe a = a
    """
)
BUDGET = 50_000


def run(size: float, **options):
    initial, options = [size, 3 * size - 0.001, 0.001], {"rtol": 1e-9, "atol": 1e-13} | options
    return integrate(kernel_of(DIFFERENCE), batch_of(initial, [1 / 3], max_steps=BUDGET, **options))


def test_explicit_steps_that_rounding_keeps_short_end_before_their_budget():
    for size in (1e7, 1e9):
        result = run(size, start=1e6, times=[1e7], t_max=1e7, method="explicit")
        assert Code(result.outcome[0]) is Code.DROWNED
        assert result.statistic("steps")[0] <= 1000


def test_a_flow_that_rounding_slows_down_goes_on_while_its_budget_may_suffice():
    result = run(1e7, times=[3.0], t_max=3.0, method="explicit")
    assert Code(result.outcome[0]) is Code.COMPLETED and result.statistic("steps")[0] > 3000


def test_a_flow_above_its_rounding_errors_is_not_called_drowned():
    result = run(1.0, start=1e6, times=[1e6 + 300], t_max=1e7, method="explicit")
    assert Code(result.outcome[0]) is Code.COMPLETED
    assert np.abs(result.time_states[0, 0, 2] - 0.001) < 1e-9


def test_a_flow_whose_budget_reaches_the_end_is_not_called_drowned():
    """The budget of a sweep is a small part of a single run's: both say of the same flow how it ends."""
    options = {"start": 1e6, "times": [2e6], "method": "explicit"}
    far, near = (run(1e7, t_max=t_max, **options) for t_max in (1e7, 1e6 + 0.5))
    assert Code(far.outcome[0]) is Code.DROWNED
    assert Code(near.outcome[0]) is Code.NOT_REACHED and near.statistic("steps")[0] > 1000


def test_a_flow_at_rest_longer_than_its_jacobian_has_digits_ends_before_its_budget():
    kernel, options = kernel_of(LINE), {"rtol": 1e-8, "atol": 1e-12, "max_steps": BUDGET}
    late, endless = (
        integrate(kernel, batch_of([0.3, -0.2], [1 / 3], times=[t], t_max=t, **options)) for t in (1e18, 1e38)
    )
    assert Code(late.outcome[0]) is Code.COMPLETED
    assert np.abs(late.time_states[0, 0] @ [1, -1] - 0.5) < 1e-8  # all fixed points are stable but along their line
    assert Code(endless.outcome[0]) is Code.DROWNED and endless.statistic("steps")[0] < 1_000
