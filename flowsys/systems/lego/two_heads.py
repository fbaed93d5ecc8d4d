"""The transformer of Section 7, trained and looked at: Adam on fresh sentences, own rollouts, attention.

One layer, two heads, a feed-forward block, no positions (`experiments.clauses`); all five tokens of every answer are
trained. The paper states no width, embedding, residuals or norms. Without a residual around attention the block has to
find the last value by attention, as in Definition 3.5; with one the query's own clause brings it.

An epoch is `steps_per_epoch` batches of new sentences, drawn from (seed, epoch, step). In self-training the frozen
previous model writes the answers (greedy rollout) that the next one learns at twice the length. What a run has learnt
are its weights after the epoch of least loss (`Trained.best`): late in training the loss jumps in single epochs.

Accuracy is the share of sentences all of whose values are right when the model writes every answer itself. An attention
map has the queries ans_0 … ans_{L-1} as rows and the 2 L clauses as columns, averaged over heads and sentences; its
diagonals are ans_ℓ → pred_{ℓ+1} and ans_ℓ → ans_ℓ.
"""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import flowsys as fs
from flowsys.experiments import training
from flowsys.experiments.clauses import clause_weights, continued, forward, next_clause_loss
from flowsys.experiments.training import Trained
from flowsys.systems.lego.data import Vocabulary, clauses, sample, states
from flowsys.systems.lego.section_7 import COURSE_LENGTHS, DIAGONAL_LENGTHS, TEST_LENGTHS, Experiment

LOOKS = 12
SENTENCES, COURSE_SENTENCES, AT_ONCE = 500, 100, 100
DIGITS = 4


def draw_tokens(key, vocabulary: Vocabulary, L: int, size: int):
    """Random sentences as token numbers, (size, 2 L + 1, 5): `data.clauses` of Assumption 3.2, drawn inside JAX."""
    group = vocabulary.group
    for_names, for_actions, for_value = jax.random.split(key, 3)
    names = jax.lax.top_k(jax.random.uniform(for_names, (size, vocabulary.n_x)), L + 1)[1]
    actions = jax.random.randint(for_actions, (size, L), 0, group.n_g)
    values = states(group, actions, jax.random.randint(for_value, (size,), 0, group.n_y), jnp)
    return clauses(vocabulary, fs.Samples(variables=names, actions=actions, values=values), jnp)


@partial(jax.jit, static_argnames="experiment")
def _epoch(experiment: Experiment, epoch, annotator):
    """The sentences of all steps of an epoch, with the answers of the annotator if there is one."""
    epoch_key = jax.random.fold_in(jax.random.fold_in(jax.random.key(experiment.seed), 1), epoch)

    def batch(i):
        tokens = draw_tokens(jax.random.fold_in(epoch_key, i), experiment.vocabulary, experiment.L, experiment.batch)
        if annotator is None:
            return tokens
        given = tokens[:, : experiment.L + 1]
        return jnp.concatenate(
            [given, continued(annotator, given, experiment.L, experiment.architecture.adds_query)], axis=1
        )

    return jax.lax.map(batch, jnp.arange(experiment.steps_per_epoch))


@lru_cache(maxsize=8)
def loss_of(L: int, adds_query: bool) -> Callable:
    """Eq. (6a) up to the factor L, which Adam ignores: of all tokens of answers 1 … L."""
    return partial(next_clause_loss, first=L, adds_query=adds_query)


