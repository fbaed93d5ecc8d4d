"""The paper's training experiments in small sizes, as kept runs: samples needed (Figures 1–3), many passes (4, 5, 9).

At n = 20 with hidden size 32, every seed with secrets of its own. Without a chain k stops at 3 for fresh strings, where
a run takes minutes; Figure 4 is at the paper's n and k. The paper's sizes (n = 30, 40 and 100,
hidden 720, layers and heads 1 to 4) are runs like the others and take days on two cores. A run is kept by everything
that determines it: rate, batch, budget and evaluation too. Kept of it are the samples at the first perfect validation
(none if the budget ran out), the course of accuracy and entropy, and for seed 0 the attention at the end.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from flowsys.runs.stored import StoredRuns
from flowsys.systems.parity import experiment
from flowsys.systems.parity.data import sequences
from flowsys.systems.parity.experiment import Run
from flowsys.systems.parity.transformer import Architecture, forward


def narrow(layers: int, heads: int) -> Architecture:
    return Architecture(layers, heads, 32, 128)


SMALL = narrow(1, 2)
SEEDS = 5
COURSE = 60  # points kept of a course
WITH_CHAIN, WITHOUT_CHAIN = (1, 2, 3, 4, 6, 8, 12, 16), (1, 2, 3)
SHAPES = tuple(narrow(*shape) for shape in ((1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (4, 1), (4, 4)))
PASSES_SHAPES = tuple(narrow(*shape) for shape in ((1, 1), (1, 2), (1, 4)))
FEW, HARD_SETS = 10_000, (10_000, 100_000, 10**6)
COMMAND = 'python -c "from flowsys.systems.parity import cases; cases.fill()"'
RUNS = StoredRuns(Path(__file__).with_name("runs"), COMMAND)


def growth_run(k: int, chain: bool, seed: int, architecture: Architecture = SMALL) -> Run:
    """A run of Figures 1–3 at the small size; budget and clock follow what it needs."""
    if k == 1:
        return Run(k, chain, seed, architecture=architecture, evaluate_every=2)
    if chain or k == 2:
        return Run(k, chain, seed, architecture=architecture)
    return Run(k, chain, seed, architecture=architecture, budget=10**7, evaluate_every=25)


def growth_runs(chain: bool, architecture: Architecture = SMALL) -> list[Run]:
    """All seeds and k of one panel; other shapes than the small one have one seed and fewer k."""
    is_small = architecture == SMALL
    secrets = (WITH_CHAIN if chain else WITHOUT_CHAIN) if is_small else ((1, 2, 4) if chain else (1, 2))
    return [growth_run(k, chain, seed, architecture) for seed in range(SEEDS if is_small else 1) for k in secrets]


def rows_run() -> Run:
    """Figure 3b at the paper's n and k: one layer, one head, secrets in ascending order."""
    return Run(20, True, 0, n=40, architecture=Architecture(1, 1, 64, 256), ascending=True)


def shapes_runs(chain: bool = False) -> list[Run]:
    """Figure 4 at the paper's n, k, strings and epochs, for several numbers of heads; with a chain for three seeds."""
    common: dict[str, Any] = {"training_set": FEW, "budget": 1000 * FEW}
    if chain:
        return [Run(6, True, seed, architecture=PASSES_SHAPES[-1], **common) for seed in range(3)]
    return [Run(6, False, architecture=shape, evaluate_every=50, **common) for shape in PASSES_SHAPES]


def few_and_many_runs() -> list[Run]:
    """Figure 5: few strings passed over many times, against strings that are all fresh."""
    common: dict[str, Any] = {"budget": 3 * 10**6, "architecture": SMALL, "evaluate_every": 20}
    return [Run(4, False, seed, training_set=strings, **common) for strings in (FEW, None) for seed in range(3)]


def hard_runs() -> list[Run]:
    """Figure 9: twelve secrets, which no training set teaches without a chain; with one, few or fresh strings do."""
    common: dict[str, Any] = {"budget": 3 * 10**6, "architecture": SMALL}
    without = [Run(12, False, training_set=strings, evaluate_every=20, **common) for strings in HARD_SETS]
    return [*without, *(Run(12, True, training_set=strings, **common) for strings in (FEW, None))]


