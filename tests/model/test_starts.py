"""Any start: given at every level, given back by every run, and the vector field as a function of the state."""

import jax
import numpy as np
import pytest
from signal_model import signal

import flowsys as fs
from flowsys.errors import InputError

NAMES = ["loss", "attention", "S_p_q", "KK_p_n0"]


@pytest.fixture(scope="module")
def small():
    return signal.setup(M=2, L=2, width=4, learning_rate=0.05)


@pytest.mark.parametrize("level", ["L0", "L1", "L2", "L3"])
def test_a_start_given_back_is_the_run_itself(small, level, tmp_path):
    """… and the blocks of a trajectory are a start from which it goes on, also after it was saved."""
    start = fs.start(signal, small, level=level)
    own, given = (
        fs.solve(signal, small, level=level, at=[0.0, 1.0, 2.0], observe=NAMES[:2], start=s) for s in (None, start)
    )
    assert all(np.array_equal(own[name], given[name]) for name in own)
    assert {name: array.shape for name, array in start.items()} == signal.shapes(small, level)
    assert all(np.allclose(own.blocks(0.0)[name], array, rtol=1e-15) for name, array in start.items())
    again = fs.load_trajectory(own.save(tmp_path / "run.nc"))
    assert all(np.array_equal(again.blocks(1.0)[name], array) for name, array in own.blocks(1.0).items())
    later = fs.solve(signal, small, level=level, at=[1.0], observe=NAMES[:2], start=again.blocks(1.0))
    assert all(np.allclose(later[name][-1], own[name][-1], rtol=1e-7) for name in later)


def test_saved_weights_start_every_finite_level(small, tmp_path):
    path = tmp_path / "weights.npz"
    whole = fs.train(signal, small, steps=20, records=20, observe=NAMES)
    fs.train(signal, small, steps=10, records=10, observe=NAMES, save_weights=path)
    on = fs.train(signal, small, steps=10, records=10, observe=NAMES, start=_saved(path))
    assert all(np.array_equal(on[name], whole[name][10:]) for name in NAMES)
    runs = [
        fs.solve(signal, small, level=level, at=[0.0, 1.0], observe=NAMES, start=_saved(path), rtol=1e-10)
        for level in ("L1", "L2")
    ]
    for run in runs:
        assert all(run[name][0] == pytest.approx(whole[name][10], rel=1e-12, abs=1e-15) for name in NAMES)
    assert all(np.allclose(runs[0][name], runs[1][name], rtol=1e-8, atol=1e-10) for name in NAMES)


def _saved(path):
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def test_blocks_given_in_the_limit_are_lumped_anew(small):
    start = fs.start(signal, small, level="L3") | {"v": np.array([0.3, -0.1, 0.2, 0.0])}
    limit, full = (
        fs.solve(signal, small, level=level, at=[2.0], start=start, observe=["loss"], rtol=1e-10)
        for level in ("L3", "L2")
    )
    assert limit["loss"] == pytest.approx(full["loss"], rel=1e-9)
    assert len(limit.state_names) > len(fs.solve(signal, small, at=[0.1]).state_names)


def test_coordinates_of_the_limit_are_given_by_name(small):
    given = fs.solve(signal, small, at=[0.0], start={"v_p": 0.3})
    assert np.allclose(given.blocks(0.0)["v"], [0.3, -0.3, 0.0, 0.0])
    with pytest.raises(InputError, match="eigenvalue"):
        fs.solve(signal, small, at=[0.0], start={"S_p_n0": 5.0})


@pytest.mark.parametrize("beyond", [0.5, 2.0])
def test_eigenvalues_may_be_as_negative_as_rounding(small, beyond):
    start = fs.start(signal, small, level="L3")
    start["KK"] = start["KK"].copy()
    start["KK"][0, 0] = -beyond * 1e-12 * (np.trace(start["KK"]) - start["KK"][0, 0] + np.trace(start["QQ"]))
    if beyond < 1:
        assert fs.solve(signal, small, level="L2", at=[0.0], start=start, observe=["loss"]).t[0] == 0.0
    else:
        with pytest.raises(InputError, match="eigenvalue -"):
            fs.solve(signal, small, level="L2", at=[0.0], start=start)


@pytest.mark.parametrize("level", ["L2", "L3"])
def test_a_field_can_be_differentiated(small, level):
    field = fs.field(signal, small, level=level)
    rng = np.random.default_rng(0)
    y, way = field.start + 0.1 * rng.standard_normal((2, 3, len(field.names))), rng.standard_normal(len(field.names))
    assert field(y).shape == y.shape and np.array_equal(field(y)[1, 2], field(y[1, 2]))
    with jax.enable_x64(True):
        slope = np.asarray(jax.jvp(field.jax, (y[0, 0],), (way,))[1])
    h = 1e-5
    assert np.allclose(slope, (field(y[0, 0] + h * way) - field(y[0, 0] - h * way)) / (2 * h), atol=1e-7)


def test_a_field_is_in_double_precision_whoever_calls():
    numbers = np.random.default_rng(0).standard_normal(3)
    model = fs.Model(
        "numbers",
        blocks=lambda p: {"v": fs.Direct(3, start=0.1)},
        loss=lambda ops, w, X, p: ops.softplus((w.v * numbers).sum() - 1),
        t_max=9.0,
    )
    for level in ("L2", "L3"):
        field = fs.field(model, level=level)
        slope = -numbers / (1 + np.exp(1 - (0.1 * numbers).sum()))
        for _ in range(2):
            assert np.allclose(field.jax(np.full(3, 0.1)), slope, rtol=1e-14)
            assert np.allclose(field(field.start), slope, rtol=1e-14)
