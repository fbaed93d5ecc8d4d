"""How many samples the small transformer needs, with and without a chain of thought: stored runs, resumable.

Every case (k, chain, seed) is one run of `experiment` at n = 20 with its own random secrets. `fill` trains the cases
that are not in the file yet and writes it after each one, so an interrupted sweep goes on where it stopped; claims and
figures read the file. The paper's sizes are `PAPER` (hidden 720, n = 30); they need hours.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import numpy as np

from flowsys.files import write_text
from flowsys.systems.parity import experiment
from flowsys.systems.parity.data import sequences, shuffled
from flowsys.systems.parity.transformer import Architecture, forward

STORED = Path(__file__).with_name("growth.json")
N, SEEDS = 20, 5
WITH_CHAIN, WITHOUT_CHAIN = (1, 2, 4, 6, 8), (1, 2, 3)
SMALL = Architecture(n_layers=1, n_heads=2, hidden=32, feed_forward=128)
PAPER = Architecture(n_layers=1, n_heads=1, hidden=720, feed_forward=3072)


@dataclass(frozen=True)
class Case:
    """One run: n bits, k secrets in random order, with a chain of thought or without, a seed, samples at most."""

    k: int
    chain: bool
    seed: int
    n: int = N
    budget: int = 200_000

    @property
    def key(self) -> str:
        return f"n={self.n} k={self.k} chain={int(self.chain)} seed={self.seed}"

    def run(self, architecture: Architecture = SMALL) -> experiment.Run:
        problem = shuffled(jax.random.key(self.seed), self.n, self.k, self.chain)
        return experiment.Run(
            problem, architecture, learning_rate=1e-3, batch=128, budget=self.budget, validation=512,
            evaluate_every=20, seed=self.seed,
        )  # fmt: skip


def cases(seeds: Iterable[int] = range(SEEDS)) -> list[Case]:
    """All cases, seed by seed, so that what is stored early already spans every k."""
    return [
        Case(k, chain, seed)
        for seed in seeds
        for chain, secrets in ((True, WITH_CHAIN), (False, WITHOUT_CHAIN))
        for k in secrets
    ]


def stored(path: Path = STORED) -> dict[str, Any]:
    """Results by key; empty if there are none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def fill(
    chosen: Iterable[Case], path: Path = STORED, on_progress: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Run the cases that are not stored yet, writing the file after each."""
    results = stored(path)
    for case in chosen:
        if case.key not in results:
            results[case.key] = measured(case.run())
            write_text(path, json.dumps(dict(sorted(results.items())), separators=(",", ":")) + "\n")
        if on_progress is not None:
            on_progress(case.key)
    return results


def measured(run: experiment.Run) -> dict[str, Any]:
    """Samples until validation is perfect (None: not within the budget), the course, and the attention at the end."""
    with TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "run.npz"
        record = experiment.train_transformer(run, checkpoint)
        (weights, *_), _ = experiment.restored(run, checkpoint)
    shown = sequences(run.problem, experiment.validation_bits(run)[:128])[:, :-1]
    attention = np.asarray(forward(weights, shown, run.architecture.n_heads)[1][0]).mean(axis=0)
    return {
        "samples": record.sample_complexity,
        "budget": run.budget,
        "secrets": list(run.problem.secrets),
        "seen": list(record.samples),
        "accuracy": [round(x, 4) for x in record.accuracy],
        "entropy": [round(float(np.min(x)), 4) for x in record.entropy],
        "attention": np.round(attention[:, run.problem.n :], 3).tolist() if run.seed == 0 else None,
    }


def complexities(results: dict[str, Any], chain: bool, n: int = N) -> dict[int, list[int | None]]:
    """Samples needed by k, one per stored seed."""
    found: dict[int, list[int | None]] = {}
    for key, result in results.items():
        parts = dict(item.split("=") for item in key.split())
        if int(parts["n"]) == n and bool(int(parts["chain"])) == chain:
            found.setdefault(int(parts["k"]), []).append(result["samples"])
    return dict(sorted(found.items()))
