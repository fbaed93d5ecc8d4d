"""Stages that hold their velocity are walked without a solver."""

import numpy as np

from flowsys.integrate.straight import is_straight, walk
from flowsys.runs.solving import solve
from flowsys.systems import load

PARITY = load("parity")
GIVEN = {"n": 9, "k": 3, "m": 16.0, "eta_0": 3.0, "eta_1": 4.0, "eta_2": 5.0}


def three_steps(at, **changes):
    return solve(PARITY, PARITY.setup(**GIVEN), mode="three_step", at=at, **changes)


def test_between_steps_the_state_moves_on_a_straight_line():
    found = three_steps([5.0, "step_1", "step_2"])
    first, between, second = (found.states[list(found.t).index(t)] for t in (3.0, 5.0, 7.0))
    assert np.allclose(between, (first + second) / 2, rtol=1e-14) and found.statistics["solvers"] == ["straight"]


def test_a_step_is_the_rate_times_the_field_at_its_start():
    problem = PARITY.problem(PARITY.setup(**GIVEN), "L3", "limit", "three_step")
    assert is_straight(problem) and not is_straight(PARITY.problem(PARITY.setup(**GIVEN), "L3", "limit", "position"))
    records = walk(problem, [], ["step_1", "step_2", "step_3"]).records
    assert [(record.t, record.stage) for record in records] == [(3.0, 0), (7.0, 1), (12.0, 2)]
    moved = records[1].y - records[0].y
    assert np.allclose(moved, 4.0 * problem.stages[1].arguments.velocity, rtol=1e-13) and np.abs(moved).max() > 0


def test_a_time_after_the_last_step_is_not_reached():
    problem = PARITY.problem(PARITY.setup(**GIVEN), "L3", "limit", "three_step")
    found = walk(problem, [1.0, 12.5], [])
    assert len(found.records) == 1 and not found.outcome.is_complete and "beyond t_max = 12" in found.outcome.sentence
