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

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.runs.adam import Adam
from flowsys.runs.checkpoint import restored, save
from flowsys.systems.lego import two_heads
from flowsys.systems.lego.data import Vocabulary, clauses, sample
from flowsys.systems.lego.section_7 import COURSE_LENGTHS, DIAGONAL_LENGTHS, TEST_LENGTHS, Experiment

LOOKS, SAVED_EVERY = 12, 10
SENTENCES, COURSE_SENTENCES, AT_ONCE = 500, 100, 100
DIGITS = 4


class Run(NamedTuple):
    """Where Adam stands, the weights after the epoch of least loss, and the mean loss of every epoch.

    `course`: steps, loss and shares of all-right rollouts at COURSE_LENGTHS, LOOKS times on the way.
    """

    adam: Adam
    learnt: dict
    losses: list[float]
    course: list[list[float]]


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


@partial(jax.jit, static_argnames=("experiment",))
def _epoch(experiment: Experiment, adam: Adam, epoch, annotator):
    adds_query = experiment.architecture.adds_query
    epoch_key = jax.random.fold_in(jax.random.fold_in(jax.random.key(experiment.seed), 1), epoch)

    def step(adam, i):
        tokens = draw_tokens(jax.random.fold_in(epoch_key, i), experiment.vocabulary, experiment.L, experiment.batch)
        if annotator is not None:
            written = two_heads.greedy_rollout(annotator, tokens, adds_query)
            tokens = jnp.concatenate([tokens[:, : experiment.L + 1], written], axis=1)
        loss, slope = jax.value_and_grad(two_heads.next_clause_loss)(adam.weights, tokens, adds_query)
        return adam.step(slope, experiment.learning_rate), loss

    adam, losses = jax.lax.scan(step, adam, jnp.arange(experiment.steps_per_epoch))
    return adam, losses.mean()


def train(
    experiment: Experiment,
    checkpoint: Path | None = None,
    previous: dict | None = None,
    on_epochs: Callable[[Experiment, int], None] = lambda experiment, epoch: None,
) -> Run:
    """Run, or resume from `checkpoint`, up to `experiment.epochs`; from `previous` weights on, on their answers.

    Every few epochs it saves, and tells `on_epochs` how many are done.
    """
    one_epoch = replace(experiment, epochs=1)  # how many follow is no part of what is compiled or kept
    key = jax.random.fold_in(jax.random.key(experiment.seed), 0)
    drawn = two_heads.parameters(key, experiment.vocabulary, experiment.architecture)
    first = drawn if previous is None else previous
    (adam, learnt), (losses, course) = restored(checkpoint, one_epoch, (Adam.start(first), first), ([], []))
    for epoch in range(len(losses), experiment.epochs):
        adam, loss = _epoch(one_epoch, adam, jnp.asarray(epoch), previous)
        learnt = adam.weights if float(loss) <= min(losses, default=np.inf) else learnt
        losses, done = [*losses, float(loss)], epoch + 1
        if done % max(1, experiment.epochs // LOOKS) == 0:
            right = [rollouts(learnt, experiment, L, COURSE_SENTENCES) for L in experiment.within(COURSE_LENGTHS)]
            shares = [float(values.all(axis=1).mean()) for values in right]
            course = [*course, [float(done * experiment.steps_per_epoch), min(losses), *shares]]
        if done % SAVED_EVERY == 0 or done == experiment.epochs:
            if checkpoint is not None:
                save(checkpoint, one_epoch, (adam, learnt), (losses, course))
            on_epochs(experiment, done)
    return Run(adam, learnt, losses, course)


# -- what is looked at ------------------------------------------------------------------------------------------------


_attended = jax.jit(lambda parameters, tokens: two_heads.forward(parameters, tokens, adds_query=False)[1])


def rollouts(parameters: dict, experiment: Experiment, L: int, size: int) -> np.ndarray:
    """Whether each value of each of `size` sentences is right when the model writes every answer: (size, L)."""
    vocabulary, rng, right = experiment.vocabulary, np.random.default_rng([0, L]), []
    for done in range(0, size, AT_ONCE):
        tokens = clauses(vocabulary, *sample(rng, vocabulary.group, vocabulary.n_x, L, min(AT_ONCE, size - done)))
        written = two_heads.greedy_rollout(parameters, tokens, experiment.architecture.adds_query)
        right.append(written[:, :, 4] == tokens[:, L + 1 :, 4])
    return np.concatenate(right)


def attention_map(parameters: dict, vocabulary: Vocabulary, L: int, order: np.ndarray, size: int = 100) -> np.ndarray:
    """Mean attention (L, 2 L) on true sentences whose predicates are shown in the order given (Fig. 5)."""
    tokens = clauses(vocabulary, *sample(np.random.default_rng([0, L]), vocabulary.group, vocabulary.n_x, L, size))
    tokens = np.concatenate([tokens[:, order], tokens[:, L:]], axis=1)
    return np.asarray(_attended(parameters, tokens)).mean(axis=(0, 1))  # the same with and without a residual


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
        "course": trained.course,
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


def _short(numbers: np.ndarray | list[float]) -> list:
    """Numbers with a few significant digits."""
    rows = np.asarray(numbers, dtype=float)
    return [_short(row) for row in rows] if rows.ndim > 1 else [float(f"{x:.{DIGITS}g}") for x in rows]
