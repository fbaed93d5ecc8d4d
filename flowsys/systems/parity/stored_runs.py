"""Training runs of the small transformer kept in a file: a case is trained once, and a sweep goes on where it stopped.

`fill` trains the cases that are not in the file yet and writes it after each one. With a folder for checkpoints a
single run, too, goes on where it stopped, which the paper's sizes need. What is kept of a run: the samples at the first
perfect validation (none if the budget ran out), the course of accuracy and entropy, and for seed 0 the attention of the
positions n+1 … n+k at the end.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import numpy as np

from flowsys.machine.files import write_text
from flowsys.systems.parity import experiment
from flowsys.systems.parity.data import sequences, shuffled
from flowsys.systems.parity.transformer import Architecture, forward

SMALL = Architecture(n_layers=1, n_heads=2, hidden=32, feed_forward=128)
N = 20
COURSE = 60  # points kept of a course


@dataclass(frozen=True)
class Case:
    """One run: n bits, k secrets in random order, with a chain of thought or without, and how it is trained.

    `training_set` strings are passed over again and again; None draws every batch fresh.
    """

    k: int
    chain: bool
    seed: int
    n: int = N
    budget: int = 10**6
    training_set: int | None = None
    architecture: Architecture = SMALL
    learning_rate: float = 1e-3
    batch: int = 512
    validation: int = 512
    evaluate_every: int = 5

    @property
    def key(self) -> str:
        """The name in the file: what tells the cases of one file apart."""
        sizes = self.architecture
        shape = "" if sizes == SMALL else f" layers={sizes.n_layers} heads={sizes.n_heads} hidden={sizes.hidden}"
        strings = "" if self.training_set is None else f" strings={self.training_set}"
        return f"n={self.n} k={self.k} chain={int(self.chain)} seed={self.seed}{shape}{strings}"

    def run(self) -> experiment.Run:
        return experiment.Run(
            shuffled(jax.random.key(self.seed), self.n, self.k, self.chain), self.architecture, self.learning_rate,
            self.batch, self.budget, self.training_set, self.validation, self.evaluate_every, self.seed,
        )  # fmt: skip


def stored(path: Path) -> dict[str, Any]:
    """Results by key; empty if there are none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def fill(
    chosen: Iterable[Case],
    path: Path,
    on_progress: Callable[[str], None] | None = None,
    checkpoints: Path | None = None,
) -> dict[str, Any]:
    """Run the cases that are not stored yet, writing the file after each; one result a line."""
    results = stored(path)
    for case in chosen:
        if case.key not in results:
            found = measured(case, checkpoints)
            results = stored(path) | {case.key: found}
            lines = [f"{json.dumps(key)}: {json.dumps(x, separators=(',', ':'))}" for key, x in sorted(results.items())]
            write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")
        if on_progress is not None:
            on_progress(case.key)
    return results


def measured(case: Case, checkpoints: Path | None = None) -> dict[str, Any]:
    """Train a case and keep what the figures and claims read."""
    run = case.run()
    with TemporaryDirectory() as folder:
        file = (Path(folder) if checkpoints is None else checkpoints) / f"{case.key.replace(' ', '_')}.npz"
        file.parent.mkdir(parents=True, exist_ok=True)
        record = experiment.train_transformer(run, file)
        (weights, *_), _ = experiment.restored(run, file)
    kept = np.unique(np.linspace(0, len(record.samples) - 1, COURSE).round().astype(int))
    return {
        "samples": record.sample_complexity,
        "budget": case.budget,
        "secrets": list(run.problem.secrets),
        "seen": [record.samples[i] for i in kept],
        "accuracy": [round(record.accuracy[i], 3) for i in kept],
        "entropy": [round(float(np.min(record.entropy[i])), 3) for i in kept],
        "attention": attention_at_the_end(run, weights) if case.seed == 0 else None,
    }


def attention_at_the_end(run: experiment.Run, weights) -> list:
    """Mean attention of the queried positions in the last layer (heads × queries × keys)."""
    shown = sequences(run.problem, experiment.validation_bits(run)[:128])[:, :-1]
    patterns = forward(weights, shown, run.architecture.n_heads, first=run.problem.n)[1]
    return np.round(np.asarray(patterns[-1], dtype=float).mean(axis=0), 3).tolist()


def parts(key: str) -> dict[str, int]:
    """{"n": 20, "k": 2, …} from a key."""
    return {name: int(value) for name, value in (item.split("=") for item in key.split())}
