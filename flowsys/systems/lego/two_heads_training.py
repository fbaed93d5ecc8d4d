"""Training and looking at the transformer of Section 7: Adam on fresh sentences, own rollouts, attention.

An epoch is `steps_per_epoch` batches of new sentences. Every batch is drawn from (seed, epoch, step), so a run that was
stopped and resumed makes the same numbers as one that was not. In self-training the frozen previous model writes the
answers (greedy rollout) that the next one learns at twice the length.

Late in training the loss is tiny but for single epochs, where it jumps by orders of magnitude and comes back: Adam
divides by second moments that have nearly vanished. What a run has learnt are therefore its weights after the epoch of
least loss (`Run.learnt`), not those it happens to end with.

Accuracy is the share of sentences all of whose values are right when the model writes every answer itself. An attention
map has the queries ans_0 … ans_{L-1} as rows and the 2 L clauses as columns, averaged over heads and sentences; its
diagonals are ans_ℓ → pred_{ℓ+1} and ans_ℓ → ans_ℓ.
"""

import json
import os
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.systems.lego import two_heads
from flowsys.systems.lego.data import Vocabulary, clauses, sample
from flowsys.systems.lego.section_7 import COURSE_LENGTHS, DIAGONAL_LENGTHS, TEST_LENGTHS, Experiment

LOOKS, SAVED_EVERY = 12, 10
SENTENCES, COURSE_SENTENCES, AT_ONCE = 500, 100, 100
DIGITS = 4


class Run(NamedTuple):
    """Parameters with Adam's two moments, those after the epoch of least loss, epochs done and their mean losses.

    `course`: steps, loss and shares of all-right rollouts at COURSE_LENGTHS, LOOKS times on the way.
    """

    parameters: dict
    first: dict
    second: dict
    learnt: dict
    epoch: int
    losses: np.ndarray
    course: tuple[tuple[float, ...], ...] = ()


WEIGHTS = Run._fields[:4]


def start(experiment: Experiment, parameters: dict | None = None) -> Run:
    """Before the first epoch: random parameters, or given ones (self-training continues from the previous model)."""
    if parameters is None:
        key = jax.random.fold_in(jax.random.key(experiment.seed), 0)
        parameters = two_heads.parameters(key, experiment.vocabulary, experiment.architecture)
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    return Run(parameters, zeros, zeros, parameters, 0, np.zeros(0))


def draw_tokens(key, vocabulary: Vocabulary, L: int, size: int):
    """Random sentences as token numbers, (size, 2 L + 1, 5): `data.clauses` of Assumption 3.2, drawn inside JAX."""
    group = vocabulary.group
    for_names, for_actions, for_value = jax.random.split(key, 3)
    names = jax.lax.top_k(jax.random.uniform(for_names, (size, vocabulary.n_x)), L + 1)[1]
    actions = jax.random.randint(for_actions, (size, L), 0, group.n_g)
    y_0 = jax.random.randint(for_value, (size,), 0, group.n_y)
    table = jnp.asarray(group.action)
    _, later = jax.lax.scan(lambda y, g: (table[g, y], table[g, y]), y_0, actions.T)
    return clauses(vocabulary, names, actions, jnp.concatenate([y_0[:, None], later.T], axis=1), jnp)


def adam_step(parameters, first, second, slope, step, learning_rate, decay=(0.9, 0.999), floor=1e-8):
    """One step of Adam with bias correction; `step` counts from 1."""
    first = jax.tree.map(lambda m, g: decay[0] * m + (1 - decay[0]) * g, first, slope)
    second = jax.tree.map(lambda v, g: decay[1] * v + (1 - decay[1]) * g * g, second, slope)
    unbias_first, unbias_second = 1 - decay[0] ** step, 1 - decay[1] ** step
    move = lambda p, m, v: p - learning_rate * (m / unbias_first) / (jnp.sqrt(v / unbias_second) + floor)
    return jax.tree.map(move, parameters, first, second), first, second


