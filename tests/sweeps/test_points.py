"""A point's numbers are what `solve` gives, and depend on nothing but its parameters."""

from dataclasses import replace

import numpy as np
import pytest
from sweeps import sweep

import flowsys
from flowsys.errors import InputError
from flowsys.sweeps.points import evaluate_chunk, with_reasons
from flowsys.sweeps.setups import Points, points_at
from flowsys.systems import load, names


def test_a_point_is_what_solve_gives():
    of = sweep("b=0.3,1.5", "T_1=20,40")
    chunk, system = evaluate_chunk(of, 0), load("mixture")
    for index in range(of.size):
        trajectory = flowsys.solve(
            system, system.setup(**of.parameters(index)), at=["T_1", "T_2"], observe=["w_c"], max_steps=of.max_steps
        )
        t = dict(zip(trajectory.labels, trajectory.t))
        assert chunk.values[0, index] == pytest.approx(t["T_2"] - t["T_1"], rel=1e-12)
        assert chunk.values[1, index] == pytest.approx(trajectory["w_c"][0], rel=1e-10)


FORMS = [
    ("mixture", "simultaneous", "b=0.6,1.5", {}),
    ("cooccurrence", "dimensionless", "rho=0.4,0.8", {}),
    ("lego", "stage_1", "V_0=0.004,0.008", {}),
    ("lego", "algorithm_1", "C_B=2.9,3.1", {}),
    ("lego", "algorithm_2", "C_B=2.9,3.1", {"group": "S3", "L": 4, "n_samples": 64}),
    ("parity", "position", "m=300,500", {}),
    ("prompt", "planar", "alpha=0.3,0.5", {}),
]


@pytest.mark.parametrize(("name", "mode", "axis", "fixed"), FORMS, ids=[f"{form[0]}-{form[1]}" for form in FORMS])
def test_a_point_is_what_solve_gives_in_every_mode(name, mode, axis, fixed):
    system = load(name)
    event = system.problem(system.setup(mode, **fixed), mode=mode).default_at[0]
    of = sweep(axis, observables=[event], system=name, mode=mode, fixed=fixed)
    times = evaluate_chunk(of, 0).values[0]
    for index in range(of.size):
        setup = system.setup(mode, **of.parameters(index))
        alone = flowsys.solve(system, setup, mode=mode, at=[event], max_steps=of.max_steps, observe=[])
        assert times[index] == pytest.approx(alone.t[0], rel=1e-9)
    assert times[0] != times[1]


def test_numbers_do_not_depend_on_chunks_or_threads():
    whole, of = evaluate_chunk(sweep(), 0, threads=2), sweep(chunk_size=5)
    parts = [evaluate_chunk(of, number) for number in range(of.n_chunks)]
    assert len(parts) > 5
    assert np.concatenate([p.values for p in parts], axis=1).tobytes() == whole.values.tobytes()
    assert np.concatenate([p.outcomes for p in parts]).tobytes() == whole.outcomes.tobytes()


@pytest.mark.parametrize("name", names())
def test_setups_of_points_are_the_system_s_own(name):
    system = load(name)
    numbers = [p for p in system.parameters if not p.choices and not p.integer and not callable(p.default)]
    axis = next(p for p in numbers if np.isfinite(p.default) and p.default > 0 and p.levels[-1] == "L4")
    problem = system.problem(system.setup())
    of = sweep(f"{axis.name}={axis.default},{axis.default * 1.01}", observables=[f"{problem.observable_names[0]}@t=1"],
               system=name, fixed={})  # fmt: skip
    points = points_at(of, np.arange(of.size))
    assert points.valid.all()
    for index in range(of.size):
        assert points.setup(index) == system.setup(**of.parameters(index))


def test_a_default_follows_the_axis_it_depends_on():
    of = sweep("K=2,3,5", observables=["T_1"], fixed={})
    points = points_at(of, np.arange(3))
    assert [points.setup(place)["T_1"] for place in range(3)] == [20.0, 30.0, 50.0]


@pytest.mark.parametrize(
    ("name", "mode", "axes", "form"),
    [
        ("parity", "position", ("n=4,6,9", "k=2,5,8", "m=50,300"), {}),  # k < n; t_max follows from n and m
        ("cooccurrence", "limit", ("share_1=0.2,0.3,0.6", "share_2=0.3,0.2", "L=5,9"), {"variant": "without_swap"}),
        ("lego", "stage_2", ("C_B=60,2", "d=1e6,100"), {}),  # exponentials that overflow
    ],
)
def test_points_are_the_system_s_own_setups_or_refused_by_it(name, mode, axes, form):
    system = load(name)
    of = sweep(*axes, observables=[f"{system.problem(system.setup(mode), mode=mode).observable_names[0]}@t=1"],
               system=name, mode=mode, fixed={}, **form)  # fmt: skip
    points, refused = points_at(of, np.arange(of.size)[::-1]), 0
    for place, index in enumerate(range(of.size)[::-1]):
        try:
            setup = system.setup(mode, **of.parameters(index))
        except InputError:
            refused += 1
            assert not points.valid[place]
        else:
            assert points.valid[place] and points.setup(place) == setup
    assert 0 < refused < of.size


def test_points_that_differ_in_columns_are_no_setups_of_their_own(monkeypatch):
    made, plain = [], Points.setup
    monkeypatch.setattr(Points, "setup", lambda points, place: made.append(place) or plain(points, place))
    of = sweep("b=0.1:2:20", "T_1=5:50:10:log", "K=2,3")
    assert evaluate_chunk(of, 0).values.shape == (2, 400)
    assert len(made) <= 6


def test_seeds_of_points_follow_the_first_and_each_draws_its_own():
    of = sweep("width=20,40", "b=0.3,0.9", level="L2", seeds=3, observables=["mean(loss@t=1)"], fixed={"seed": 5})
    points = points_at(of, np.arange(4)).with_seeds(3)
    assert [points.setup(place)["seed"] for place in range(12)] == [5, 6, 7] * 4
    assert [points.setup(place)["width"] for place in range(0, 12, 3)] == [20, 20, 40, 40]
    fresh = replace(of, fresh_seeds=True)
    own = [fresh.parameters(index)["seed"] for index in range(4)]
    points = points_at(fresh, np.arange(4)).with_seeds(3)
    assert [points.setup(place)["seed"] for place in range(12)] == [seed + k for seed in own for k in range(3)]


def test_no_nan_without_a_reason():
    values, outcomes = with_reasons(np.array([[1.0, np.nan, np.inf, 4.0]]), np.array([0, 0, 1, 3]))
    assert outcomes.tolist() == [0, 8, 8, 3]
    assert (np.isfinite(values[0]) == [True, False, False, False]).all()
