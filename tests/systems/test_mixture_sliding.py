"""Exact kinks where several surfaces meet: at L2 close to the limit's start, and in the `stuck` diagrams.

K = 2, L = 4, b = 0.1, ω = 0.1, simultaneous: the gates of many samples open and close almost together. What becomes of
them is decided by the sliding on several surfaces at once.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import flowsys as fs
from flowsys.sweeps.diagram import CODES
from flowsys.sweeps.memory import run_in_memory, sweep_of

S = fs.load("mixture")
SIZES = {"K": 2, "L": 4, "b": 0.1}
T = 150.0


def near_the_limit(size: float) -> dict[str, np.ndarray]:
    """The limit's start plus size·N(0, 1) on every coordinate."""
    limit = fs.start(S, level="L3", mode="simultaneous", **SIZES)
    rng = np.random.default_rng(0)
    found = {}
    for name, block in limit.items():
        noise = size * rng.standard_normal(block.shape)
        is_gram = name in ("KK", "QQ")
        found[name] = block + ((noise + np.swapaxes(noise, -1, -2)) / 2 if is_gram else noise)
    return found


@cache
def run(size: float, kink_width: float | None = None):
    setup = S.setup("simultaneous", **SIZES)
    return fs.solve(S, setup, level="L2", mode="simultaneous", at=[T], start=near_the_limit(size), rtol=1e-10,
                    kink_width=kink_width, observe=["accuracy"])  # fmt: skip


def state(found) -> np.ndarray:
    return np.concatenate([np.ravel(block) for block in found.blocks(T).values()])


@pytest.mark.slow
def test_sliding_at_finite_width_is_what_smoothed_flows_tend_to():
    exact = run(1e-5)
    assert exact.statistics["slides"] >= 6 and not any("smoothed" in remark for remark in exact.outcome.remarks)
    assert np.abs(exact.blocks(T)["w"][0] - [2.45, 0.20, 2.42, -0.20]).max() < 0.01
    assert exact.at(T)["values"]["accuracy"] == pytest.approx(0.875)
    errors = np.array([np.abs(state(run(1e-5, width)) - state(exact)).max() for width in (1e-4, 1e-5, 1e-6, 1e-7)])
    assert (errors < 3 * np.array([1e-4, 1e-5, 1e-6, 1e-7]) + 2e-7).all()
    assert (errors[:-1] / errors[1:] > 4).all()


@pytest.mark.slow
def test_closer_to_the_limit_it_ends_in_the_limit_s_state():
    found, setup = run(1e-7), S.setup("simultaneous", **SIZES)
    w_c = fs.solve(S, setup, mode="simultaneous", at=[T], observe=["w_c"]).at(T)["values"]["w_c"]
    assert w_c == pytest.approx(2.066, abs=1e-3) and found.at(T)["values"]["accuracy"] == 1.0
    assert np.abs(np.abs(found.blocks(T)["w"][:, : SIZES["K"]]) - w_c).max() < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stuck", "stuck_groups"])
def test_the_stuck_diagrams_run_with_exact_kinks(name):
    diagram = run_in_memory(sweep_of(S, replace(S.diagrams[name], kink_width=None)))
    assert all(np.isfinite(values).all() for values in diagram.quantities.values())
    assert np.isin(diagram.outcomes, [CODES["completed"], CODES["completed after sliding"]]).all()
    assert (diagram.outcomes == CODES["completed after sliding"]).any()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "at", "parameters", "slides"),
    [("simultaneous", 300.0, {"K": 3, "L": 4}, 2), ("three_stage", 400.0, {"s_star": 20.0}, 1)],
    ids=["K = 3, L = 4", "late in stage 2"],
)
def test_the_reference_driver_slides_as_the_native_one(mode, at, parameters, slides):
    setup = S.setup(mode, **parameters)
    end = lambda solver: fs.solve(S, setup, mode=mode, at=[at], rtol=1e-10, solver=solver, observe=[])
    native, reference = end("native"), end("dopri8")
    assert native.statistics["slides"] == reference.statistics["slides"] == slides
    for found in (native, reference):
        assert found.outcome.is_complete and not any("smoothed" in remark for remark in found.outcome.remarks)
    assert np.abs(native.states - reference.states).max() < 1e-8 * np.abs(native.states).max()
