"""Files of phase diagrams: equal bits for equal sweeps, written and read in pieces."""

import numpy as np
import pytest
from sweeps import finished, sweep

from flowsys.sweeps import load, netcdf, run


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4), (1, 6, 1, 2)])
@pytest.mark.parametrize("piece", [1, 4, 7, 100])
def test_a_grid_is_the_sum_of_its_boxes(shape, piece):
    size = int(np.prod(shape))
    flat, grid = np.arange(size), np.full(shape, -1)
    for start in range(0, size, piece):
        part = flat[start : start + piece]
        for box, first, last in netcdf.boxes(start, start + len(part), shape):
            assert (grid[box] == -1).all()
            grid[box] = part[first:last].reshape(grid[box].shape)
    assert (grid == flat.reshape(shape)).all()


def test_the_file_is_the_same_whichever_way_it_was_reached(tmp_path):
    of = sweep(chunk_size=8)
    first = finished(tmp_path / "a.nc", of)
    backwards = finished(tmp_path / "b.nc", of, list(run(of))[::-1])
    assert first == backwards
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.nc", "b.nc"]


def test_a_file_reads_as_xarray_s_own_and_as_it_was_saved(tmp_path):
    import xarray as xr

    of = sweep("b=0.5,1", "L=3,4", observables=["w_c@T_1"])
    finished(tmp_path / "a.nc", of)
    diagram = load(tmp_path / "a.nc")
    again = diagram.save(tmp_path / "b.nc")
    assert again.read_bytes() == (tmp_path / "a.nc").read_bytes()
    with xr.open_dataset(again, engine="h5netcdf") as dataset:
        assert dataset["w_c@T_1"].dims == ("b", "L") and dataset["L"].values.tolist() == [3, 4]
        assert dataset["w_c@T_1"].values.tobytes() == diagram.quantities["w_c@T_1"].tobytes()


def test_categories_are_coordinates(tmp_path):
    of = sweep("group=C3,C5", observables=["loss@t=10"], system="lego", fixed={})
    finished(tmp_path / "a.nc", of)
    diagram = load(tmp_path / "a.nc")
    assert diagram.axes[0].values == ("C3", "C5")
    assert diagram.to_xarray()["group"].values.tolist() == ["C3", "C5"]


def test_a_thinned_reading_has_every_so_many_point(tmp_path):
    finished(tmp_path / "a.nc", sweep())
    whole, thin = load(tmp_path / "a.nc"), load(tmp_path / "a.nc", at_most=12)
    assert thin.shape == (4, 3) and thin.outcomes.tolist() == whole.outcomes[::2, ::2].tolist()
    assert thin.axes[1].values == whole.axes[1].values[::2]


def test_a_thinned_reading_has_no_more_points_than_asked_for(tmp_path):
    finished(tmp_path / "a.nc", sweep())
    whole = load(tmp_path / "a.nc").outcomes
    most = (1, 2, 3, 7, whole.size - 1, whole.size)
    sizes = [load(tmp_path / "a.nc", at_most=n).outcomes.size for n in most]
    assert all(size <= n for size, n in zip(sizes, most)) and sizes == sorted(sizes) and sizes[-1] == whole.size