def train(
    experiment: Experiment,
    checkpoint: Path | None = None,
    previous: dict | None = None,
    on_epochs: Callable[[Experiment, int], None] = lambda experiment, epoch: None,
) -> Trained:
    """Run, or resume from `checkpoint`, up to `experiment.epochs`; from `previous` weights on, on their answers."""
    one_epoch = replace(experiment, epochs=1)  # how many follow is no part of what is compiled or kept
    key, n = jax.random.fold_in(jax.random.key(experiment.seed), 0), experiment.steps_per_epoch
    of = experiment.architecture

    def look(trained: Trained) -> dict[str, list[float]]:
        """Steps, least loss and shares of all-right rollouts at COURSE_LENGTHS, LOOKS times on the way."""
        if len(trained.course["loss"]) % max(1, experiment.epochs // LOOKS):
            return {}
        right = [rollouts(trained.best, experiment, L, COURSE_SENTENCES) for L in experiment.within(COURSE_LENGTHS)]
        shares = [float(values.all(axis=1).mean()) for values in right]
        return {"looks": [float(trained.course["step"][-1]), min(trained.course["loss"]), *shares]}

    return training.train(
        one_epoch,
        clause_weights(key, experiment.vocabulary.d, 5, of.embedding, of.hidden, of.n_heads)
        if previous is None
        else previous,
        loss_of(experiment.L, experiment.architecture.adds_query),
        lambda steps: _epoch(one_epoch, jnp.asarray(steps.start // n), previous),
        lambda steps: experiment.learning_rate,
        steps=experiment.epochs * n,
        every=n,
        look=look,
        checkpoint=checkpoint,
        on_progress=lambda done: on_epochs(experiment, done // n),
    )


# -- what is looked at ------------------------------------------------------------------------------------------------


def rollouts(weights: dict, experiment: Experiment, L: int, size: int) -> np.ndarray:
    """Whether each value of each of `size` sentences is right when the model writes every answer: (size, L)."""
    vocabulary, rng, right = experiment.vocabulary, np.random.default_rng([0, L]), []
    for done in range(0, size, AT_ONCE):
        tokens = clauses(vocabulary, sample(rng, vocabulary.group, vocabulary.n_x, L, min(AT_ONCE, size - done)))
        written = continued(weights, tokens[:, : L + 1], L, experiment.architecture.adds_query)
        right.append(written[:, :, 4] == tokens[:, L + 1 :, 4])
    return np.concatenate(right)


def attention_map(weights: dict, vocabulary: Vocabulary, L: int, order: np.ndarray, size: int = 100) -> np.ndarray:
    """Mean attention (L, 2 L) on true sentences whose predicates are shown in the order given (Fig. 5)."""
    tokens = clauses(vocabulary, sample(np.random.default_rng([0, L]), vocabulary.group, vocabulary.n_x, L, size))
    tokens = np.concatenate([tokens[:, order], tokens[:, L:-1]], axis=1)
    return np.asarray(forward(weights, tokens, first=L)[1]).mean(axis=(0, 1))  # a residual does not change it


def diagonals(attention: np.ndarray, order: np.ndarray) -> dict[str, np.ndarray]:
    """Attention of ans_ℓ on pred_{ℓ+1} and on itself, ℓ = 0 … L-1 (Figs. 6, 7)."""
    at = np.arange(len(attention))
    return {"predicate": attention[at, np.argsort(order)], "answer": attention[at, len(at) + at]}


def results(experiment: Experiment, trained: Trained) -> dict[str, Any]:
    """What is kept of a trained model."""
    right = {L: rollouts(trained.best, experiment, L, SENTENCES) for L in experiment.within(TEST_LENGTHS)}
    return {
        "group": experiment.group,
        "trained_to": experiment.L,
        "experiment": asdict(experiment),
        "losses": _short(trained.course["loss"]),
        "course": trained.course.get("looks", []),
        "sentences": SENTENCES,
        "all_right": {str(L): float(values.all(axis=1).mean()) for L, values in right.items()},
        "by_step": {str(L): _short(values.mean(axis=0)) for L, values in right.items()},
        "attention": {str(L): _attention(experiment, trained, L) for L in experiment.within(DIAGONAL_LENGTHS)},
    }


def _attention(experiment: Experiment, trained: Trained, L: int) -> dict[str, Any]:
    """Diagonals of the mean attention at length L, predicates in order and shuffled; at the shortest the maps too."""
    shuffled = np.random.default_rng(experiment.seed).permutation(L)
    found: dict[str, Any] = {"order": shuffled.tolist()}
    for name, order in (("in_order", np.arange(L)), ("shuffled", shuffled)):
        attention = attention_map(trained.best, experiment.vocabulary, L, order)
        found[name] = {kind: _short(line) for kind, line in diagonals(attention, order).items()}
        if DIAGONAL_LENGTHS[0] == L:
            found[name]["map"] = _short(attention)
    return found


def _short(numbers: np.ndarray | list[float]) -> list:
    """Numbers with a few significant digits."""
    rows = np.asarray(numbers, dtype=float)
    return [_short(row) for row in rows] if rows.ndim > 1 else [float(f"{x:.{DIGITS}g}") for x in rows]
