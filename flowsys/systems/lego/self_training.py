"""Algorithm 2 on the reduced model: what each round of recursive self-training trains on.

Stage 1.2 trains the scores on Loss_5^{2,2}; stage k ≥ 2 takes L = 2^k, lets the previous model answer greedily, and
trains on its answers until the loss falls below a threshold. The flow of a round is in `rounds`.
"""

from typing import NamedTuple

import jax
import numpy as np

from flowsys.model import ops
from flowsys.systems.lego import configurations, stage_2
from flowsys.systems.lego.feedforward import FeedForward
from flowsys.systems.lego.groups import GroupAction
from flowsys.systems.lego.isotropic import Isotropic
from flowsys.systems.lego.stage_2 import Scores


class Round(NamedTuple):
    """One stage: its length, the scores before and after, τ spent, the share of self-labels that are right."""

    L: int
    start: Scores
    end: Scores
    tau: float
    label_accuracy: float


class Layer(NamedTuple):
    """A trained isotropic feed-forward layer: what stage 2 keeps fixed."""

    group: GroupAction
    features: Isotropic
    d: float
    feedforward: FeedForward


def greedy_answers(layer: Layer, scores: Scores, actions, y_0, n_answers: int):
    """y_0 and the previous model's greedy answers y_1 … y_n (Definition 5.1), among the values: (N, n + 1)."""
    values = np.asarray(y_0)[:, None]
    with jax.enable_x64(True):
        for ell in range(1, n_answers + 1):
            table = configurations.from_sequences(layer.group, actions, values, ell)
            F = stage_2.configuration_logits(ops, scores, layer.features, table, layer.feedforward)
            # Tables bring the true answer of the context to class 0 by a transposition; undo it.
            truth = layer.group.action[actions[:, ell - 1], values[:, ell - 1]]
            best = np.asarray(F.argmax(axis=1))
            answer = np.where(best == 0, truth, np.where(best == truth, 0, best))
            values = np.concatenate([values, answer[:, None]], axis=1)
    return values


def self_labelled_tables(layer: Layer, scores: Scores, L: int, trained_steps, size: int, seed: int):
    """Tables for the steps to be trained, with the answers of the model at `scores`; and the share of right labels."""
    actions, truth = configurations.sequences(layer.group, L, size, seed)
    answers = greedy_answers(layer, scores, actions, truth[:, 0], max(trained_steps))
    tables = [
        configurations.from_sequences(layer.group, actions, answers[:, :ell], ell, labels=answers[:, ell])
        for ell in trained_steps
    ]
    last = max(trained_steps)
    return tables, float(np.mean(answers[:, 1 : last + 1] == truth[:, 1 : last + 1]))


def round_tables(layer: Layer, scores: Scores, L: int, trained_steps, size: int, seed: int):
    """What a round trains on, and the share of right labels: true ones, exactly, at L = 2; self-labels beyond."""
    if L == 2:
        return [configurations.exact(layer.group, L, ell) for ell in trained_steps], 1.0
    configurations.check_sample(layer.group, len(trained_steps), size)
    return self_labelled_tables(layer, scores, L, trained_steps, size, seed)