@partial(jax.jit, static_argnames=("experiment",))
def _epoch(experiment: Experiment, parameters, first, second, epoch, annotator):
    vocabulary, L, adds_query = experiment.vocabulary, experiment.L, experiment.architecture.adds_query
    epoch_key = jax.random.fold_in(jax.random.fold_in(jax.random.key(experiment.seed), 1), epoch)

    def step(carry, i):
        parameters, first, second = carry
        tokens = draw_tokens(jax.random.fold_in(epoch_key, i), vocabulary, L, experiment.batch)
        if annotator is not None:
            written = two_heads.greedy_rollout(annotator, tokens, L, adds_query)
            tokens = jnp.concatenate([tokens[:, : L + 1], written], axis=1)
        loss, slope = jax.value_and_grad(two_heads.next_clause_loss)(parameters, tokens, L, adds_query)
        count = (epoch * experiment.steps_per_epoch + i + 1).astype(jnp.float32)
        return adam_step(parameters, first, second, slope, count, experiment.learning_rate), loss

    carry, losses = jax.lax.scan(step, (parameters, first, second), jnp.arange(experiment.steps_per_epoch))
    return carry, losses.mean()


def train(
    experiment: Experiment,
    checkpoint: Path | None = None,
    previous: dict | None = None,
    on_epochs: Callable[[Experiment, int], None] = lambda experiment, epoch: None,
) -> Run:
    """Run, or resume from `checkpoint`, up to `experiment.epochs`; from `previous` weights on, on their answers.

    Every few epochs it saves, and tells `on_epochs` how many are done.
    """
    is_resumed = checkpoint is not None and checkpoint.exists()
    run = load(checkpoint, experiment) if checkpoint is not None and is_resumed else start(experiment, previous)
    one_epoch = replace(experiment, epochs=1)  # how many follow is no part of what is compiled
    while run.epoch < experiment.epochs:
        state, loss = _epoch(one_epoch, *run[:3], jnp.asarray(run.epoch), previous)
        learnt = state[0] if float(loss) <= run.losses.min(initial=np.inf) else run.learnt
        run = Run(state[0], state[1], state[2], learnt, run.epoch + 1, np.append(run.losses, float(loss)), run.course)
        if run.epoch % max(1, experiment.epochs // LOOKS) == 0:
            shares = [rollouts(run.learnt, experiment, L, COURSE_SENTENCES).all(axis=1).mean()
                      for L in experiment.within(COURSE_LENGTHS)]  # fmt: skip
            look = run.epoch * experiment.steps_per_epoch, run.losses.min(), *shares
            run = run._replace(course=(*run.course, tuple(map(float, look))))
        if run.epoch % SAVED_EVERY == 0 or run.epoch == experiment.epochs:
            if checkpoint is not None:
                save(checkpoint, experiment, run)
            on_epochs(experiment, run.epoch)
    return run


def save(path: Path, experiment: Experiment, run: Run) -> None:
    """Write a checkpoint; the file is replaced whole, so an interruption leaves the previous one."""
    arrays = {f"{part}/{name}": value for part in WEIGHTS for name, value in getattr(run, part).items()}
    partial_file = path.with_suffix(".partial.npz")
    partial_file.parent.mkdir(parents=True, exist_ok=True)
    settings, course = json.dumps(asdict(experiment), sort_keys=True), json.dumps(run.course)
    np.savez(partial_file, **arrays, epoch=run.epoch, losses=run.losses, course=course, experiment=settings)
    os.replace(partial_file, path)


def load(path: Path, experiment: Experiment) -> Run:
    """Read a checkpoint of the same experiment; only the number of epochs may differ."""
    with np.load(path) as stored:
        settings = json.loads(str(stored["experiment"]))
        for name, wanted in asdict(experiment).items():
            if name != "epochs" and settings[name] != wanted:
                raise ValueError(f"{name} = {wanted}, but the checkpoint {path} was made with {settings[name]}.")
        parts: dict[str, Any] = {part: {} for part in WEIGHTS}
        for part, _, name in (key.partition("/") for key in stored.files if "/" in key):
            parts[part][name] = jnp.asarray(stored[f"{part}/{name}"])
        course = tuple(map(tuple, json.loads(str(stored["course"]))))
        return Run(**parts, epoch=int(stored["epoch"]), losses=stored["losses"], course=course)


# -- what is looked at ------------------------------------------------------------------------------------------------


@partial(jax.jit, static_argnames=("L", "adds_query"))
def _values_right(parameters, tokens, L, adds_query):
    return two_heads.greedy_rollout(parameters, tokens, L, adds_query)[:, :, 4] == tokens[:, L + 1 :, 4]


@partial(jax.jit, static_argnames=("L",))
def _mean_attention(parameters, tokens, L):  # attention does not depend on what is added to it
    return two_heads.forward(parameters, tokens, L)[1].mean(axis=(0, 1))


def rollouts(parameters: dict, experiment: Experiment, L: int, size: int) -> np.ndarray:
    """Whether each value of each of `size` sentences is right when the model writes every answer: (size, L)."""
    vocabulary, rng, right = experiment.vocabulary, np.random.default_rng([0, L]), []
    for done in range(0, size, AT_ONCE):
        tokens = clauses(vocabulary, *sample(rng, vocabulary.group, vocabulary.n_x, L, min(AT_ONCE, size - done)))
        right.append(_values_right(parameters, jnp.asarray(tokens), L, experiment.architecture.adds_query))
    return np.concatenate(right)


def attention_map(parameters: dict, vocabulary: Vocabulary, L: int, order: np.ndarray, size: int = 100) -> np.ndarray:
    """Mean attention (L, 2 L) on true sentences whose predicates are shown in the order given (Fig. 5)."""
    tokens = clauses(vocabulary, *sample(np.random.default_rng([0, L]), vocabulary.group, vocabulary.n_x, L, size))
    tokens = np.concatenate([tokens[:, order], tokens[:, L:]], axis=1)
    return np.asarray(_mean_attention(parameters, jnp.asarray(tokens), L))


def diagonals(attention: np.ndarray, order: np.ndarray) -> dict[str, np.ndarray]:
    """Attention of ans_ℓ on pred_{ℓ+1} and on itself, ℓ = 0 … L-1 (Figs. 6, 7)."""
    at = np.arange(len(attention))
    return {"predicate": attention[at, np.argsort(order)], "answer": attention[at, len(at) + at]}


def results(experiment: Experiment, trained: Run) -> dict[str, Any]:
    """What is kept of a trained model."""
    right = {L: rollouts(trained.learnt, experiment, L, SENTENCES) for L in experiment.within(TEST_LENGTHS)}
    return {
        "group": experiment.group,
        "trained_to": experiment.L,
        "experiment": asdict(experiment),
        "losses": _short(trained.losses),
        "course": [list(look) for look in trained.course],
        "sentences": SENTENCES,
        "all_right": {str(L): float(values.all(axis=1).mean()) for L, values in right.items()},
        "by_step": {str(L): _short(values.mean(axis=0)) for L, values in right.items()},
        "attention": {str(L): _attention(experiment, trained, L) for L in experiment.within(DIAGONAL_LENGTHS)},
    }


def _attention(experiment: Experiment, trained: Run, L: int) -> dict[str, Any]:
    """Diagonals of the mean attention at length L, predicates in order and shuffled; at the shortest the maps too."""
    shuffled = np.random.default_rng(experiment.seed).permutation(L)
    found: dict[str, Any] = {"order": shuffled.tolist()}
    for name, order in (("in_order", np.arange(L)), ("shuffled", shuffled)):
        attention = attention_map(trained.learnt, experiment.vocabulary, L, order)
        found[name] = {kind: _short(line) for kind, line in diagonals(attention, order).items()}
        if DIAGONAL_LENGTHS[0] == L:
            found[name]["map"] = _short(attention)
    return found


def _short(numbers: np.ndarray) -> list:
    """Numbers with a few significant digits."""
    numbers = np.asarray(numbers, dtype=float)
    return [_short(row) for row in numbers] if numbers.ndim > 1 else [float(f"{x:.{DIGITS}g}") for x in numbers]
