"""Training runs of the small transformer on parity strings, in tiny sizes."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from flowsys.experiments.transformer import Architecture
from flowsys.systems.parity import cases, experiment

TINY = Architecture(n_layers=1, n_heads=2, hidden=32, feed_forward=64)


def tiny_run(**changes):
    setting = {"n": 6, "batch": 32, "budget": 320, "validation": 32, "evaluate_every": 2, "learning_rate": 3e-3}
    return experiment.Run(**{"k": 1, "chain": True, "architecture": TINY, **setting, **changes})


def test_narrow_models_start_with_larger_weights():
    sizes = [tiny_run(architecture=Architecture(hidden=hidden)).initial_size for hidden in (720, 180)]
    assert sizes == [0.02, 0.04]


@pytest.mark.parametrize("training_set", [None, 64])
def test_validation_strings_do_not_occur_in_training(training_set):
    run = tiny_run(training_set=training_set)
    held_out, batch_of = run.validation_bits, run.batch_of(run.validation_bits)
    drawn = {tuple(row) for step in range(4) for row in batch_of(step)}
    assert len(np.unique(held_out, axis=0)) == 32 and not {tuple(row) for row in held_out} & drawn
    assert np.array_equal(batch_of(3), run.batch_of(held_out)(3))


def test_a_training_set_is_passed_over_again():
    batch_of = tiny_run(training_set=64).batch_of(tiny_run().validation_bits)
    epochs = [np.concatenate([batch_of(2 * epoch), batch_of(2 * epoch + 1)]) for epoch in (0, 1)]
    first, second = (np.sort(epoch @ 2 ** np.arange(6)) for epoch in epochs)
    assert np.array_equal(first, second) and not np.array_equal(*epochs)


@pytest.mark.parametrize("training_set", [None, 64])
def test_a_run_is_looked_at_on_the_way_and_stops_at_its_budget(training_set):
    run = tiny_run(k=2, training_set=training_set)
    trained = experiment.train_transformer(run)
    assert trained.course["step"] == [2, 4, 6, 8, 10] and np.shape(trained.course["entropy"]) == (5, 1, 2)


def test_adam_learns_a_single_secret_bit_and_what_is_kept_says_when(tmp_path):
    run = tiny_run(budget=32 * 300)
    found = cases.measured(run, tmp_path / "run.npz")
    assert found["samples"] == found["seen"][-1] < run.budget and found["accuracy"][-1] == 1
    assert found["entropy"][-1] < found["entropy"][0] and found["secrets"] == list(run.problem.secrets)
    assert np.shape(found["attention"]) == (2, 1, 7) and len(found["heads"]) == len(found["seen"])


def test_secrets_come_in_random_order_or_ascending():
    drawn, sorted_ = (tiny_run(n=20, k=5, ascending=x).problem.secrets for x in (False, True))
    assert drawn != sorted_ == tuple(sorted(drawn))


@pytest.mark.slow
def test_a_kept_run_is_what_a_fresh_one_gives(tmp_path):
    for run in islice((run for run in cases.small_runs()["2"] if run.k == 1 and run.seed == 0), 3):
        kept, fresh = cases.RUNS.read(run), cases.measured(run, tmp_path / "run.npz")
        (tmp_path / "run.npz").unlink()
        assert fresh["samples"] == kept["samples"] and np.allclose(fresh["entropy"], kept["entropy"], atol=2e-3)


def test_bad_runs_are_refused_by_name():
    with pytest.raises(ValueError, match="validation = 40"):
        tiny_run(validation=40)
    with pytest.raises(ValueError, match="n_heads = 5"):
        replace(TINY, n_heads=5)
