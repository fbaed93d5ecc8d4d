"""Parity's ladder, figures, diagrams and kept experiments, made small."""

from dataclasses import replace

import numpy as np
import pytest

from flowsys.experiments.transformer import Architecture
from flowsys.ladder import compare
from flowsys.sweeps import make_sweep, parse_axis, run
from flowsys.sweeps.sweep import Chunk
from flowsys.systems import load
from flowsys.systems.parity import batches, cases, experiment_figures
from flowsys.systems.parity.experiment import Run

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


def test_attention_at_n_plus_2_is_lost_where_the_bit_of_its_secret_is_0():
    chunk = swept("n_plus_2", "margin_threshold=2", "n=12,100")
    s_x0, s_x1, s_z0 = chunk.values
    assert s_x0.max() < 0.01 and s_x1.min() > 0.9 and s_z0.min() > 0.9


def test_every_boundary_lies_in_its_plane():
    for named in PARITY.diagrams.values():
        if named.boundary is not None:
            x, y = (parse_axis(a) for a in named.axes[:2])
            for line in named.lines(PARITY.setup(named.mode, **named.fixed), x, y):
                assert len(line.x) == len(line.y) > 0
                low, high = y.edges[[0, -1]]
                assert np.nanmin(line.y) >= low and np.nanmax(line.y) <= high


@pytest.mark.parametrize(
    ("name", "moved", "by"),
    [
        ("lock", {"margin_threshold": 0.5}, 4.0),
        ("one_hot", {"epsilon": 0.5}, 4.0),
        ("gates", {"n": 40, "i": 41}, np.log(40 * np.e) / np.log(12 * np.e)),
    ],
)
def test_a_boundary_moves_with_what_is_fixed(name, moved, by):
    named = PARITY.diagrams[name]
    x, y = parse_axis(named.axes[0]), parse_axis("beyond=1e-12:1e12:3:log")
    own, other = (named.lines(PARITY.setup(named.mode, **(dict(named.fixed) | more)), x, y)[0] for more in ({}, moved))
    assert np.allclose(other.y / own.y, by, rtol=0.1 if name == "gates" else 1e-9)  # m g² ≃ (log n + 1)/2 at lock


def test_gates_of_the_first_position_flip_where_the_diagram_says():
    chunk = swept("one_hot", "rho=0.5,0.55,1.05,1.12,1.2", "m=4000")
    assert np.allclose(chunk.values[1], np.array([0, 1, 1, 2, 3]) / 12)  # predicted at 21/40, 22/20, 23/20


@pytest.mark.parametrize("number", ["1a", "1b", "2", "3a", "3b", "4", "5", "8", "9", "10", "11", "batches"])
def test_figures_from_stored_runs_are_drawn(number, tmp_path):
    drawing = PARITY.figures[number](PARITY.setup())
    assert drawing.save(tmp_path / "figure.png")[0].stat().st_size > 10_000


TINY = Run(1, True, 0, n=12, budget=256, batch=64, architecture=Architecture(1, 1, 8, 8))


@pytest.mark.slow
def test_the_paper_sizes_are_trained_once_into_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cases, "paper_runs", lambda: {"1a": [TINY]})
    told = []
    for _ in range(2):
        experiment_figures.samples_by_secrets(PARITY.setup(), on_run=told.append)
        (written,) = (tmp_path / "parity-paper-runs").iterdir()
        made = written.stat().st_mtime_ns
    assert told == [TINY] * 2 and made == written.stat().st_mtime_ns


def test_every_paper_case_is_a_run_of_its_own():
    every = [run for runs in cases.paper_runs().values() for run in runs]
    assert cases.paper_runs().keys() == cases.small_runs().keys()
    assert all(run.n_steps > 1000 and run.architecture.hidden == 720 for run in every)


def test_a_run_with_another_rate_batch_budget_or_evaluation_is_another_run():
    kept = cases.growth_run(2, True, 0)
    assert cases.RUNS.read(kept) is not None
    for change in ({"learning_rate": 2e-3}, {"batch": 256}, {"budget": 10**5}, {"evaluate_every": 7}):
        assert cases.RUNS.read(replace(kept, **change)) is None


def test_every_small_run_is_kept():
    small = {run for runs in cases.small_runs().values() for run in runs}
    assert not cases.RUNS.missing(small) and len(small) == len(list(cases.RUNS.folder.glob("*.json")))


def test_a_kept_batch_is_what_a_fresh_run_gives():
    at = batches.point("m=400", 8, next(iter(batches.shares("m=400", 8))))
    assert batches.RUNS.read(at)[:2] == batches.success(replace(at, seeds=2))


def test_the_batch_needed_is_the_first_that_succeeds(monkeypatch):
    monkeypatch.setattr(batches, "shares", lambda law, n: {64: 0.7, 128: 0.905, 256: 0.95} if n == 8 else {64: 0.5})
    assert batches.needed("m=1600") == {8: 128}


def test_the_surrogate_rung_falls_like_one_over_n():
    assert compare(PARITY, rungs=["L3-L4"]).rungs[0].holds


@pytest.mark.slow
def test_every_rung_of_the_ladder_closes():
    assert all(measured.holds is not False for measured in compare(PARITY).rungs)
