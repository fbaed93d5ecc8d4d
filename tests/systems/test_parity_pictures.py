"""Parity's ladder, figures, diagrams and stored experiments, made small."""

import json

import numpy as np
import pytest

from flowsys.ladder import compare
from flowsys.sweeps import make_sweep, parse_axis, run
from flowsys.sweeps.sweep import Chunk
from flowsys.systems import load
from flowsys.systems.parity import batches, experiment_figures, growth, passes, stored_runs
from flowsys.systems.parity.transformer import Architecture

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
            for line in named.boundary(PARITY.setup(named.mode, **named.fixed), x, y):
                assert len(line.x) == len(line.y) > 0
                assert line.y.min() >= y.min() and line.y.max() <= y.max()


@pytest.mark.parametrize(
    ("name", "moved", "by"),
    [
        ("lock", {"margin_threshold": 0.5}, 4.0),
        ("one_hot", {"epsilon": 0.5}, 4.0),
        ("gates", {"n": 40}, np.log(40 * np.e) / np.log(12 * np.e)),
    ],
)
def test_a_boundary_moves_with_what_is_fixed(name, moved, by):
    named = PARITY.diagrams[name]
    x, y = np.array(parse_axis(named.axes[0]).values), np.geomspace(1e-12, 1e12, 3)
    own, other = (
        named.boundary(PARITY.setup(named.mode, **(dict(named.fixed) | more)), x, y)[0] for more in ({}, moved)
    )
    assert np.allclose(other.y / own.y, by, rtol=0.1 if name == "gates" else 1e-9)  # m g² ≃ (log n + 1)/2 at lock


def test_gates_of_the_first_position_flip_where_the_diagram_says():
    chunk = swept("one_hot", "rho=0.5,0.55,1.05,1.12,1.2", "m=4000")
    assert np.allclose(chunk.values[1], np.array([0, 1, 1, 2, 3]) / 12)  # predicted at 21/40, 22/20, 23/20


@pytest.mark.parametrize("number", ["1a", "1b", "2", "3a", "3b", "4", "5", "batches"])
def test_figures_from_stored_runs_are_drawn(number, tmp_path):
    drawing = PARITY.figures[number](PARITY.setup())
    assert drawing.save(tmp_path / "figure.png")[0].stat().st_size > 10_000


TINY = stored_runs.Case(1, True, 0, n=12, budget=256, batch=64, architecture=Architecture(1, 1, 8, 8))


def test_a_stored_case_is_not_run_again(tmp_path):
    path = tmp_path / "growth.json"
    first = stored_runs.fill([TINY], path)
    assert first[TINY.key]["samples"] is None and len(first[TINY.key]["attention"][0]) == 1
    path.write_text(json.dumps({TINY.key: "kept"}))
    assert stored_runs.fill([TINY], path) == {TINY.key: "kept"}


def test_the_paper_sizes_are_trained_once_into_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(growth, "paper_cases", lambda figure: [TINY])
    told = []
    for _ in range(2):
        experiment_figures.samples_by_secrets(PARITY.setup(), on_run=told.append)
        written = (tmp_path / "parity-paper-runs.json").stat().st_mtime_ns
    assert told == [TINY.key] * 2
    assert written == (tmp_path / "parity-paper-runs.json").stat().st_mtime_ns
    assert list((tmp_path / "parity-paper-runs").glob("*.npz"))


def test_every_paper_case_is_a_run_of_its_own():
    cases = [case for figure in ("1a", "2", "3a", "3b") for case in growth.paper_cases(figure)]
    cases += [case for figure in ("4", "5") for case in passes.paper_cases(figure)]
    assert len({case.key for case in cases}) == len(set(cases))
    assert all(case.run().n_steps > 1000 and case.architecture.hidden == 720 for case in cases)


def test_keys_hold_what_tells_cases_apart():
    case = stored_runs.Case(3, False, 2, training_set=100, architecture=Architecture(2, 4, 32, 128))
    assert stored_runs.parts(case.key) == {
        "n": 20, "k": 3, "chain": 0, "seed": 2, "layers": 2, "heads": 4, "hidden": 32, "strings": 100,
    }  # fmt: skip


def test_samples_are_sorted_by_size_and_shape():
    one, two, other = growth.Case(2, True, 0), growth.Case(2, True, 1), growth.Case(2, True, 0, training_set=9)
    results = {case.key: {"samples": number} for number, case in enumerate((one, two, other))}
    assert growth.complexities(results, True) == {2: [0, 1]} and growth.complexities(results, False) == {}


def test_the_batch_needed_is_the_first_that_succeeds():
    shares = {64: [0.5, 1.0], 256: [1.0, 0.9], 128: [0.9, 0.91], 90: [1.0]}
    results = {f"m=1600 n=8 B={b}": x * (batches.SEEDS // len(x) if len(x) > 1 else 1) for b, x in shares.items()}
    assert batches.smallest(results, "m=1600", 8) == 128 and batches.smallest(results, "m=200n", 8) is None
    assert batches.needed(results, "m=1600") == {8: 128}


def test_only_missing_seeds_of_a_point_are_run(tmp_path):
    path, point = tmp_path / "batches.json", batches.Point("m=400", 8, 64)
    path.write_text(json.dumps({point.key: [0.25] * (batches.SEEDS - 1)}))
    found = batches.fill([point], path)[point.key]
    assert found == [0.25] * (batches.SEEDS - 1) + batches.success(point, [batches.SEEDS - 1])


def test_the_surrogate_rung_falls_like_one_over_n():
    assert compare(PARITY, rungs=["L3-L4"]).rungs[0].holds


@pytest.mark.slow
def test_every_rung_of_the_ladder_closes():
    assert all(measured.holds for measured in compare(PARITY).rungs)
