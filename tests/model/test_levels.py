"""One declaration gives every level, and the levels agree with each other where the theory says so."""

import numpy as np
import pytest
from signal_model import signal

import flowsys as fs


@pytest.fixture(scope="module")
def small():
    return signal.setup(M=2, L=2, width=7, learning_rate=0.05)


def test_a_model_is_a_system():
    assert isinstance(signal, fs.System) and set(signal.levels) == {"L0", "L1", "L2", "L3"}


def test_weights_and_inner_products_flow_alike(small):
    names = ["loss", "attention", "v_p", "S_p_q", "KK_p_n0", "spent"]
    a, b = (fs.solve(signal, small, level=level, at=[3.0, 40.0], observe=names, rtol=1e-10) for level in ("L1", "L2"))
    assert all(np.allclose(a[name], b[name], rtol=1e-8, atol=1e-10) for name in names)


def test_descent_on_inner_products_is_descent_on_weights(small):
    a, b = (fs.train(signal, small, variant=v, steps=200, observe=["loss", "S_p_n0"]) for v in ("weights", "gram"))
    assert np.allclose(a["loss"], b["loss"], rtol=1e-12) and np.allclose(a["S_p_n0"], b["S_p_n0"], atol=1e-13)


def test_the_limit_is_the_reduced_flow_from_the_limits_start(small):
    start = fs.start(signal, small, level="L3")
    at = [3.0, 40.0]
    full = fs.solve(signal, small, level="L2", at=at, start=start, observe=["loss", "spent"], rtol=1e-10)
    limit = fs.solve(signal, small, level="L3", at=at, observe=["loss", "spent"], rtol=1e-10)
    assert np.allclose(full["loss"], limit["loss"], rtol=1e-9) and np.allclose(full["spent"], limit["spent"], rtol=1e-9)
    for time in at:
        lifted, there = limit.blocks(time), full.blocks(time)
        assert all(np.allclose(lifted[name], there[name], atol=1e-8) for name in there)


def test_an_event_of_the_limit_is_reached_at_finite_width_too(small):
    times = [
        fs.solve(signal, small, level=level, at=["T_seen"], observe=["attention"]).t[0] for level in ("L1", "L2", "L3")
    ]
    assert times[0] == pytest.approx(times[1], rel=1e-6) and times[2] == pytest.approx(times[1], rel=0.9)


def test_one_derivation_serves_every_value_of_the_reals(small):
    signal.declaration.found.clear()  # other tests have other sizes of it
    for flip in (0.0, 0.3):
        there = signal.setup(**(dict(small) | {"flip": flip}))
        start = fs.start(signal, there, level="L3")
        full = fs.solve(signal, there, level="L2", at=[20.0], start=start, observe=["loss"], rtol=1e-10)
        assert fs.solve(signal, there, at=[20.0], rtol=1e-10)["loss"] == pytest.approx(full["loss"], rel=1e-9)
    assert len({id(found) for found in signal.declaration.found.values()}) == 1


def test_the_field_is_what_is_integrated(small):
    for level in ("L1", "L2", "L3"):
        f = fs.field(signal, small, level=level)
        assert f(np.stack([f.start, f.start])).shape == (2, len(f.names))
        step = fs.solve(signal, small, level=level, at=[1e-4], observe=["loss"], rtol=1e-12).states[0]
        assert np.allclose((step - f.start) / 1e-4, f(f.start), atol=1e-4)


def test_a_derivation_is_found_and_certified():
    derivation = fs.derive(signal, M=2, L=2)
    assert derivation.agreement is None and not derivation.faults
    assert derivation.n_classes < derivation.n_coordinates == 4 + 4 * 9
    assert derivation.certificate <= 1e-12 and derivation.autodiff <= 1e-12


def test_a_loss_that_reads_the_width_reads_that_of_its_own_run():
    """Compiled functions are shared between widths."""
    model = fs.Model(
        "scaled",
        blocks=lambda p: {"S": fs.Pair(2, 2)},
        loss=lambda ops, w, X, p: (w.S**2).sum() * p.width,
    )
    for width in (10, 20):
        setup = model.setup(width=width)
        expected = width * (fs.start(model, setup, level="L2")["S"] ** 2).sum()
        for level in ("L1", "L2"):
            found = fs.solve(model, setup, level=level, at=[0.0], observe=["loss"])["loss"][-1]
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        np.testing.assert_allclose(fs.train(model, setup, steps=1)["loss"][0], expected, rtol=1e-12)
