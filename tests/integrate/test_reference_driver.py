"""The reference driver: looks that change nothing, and stiffness that is noticed early."""

import jax
import numpy as np
import pytest

from flowsys.integrate.driver import Run
from flowsys.integrate.handover import Impatience
from flowsys.integrate.multistep import METHODS, Multistep
from flowsys.integrate.outcome import Ending
from flowsys.integrate.record import Tolerances
from flowsys.integrate.stepper_values import Watch
from flowsys.program import Program
from flowsys.program.arrays import arguments
from flowsys.system.problem import Event, FunctionField, Problem, ProgramField, Stage

# x follows cos(z) with the rate asked for; the gate opens where cos(z) falls below 1/2
FOLLOWING = Program.parse(
    """
state x z
parameters rate
once:
    h = 1/2 - x
    gate = relu(h)
    dx = -rate*(x - cos(z)) + gate
    dz = 1 + 0*gate
derivative x = dx
derivative z = dz
observe x = x
observe z = z
"""
)


def problem(rate: float, t_max: float, kinks: str = "exact") -> Problem:
    stage = Stage("only", arguments(FOLLOWING, {"rate": rate}))
    events = (Event("T", "x", 0.25, -1),)
    return Problem(ProgramField(FOLLOWING, kinks), np.array([1.0, 0.0]), (stage,), events, t_max=t_max)


def run(rate, times, events=(), solver="dopri8", t_max=20.0, kinks="frozen", **options):
    with jax.enable_x64(True):
        made = Run(problem(rate, t_max, kinks), Tolerances(1e-8, 1e-12, 100_000), solver, times, events, **options)
        return made, made.run()


def test_looks_do_not_change_a_bit():
    few, _ = run(3.0, [15.0], ["T"])
    many, outcome = run(3.0, [*np.linspace(0.1, 12, 40), 15.0], ["T"])
    at = {record.t: record.y.tobytes() for record in many.records}
    assert outcome.ending is Ending.COMPLETED and len(few.records) == 2 and len(many.records) == 42
    assert all(at[record.t] == record.y.tobytes() for record in few.records)
    assert few.statistics == many.statistics
    unasked, _ = run(3.0, [15.0])
    assert unasked.records[-1].y.tobytes() == few.records[-1].y.tobytes()  # an event is a look, too
    alone, _ = run(3.0, [7.3])
    among, _ = run(3.0, [2.0, 7.3, 9.0])
    assert alone.records[0].y.tobytes() == among.records[1].y.tobytes() and alone.t == 7.3


def test_a_stiff_field_is_handed_over_after_tens_of_steps():
    patient, _ = run(1e4, [20.0], kinks="exact")
    early, outcome = run(1e4, [20.0], kinks="exact", may_hand_over=True)
    assert early.statistics.solvers == ["dopri8", "bdf"] and patient.statistics.steps > 10_000
    assert early.statistics.steps < 1_500 and any("handed over to bdf" in remark for remark in outcome.remarks)
    assert early.records[0].y == pytest.approx(patient.records[0].y, abs=1e-7)


def test_what_is_not_stiff_or_nearly_done_stays_explicit():
    assert run(3.0, [20.0], kinks="exact", may_hand_over=True)[0].statistics.solvers == ["dopri8"]
    assert run(1e4, [0.1], kinks="exact", may_hand_over=True)[0].statistics.solvers == ["dopri8"]


def test_work_is_weighed():
    usual = Impatience(True, 100)
    assert usual.is_open and usual.pays(2_000, False) and usual.pays(1e5, True) and not usual.pays(2_000, True)
    assert not Impatience(True, 5_000).is_open  # Jacobians of weights are out of reach
    asked = Impatience(True, 100, evidence=20)
    assert not asked.pays(100, False) and (asked.evidence, asked.limit) == (0, 80)


@pytest.mark.parametrize("method", METHODS)
def test_multistep_methods_take_the_exact_jacobian_of_a_field_in_jax(method):
    n = 100
    rates = np.geomspace(1.0, 1e5, n)
    field = FunctionField(tuple(map(str, range(n))), lambda y, c: -c * (y - 0.01 * y.mean()), lambda y, c: {}, ())
    watch = Watch(np.zeros(0), np.zeros(0), np.zeros(0))
    with jax.enable_x64(True):
        solver = Multistep(method, field, (), rates, Tolerances(1e-8, 1e-10, 10_000))
        reached = solver.advance(np.ones(n), 0.0, 1e-7, 10.0, watch, 10_000)
    assert reached.t == 10.0 and np.abs(reached.y).max() < 1e-3
    assert solver._solver.nfev < 4 * reached.accepted  # differences would take 100 more for every Jacobian


def test_flows_that_are_stiff_only_while_they_rest_are_taken_back():
    """Three neurons learned one after the other: each waits for 1/v_0, grows in no time and then rests, stiff."""
    field = FunctionField(("u", "v", "w"), lambda y, c: c * y**2 * (1 - y), lambda y, c: {}, ())
    start = np.array([1e-2, 2e-4, 1e-4])
    patient, turning = (
        Run(Problem(field, start, (Stage("only", np.float64(10.0)),), t_max=3e3), Tolerances(1e-8, 1e-14, 10**6),
            "dopri8", [3e3], may_hand_over=may)
        for may in (False, True)
    )  # fmt: skip
    with jax.enable_x64(True):
        assert patient.run().remarks == () and patient.statistics.solvers == ["dopri8"]
        [remark] = turning.run().remarks
    assert remark.startswith("handed over to bdf on 3 stretches") and turning.statistics.solvers == ["dopri8", "bdf"]
    assert turning.statistics.steps < 0.5 * patient.statistics.steps
    assert turning.records[0].y == pytest.approx(patient.records[0].y, rel=1e-6)
