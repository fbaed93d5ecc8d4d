"""A training run of the paper's experiments (Section 4): a GPT-2-like transformer on parity strings, by Adam.

Adam (0.9, 0.999) has no weight decay and a linear decay of the learning rate. One pass draws every batch fresh; with a
`training_set` of a given size the same strings are passed over again and again. Validation strings never occur in
training. Tokens are the bits themselves; the end-of-sequence bit is told apart by its position.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from flowsys.analysis.attention import attention_entropy
from flowsys.experiments.samples import distinct, outside, passed_over
from flowsys.experiments.training import Course, Trained, train
from flowsys.experiments.transformer import Architecture, forward, next_token_loss, predicted, transformer_weights
from flowsys.systems.parity.data import Parity, sequences, shuffled

SHOWN = 128  # sequences whose attention is looked at


@dataclass(frozen=True)
class Run:
    """Everything a run depends on: n bits, k secrets of the seed in random or ascending order, and how it is trained.

    `training_set` strings are passed over again and again; None draws every batch fresh. `budget` is the samples seen
    at most, `evaluate_every` a number of steps. The paper has hidden 720, feed_forward 3072, 1 to 4 layers and heads.
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

    @property
    def initial_size(self) -> float:
        """Standard deviation of the initial weights: GPT-2's 0.02, larger for a narrower model, so that what the
        layers compute at the start is of the same size as at the paper's width."""
        return 0.02 * (720 / self.architecture.hidden) ** 0.5

    def bits(self, *of: int) -> Callable[[int], np.ndarray]:
        """Draws of input strings, by the seed and what they are for."""
        rng = np.random.default_rng([self.seed, *of])
        return lambda count: rng.integers(0, 2, (count, self.n))

    @property
    def validation_bits(self) -> np.ndarray:
        return distinct(self.bits(0), self.validation)

    def batch_of(self, held_out: np.ndarray) -> Callable[[int], np.ndarray]:
        """The input strings of every step: fresh, or the step's part of a reshuffled training set."""
        if self.training_set is None:
            return lambda step: outside(self.bits(1, step), self.batch, held_out)
        stored = outside(self.bits(3), self.training_set, held_out)
        return lambda step: passed_over(stored, self.batch, step, (self.seed, 2))


@lru_cache(maxsize=8)
def loss_of(n: int, n_heads: int) -> Callable:
    """Mean cross-entropy of the bits after position n+1."""
    return partial(next_token_loss, n_heads=n_heads, first=n)


def is_learned(course: Course) -> bool:
    return course["accuracy"][-1] == 1.0


def looked_at(run: Run, weights: Any, sequence: np.ndarray) -> dict[str, Any]:
    """Share of sequences entirely right, and attention entropy averaged over the first of them (layers × heads)."""
    n_heads = run.architecture.n_heads
    right = predicted(weights, sequence, n_heads, first=run.n).all(axis=1)
    patterns = np.stack(forward(weights, sequence[:SHOWN, :-1], n_heads)[1], axis=1)
    return {"accuracy": float(right.mean()), "entropy": attention_entropy(patterns).mean(axis=0).tolist()}


def train_transformer(run: Run, checkpoint: Path | None = None) -> Trained:
    """Training until validation is perfect or the budget is used up; looked at for accuracy and entropy."""
    problem, held_out = run.problem, run.validation_bits
    batch_of, validation = run.batch_of(held_out), sequences(problem, held_out)
    stacked = lambda steps: np.array([sequences(problem, batch_of(step)) for step in steps], dtype=np.int32)
    return train(
        run,
        transformer_weights([0, run.seed], run.architecture, 2, problem.n_positions, run.initial_size),
        loss_of(run.n, run.architecture.n_heads),
        stacked,
        lambda steps: run.learning_rate * (1 - steps / run.n_steps),
        steps=run.n_steps,
        every=run.evaluate_every,
        look=lambda trained: looked_at(run, trained.weights, validation),
        is_done=is_learned,
        checkpoint=checkpoint,
    )
