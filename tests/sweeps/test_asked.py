"""A phase diagram in one call is the sweep that the command line would run."""

import numpy as np
import pytest

import flowsys as fs

AXES = {"x": "b=0.5:1:3", "y": "T_1=10,20", "observable": "T_2-T_1"}


@pytest.fixture(scope="module")
def mixture():
    return fs.load("mixture")


def test_every_point_of_a_diagram_is_a_run(mixture):
    diagram = fs.phase(mixture, **AXES, omega=0.2)
    assert diagram.shape == (3, 2) and diagram.outcome_counts() == {"completed": 6}
    run = fs.solve(mixture, mixture.setup(b=0.75, T_1=20, omega=0.2), at=["T_1", "T_2"])
    assert diagram.quantities["T_2-T_1"][1, 1] == pytest.approx(run.t[1] - run.t[0], rel=1e-6)


def test_a_diagram_in_a_file_is_the_one_in_memory(mixture, tmp_path):
    here, there = fs.phase(mixture, **AXES), fs.phase(mixture, **AXES, out=tmp_path / "d.nc")
    assert np.array_equal(here.quantities["T_2-T_1"], there.quantities["T_2-T_1"])
    assert (tmp_path / "d.nc").is_file() and here.axes == there.axes


def test_a_diagram_of_one_axis_is_a_curve(mixture):
    assert fs.phase(mixture, x="b=0.5,1", observable=["T_1", "T_2"]).shape == (2,)


def test_a_named_diagram_keeps_its_x_axis_where_only_another_is_asked_for():
    diagram = fs.phase("prompt", "stage_order", y="K=2,3")
    assert [axis.name for axis in diagram.axes] == ["M", "K"] and diagram.shape[1] == 2
    assert fs.phase("prompt", "stage_order", x="M=20,40").shape == (2,)


def test_an_observable_that_is_not_there_is_refused(mixture):
    with pytest.raises(fs.InputError, match="nothing_such"):
        fs.phase(mixture, x="b=0.5,1", observable="nothing_such@T_2")
