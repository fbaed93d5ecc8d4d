"""Training runs of the small transformer: sample complexity with and without a chain of thought, resumable.

Adam (0.9, 0.999) without weight decay and with a linear decay of the learning rate. One pass draws every batch fresh;
with a `training_set` of a given size the same strings are passed over again and again, reshuffled every epoch.
Validation strings never occur in training. The data of a step depend on the seed and the number of the step alone, so
a run that is resumed from its checkpoint continues exactly as if it had not stopped.
"""

from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.analysis.attention import attention_entropy
from flowsys.runs.adam import Adam
from flowsys.runs.checkpoint import restored, save
from flowsys.systems.parity.data import Parity, sequences, shuffled
from flowsys.systems.parity.transformer import Architecture, forward, next_bit_loss, transformer_weights

ENTROPY_SEQUENCES = 128


@dataclass(frozen=True)
class Run:
    """Everything a run depends on: n bits, k secrets of the seed in random or ascending order, and how it is trained.

    `training_set` strings are passed over again and again; None draws every batch fresh. `budget` is the samples seen
    at most, `evaluate_every` a number of steps.
    """

    k: int
    chain: bool
    seed: int = 0
    n: int = 20
    budget: int = 10**6
    training_set: int | None = None
    architecture: Architecture = field(default_factory=Architecture)
    learning_rate: float = 1e-3
    batch: int = 512
    validation: int = 512
    evaluate_every: int = 5
    ascending: bool = False

    def __post_init__(self):
        if 2 * self.validation > 2**self.n:
            raise ValueError(f"validation = {self.validation}, but at most half of the 2^{self.n} inputs may be.")

    @property
    def problem(self) -> Parity:
        drawn = shuffled(self.seed, self.n, self.k).secrets
        return Parity(self.n, tuple(sorted(drawn)) if self.ascending else drawn, self.chain)

    @property
    def n_steps(self) -> int:
        return self.budget // self.batch


def samples_needed(course: dict[str, list]) -> int | None:
    """Samples seen at the first perfect validation; None if it was not reached."""
    return next((seen for seen, accuracy in zip(course["samples"], course["accuracy"]) if accuracy == 1.0), None)


def _packed(bits: np.ndarray) -> np.ndarray:
    """One text of bytes a string, to compare strings by."""
    rows = np.packbits(bits.astype(np.uint8), axis=1)
    return rows.view(f"S{rows.shape[1]}").ravel()


def validation_bits(run: Run) -> np.ndarray:
    """Distinct strings, the first drawn."""
    rng, chosen = np.random.default_rng([run.seed, 0]), np.zeros((0, run.n), dtype=np.int64)
    while len(chosen) < run.validation:
        drawn = np.concatenate([chosen, rng.integers(0, 2, (2 * run.validation, run.n))])
        chosen = drawn[np.sort(np.unique(_packed(drawn), return_index=True)[1])][: run.validation]
    return chosen


def fresh_bits(rng: np.random.Generator, count: int, n: int, excluded: np.ndarray) -> np.ndarray:
    """Uniform strings outside of `excluded` (packed)."""
    bits = rng.integers(0, 2, (count, n))
    while (bad := np.isin(_packed(bits), excluded)).any():
        bits[bad] = rng.integers(0, 2, (bad.sum(), n))
    return bits


@lru_cache(maxsize=1)
def epoch_order(seed: int, epoch: int, count: int) -> np.ndarray:
    """How a training set is shuffled in an epoch."""
    return np.random.default_rng([seed, 2, epoch]).permutation(count)


def batch_bits(run: Run, step: int, excluded: np.ndarray, stored: np.ndarray | None) -> np.ndarray:
    """The input strings of a step: fresh, or the step's part of a reshuffled training set."""
    if stored is None:
        return fresh_bits(np.random.default_rng([run.seed, 1, step]), run.batch, run.n, excluded)
    epoch, part = divmod(step, len(stored) // run.batch)
    order = epoch_order(run.seed, epoch, len(stored))
    return stored[order[part * run.batch : (part + 1) * run.batch]]


@partial(jax.jit, static_argnames=("n", "n_heads"))
def adam_steps(state: Adam, batches, learning_rates, n: int, n_heads: int):
    """Adam, a step a batch; where it stands then, and the last loss."""

    def step(state, data):
        sequence, learning_rate = data
        loss, slope = jax.value_and_grad(next_bit_loss)(state.weights, sequence, n, n_heads)
        return state.step(slope, learning_rate), loss

    state, losses = jax.lax.scan(step, state, (batches, learning_rates))
    return state, losses[-1]


@partial(jax.jit, static_argnames=("n", "n_heads"))
def _right(weights, sequence, n: int, n_heads: int):
    logits, _ = forward(weights, sequence[:, :-1], n_heads, first=n)
    return (logits.argmax(axis=-1) == sequence[:, n + 1 :]).all(axis=1)


@partial(jax.jit, static_argnames="n_heads")
def _patterns(weights, bits, n_heads: int):
    return jnp.stack(forward(weights, bits, n_heads)[1], axis=1)


def evaluate(weights, sequence: np.ndarray, n: int, n_heads: int, chunk: int = 256) -> tuple[float, list]:
    """Share of sequences entirely right, and attention entropy averaged over the first of them (layers × heads)."""
    parts = [sequence[first : first + chunk] for first in range(0, len(sequence), chunk)]
    right = np.concatenate([np.asarray(_right(weights, part, n, n_heads)) for part in parts])
    entropy = attention_entropy(np.asarray(_patterns(weights, sequence[:ENTROPY_SEQUENCES, :-1], n_heads)))
    return float(right.mean()), entropy.mean(axis=0).tolist()


def train_transformer(run: Run, checkpoint: Path | None = None) -> tuple[dict, dict]:
    """Weights and course (samples seen, loss, accuracy, entropy at evaluations) of training until validation is
    perfect or the budget is used up.

    With a `checkpoint` path the state is saved at every evaluation and an existing file of the same run is continued.
    """
    n, n_heads, problem = run.n, run.architecture.n_heads, run.problem
    held_out = validation_bits(run)
    excluded, validation = _packed(held_out), sequences(problem, held_out)
    stored = None
    if run.training_set is not None:
        stored = fresh_bits(np.random.default_rng([run.seed, 3]), run.training_set, n, excluded)
    weights = transformer_weights(jax.random.key(run.seed), run.architecture, problem.n_positions)
    nothing: dict[str, list] = {"samples": [], "loss": [], "accuracy": [], "entropy": []}
    state, course = restored(checkpoint, run, Adam.start(weights), nothing)
    start = int(state.count)
    while start < run.n_steps and samples_needed(course) is None:
        end = min(run.n_steps, start + run.evaluate_every)
        steps = range(start, end)
        batches = [sequences(problem, batch_bits(run, step, excluded, stored)) for step in steps]
        rates = run.learning_rate * (1 - np.array(steps) / run.n_steps)
        state, loss = adam_steps(state, np.array(batches, dtype=np.int32), rates.astype(np.float32), n, n_heads)
        found = end * run.batch, float(loss), *evaluate(state.weights, validation, n, n_heads)
        course, start = {name: [*course[name], x] for name, x in zip(course, found)}, end
        if checkpoint is not None:
            save(checkpoint, run, state, course)
    return state.weights, course
