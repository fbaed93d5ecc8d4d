"""The small transformer and its training runs, in tiny sizes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flowsys.runs import checkpoint
from flowsys.systems.parity import data, experiment, transformer

TINY = transformer.Architecture(n_layers=1, n_heads=2, hidden=32, feed_forward=64)


def tiny_run(**changes):
    setting = {"n": 6, "batch": 32, "budget": 320, "validation": 32, "evaluate_every": 2, "learning_rate": 3e-3}
    return experiment.Run(**{"k": 1, "chain": True, "architecture": TINY, **setting, **changes})


def test_a_prediction_does_not_see_later_bits():
    weights = transformer.transformer_weights(jax.random.key(0), TINY, 8)
    bits = np.zeros((2, 8), dtype=int)
    bits[1, 5] = 1
    logits, attention = jax.jit(transformer.forward, static_argnames="n_heads")(weights, bits, n_heads=2)
    changed = np.abs(np.asarray(logits[0] - logits[1])).max(axis=1) > 0
    assert np.array_equal(np.flatnonzero(changed), [5, 6, 7])
    assert attention[0].shape == (2, 2, 8, 8) and np.allclose(attention[0].sum(axis=-1), 1, atol=1e-6)


def plain_forward(weights, bits, n_heads):
    """The same transformer without regard to cost: every position asks, every sequence is projected."""
    apply, normalise = transformer._apply, transformer._normalise
    x = weights["tokens"][bits] + weights["positions"][None, : bits.shape[1]]
    for layer in weights["layers"]:
        query, key, value = jnp.split(apply(layer["qkv"], normalise(layer["norm_1"], x)), 3, axis=-1)
        mixed, attention = transformer._attend(query, key, value, n_heads)
        x = x + apply(layer["project"], mixed)
        x = x + apply(layer["contract"], jax.nn.gelu(apply(layer["expand"], normalise(layer["norm_2"], x))))
    return normalise(weights["norm"], x) @ weights["tokens"].T, attention


@pytest.mark.parametrize("n_layers", [1, 2])
def test_what_is_not_read_need_not_be_computed(n_layers):
    sizes = transformer.Architecture(n_layers, 2, 16, 32)
    drawn = transformer.transformer_weights(jax.random.key(1), sizes, 9)
    weights = jax.tree.map(lambda x: x if x.ndim == 1 else x * 0.5 / sizes.size, drawn)
    bits = np.random.default_rng(0).integers(0, 2, (20, 9))
    logits, attention = plain_forward(weights, bits, 2)
    ours, patterns = transformer.forward(weights, bits, 2, first=5)
    assert np.allclose(ours, logits[:, 5:], atol=2e-5) and np.allclose(patterns[-1], attention[:, :, 5:], atol=2e-6)
    assert float(jnp.abs(logits).max()) > 1 and float(attention.max()) > 0.9


def test_narrow_models_start_with_larger_weights():
    sizes = [transformer.Architecture(hidden=hidden).size for hidden in (720, 180)]
    assert sizes == [0.02, 0.04]


def test_an_untrained_transformer_is_at_chance():
    weights = transformer.transformer_weights(jax.random.key(0), TINY, 8)
    next_bit_loss = jax.jit(transformer.next_bit_loss, static_argnames=("n", "n_heads"))
    loss = next_bit_loss(weights, data.sequences(data.Parity(6, (4, 2)), data.all_bits(6)), n=6, n_heads=2)
    assert abs(float(loss) - np.log(2)) < 0.3


def test_validation_and_training_strings_are_disjoint():
    run = tiny_run()
    held_out = experiment.validation_bits(run)
    drawn = experiment.batch_bits(run, 3, experiment._packed(held_out), None)
    assert len(np.unique(held_out, axis=0)) == 32
    assert not {tuple(row) for row in held_out} & {tuple(row) for row in drawn}


def test_every_epoch_passes_over_the_whole_training_set():
    run = tiny_run(training_set=64)
    stored = np.random.default_rng(0).integers(0, 2, (64, 6))
    epoch = np.concatenate([experiment.batch_bits(run, step, None, stored) for step in range(2, 4)])
    assert np.array_equal(np.sort(epoch @ 2 ** np.arange(6)), np.sort(stored @ 2 ** np.arange(6)))


def interrupted(run, path, monkeypatch):
    """Train until the second checkpoint is written."""

    def save(path, case, state, notes):
        checkpoint.save(path, case, state, notes)
        if len(notes["samples"]) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(experiment, "save", save)
        experiment.train_transformer(run, path)


@pytest.mark.parametrize("training_set", [None, 64])
def test_a_resumed_run_is_the_uninterrupted_run(tmp_path, training_set, monkeypatch):
    run, path = tiny_run(k=2, training_set=training_set), tmp_path / "run.npz"
    interrupted(run, path, monkeypatch)
    resumed = experiment.train_transformer(run, path)[1]
    assert resumed == experiment.train_transformer(run)[1] and len(resumed["samples"]) == 5


def test_a_checkpoint_of_another_run_is_refused(tmp_path, monkeypatch):
    interrupted(tiny_run(k=2), tmp_path / "run.npz", monkeypatch)
    with pytest.raises(ValueError, match="checkpoint"):
        experiment.train_transformer(tiny_run(k=2, seed=1), tmp_path / "run.npz")


def test_adam_learns_a_single_secret_bit():
    _, course = experiment.train_transformer(tiny_run(budget=32 * 300))
    assert experiment.samples_needed(course) is not None
    assert min(course["entropy"][-1][0]) < min(course["entropy"][0][0])


def test_secrets_come_in_random_order_or_ascending():
    drawn, sorted_ = (tiny_run(n=20, k=5, ascending=x).problem.secrets for x in (False, True))
    assert drawn != sorted_ == tuple(sorted(drawn))


def test_bad_runs_are_refused_by_name():
    with pytest.raises(ValueError, match="n_heads = 3"):
        transformer.Architecture(n_heads=3, hidden=8)
    with pytest.raises(ValueError, match="validation = 40"):
        tiny_run(validation=40)
