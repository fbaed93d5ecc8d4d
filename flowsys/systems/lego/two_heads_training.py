"""Training for Section 7: Adam on fresh sentences, checkpoints that resume exactly, self-training by doubling lengths.

An epoch is `steps_per_epoch` batches of new sentences. Every batch is drawn from (seed, epoch, step), so a run that was
stopped and resumed makes the same numbers as one that was not. In self-training the frozen previous model writes the
answers (greedy rollout) that the next one learns at twice the length.

Late in training the loss is tiny but for single epochs, where it jumps by orders of magnitude and comes back: Adam
divides by second moments that have nearly vanished. What a run has learnt are therefore its weights after the epoch of
least loss (`Run.learnt`), not those it happens to end with.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.systems.lego import two_heads
from flowsys.systems.lego.data import Vocabulary
from flowsys.systems.lego.section_7 import COURSE_LENGTHS, Experiment, Trained
from flowsys.systems.lego.two_heads_evaluation import rollout_accuracy

COURSE_SIZE, LOOKS = 100, 12


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

    def act(y, g):
        return table[g, y], table[g, y]

    _, later = jax.lax.scan(act, y_0, actions.T)
    values = jnp.concatenate([y_0[:, None], later.T], axis=1) + vocabulary.values.start
    blank = lambda n: jnp.full((size, n), vocabulary.blank)
    predicates = jnp.stack(
        [names[:, 1:], actions + vocabulary.actions.start, names[:, :-1], blank(L), blank(L)], axis=2
    )
    answers = jnp.stack([blank(L + 1), blank(L + 1), blank(L + 1), names, values], axis=2)
    return jnp.concatenate([predicates, answers], axis=1)


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
    checkpoint: Path | str | None = None,
    *,
    initial: dict | None = None,
    annotator: dict | None = None,
    save_every: int = 10,
    epochs_now: int | None = None,
    on_epochs: Callable[[Experiment, int], None] = lambda experiment, epoch: None,
) -> Run:
    """Run (or resume from `checkpoint`) up to `experiment.epochs`, or `epochs_now` more.

    Every few epochs it saves, and tells `on_epochs` how many are done.
    """
    resumed = load(checkpoint, experiment) if checkpoint is not None and Path(checkpoint).exists() else None
    run = start(experiment, initial) if resumed is None else resumed
    last = experiment.epochs if epochs_now is None else min(experiment.epochs, run.epoch + epochs_now)
    one_epoch = replace(experiment, epochs=1)  # how many follow is no part of what is compiled
    while run.epoch < last:
        state, loss = _epoch(one_epoch, *run[:3], jnp.asarray(run.epoch), annotator)
        learnt = state[0] if float(loss) <= run.losses.min(initial=np.inf) else run.learnt
        run = Run(state[0], state[1], state[2], learnt, run.epoch + 1, np.append(run.losses, float(loss)), run.course)
        if run.epoch % max(1, experiment.epochs // LOOKS) == 0:
            run = run._replace(course=(*run.course, _looked(experiment, run)))
        if run.epoch % save_every == 0 or run.epoch == last:
            if checkpoint is not None:
                save(checkpoint, experiment, run)
            on_epochs(experiment, run.epoch)
    return run


def _looked(experiment: Experiment, run: Run) -> tuple[float, ...]:
    """Steps done, the least loss so far, and what share of rollouts is all right at some lengths by what is learnt."""
    lengths = [L for L in COURSE_LENGTHS if experiment.n_x > L]
    shares = [
        rollout_accuracy(run.learnt, experiment.vocabulary, L, size=COURSE_SIZE,
                         adds_query=experiment.architecture.adds_query)["all_right"]
        for L in lengths
    ]  # fmt: skip
    return (float(run.epoch * experiment.steps_per_epoch), float(run.losses.min()), *shares)


def self_train(cases: Sequence[Trained], directory: Path | str, **options) -> Iterator[Run]:
    """Section 7, Fig. 1b: the first stage on true answers, each later one on the previous model's own answers."""
    previous: Any = None
    for case in cases:
        run = train(case.experiment, Path(directory) / case.weights, initial=previous, annotator=previous, **options)
        yield run
        if run.epoch < case.experiment.epochs:
            return
        previous = run.learnt


def save(path: Path | str, experiment: Experiment, run: Run) -> None:
    """Write a checkpoint; the file is replaced whole, so an interruption leaves the previous one."""
    arrays = {f"{part}/{name}": value for part in WEIGHTS for name, value in getattr(run, part).items()}
    partial_file = Path(path).with_suffix(".partial.npz")
    partial_file.parent.mkdir(parents=True, exist_ok=True)
    settings = json.dumps(asdict(experiment), sort_keys=True)
    course = json.dumps(run.course)
    np.savez(partial_file, **arrays, epoch=run.epoch, losses=run.losses, course=course, experiment=settings)
    os.replace(partial_file, path)


def load(path: Path | str, experiment: Experiment) -> Run:
    """Read a checkpoint of the same experiment; only the number of epochs may differ."""
    with np.load(path) as stored:
        settings = json.loads(str(stored["experiment"]))
        wanted = json.loads(json.dumps(asdict(experiment)))
        for name in wanted:
            if name != "epochs" and settings[name] != wanted[name]:
                raise ValueError(f"{name} = {wanted[name]}, but the checkpoint {path} was made with {settings[name]}.")
        parts: dict[str, Any] = {part: {} for part in WEIGHTS}
        for key in stored.files:
            part, _, name = key.partition("/")
            if part in parts:
                parts[part][name] = jnp.asarray(stored[key])
        course = tuple(map(tuple, json.loads(str(stored["course"]))))
        return Run(**parts, epoch=int(stored["epoch"]), losses=stored["losses"], course=course)
