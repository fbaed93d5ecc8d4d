"""Length generalisation of the reduced model: Acc_L in three readings, and the longest solvable length.

    sampled    E p(correct value | true prefix), averaged over steps (Eq. 5 with p_{F_5})
    greedy     share of steps at which the likeliest token is right, given the true prefix
    rollout    share of steps right when the model continues its own greedy answers

Only the token that has to be computed, the value, is scored. The first two may look at a few steps ℓ only, spread over
1 … L; a rollout goes through all of them. `missed` is 1 - `sampled` with all its digits where it is tiny.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import ceil

import numpy as np

from flowsys.model import numeric
from flowsys.system import Setup
from flowsys.systems.lego import stage_2
from flowsys.systems.lego.configurations import Configurations, action_counts, from_sequences, sequences
from flowsys.systems.lego.feedforward import value_losses
from flowsys.systems.lego.groups import GroupAction
from flowsys.systems.lego.isotropic import Layer
from flowsys.systems.lego.stage_2 import Scores

READINGS = ("sampled", "greedy", "missed")


def steps(L: int, n_steps: int) -> np.ndarray:
    """At most `n_steps` steps ℓ, spread evenly over 1 … L with both ends."""
    return np.unique(np.rint(np.linspace(1, L, min(n_steps, L))).astype(int))


@lru_cache(maxsize=256)
def _tables(group: GroupAction, L: int, at: tuple[int, ...], size: int, seed: int) -> list[Configurations]:
    return from_sequences(group, *sequences(group, L, size, seed), at)


def step_accuracies(
    scores: Scores, layer: Layer, L: int, at: Sequence[int] | np.ndarray, size: int = 256, seed: int = 0
) -> dict[str, np.ndarray]:
    """Teacher-forced accuracy of each step in `at`, by reading, over `size` sequences."""
    tables, F_0 = _tables(layer.group, L, tuple(map(int, at)), size, seed), layer.feedforward.F_0
    F = np.array([stage_2.logits(numeric, scores, layer.features, table, layer.feedforward) for table in tables])
    target = np.array([table.target for table in tables])
    losses = value_losses(numeric, F, target.argmax(axis=-1), layer.d, F_0)
    is_likeliest = (target * F).sum(axis=-1) > np.where(target > 0, F_0, F).max(axis=-1)
    means = np.exp(-losses), is_likeliest, -np.expm1(-losses)
    return {reading: of_each.mean(axis=-1) for reading, of_each in zip(READINGS, means)}


def greedy_answers(scores: Scores, layer: Layer, actions, y_0, n_answers: int) -> tuple[np.ndarray, np.ndarray]:
    """The likeliest values y_1 … y_n, each standing in the context of the next (Definition 5.1): (N, n).

    And whether each is the likeliest token of all.
    """
    group, own, found = layer.group, np.eye(layer.group.n_y), []
    everything, current, past = action_counts(group, actions), own[y_0], np.zeros((len(actions), group.n_y))
    for ell, action in enumerate(actions.T[:n_answers], start=1):
        hit = group.matrices[action]
        table = Configurations(actions.shape[1], ell, hit, everything - hit, current, past)
        F = stage_2.logits(numeric, scores, layer.features, table, layer.feedforward)
        found.append((F.argmax(axis=1), F.max(axis=1) > layer.feedforward.F_0))
        current, past = own[found[-1][0]], past + current
    chosen, is_value = map(np.column_stack, zip(*found))
    return chosen, is_value


def rollout(scores: Scores, layer: Layer, L: int, size: int = 256, seed: int = 0) -> np.ndarray:
    """Whether each greedy self-generated answer y_1 … y_L is right: booleans (size, L).

    An answer whose likeliest token is no value at all counts as wrong; the likeliest value then stands in the context.
    """
    actions, truth = sequences(layer.group, L, size, seed)
    chosen, is_value = greedy_answers(scores, layer, actions, truth[:, 0], L)
    return is_value & (truth[:, 1:] == chosen)


def accuracy(
    scores: Scores, layer: Layer, L: int, reading: str = "sampled", n_steps: int = 6, size: int = 256, seed: int = 0
) -> float:
    """Acc_L in a reading."""
    if reading == "rollout":
        return float(rollout(scores, layer, L, size, seed).mean())
    return float(step_accuracies(scores, layer, L, steps(L, n_steps), size, seed)[reading].mean())


def following(L: int) -> int:
    """The next length of the grid, ⌈2^(1/3) L⌉."""
    return ceil(2 ** (1 / 3) * L)


def L_star(accuracy_at: Callable[[int], float], threshold: float = 0.9, L_max: int = 10_000) -> int:
    """The longest length on the grid 2, 3, 4, 6, 8, 11, … up to which accuracy_at(L) stays at least `threshold`.

    It is 1 if it fails at 2.
    """
    longest, L = 1, 2
    while L_max >= L and accuracy_at(L) >= threshold:
        longest, L = L, following(L)
    return longest


ATTENTION: dict[str, Callable] = {"eps_test": stage_2.eps_attention, "gap_test": stage_2.gap}
OF_READING = {"accuracy": "sampled", "inaccuracy": "missed", "accuracy_greedy": "greedy", "accuracy_rollout": "rollout"}


def measured(setup: Setup, layer: Layer, name: str, y: np.ndarray) -> float:
    """What a state (α, β, γ, δ) of stage 2 is measured by after the fact, each by its name among the observables."""
    scores, L, ell = Scores(*map(float, y)), setup["L_test"], setup["ell_test"]
    sample = {"size": setup["n_sequences"], "seed": setup["seed"]}
    if name in ATTENTION:
        return float(ATTENTION[name](numeric, scores, L, ell))
    if name == "p_test":
        return float(step_accuracies(scores, layer, L, [ell], **sample)["sampled"][0])
    read = lambda L, reading="sampled": accuracy(scores, layer, L, reading, setup["n_steps"], **sample)
    if name == "L_star":  # a chain of length L names L + 1 variables
        return L_star(read, setup["accuracy_target"], min(setup["L_max"], setup["n_x"] - 1))
    return read(L, OF_READING[name])
