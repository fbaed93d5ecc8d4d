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

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.model import ops
from flowsys.system import Setup
from flowsys.systems.lego import stage_2
from flowsys.systems.lego.configurations import Configurations, action_counts, from_sequences, sequences
from flowsys.systems.lego.feedforward import NUMBERS, FeedForward, value_losses
from flowsys.systems.lego.groups import GroupAction
from flowsys.systems.lego.isotropic import Isotropic, Layer
from flowsys.systems.lego.stage_2 import Scores

READINGS = ("sampled", "greedy", "missed")
FEW = 6  # steps that Acc_L looks at unless told
jax.tree_util.register_dataclass(FeedForward, data_fields=NUMBERS, meta_fields=("q", "activation", "clip"))


def steps(L: int, n_steps: int) -> np.ndarray:
    """At most `n_steps` steps ℓ, spread evenly over 1 … L with both ends."""
    return np.unique(np.rint(np.linspace(1, L, min(n_steps, L))).astype(int))


@jax.jit
def _readings(scores: Scores, features: Isotropic, tables: Configurations, d, feedforward: FeedForward):
    """The readings of several steps, each a mean over the rows of its table."""

    def of_step(table):
        F = stage_2.logits(ops, scores, features, table, feedforward)
        losses = value_losses(ops, F, table.target.argmax(axis=1), d, feedforward.F_0)
        rivals = jnp.where(table.target > 0, feedforward.F_0, F)
        is_likeliest = (table.target * F).sum(axis=1) > rivals.max(axis=1)
        return jnp.exp(-losses).mean(), is_likeliest.mean(dtype=F.dtype), -jnp.expm1(-losses).mean()

    return jax.vmap(of_step)(tables)


@lru_cache(maxsize=256)
def _tables(group: GroupAction, L: int, at: tuple[int, ...], size: int, seed: int) -> Configurations:
    """The tables of several steps of the same sequences, one after the other along a leading axis."""
    tables = from_sequences(group, *sequences(group, L, size, seed), at)
    return jax.device_put(Configurations(*(np.stack(each).astype(float) for each in zip(*tables))))


def step_accuracies(
    scores: Scores, layer: Layer, L: int, at: Sequence[int] | np.ndarray, size: int = 256, seed: int = 0
) -> dict[str, np.ndarray]:
    """Teacher-forced accuracy of each step in `at`, by reading, over `size` sequences."""
    # the last step stands in for those that are fewer, so that one compilation serves all lengths
    asked = tuple(int(ell) for ell in at) + (int(at[-1]),) * (FEW - len(at))
    with jax.enable_x64(True):
        tables = _tables(layer.group, L, asked, size, seed)
        found = _readings(scores, layer.features, tables, float(layer.d), layer.feedforward)
        return {reading: np.asarray(mean)[: len(at)] for reading, mean in zip(READINGS, found)}


def greedy_answers(scores: Scores, layer: Layer, actions, y_0, n_answers: int) -> tuple[np.ndarray, np.ndarray]:
    """The likeliest values y_1 … y_n, each standing in the context of the next (Definition 5.1): (N, n).

    And whether each is the likeliest token of all.
    """
    group, L = layer.group, actions.shape[1]
    with jax.enable_x64(True):
        everything = jnp.asarray(action_counts(group, actions))
        matrices = jnp.asarray(group.matrices)

        def answer(carry, step):
            current, past = carry
            action, ell = step
            hit = matrices[action]
            table = Configurations(float(L), ell, hit, everything - hit, current, past)
            F = stage_2.logits(ops, scores, layer.features, table, layer.feedforward)
            chosen = F.argmax(axis=1)
            carry = (jax.nn.one_hot(chosen, group.n_y, dtype=F.dtype), past + current)
            return carry, (chosen, F.max(axis=1) > layer.feedforward.F_0)

        start = (jnp.eye(group.n_y)[y_0], jnp.zeros((len(actions), group.n_y)))
        steps_taken = jnp.asarray(actions.T[:n_answers]), jnp.arange(1.0, n_answers + 1)
        _, (chosen, is_value) = jax.lax.scan(answer, start, steps_taken)
        return np.asarray(chosen).T, np.asarray(is_value).T


def rollout(scores: Scores, layer: Layer, L: int, size: int = 256, seed: int = 0) -> np.ndarray:
    """Whether each greedy self-generated answer y_1 … y_L is right: booleans (size, L).

    An answer whose likeliest token is no value at all counts as wrong; the likeliest value then stands in the context.
    """
    actions, truth = sequences(layer.group, L, size, seed)
    chosen, is_value = greedy_answers(scores, layer, actions, truth[:, 0], L)
    return is_value & (truth[:, 1:] == chosen)


def accuracy(
    scores: Scores, layer: Layer, L: int, reading: str = "sampled", n_steps: int = FEW, size: int = 256, seed: int = 0
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
        with jax.enable_x64(True):
            return float(ATTENTION[name](ops, scores, float(L), float(ell)))
    if name == "p_test":
        return float(step_accuracies(scores, layer, L, [ell], **sample)["sampled"][0])
    read = lambda L, reading="sampled": accuracy(scores, layer, L, reading, setup["n_steps"], **sample)
    if name == "L_star":  # a chain of length L names L + 1 variables
        return L_star(read, setup["accuracy_target"], min(setup["L_max"], setup["n_x"] - 1))
    return read(L, OF_READING[name])
