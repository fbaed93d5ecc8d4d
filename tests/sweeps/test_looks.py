"""Looks cost nothing and change nothing: points that differ only in when they are looked at are one run."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sweeps import sweep

import flowsys
from flowsys.kernels import Batch, Code, integrate, kernel, stages_of
from flowsys.sweeps import together
from flowsys.sweeps.points import evaluate_chunk
from flowsys.sweeps.shared import shared_runs
from flowsys.systems import load

LOOKS = [
    ("mixture", "three_stage", [3.0, 20.0, 21.5, 40.0, 170.0]),
    ("mixture", "simultaneous", [1.0, 33.0, 100.0, 100.5]),
    ("cooccurrence", "limit", [0.3, 2.0, 500.0]),
    ("lego", "stage_1", [10.0, 1e3, 1e8]),
    ("lego", "stage_2", [0.1, 7.0, 1e4, 1e7, 1e10]),
    ("parity", "position", [1.0, 30.0]),
    ("prompt", "population", [1.0, 50.0, 1e5]),
]


@pytest.mark.parametrize(("name", "mode", "times"), LOOKS)
def test_a_state_does_not_depend_on_the_other_times_looked_at(name, mode, times):
    system = load(name)
    setup = system.setup(mode, t_max=1e12)
    states = lambda at: flowsys.solve(system, setup, mode=mode, at=at, observe=[]).states
    together = states(times)
    assert len(together) == len(times)
    for t, state in zip(times, together):
        assert states([t])[-1].tobytes() == state.tobytes()
    assert states([times[0], times[-1]])[-1].tobytes() == together[-1].tobytes()


def test_looks_do_not_move_the_events_after_them():
    system = load("mixture")
    t = lambda at: flowsys.solve(system, at=at, observe=[]).t[-1]
    assert t([1.0, 2.0, 30.0, "T_2", "T_3"]) == t(["T_2", "T_3"])


@pytest.mark.parametrize(
    ("name", "mode", "events", "time"),
    [
        ("mixture", "simultaneous", ["T_0.5", "T_2", "T_3"], 2e3),
        ("cooccurrence", "limit", ["T_0.5", "T_1", "T_star"], 1e4),
        ("lego", "stage_2", ["stage_2_1", "stage_2_2", "loss_threshold"], 1e10),
        ("prompt", "population", ["T_1", "T_2", "T_3"], 1e6),
    ],
)
def test_events_asked_for_change_nothing_and_do_not_depend_on_each_other(name, mode, events, time):
    system = load(name)
    setup = system.setup(mode, t_max=1e12)
    rows = lambda at: flowsys.solve(system, setup, mode=mode, at=at, observe=[])
    alone = rows([time]).states[-1]
    together = rows([*events, time])
    assert len(together.t) == len(events) + 1 and together.t[-1] == time
    assert together.states[-1].tobytes() == alone.tobytes()
    for event in events:
        by_itself = rows([event])
        k = together.labels.index(event)
        assert by_itself.t[0] == together.t[k]
        assert by_itself.states[0].tobytes() == together.states[k].tobytes()


@pytest.fixture
def ran(monkeypatch):
    """How many trajectories each native batch had."""
    found = []
    counted = lambda kernel, batch, threads: found.append(len(batch.initial)) or integrate(kernel, batch, threads)
    monkeypatch.setattr(together, "integrate", counted)
    return found


def by_themselves(of):
    """A sweep's values and outcomes, one point a batch."""
    single = replace(of, chunk_size=1)
    alone = [evaluate_chunk(single, number) for number in range(single.n_chunks)]
    return np.concatenate([chunk.values for chunk in alone], axis=1), np.concatenate([c.outcomes for c in alone])


def test_points_that_differ_in_their_look_are_one_run(ran):
    of = sweep("t_look=0.1:1e9:9:log", "C_B=2,3", observables=["gap_22@look", "eps_22@look"], system="lego", fixed={})
    whole = evaluate_chunk(of, 0, threads=2)
    assert ran == [2] and np.isfinite(whole.values).all()
    values, outcomes = by_themselves(of)
    assert values.tobytes() == whole.values.tobytes() and outcomes.tobytes() == whole.outcomes.tobytes()


# axes of thresholds that end nothing (with another one that makes different runs), and what is asked for at them
THRESHOLDS = [
    ("mixture", "simultaneous", ("epsilon=0.002:0.3:6:log", "b=0.4,0.7"), ("T_3", "w_c@T_3", "T_3-T_2"), 2),
    ("mixture", "three_stage", ("epsilon=0.005:0.05:4:log",), ("w_c@t=300", "T_3"), 1),
    ("cooccurrence", "limit", ("epsilon=1e-4:0.3:5:log", "theta=0.1,1,10"), ("T_star", "R@T_star", "T_theta"), 1),
    ("lego", "stage_2", ("alpha_1=0.1:3:4", "eps_target=1e-3:0.3:5:log"), ("stage_2_1", "alpha@eps_reached"), 1),
    ("lego", "stage_1", ("miss_target=1e-3:0.1:4:log", "V_0=1e-3,5e-3"), ("phase_2_2", "V_psi@phase_2_2"), 2),
    ("parity", "block", ("margin_threshold=0.003:2:7:log", "m=100,400"), ("s_x0@margin_1", "margin_1"), 2),
    ("prompt", "population", ("p_2=0.1:0.9:5", "epsilon=1e-4:0.3:4:log"), ("T_3", "T_2", "a@T_2", "loss@t=100"), 1),
]


