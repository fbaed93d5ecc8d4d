"""The paper's training experiments as kept runs, figure by figure: at sizes that can be run here, and at the paper's.

Fresh strings are learned at n = 20 with hidden size 32, every seed with secrets of its own; without a chain k stops at
3, where a run takes minutes. Many passes have the paper's n, k and strings, with one layer. The paper's own sizes
(n = 30, 40 and 100, hidden 720, layers and heads 1 to 4) are runs like the others and take days on two cores. Kept of
a run are the samples at the first perfect validation (none if the budget ran out), the course of accuracy and of the
heads' entropy, and for seed 0 the attention at the end.
"""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from flowsys.experiments.stored import StoredRuns
from flowsys.experiments.transformer import Architecture, forward
from flowsys.systems.parity.data import sequences
from flowsys.systems.parity.experiment import SHOWN, Run, is_learned, train_transformer

COURSE = 60  # points kept of a course
FEW, MANY = 10_000, 10**6
SETS = (5_000, FEW, 50_000, 100_000, MANY)
COMMAND = 'python -c "from flowsys.systems.parity import cases; cases.fill()"'
RUNS = StoredRuns(Path(__file__).with_name("runs"), COMMAND)
Runs = list[tuple[Run, dict[str, Any]]]


def narrow(layers: int, heads: int) -> Architecture:
    return Architecture(layers, heads, 32, 128)


