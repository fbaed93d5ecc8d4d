"""The paper's training experiments in small sizes, as kept runs: samples needed (Figures 1–3), many passes (4, 5).

At n = 20 with hidden size 32, every seed with secrets of its own; without a chain k stops at 3 (fresh strings) and 4
(many passes over few strings), where a run takes minutes. The paper's sizes (n = 30, 40 and 100, k = 6, hidden 720,
layers and heads 1 to 4) are cases like the others and take days on two cores. A run is kept by everything that
determines it: rate, batch, budget and evaluation too. Kept of it are the samples at the first perfect validation (none
if the budget ran out), the course of accuracy and entropy, and for seed 0 the attention at the end.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flowsys.runs.stored import StoredRuns
from flowsys.systems.parity import experiment
from flowsys.systems.parity.data import sequences, shuffled
from flowsys.systems.parity.transformer import Architecture, forward

SMALL = Architecture(n_layers=1, n_heads=2, hidden=32, feed_forward=128)
N, SEEDS = 20, 5
COURSE = 60  # points kept of a course
WITH_CHAIN, WITHOUT_CHAIN = (1, 2, 3, 4, 6, 8, 12, 16), (1, 2, 3)
SHAPES = tuple(
    Architecture(layers, heads, SMALL.hidden, SMALL.feed_forward)
    for layers, heads in ((1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (4, 1), (4, 4))
)
PASSES_K, FEW, PASSES_BUDGET, PASSES_SEEDS = 4, 10_000, 3 * 10**6, 3
PASSES_SHAPES = tuple(Architecture(L, H, SMALL.hidden, SMALL.feed_forward) for L, H in ((1, 1), (1, 2), (1, 4), (2, 2)))
COMMAND = 'python -c "from flowsys.systems.parity import cases; cases.fill()"'
RUNS = StoredRuns(Path(__file__).with_name("runs"), COMMAND)


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

    def run(self) -> experiment.Run:
        return experiment.Run(
            shuffled(self.seed, self.n, self.k, self.chain), self.architecture, self.learning_rate, self.batch,
            self.budget, self.training_set, self.validation, self.evaluate_every, self.seed,
        )  # fmt: skip


def shape(architecture: Architecture) -> str:
    layers, heads = architecture.n_layers, architecture.n_heads
    return f"{layers} layer{'s' * (layers > 1)}, {heads} head{'s' * (heads > 1)}"


def sizes(chosen: list[Case]) -> str:
    """What runs were made at, in words."""
    first, k, seeds = chosen[0], sorted({case.k for case in chosen}), len({case.seed for case in chosen})
    secrets = f"{k[0]}" if len(k) == 1 else f"{k[0]} … {k[-1]}"
    shapes = "; ".join(dict.fromkeys(shape(case.architecture) for case in chosen))
    return (f"n = {first.n}, k = {secrets}, {shapes}, hidden {first.architecture.hidden}, learning rate "
            f"{first.learning_rate:g}, {seeds} seed{'s' * (seeds > 1)}")  # fmt: skip


def growth_case(k: int, chain: bool, seed: int, architecture: Architecture = SMALL) -> Case:
    """A run of Figures 1–3 at the small size; budget and clock follow what it needs."""
    if k == 1:
        return Case(k, chain, seed, architecture=architecture, evaluate_every=2)
    if chain or k == 2:
        return Case(k, chain, seed, architecture=architecture)
    return Case(k, chain, seed, architecture=architecture, budget=10**7, evaluate_every=25)


def growth_cases(chain: bool, architecture: Architecture = SMALL) -> list[Case]:
    """All seeds and k of one panel; other shapes than the small one have one seed and fewer k."""
    is_small = architecture == SMALL
    secrets = (WITH_CHAIN if chain else WITHOUT_CHAIN) if is_small else ((1, 2, 4) if chain else (1, 2))
    return [growth_case(k, chain, seed, architecture) for seed in range(SEEDS if is_small else 1) for k in secrets]


def passes_case(strings: int | None, seed: int, architecture: Architecture = SMALL, chain: bool = False) -> Case:
    """A run of Figures 4, 5 over `strings` strings, or over fresh ones (None)."""
    return Case(PASSES_K, chain, seed, training_set=strings, budget=PASSES_BUDGET, architecture=architecture,
                evaluate_every=5 if chain else 20)  # fmt: skip


def passes_cases() -> list[Case]:
    """Few and fresh strings for every seed, few with a chain, then few strings for the other shapes."""
    pairs = [passes_case(strings, seed) for seed in range(PASSES_SEEDS) for strings in (FEW, None)]
    chain = [passes_case(FEW, seed, chain=True) for seed in range(PASSES_SEEDS)]
    return pairs + chain + [passes_case(FEW, 0, shape) for shape in PASSES_SHAPES if shape != SMALL]


def paper_cases(figure: str) -> list[Case]:
    """The runs of a figure at the paper's size (its learning rate is the best of 6, 8 and 10 times 1e-5)."""
    shapes = [Architecture(layers, heads, 720, 3072) for layers in (1, 2, 3, 4) for heads in (1, 2, 3, 4)]
    fresh = {"seed": 0, "budget": 10**7, "learning_rate": 8e-5, "validation": 2048}
    both = [(k, chain) for k in (1, 2, 3, 4) for chain in (True, False)]
    if figure == "2":
        return [Case(k, chain, n=30, architecture=shape, **fresh) for shape in shapes for k, chain in both]
    if figure == "3a":
        return [Case(k, True, n=100, architecture=shapes[0], **fresh) for k in (20, 40, 60, 80, 100)]
    if figure == "3b":
        return [Case(20, True, n=40, architecture=shapes[0], **fresh)]
    passed = {"seed": 0, "learning_rate": 1e-4, "validation": 2048, "evaluate_every": 20}
    if figure == "4":
        return [Case(6, False, training_set=FEW, budget=1000 * FEW, architecture=x, **passed) for x in shapes]
    if figure == "5":
        sets = ((50_000, 10**7), (10**6, 10**7))
        return [Case(6, False, training_set=s, budget=b, architecture=shapes[-1], **passed) for s, b in sets]
    return [Case(k, chain, n=30, architecture=shapes[0], **fresh) for k, chain in both]


