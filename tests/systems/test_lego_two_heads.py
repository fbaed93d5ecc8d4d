"""The two-head transformer of Section 7, at toy size: its sentences, exact resumption, self-labels, attention."""

import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import flowsys as fs
from flowsys.experiments.clauses import clause_weights
from flowsys.experiments.stored import StoredRuns
from flowsys.systems.lego import data, section_7, two_heads
from flowsys.systems.lego.section_7 import Architecture, Experiment, Trained, stages

TINY = Experiment(
    group="C2",
    L=2,
    n_x=4,
    epochs=4,
    steps_per_epoch=3,
    batch=8,
    learning_rate=1e-2,
    architecture=Architecture(embedding=4, hidden=16),
)
VOCABULARY = TINY.vocabulary
WEIGHTS = clause_weights(jax.random.key(0), VOCABULARY.d, 5, embedding=4, hidden=16, n_heads=2)


def same(left, right):
    return all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right)))


def test_tokens_drawn_for_training_are_well_formed_sentences():
    tokens = np.asarray(jax.jit(lambda k: two_heads.draw_tokens(k, VOCABULARY, 2, 50))(jax.random.key(1)))
    L, group = 2, VOCABULARY.group
    values = tokens[:, L:, 4] - VOCABULARY.values.start
    actions = tokens[:, :L, 1] - VOCABULARY.actions.start
    sentences = fs.Samples(variables=tokens[:, L:, 3], actions=actions, values=values)
    written = data.clauses(VOCABULARY, sentences)
    np.testing.assert_array_equal(tokens, written)
    np.testing.assert_array_equal(values[:, 1:], group.action[actions, values[:, :-1]])


@pytest.mark.slow
def test_a_stopped_and_resumed_run_makes_the_same_numbers(tmp_path):
    whole = two_heads.train(TINY)
    two_heads.train(replace(TINY, epochs=1), tmp_path / "run.npz")
    resumed = two_heads.train(TINY, tmp_path / "run.npz")
    assert resumed.adam.count == 12 and same(whole[:2], resumed[:2])
    assert len(whole.course["loss"]) == 4 and whole.course == resumed.course


def test_a_checkpoint_of_another_experiment_is_refused(tmp_path):
    two_heads.train(replace(TINY, epochs=1), tmp_path / "run.npz")
    with pytest.raises(ValueError, match=r"checkpoint = .*run.npz, but it holds another run"):
        two_heads.train(replace(TINY, batch=16), tmp_path / "run.npz")


@pytest.mark.slow
def test_training_learns_a_small_task_and_answers_by_itself():
    run = two_heads.train(replace(TINY, steps_per_epoch=150, batch=32, learning_rate=5e-3))
    assert run.course["loss"][-1] < 0.1 * run.course["loss"][0]
    assert two_heads.rollouts(run.best, TINY, 2, size=100).all(axis=1).mean() > 0.9


@pytest.mark.slow
def test_self_training_learns_the_previous_models_answers(tmp_path):
    one, two = (case.experiment for case in stages(replace(TINY, L=1, epochs=1), (2,), epochs=1))
    previous = two_heads.train(one).best
    first, again = (two_heads.train(two, previous=previous) for _ in range(2))
    on_truth = two_heads.train(two)
    assert same(first[:2], again[:2]) and not same(first.adam.weights, on_truth.adam.weights)


def test_labels_of_another_model_make_other_batches():
    """One epoch on a model's own answers against one on true ones: the same predicates."""
    told, true = (np.asarray(two_heads._epoch(TINY, jnp.asarray(0), by)) for by in (WEIGHTS, None))
    assert told.shape == true.shape == (3, 8, 5, 5)
    assert np.array_equal(told[:, :, :3], true[:, :, :3]) and not np.array_equal(told, true)


def test_batches_of_doubled_lengths_hold_as_many_clauses():
    cases = stages(Experiment(), (10, 20, 40), epochs=7)
    sizes = [(case.experiment.L, case.experiment.batch, case.experiment.epochs) for case in cases]
    assert sizes == [(5, 64, 300), (10, 32, 7), (20, 16, 7), (40, 8, 7)]
    assert [case.after for case in cases] == [(), (5,), (5, 10), (5, 10, 20)]


def test_permuted_predicates_permute_the_map_and_not_its_diagonals():
    order = np.array([2, 0, 1])
    in_order = np.arange(3)
    plain, shown = (two_heads.attention_map(WEIGHTS, VOCABULARY, 3, o, size=10) for o in (in_order, order))
    for name, diagonal in two_heads.diagonals(plain, in_order).items():
        np.testing.assert_allclose(two_heads.diagonals(shown, order)[name], diagonal, atol=1e-5)
    np.testing.assert_allclose(shown[:, :3], plain[:, order], atol=1e-5)


@pytest.mark.parametrize(
    "bad",
    [{"group": "D4"}, {"L": 4}, {"batch": 0}, {"learning_rate": 0.0}, {"epochs": 1.5}],
)
def test_impossible_experiments_are_refused(bad):
    with pytest.raises(ValueError, match=r"needed|is not allowed"):
        replace(TINY, **bad)


def test_heads_must_divide_the_clause():
    with pytest.raises(ValueError, match="n_heads = 3, but"):
        Architecture(embedding=4, n_heads=3)


@pytest.mark.slow
def test_the_whole_experiment_resumes_and_keeps_its_results(tmp_path, monkeypatch):
    monkeypatch.setattr(two_heads, "TEST_LENGTHS", (2, 3))
    monkeypatch.setattr(two_heads, "DIAGONAL_LENGTHS", (2, 3))
    monkeypatch.setattr(two_heads, "SENTENCES", 20)
    told, cases = [], stages(TINY, (3,), epochs=2)
    two_heads.train(replace(TINY, epochs=2), StoredRuns(tmp_path, "").checkpoint(Trained(TINY)))
    results = section_7.run(cases, tmp_path, lambda stage, epoch: told.append((stage.L, epoch)))
    assert told == [(2, 3), (2, 4), (3, 1), (3, 2)] and [r["trained_to"] for r in results] == [2, 3]
    assert results == section_7.run(cases, tmp_path, lambda stage, epoch: pytest.fail("it is kept"))
    assert [steps for steps, *_ in results[0]["course"]] == [3.0, 6.0, 9.0, 12.0]
    assert set(results[0]["all_right"]) == {"2", "3"}
    assert np.shape(results[0]["attention"]["2"]["shuffled"]["map"]) == (2, 4)
    assert len(results[0]["attention"]["3"]["in_order"]["predicate"]) == 3


@pytest.mark.slow
def test_runs_of_the_command_line_are_told_apart_by_every_setting(tmp_path):
    given = "--group C2 --seed 0 --L 2 --n_x 6 --steps_per_epoch 2 --batch 4 --hidden 8 --epochs 1 2 --folder".split()
    section_7.main([*given, str(tmp_path)])
    kept = [json.loads(path.read_text())["case"]["experiment"] for path in tmp_path.glob("*.json")]
    assert sorted(case["epochs"] for case in kept) == [1, 2] and not kept[0]["architecture"]["adds_query"]
    assert {(case["n_x"], case["batch"], case["L"], case["architecture"]["hidden"]) for case in kept} == {(6, 4, 2, 8)}


def test_impossible_settings_end_the_command_with_a_sentence(tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        section_7.main(["--n_x", "3", "--folder", str(tmp_path)])
    assert end.value.code == 2 and "L = 5 is not allowed" in capsys.readouterr().err
