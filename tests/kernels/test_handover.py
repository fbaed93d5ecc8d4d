"""A kinked flow that turns out stiff goes on with LSODA and smoothed kinks, and says so."""

from dataclasses import replace
from functools import partial

import pytest

import flowsys
from flowsys.kernels import Code, run_problem
from flowsys.kernels.run import Handover


def stiff_from_100_on(problem, times, events, *more):
    """The native back-end, as if it had found the flow stiff at t = 100."""
    run = run_problem(problem, [100.0], (), *more)
    [there] = run.records
    return replace(run, records=[], handover=Handover(Code.STIFF, there.t, there.y, there.stage))


def test_a_stiff_flow_with_kinks_goes_on_smoothed_and_says_so(monkeypatch):
    system = flowsys.load("mixture")
    run = partial(flowsys.solve, system, system.setup(), mode="simultaneous", at=[300.0], observe=["w_c", "S_cv_same"])
    exact = run()
    monkeypatch.setattr("flowsys.kernels.run_problem", stiff_from_100_on)
    handed_over = run()
    assert handed_over.outcome.is_complete
    assert handed_over.outcome.remarks[-1] == (
        "smoothed the kinks over 1e-05 and handed over to lsoda at t = 100: the flow is stiff from there on"
    )
    for name in ("w_c", "S_cv_same"):
        assert handed_over[name][-1] == pytest.approx(exact[name][-1], rel=1e-5)
        assert handed_over[name][-1] != exact[name][-1]
