"""Length generalisation of the reduced model: Acc_L in three readings, and the longest solvable length.

    sampled    E p(correct value | true prefix), averaged over steps (Eq. 5 with p_{F_5})
    greedy     share of steps at which the likeliest token is right, given the true prefix
    rollout    share of steps right when the model continues its own greedy answers

Only the token that has to be computed, the value, is scored. The first two may look at a few steps ℓ only, spread over
1 … L; a rollout goes through all of them.
"""

from functools import lru_cache
from math import ceil

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.model import ops
from flowsys.systems.lego import stage_2
from flowsys.systems.lego.configurations import Configurations, from_sequences, occurrences, sequences
from flowsys.systems.lego.data import states
from flowsys.systems.lego.feedforward import FeedForward
from flowsys.systems.lego.groups import GroupAction
from flowsys.systems.lego.isotropic import Isotropic

READINGS = ("sampled", "greedy", "rollout")
FEW = 6  # steps that Acc_L looks at unless told


def steps(L: int, n_steps: int | None) -> np.ndarray:
    """At most `n_steps` steps ℓ, spread evenly over 1 … L with both ends; all of them if None."""
    if n_steps is None or n_steps >= L:
        return np.arange(1, L + 1)
    return np.unique(np.rint(np.linspace(1, L, n_steps)).astype(int))


@lru_cache(maxsize=64)
def _step_scores(q: int, activation: str, clip: str):
    """p(right value), whether it is the likeliest, and 1 - p: means over the rows of the tables of several steps."""

    def of_step(scores, features, table, d, numbers):
        feedforward = FeedForward(q=q, activation=activation, clip=clip, **numbers)
        losses = stage_2.configuration_losses(ops, scores, features, table, d, feedforward)
        F = stage_2.configuration_logits(ops, scores, features, table, feedforward)
        rivals = jnp.maximum(F[:, 1:].max(axis=1), feedforward.outside_logit(ops, F.shape[1]))
        return jnp.exp(-losses).mean(), (F[:, 0] > rivals).mean(dtype=losses.dtype), -jnp.expm1(-losses).mean()

    axes = Configurations(None, *[0] * (len(Configurations._fields) - 1))
    return jax.jit(jax.vmap(of_step, in_axes=(None, None, axes, None, None)))


@lru_cache(maxsize=256)
def _tables(group: GroupAction, L: int, at: tuple[int, ...], size: int, seed: int) -> Configurations:
    """The tables of several steps of the same sequences, one after the other along a leading axis."""
    actions, values = sequences(group, L, size, seed)
    tables = [from_sequences(group, actions, values, ell) for ell in at]
    stacked = Configurations(*map(np.stack, zip(*tables)))
    return jax.device_put(stacked._replace(L=float(L), ell=stacked.ell.astype(float)))


def step_accuracies(
    scores, features: Isotropic, group: GroupAction, L: int, d, feedforward: FeedForward, *, at=None, size=256, seed=0
) -> dict:
    """Teacher-forced accuracy of each step in `at` (all if None), over `size` sequences.

    `missed` is 1 - `sampled` with all its digits where it is tiny.
    """
    at = np.arange(1, L + 1) if at is None else np.asarray(at)
    # the last step stands in for those that are fewer, so that one compilation serves all lengths
    asked = tuple(int(ell) for ell in at) + (int(at[-1]),) * (FEW - len(at))
    with jax.enable_x64(True):
        tables = _tables(group, L, asked, size, seed)
        of_steps = _step_scores(feedforward.q, feedforward.activation, feedforward.clip)
        numbers = {name: getattr(feedforward, name) for name in ("bias", "rho", "varpi", "B", "clip_width", "F_0")}
        found = of_steps(scores, features, tables, float(d), numbers)
        sampled, greedy, missed = (np.asarray(mean)[: len(at)] for mean in found)
    return {"steps": at, "sampled": sampled, "greedy": greedy, "missed": missed}


def rollout(scores, features: Isotropic, group: GroupAction, L: int, d, feedforward, *, size=256, seed=0):
    """Whether each greedy self-generated answer y_1 … y_L is right: booleans (size, L).

    An answer whose likeliest token is no value at all counts as wrong; the likeliest value then stands in the context.
    """
    rng = np.random.default_rng(seed)
    actions = rng.integers(group.n_g, size=(size, L))
    truth = states(group, actions, rng.integers(group.n_y, size=size))
    counts = occurrences(actions, group.n_g)
    with jax.enable_x64(True):
        everything = jnp.asarray(np.einsum("ng,gjy->njy", counts, group.matrices))
        matrices, outside = jnp.asarray(group.matrices), feedforward.outside_logit(ops, group.n_y)

        def answer(carry, step):
            current, past = carry
            action, ell = step
            hit = matrices[action]
            F = stage_2.logits(ops, scores, features, hit, everything - hit, current, past, float(L), ell, feedforward)
            chosen = F.argmax(axis=1)
            carry = (jax.nn.one_hot(chosen, group.n_y, dtype=F.dtype), past + current)
            return carry, (chosen, F.max(axis=1) > outside)

        start = (jnp.eye(group.n_y)[truth[:, 0]], jnp.zeros((size, group.n_y)))
        _, (chosen, is_value) = jax.lax.scan(answer, start, (jnp.asarray(actions.T), jnp.arange(1.0, L + 1)))
        return np.asarray(is_value).T & (truth[:, 1:] == np.asarray(chosen).T)


def accuracy(
    scores,
    features: Isotropic,
    group: GroupAction,
    L: int,
    d,
    feedforward: FeedForward,
    *,
    reading="sampled",
    n_steps: int | None = FEW,
    size: int = 256,
    seed: int = 0,
) -> float:
    """Acc_L in one of the three readings, or 1 - Acc_L (`missed`)."""
    if reading not in (*READINGS, "missed"):
        raise ValueError(f"reading = {reading!r}, but one of {', '.join(READINGS)} is needed.")
    if reading == "rollout":
        return float(rollout(scores, features, group, L, d, feedforward, size=size, seed=seed).mean())
    at = steps(L, n_steps)
    result = step_accuracies(scores, features, group, L, d, feedforward, at=at, size=size, seed=seed)
    return float(result[reading].mean())


def length_grid(L_max: int) -> list[int]:
    """2, 3, 4, 6, 8, 11, …: L ← ⌈2^(1/3) L⌉ up to L_max."""
    if L_max < 2:
        raise ValueError(f"L_max = {L_max}, but a number of at least 2 is needed.")
    grid = [2]
    while (longer := following(grid[-1])) <= L_max:
        grid.append(longer)
    return grid


def following(L: int) -> int:
    """The next length of the grid."""
    return ceil(2 ** (1 / 3) * L)


def L_star(accuracy_at, threshold: float = 0.9, L_max: int = 10_000) -> int:
    """The longest length on the grid up to which accuracy_at(L) stays at least `threshold`; 1 if it fails at 2."""
    longest = 1
    for L in length_grid(L_max):
        if accuracy_at(L) < threshold:
            break
        longest = L
    return longest