SMALL = narrow(1, 2)
SHAPES = tuple(narrow(*shape) for shape in ((1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (4, 1), (4, 4)))


def growth_run(k: int, chain: bool, seed: int = 0, architecture: Architecture = SMALL) -> Run:
    """Fresh strings until they are learned; budget and clock follow what it takes."""
    if not chain and k > 2:
        return Run(k, chain, seed, architecture=architecture, budget=10**7, evaluate_every=25)
    return Run(k, chain, seed, architecture=architecture, evaluate_every=2 if k == 1 else 5)


def passes_run(heads: int, strings: int) -> Run:
    """One layer, six secrets without a chain: a training set passed over for as many samples as in the paper.

    A step of several layers takes twenty times as long.
    """
    return Run(6, False, training_set=strings, budget=10**7, architecture=narrow(1, heads), evaluate_every=50)


def small_runs() -> dict[str, list[Run]]:
    """What is kept, by figure."""
    with_chain = [growth_run(k, True, seed) for seed in range(5) for k in (1, 2, 3, 4, 6, 8, 12, 16)]
    without = [growth_run(k, False, seed) for seed in range(5) for k in (1, 2, 3)]
    shapes = [growth_run(k, chain, 0, shape) for shape in SHAPES if shape != SMALL
              for k, chain in product((1, 2, 3, 4), (True, False))
              if chain or k < (4 if shape.n_layers == 1 else 3)]  # fmt: skip
    hard = partial(Run, 12, budget=3 * 10**6, architecture=SMALL)
    return {
        "1a": with_chain + without,
        "1b": [run for run in with_chain if run.k == 4] + [run for run in without if run.k == 3],
        "2": with_chain + without + shapes,
        "3a": with_chain,
        "3b": [Run(20, True, n=40, architecture=Architecture(1, 1, 64, 256), ascending=True)],
        "4": [passes_run(heads, FEW) for heads in (1, 2, 4)],
        "4 with a chain": [Run(6, True, seed, training_set=FEW, budget=10**7, architecture=narrow(1, 4))
                           for seed in range(3)],
        "5": [passes_run(4, strings) for strings in (50_000, MANY)],
        "8": [Run(6, True, architecture=narrow(2, 2))],
        "9": [hard(False, training_set=strings, evaluate_every=20) for strings in (FEW, 100_000, MANY)]
        + [hard(True, training_set=strings) for strings in (FEW, None)],
        "10": [passes_run(1, strings) for strings in SETS]
        + [passes_run(4, strings) for strings in (FEW, 50_000, MANY)],
    }  # fmt: skip


def paper_runs() -> dict[str, list[Run]]:
    """The same at the paper's size (its learning rate is the best of 6, 8 and 10 times 1e-5)."""
    shape = {
        (layers, heads): Architecture(layers, heads, 720, 3072) for layers, heads in product(range(1, 5), repeat=2)
    }
    fresh = partial(Run, seed=0, budget=10**7, learning_rate=8e-5, validation=2048)
    passed = partial(Run, seed=0, budget=10**7, learning_rate=1e-4, validation=2048, evaluate_every=20)
    both = list(product((1, 2, 3, 4), (True, False)))
    return {
        "1a": [fresh(k, chain, n=30, architecture=shape[1, 1]) for k, chain in both],
        "1b": [fresh(k, chain, n=30, architecture=shape[1, 1]) for k, chain in ((4, True), (3, False))],
        "2": [fresh(k, chain, n=30, architecture=x) for x in shape.values() for k, chain in both],
        "3a": [fresh(k, True, n=100, architecture=shape[1, 1]) for k in (20, 40, 60, 80, 100)],
        "3b": [fresh(20, True, n=40, architecture=shape[1, 1], ascending=True)],
        "4": [passed(6, False, training_set=FEW, architecture=x) for x in shape.values()],
        "4 with a chain": [passed(6, True, training_set=FEW, architecture=shape[4, 4])],
        "5": [passed(6, False, training_set=strings, architecture=shape[4, 4]) for strings in (50_000, MANY)],
        "8": [fresh(6, True, architecture=shape[2, 2])],
        "9": [passed(12, chain, training_set=strings, architecture=shape[1, 1])
              for chain, strings in ((False, FEW), (False, 100_000), (False, MANY), (True, FEW), (True, None))],
        "10": [passed(6, False, training_set=strings, architecture=shape[x])
               for x in ((1, 1), (2, 3), (4, 4)) for strings in SETS],
    }  # fmt: skip


def shape(run: Run) -> str:
    layers, heads = run.architecture.n_layers, run.architecture.n_heads
    return f"{layers} layer{'s' * (layers > 1)}, {heads} head{'s' * (heads > 1)}"


def sizes(chosen: Iterable[Run]) -> str:
    """What runs were made at, in words."""
    chosen = list(chosen)
    first, k, seeds = chosen[0], sorted({run.k for run in chosen}), len({run.seed for run in chosen})
    secrets = f"{k[0]}" if len(k) == 1 else f"{k[0]} … {k[-1]}"
    made = (f"{shape(run)}, hidden {run.architecture.hidden}, batch {run.batch}" for run in chosen)
    return (f"n = {first.n}, k = {secrets}; {'; '.join(dict.fromkeys(made))}; learning rate "
            f"{first.learning_rate:g}, {seeds} seed{'s' * (seeds > 1)}")  # fmt: skip


def complexities(found: Runs) -> dict[int, list[int | None]]:
    """Samples needed by k, one per seed; None where the budget ran out."""
    return {k: [r["samples"] for run, r in found if run.k == k] for k in sorted({run.k for run, _ in found})}


def fill(on_progress: Callable[[Run], None] | None = None) -> None:
    """Train what is missing of the small sizes."""
    RUNS.fill(dict.fromkeys(run for runs in small_runs().values() for run in runs), measured, on_progress)


def measured(run: Run, checkpoint: Path) -> dict[str, Any]:
    """Train a run and keep what the figures and claims read."""
    trained = train_transformer(run, checkpoint)
    course = trained.course
    shown = np.unique(np.linspace(0, len(course["step"]) - 1, COURSE).round().astype(int))
    seen, accuracy, heads = (np.array(course[name])[shown] for name in ("step", "accuracy", "entropy"))
    heads = heads.reshape(len(shown), -1).round(3)
    return {
        "samples": course["step"][-1] * run.batch if is_learned(course) else None,
        "secrets": list(run.problem.secrets),
        "seen": (seen * run.batch).tolist(),
        "accuracy": accuracy.round(3).tolist(),
        "entropy": heads.min(axis=1).tolist(),
        "heads": heads.tolist(),
        "attention": attention_at_the_end(run, trained.weights) if run.seed == 0 else None,
    }


def attention_at_the_end(run: Run, weights: Any) -> list:
    """Mean attention of the queried positions (heads, layer by layer × queries × keys)."""
    shown = sequences(run.problem, run.validation_bits[:SHOWN])[:, :-1]
    patterns = [np.asarray(layer, dtype=float) for layer in forward(weights, shown, run.architecture.n_heads)[1]]
    return np.concatenate(patterns, axis=1)[:, :, run.n :].mean(axis=0).round(3).tolist()