def paper_runs(figure: str) -> list[Run]:
    """The runs of a figure at the paper's size (its learning rate is the best of 6, 8 and 10 times 1e-5)."""
    shapes = [Architecture(layers, heads, 720, 3072) for layers in (1, 2, 3, 4) for heads in (1, 2, 3, 4)]
    fresh: dict[str, Any] = {"seed": 0, "budget": 10**7, "learning_rate": 8e-5, "validation": 2048}
    both = [(k, chain) for k in (1, 2, 3, 4) for chain in (True, False)]
    passed: dict[str, Any] = {
        "seed": 0,
        "learning_rate": 1e-4,
        "validation": 2048,
        "evaluate_every": 20,
        "budget": 10**7,
    }
    over = lambda strings, shape, k=6, chain=False: Run(k, chain, training_set=strings, architecture=shape, **passed)
    if figure == "2":
        return [Run(k, chain, n=30, architecture=shape, **fresh) for shape in shapes for k, chain in both]
    if figure == "3a":
        return [Run(k, True, n=100, architecture=shapes[0], **fresh) for k in (20, 40, 60, 80, 100)]
    if figure == "3b":
        return [Run(20, True, n=40, architecture=shapes[0], ascending=True, **fresh)]
    if figure == "4":
        return [over(FEW, shape) for shape in shapes]
    if figure == "5":
        return [over(strings, shapes[-1]) for strings in (50_000, 10**6)]
    if figure == "9":
        sets = [(False, strings) for strings in HARD_SETS] + [(True, FEW), (True, None)]
        return [over(strings, shapes[0], 12, chain) for chain, strings in sets]
    return [Run(k, chain, n=30, architecture=shapes[0], **fresh) for k, chain in both]


def shape(architecture: Architecture) -> str:
    layers, heads = architecture.n_layers, architecture.n_heads
    return f"{layers} layer{'s' * (layers > 1)}, {heads} head{'s' * (heads > 1)}"


def sizes(chosen: list[Run]) -> str:
    """What runs were made at, in words."""
    first, k, seeds = chosen[0], sorted({run.k for run in chosen}), len({run.seed for run in chosen})
    secrets = f"{k[0]}" if len(k) == 1 else f"{k[0]} … {k[-1]}"
    shapes = "; ".join(dict.fromkeys(shape(run.architecture) for run in chosen))
    return (f"n = {first.n}, k = {secrets}, {shapes}, hidden {first.architecture.hidden}, learning rate "
            f"{first.learning_rate:g}, {seeds} seed{'s' * (seeds > 1)}")  # fmt: skip


def kept(chosen: Iterable[Run], runs: StoredRuns = RUNS) -> list[tuple[Run, dict[str, Any]]]:
    """The runs that were made, with their results."""
    found = ((run, runs.read(run)) for run in chosen)
    return [(run, result) for run, result in found if result is not None]


def complexities(found: Iterable[tuple[Run, dict[str, Any]]]) -> dict[int, list[int | None]]:
    """Samples needed by k, one per seed; None where the budget ran out."""
    by_k: dict[int, list[int | None]] = {}
    for run, result in found:
        by_k.setdefault(run.k, []).append(result["samples"])
    return dict(sorted(by_k.items()))


def small_runs() -> list[Run]:
    """Everything that is kept."""
    growth = [run for shape in SHAPES for chain in (True, False) for run in growth_runs(chain, shape)]
    return [*growth, rows_run(), *shapes_runs(), *shapes_runs(True), *few_and_many_runs(), *hard_runs()]


def fill(on_progress: Callable[[Run], None] | None = None) -> None:
    """Train what is missing of the small sizes."""
    RUNS.fill(small_runs(), measured, on_progress)


def measured(run: Run, checkpoint: Path) -> dict[str, Any]:
    """Train a run and keep what the figures and claims read."""
    file = checkpoint.with_suffix(".checkpoint.npz")
    weights, course = experiment.train_transformer(run, file)
    file.unlink(missing_ok=True)
    shown = np.unique(np.linspace(0, len(course["samples"]) - 1, COURSE).round().astype(int))
    return {
        "samples": experiment.samples_needed(course),
        "secrets": list(run.problem.secrets),
        "seen": [course["samples"][i] for i in shown],
        "accuracy": [round(course["accuracy"][i], 3) for i in shown],
        "entropy": [round(float(np.min(course["entropy"][i])), 3) for i in shown],
        "attention": attention_at_the_end(run, weights) if run.seed == 0 else None,
    }


def attention_at_the_end(run: Run, weights: Any) -> list:
    """Mean attention of the queried positions in the last layer (heads × queries × keys)."""
    shown = sequences(run.problem, experiment.validation_bits(run)[:128])[:, :-1]
    patterns = forward(weights, shown, run.architecture.n_heads, first=run.n)[1]
    return np.round(np.asarray(patterns[-1], dtype=float).mean(axis=0), 3).tolist()
