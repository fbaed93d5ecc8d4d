"""The loop that trains by Adam: what it notes, when it stops, and that it goes on as if it had not been stopped."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flowsys.experiments import training


@dataclass(frozen=True)
class Case:
    seed: int = 0
    steps: int = 10


def loss(weights, batch):
    return ((batch @ weights["w"] - batch.sum(axis=-1)) ** 2).mean()


def batches(steps):
    return np.array([np.random.default_rng(step).standard_normal((8, 3)) for step in steps], dtype=np.float32)


def train(case=Case(), **changes):
    start = {"w": jnp.full(3, float(case.seed))}
    decayed = lambda steps: 0.1 * (1 - steps / case.steps)
    return training.train(case, start, loss, batches, decayed, steps=case.steps, every=4, **changes)


def same(left, right):
    return all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right)))


def test_a_course_has_a_row_a_stretch_and_what_was_looked_for():
    told = []
    look = lambda trained: {"w": float(trained.weights["w"][0])} if len(trained.course["step"]) > 1 else {}
    found = train(look=look, on_progress=told.append)
    assert told == found.course["step"] == [4, 8, 10] and found.adam.count == 10
    assert len(found.course["loss"]) == 3 and found.course["loss"][-1] < found.course["loss"][0]
    assert len(found.course["w"]) == 2 and found.course["w"][-1] == found.weights["w"][0]


def test_the_steps_are_those_of_adam_at_the_rates_asked_for():
    by_hand = training.Adam.start({"w": jnp.zeros(3)})
    for step, batch in enumerate(batches(range(10))):
        by_hand = by_hand.step(jax.grad(loss)(by_hand.weights, batch), np.float32(0.1 * (1 - step / 10)))
    np.testing.assert_allclose(train().weights["w"], by_hand.weights["w"], rtol=1e-5)


def test_training_ends_where_it_is_done():
    assert train(is_done=lambda course: course["step"][-1] >= 8).course["step"] == [4, 8]


def test_the_best_weights_are_those_after_the_stretch_of_least_loss(monkeypatch):
    losses = iter((3.0, 1.0, 2.0))
    move = lambda adam: adam._replace(weights=adam.weights + 1, count=adam.count + 4)
    monkeypatch.setattr(training, "adam_steps", lambda loss, adam, *rest: (move(adam), next(losses)))
    found = training.train(Case(), jnp.zeros(()), loss, batches, lambda steps: 0.1, steps=10, every=4)
    assert (found.weights, found.best, found.course["loss"]) == (3, 2, [3.0, 1.0, 2.0])


def interrupted(case, path, monkeypatch):
    """Train until the second checkpoint is written."""
    save = training.save

    def saves(path, case, state, notes):
        save(path, case, state, notes)
        if len(notes["step"]) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(training, "SAVED_AFTER", 0.0)
        patch.setattr(training, "save", saves)
        train(case, checkpoint=path)


def test_a_resumed_run_is_the_uninterrupted_run(tmp_path, monkeypatch):
    interrupted(Case(), tmp_path / "run.npz", monkeypatch)
    resumed = train(checkpoint=tmp_path / "run.npz")
    assert same(resumed, train()) and resumed.course == train().course
    assert same(train(checkpoint=tmp_path / "run.npz"), resumed)


def test_a_checkpoint_of_another_run_is_refused(tmp_path, monkeypatch):
    interrupted(Case(), tmp_path / "run.npz", monkeypatch)
    with pytest.raises(ValueError, match=r"checkpoint = .*run.npz, but it holds another run"):
        train(replace(Case(), seed=1), checkpoint=tmp_path / "run.npz")
