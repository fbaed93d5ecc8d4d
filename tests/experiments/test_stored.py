"""Kept runs: every field of a case is in its key, and filling goes on where it stopped."""

import json
from dataclasses import dataclass, replace

import pytest

from flowsys.experiments.stored import StoredRuns, described, key_of


@dataclass(frozen=True)
class Shape:
    layers: int = 1
    hidden: int = 32


@dataclass(frozen=True)
class Case:
    seed: int
    rate: float = 1e-3
    batch: int = 512
    budget: int = 10**6
    shape: Shape = Shape()


def test_every_field_is_in_the_key():
    changed = [{"seed": 1}, {"rate": 2e-3}, {"batch": 64}, {"budget": 10}, {"shape": Shape(hidden=33)}]
    keys = {key_of(Case(0)), *(key_of(replace(Case(0), **change)) for change in changed)}
    assert len(keys) == 1 + len(changed)
    assert key_of(Case(0)) == key_of(Case(0, shape=Shape()))


def test_what_is_stored_is_not_run_again_and_says_how_it_was_made(tmp_path):
    runs, done = StoredRuns(tmp_path / "data", "flowsys train toy"), []
    make = lambda case, checkpoint: done.append(case.seed) or {"loss": 0.5 * case.seed}
    runs.fill([Case(1), Case(2)], make)
    runs.fill([Case(2), Case(3)], make)
    assert done == [1, 2, 3]
    assert runs.read(Case(2)) == {"loss": 1.0} and runs.read(Case(2, batch=64)) is None
    kept = json.loads(next(iter((tmp_path / "data").glob("*.json"))).read_text())
    assert kept["command"] == "flowsys train toy" and kept["case"]["shape"]["hidden"] == 32
    assert [case.seed for case, _ in runs.kept(Case(seed) for seed in range(5))] == [1, 2, 3]


def test_a_run_that_was_broken_off_goes_on_from_its_checkpoint(tmp_path):
    runs = StoredRuns(tmp_path, "make it")

    def run(case, checkpoint):
        if not checkpoint.exists():
            checkpoint.write_text("half")
            raise KeyboardInterrupt
        return checkpoint.read_text() + " and whole"

    with pytest.raises(KeyboardInterrupt):
        runs.fill([Case(1)], run)
    assert runs.read(Case(1)) is None and runs.reason([Case(1)]) == "1 of 1 runs are not kept yet: make it makes them"
    runs.fill([Case(1)], run)
    assert runs.read(Case(1)) == "half and whole" and not runs.reason([Case(1)])
    assert not list(tmp_path.glob("*.npz"))


def test_a_case_that_has_no_content_of_its_own_is_refused():
    with pytest.raises(TypeError, match="key"):
        described(object())


def test_weights_stay_where_training_goes_on_from_them(tmp_path):
    runs = StoredRuns(tmp_path, "make it", keeps_weights=True)
    made = runs.fill([Case(1), Case(2)], lambda case, checkpoint: checkpoint.write_text("weights") and case.seed)
    assert made == [(Case(1), 1), (Case(2), 2)]
    assert all(runs.checkpoint(case).read_text() == "weights" for case, _ in made)