@pytest.mark.parametrize(("name", "mode", "axes", "observables", "runs"), THRESHOLDS)
def test_points_that_differ_in_thresholds_that_end_nothing_are_one_run(ran, name, mode, axes, observables, runs):
    of = sweep(*axes, observables=observables, system=name, mode=mode, fixed={})
    whole = evaluate_chunk(of, 0, threads=2)
    assert ran == [runs] and np.isfinite(whole.values).any(axis=1).all()
    values, outcomes = by_themselves(of)
    assert values.tobytes() == whole.values.tobytes() and outcomes.tobytes() == whole.outcomes.tobytes()


def test_a_threshold_that_ends_a_stage_makes_a_run_of_its_own(ran):
    evaluate_chunk(sweep("s_star=0.5,1,2", "epsilon=0.01,0.02", observables=["T_3"], fixed={}), 0)
    assert ran == [3]


def test_points_of_the_same_run_go_to_several_where_they_are_far_more_than_others(ran):
    # as where a boundary is refined: many points over one parameter, few over another
    of = sweep("epsilon=0.002:0.3:12:log", "b=0.4,0.5,0.6,0.7", observables=["T_3"], mode="simultaneous", fixed={})
    of = replace(of, selected=(*range(0, 48, 4), 1, 6, 11), chunk_size=15)
    whole = evaluate_chunk(of, 0)
    assert ran == [5] and np.isfinite(whole.values).all()
    assert whole.values.tobytes() == by_themselves(of)[0].tobytes()


def test_a_look_beyond_the_horizon_fails_its_own_point_only():
    of = sweep("t_look=10,1e4", observables=["gap_22@look"], system="lego", fixed={"t_max": 100})
    chunk = evaluate_chunk(of, 0)
    assert np.isfinite(chunk.values[0]).tolist() == [True, False]
    assert chunk.outcomes.tolist() == [0, 3]


def test_a_trajectory_ends_with_its_last_look_also_where_a_side_step_to_it_fails():
    # just before rounding drowns the flow, some shorter steps than those taken do not converge
    lego = load("lego")
    setup = lego.setup("stage_2", group="S4", C_B=4.0, trained_steps="second", t_max=1e30)
    problem = lego.build(setup, "L3", lego.variant("L3", None), "stage_2")
    stages = stages_of(problem)
    run = lambda times: integrate(
        kernel(problem.field.program, (), "exact", stages),
        Batch(np.tile(problem.initial, (len(times), 1)), stages, times=times[:, None], t_max=1e30,
              atol=1e-12 * problem.scale),
    )  # fmt: skip
    drowned = run(np.array([1e30]))
    assert drowned.outcome[0] == Code.DROWNED and drowned.final_t[0] > 1e20
    looks = np.geomspace(1e-3 * drowned.final_t[0], drowned.final_t[0], 200)
    result = run(looks)
    assert (result.outcome == Code.COMPLETED).all()
    assert result.final_t.tobytes() == looks.tobytes()
    assert result.final_state.tobytes() == result.time_states[:, 0].tobytes()
    # the flow is slow there: what a step's polynomial shows lies between its neighbours
    assert np.abs(np.diff(result.time_states[:, 0], n=2, axis=0)).max() < 1e-4


def runs_are_right(numbers: np.ndarray) -> None:
    runs = shared_runs([numbers], len(numbers))
    assert (numbers[runs.first[runs.of]] == numbers).all() and (runs.of[runs.first] == np.arange(len(runs.first))).all()
    distinct = len(np.unique(numbers, axis=0))
    assert np.bincount(runs.of).max() <= 2 * -(-len(numbers) // distinct)


def test_points_of_one_run_have_the_same_numbers_and_none_serves_many_more_than_others():
    rng = np.random.default_rng(0)
    for columns in (1, 2, 5):
        runs_are_right(rng.integers(0, 3, (40, columns)).astype(float))
        runs_are_right(np.where(rng.random((40, columns)) < 0.9, 1.0, 2.0))


def test_points_that_a_mixing_of_their_numbers_confuses_are_told_apart(monkeypatch):
    alike = SimpleNamespace(integers=lambda low, high, n, dtype: np.ones(n, dtype))
    monkeypatch.setattr(np.random, "default_rng", lambda seed: alike)
    runs_are_right(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [3.0, 3.0]]))
