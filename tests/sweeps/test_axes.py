"""Any number of axes, of any kind of parameter, and finite levels over widths and seeds."""

import numpy as np
import pytest
from sweeps import finished, flowsys, sweep

from flowsys.errors import InputError
from flowsys.sweeps import load
from flowsys.sweeps.points import evaluate_chunk


def test_four_axes_agree_with_their_points(tmp_path):
    of = sweep("b=0.4,1", "T_1=20,30", "K=2,3", "L=3:4:2", observables=["w_c@T_1"])
    finished(tmp_path / "a.nc", of)
    whole = load(tmp_path / "a.nc")
    assert whole.shape == (2, 2, 2, 2) and [a.name for a in whole.axes] == ["b", "T_1", "K", "L"]
    corner = sweep("b=1", observables=["w_c@T_1"], fixed={"T_1": 30, "K": 2, "L": 4, "t_max": 2000})
    assert whole.quantities["w_c@T_1"][1, 1, 0, 1] == evaluate_chunk(corner, 0).values[0, 0]


def test_further_axes_come_from_the_command_line(tmp_path):
    run = flowsys("--x", "b=0.4,1", "--axis", "K=2,3", "--axis", "T_1=20:30:2", "--observable", "w_c@T_1",
                  "--out", "d.nc", cwd=tmp_path)  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert [a.name for a in load(tmp_path / "d.nc").axes] == ["b", "K", "T_1"]


def test_integer_axes_are_rounded_and_unique():
    assert sweep("K=2:4:9", observables=["T_1"]).axes[0].values == (2, 3, 4)


def test_an_axis_that_is_also_fixed_is_refused():
    with pytest.raises(InputError, match="both an axis and fixed"):
        sweep("b=1,2", observables=["T_1"], fixed={"b": 1})


@pytest.mark.slow
def test_finite_widths_and_seeds_are_axes():
    of = sweep("width=20,80", "seed=0,1", observables=["w_v@t=2"], level="L2", fixed={"t_max": 5})
    chunk = evaluate_chunk(of, 0)
    assert of.chunk_size < 100 and np.isfinite(chunk.values).all()
    assert len(np.unique(chunk.values)) == 4


def test_a_picture_shows_the_median_over_seeds():
    from matplotlib.figure import Figure

    from flowsys.plot import phase as draw
    from flowsys.sweeps import Axis, PhaseDiagram

    values = np.array([[1.0, 5.0, 3.0], [2.0, np.nan, 4.0], [np.nan] * 3])
    axes = (Axis("width", (10, 20, 40)), Axis("seed", (0, 1, 2)))
    diagram = PhaseDiagram(axes, {"q": values}, np.where(np.isnan(values), 3, 0).astype(np.uint8))
    ax = draw(diagram, Figure().subplots())
    assert np.array_equal(ax.lines[0].get_ydata(), [3.0, 3.0, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    "observable, options, said",
    [
        ("T_2", {"rtol": -1.0}, "rtol = -1"),
        ("T_2", {"solver": "nonsense"}, "solver = nonsense"),
        ("T_2", {"kink_width": -1.0}, "kink_width = -1"),
        ("w_c@t=1e9", {}, "w_c@t=1e9 lies beyond t_max = 2000"),
        ("w_c@t=-5", {}, "w_c@t=-5 is not allowed"),
        ("w_c", {}, "w_c needs a place"),
        ("nothing@t=1", {}, "nothing is not one of mixture's"),
    ],
)
def test_bad_requests_are_refused_before_anything_runs(observable, options, said):
    with pytest.raises(InputError, match=said):
        sweep("b=1,2", observables=[observable], **options)


def test_signs_in_numbers_and_names_are_no_differences():
    of = sweep("b=1,2", observables=["w_c@t=1e-3", "w_c@t=1e-3-w_c@t=0", "T_2-T_1", "T_1:T_2"])
    assert [len(q.terms) for q in of.quantities] == [1, 2, 2, 2]
    assert of.quantities[1].minus.at == 0.0 and of.quantities[0].first.at == 1e-3