def kept(cases: Iterable[Case], runs: StoredRuns = RUNS) -> list[tuple[Case, dict[str, Any]]]:
    """The cases that were run, with their results."""
    found = ((case, runs.read(case)) for case in cases)
    return [(case, result) for case, result in found if result is not None]


def complexities(found: Iterable[tuple[Case, dict[str, Any]]]) -> dict[int, list[int | None]]:
    """Samples needed by k, one per seed; None where the budget ran out."""
    by_k: dict[int, list[int | None]] = {}
    for case, result in found:
        by_k.setdefault(case.k, []).append(result["samples"])
    return dict(sorted(by_k.items()))


def fill(on_progress: Callable[[Case], None] | None = None) -> None:
    """Train what is missing of the small sizes."""
    shapes = [case for shape in SHAPES for chain in (True, False) for case in growth_cases(chain, shape)]
    RUNS.fill([*shapes, *passes_cases()], measured, on_progress)


def measured(case: Case, checkpoint: Path) -> dict[str, Any]:
    """Train a case and keep what the figures and claims read."""
    run, file = case.run(), checkpoint.with_suffix(".checkpoint.npz")
    record = experiment.train_transformer(run, file)
    (weights, *_), _ = experiment.restored(run, file)
    file.unlink(missing_ok=True)
    shown = np.unique(np.linspace(0, len(record.samples) - 1, COURSE).round().astype(int))
    return {
        "samples": record.sample_complexity,
        "secrets": list(run.problem.secrets),
        "seen": [record.samples[i] for i in shown],
        "accuracy": [round(record.accuracy[i], 3) for i in shown],
        "entropy": [round(float(np.min(record.entropy[i])), 3) for i in shown],
        "attention": attention_at_the_end(run, weights) if case.seed == 0 else None,
    }


def attention_at_the_end(run: experiment.Run, weights: Any) -> list:
    """Mean attention of the queried positions in the last layer (heads × queries × keys)."""
    shown = sequences(run.problem, experiment.validation_bits(run)[:128])[:, :-1]
    patterns = forward(weights, shown, run.architecture.n_heads, first=run.problem.n)[1]
    return np.round(np.asarray(patterns[-1], dtype=float).mean(axis=0), 3).tolist()
