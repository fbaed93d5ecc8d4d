"""Parity's ladder, figures, diagrams and stored experiments, made small."""

import json

import numpy as np
import pytest

from flowsys.compare import compare
from flowsys.phase import make_sweep, parse_axis, run
from flowsys.phase.sweep import Chunk
from flowsys.systems import load
from flowsys.systems.parity import batches, growth

PARITY = load("parity")


def swept(name: str, *axes: str) -> Chunk:
    named = PARITY.diagrams[name]
    sweep = make_sweep(
        PARITY, [parse_axis(a) for a in axes], named.observables, named.level, named.variant, named.mode, named.fixed
    )
    return next(iter(run(sweep)))


def test_lock_as_a_share_of_margin_time_follows_n_over_root_m():
    chunk = swept("lock", "n=300,3000", "m=1000,100000")
    share = chunk.values[0].reshape(2, 2)
    predicted = np.sqrt(np.pi) / 4 * np.array([[300.0], [3000.0]]) / np.sqrt(np.array([[1e3, 1e5]]))
    assert np.allclose(share / (1 - share), predicted, rtol=0.15)


def test_attention_at_n_plus_2_is_lost_where_the_bits_agree():
    chunk = swept("n_plus_2", "margin_threshold=2", "n=12,100")
    s_x0, s_x1, s_z0 = chunk.values
    assert s_x0.max() < 0.01 and s_x1.min() > 0.9 and s_z0.min() > 0.9


def test_every_boundary_lies_in_its_plane():
    for named in PARITY.diagrams.values():
        if named.boundary is not None:
            x, y = (np.array(parse_axis(a).values) for a in named.axes[:2])
            for line in named.boundary(x, y):
                assert len(line.x) == len(line.y) > 0
                assert line.y.min() >= y.min() and line.y.max() <= y.max()


@pytest.mark.parametrize("number", ["1a", "1b", "3a", "3b", "batches"])
def test_figures_from_stored_runs_are_drawn(number, tmp_path):
    drawing = PARITY.figures[number](PARITY.setup())
    assert drawing.save(tmp_path / "figure.png")[0].stat().st_size > 10_000


def test_a_stored_case_is_not_run_again(tmp_path):
    path = tmp_path / "growth.json"
    case = growth.Case(1, True, 0, n=12, budget=256)
    first = growth.fill([case], path)
    assert first[case.key]["samples"] is None and len(first[case.key]["attention"][0]) == 1
    path.write_text(json.dumps({case.key: "kept"}))
    assert growth.fill([case], path) == {case.key: "kept"}


def test_the_batch_needed_is_the_first_that_succeeds():
    results = {"m=1600 n=8 B=64": [0.5, 0.6], "m=1600 n=8 B=256": [1.0, 0.9], "m=1600 n=8 B=128": [0.9, 0.91]}
    assert batches.smallest(results, "m=1600", 8) == 128 and batches.smallest(results, "m=200n", 8) is None


def test_the_surrogate_rung_falls_like_one_over_n():
    assert compare(PARITY, rungs=["L3-L4"]).rungs[0].holds


@pytest.mark.slow
def test_every_rung_of_the_ladder_closes():
    assert all(measured.holds for measured in compare(PARITY).rungs)
