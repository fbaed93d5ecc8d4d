"""Trajectories as values: rows by name, and files that carry everything."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowsys
from flowsys.errors import InputError
from flowsys.integrate.outcome import Ending, Outcome
from flowsys.runs.trajectory import Origin, Trajectory, load

ORIGIN = Origin("toy", "L3", "22", "only", {"K": 2, "omega": 0.1, "n_x": float("inf"), "group": "C5"}, "0.1", "cmd --x")
COURSE = Trajectory(
    t=np.array([0.0, 0.1 + 0.2, 5.0, 5.0]),
    series={"w_c": np.array([0.0, 1e-300, np.pi, np.pi]), "loss": np.array([np.inf, -0.0, np.nan, 1.0])},
    labels=("", "T_0.5", "", "T_1"),
    states=np.arange(8.0).reshape(4, 2),
    state_names=("w_c", "S_cv_mean"),
    outcome=Outcome(Ending.NOT_REACHED, "T_2 not reached", ("slid", "smoothed")),
    origin=ORIGIN,
    statistics={"steps": 12, "solvers": ["native"], "rtol": 1e-8},
    requested=("T_0.5", 5.0, "T_2"),
)


def same(a: Trajectory, b: Trajectory) -> bool:
    arrays = [(a.t, b.t), (a.states, b.states), *((a[n], b[n]) for n in a)]
    rest = "labels state_names outcome origin requested".split()
    return (
        list(a) == list(b)
        and all(np.array_equal(x, y, equal_nan=True) and x.dtype == y.dtype for x, y in arrays)
        and all(getattr(a, f) == getattr(b, f) for f in rest)
        and dict(a.statistics) == dict(b.statistics)
    )


def test_saving_and_loading_loses_nothing(tmp_path):
    assert same(load(COURSE.save(tmp_path / "run.nc")), COURSE)


def test_the_comparison_notices_one_bit():
    changed = COURSE.t.copy()
    changed[1] = np.nextafter(changed[1], 1)
    assert not same(replace(COURSE, t=changed), COURSE)


@settings(deadline=None, max_examples=15)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=4, max_size=4))
def test_any_floats_survive_a_file(tmp_path_factory, values):
    course = replace(COURSE, series={"w_c": np.array(values)})
    assert same(load(course.save(tmp_path_factory.mktemp("t") / "run.nc")), course)


def test_runs_of_many_seeds_survive_a_file(tmp_path):
    course = replace(COURSE, series={"w_c": np.arange(12.0).reshape(4, 3)}, states=np.empty((4, 0)), state_names=())
    assert same(load(course.save(tmp_path / "seeds.nc")), course)


def test_the_sign_of_zero_survives_a_file(tmp_path):
    assert np.signbit(load(COURSE.save(tmp_path / "run.nc"))["loss"][1])


def test_a_file_that_is_no_trajectory_is_refused(tmp_path):
    (tmp_path / "no.nc").write_text("nothing")
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path / "no.nc")


def test_a_row_is_found_by_event_or_by_time():
    assert COURSE.at("T_0.5")["t"] == 0.1 + 0.2 and COURSE.at(5.0)["values"]["w_c"] == np.pi


def test_a_row_is_named_by_its_time_in_full():
    later = replace(COURSE, requested=(1e9,))
    assert [later.at(t)["at"] for t in (5.0, 1e9, 0.1 + 0.2)] == ["t=5", "t=1e+09", "t=0.30000000000000004"]


@pytest.mark.parametrize("request_", ["T_3", 7.0])
def test_what_was_not_asked_for_is_not_said_to_be_unreached(request_):
    with pytest.raises(InputError, match="was not asked for"):
        COURSE.at(request_)


def test_the_rows_asked_for_are_left_without_others():
    kept = COURSE.asked_for()
    assert kept.t.tolist() == [0.1 + 0.2, 5.0] and str(kept.rows) == str(COURSE.rows)


def test_seeds_side_by_side_can_be_shown_and_tabulated():
    two = replace(COURSE, series={name: np.stack([x, 2 * x], axis=1) for name, x in COURSE.series.items()})
    assert two.at(5.0)["values"]["w_c"].tolist() == [COURSE["w_c"][2], 2 * COURSE["w_c"][2]]
    assert two.to_pandas()["w_c"].tolist() == two["w_c"].ravel().tolist()
    assert "w_c" in two._repr_html_() and two.to_pandas().index.names == ["t", "seed"]


def test_a_dataset_and_its_file_say_what_the_series_mean(tmp_path):
    system = flowsys.load("mixture")
    solved = flowsys.solve(system, at=[1.0], observe=["w_c"])
    again = flowsys.load_trajectory(solved.save(tmp_path / "t.nc"))
    for run in (solved, again):
        assert run.to_xarray()["w_c"].attrs["long_name"] == system.observables["w_c"]
    assert "long_name" not in COURSE.to_xarray()["w_c"].attrs


def test_a_request_that_was_not_reached_has_no_values():
    assert COURSE.rows[2] == {"at": "T_2", "t": None, "reached": False, "values": None}


def test_the_rows_nearest_to_times_are_kept_whole_once_each_and_in_order():
    kept = COURSE.nearest_to([4.0, 0.2, 0.31, 9.0])
    assert kept.t.tolist() == [0.1 + 0.2, 5.0] and kept.labels == ("T_0.5", "")
    assert kept["w_c"].tolist() == [1e-300, np.pi] and kept.states.tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert kept.requested == (4.0, 0.2, 0.31, 9.0) and kept.origin == COURSE.origin


def test_rows_of_many_seeds_are_kept_for_every_seed():
    course = replace(COURSE, series={"w_c": np.arange(12.0).reshape(4, 3)}, states=np.empty((4, 0)), state_names=())
    assert course.nearest_to([0.0, 5.0])["w_c"].tolist() == [[0.0, 1.0, 2.0], [6.0, 7.0, 8.0]]


def test_no_times_leave_no_rows():
    assert len(COURSE.nearest_to([])) == 0


def test_an_unknown_series_is_named_with_those_there_are():
    with pytest.raises(InputError, match=r"no 'w_x'.*w_c, loss"):
        COURSE["w_x"]


def test_pandas_and_xarray_hold_the_same_series():
    frame, dataset = COURSE.to_pandas(), COURSE.to_xarray()
    assert np.array_equal(frame["w_c"], dataset["w_c"]) and np.array_equal(frame.index, COURSE.t)
    assert list(dataset["label"].values) == list(COURSE.labels)


def test_a_notebook_shows_the_outcome():
    assert "T_2 not reached" in COURSE._repr_html_()
