"""How large a batch three steps of stochastic gradient descent need: success over (B, n, m), as kept runs.

Rates η_0 = η_1 = c·mε√B, as large as the batch's noise lets the gates stay. The second step's score must reach log n:
c²mBε²/(128n²) ≳ (1 + k/n)² log n, so that B* ∝ n² log n/(mε²), which is Õ(n) when m ∝ n. Frozen gates, k = n/4.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from flowsys.experiments.stored import StoredRuns
from flowsys.systems.parity.data import shuffled
from flowsys.systems.parity.frozen_batch import batch_rates, batch_steps, margins_and_attention, sample_bits

SEEDS, SHARE, TEST_SEQUENCES = 10, 0.9, 1024
SIZES = (8, 16, 32, 64, 128)
WIDTHS = (400, 1600, 6400, 25600)
PROPORTIONAL = "m=200n"
LAWS = {PROPORTIONAL: (lambda n: 200 * n, 0.08)} | {f"m={m}": (lambda n, m=m: m, 0.2) for m in WIDTHS}
COMMAND = 'python -c "from flowsys.systems.parity import batches; batches.fill()"'
RUNS = StoredRuns(Path(__file__).parent / "runs" / "batches", COMMAND)


@dataclass(frozen=True)
class Point:
    """A batch size at n bits, k = n/4 secrets and width m, with the constant c of its rates."""

    n: int
    m: int
    batch: int
    c: float
    epsilon: float = 1.0
    seeds: int = SEEDS
    test: int = TEST_SEQUENCES


def point(law: str, n: int, batch: int) -> Point:
    width, c = LAWS[law]
    return Point(n, width(n), batch, c)


def predicted(law: str, n: Any) -> Any:
    """The batch at which the second step's score reaches (1 + k/n)² log n, ε = 1, k = n/4."""
    width, c = LAWS[law]
    return 128 * n**2 * 1.25**2 * np.log(n) / (c**2 * width(n))


def grid(law: str, n: int, largest: int = 400_000) -> list[int]:
    """Batches: powers of 2^(1/4) around the predicted one up to `largest`."""
    quarters = range(*[int(4 * np.log2(predicted(law, n) * f)) for f in (1 / 8, 32.0)])
    return [batch for batch in (round(2 ** (quarter / 4)) for quarter in quarters) if n <= batch <= largest]


def success(at: Point) -> list[float]:
    """Share of fresh sequences entirely right after three steps, one per seed."""
    problem, shares = shuffled(100, at.n, at.n // 4), []
    rates = batch_rates(at.m, at.epsilon, at.batch, at.c)
    for seed in range(at.seeds):
        key = jax.random.fold_in(jax.random.key(seed), at.batch)
        last = batch_steps(key, problem, at.m, at.epsilon, at.batch, rates)
        margins, _ = margins_and_attention(last, problem, sample_bits(jax.random.fold_in(key, 1), problem, at.test))
        shares.append(round(float((margins > 0).all(axis=1).mean()), 4))
    return shares


@lru_cache(maxsize=32)
def in_dimension(d: int | None, n: int = 8, k: int = 2, seeds: int = 5, m: int = 1600, batch: int = 4096) -> np.ndarray:
    """Share of sequences right and median attention on S[i], mean over seeds, with hypercube embeddings in R^d."""
    rates, found = batch_rates(m, 1.0, batch, 0.08), []
    for seed in range(seeds):
        problem, key = shuffled(seed, n, k), jax.random.key(seed)
        last = batch_steps(key, problem, m, 1.0, batch, rates, d=d)
        margins, attention = margins_and_attention(last, problem, sample_bits(key, problem, TEST_SEQUENCES))
        found.append([(margins > 0).all(axis=1).mean(), np.median(attention)])
    return np.mean(found, axis=0)


def fill(sizes: Iterable[int] = SIZES, on_progress: Callable[[Point], None] | None = None) -> None:
    """Run what is missing; past the first success at an n and a law there is nothing to learn."""
    for n in sizes:
        for law in LAWS:
            for batch in grid(law, n):
                RUNS.fill([point(law, n, batch)], lambda at, _: success(at), on_progress)
                if np.mean(np.asarray(RUNS.read(point(law, n, batch)))) >= SHARE:
                    break


@lru_cache(maxsize=64)
def shares(law: str, n: int) -> dict[int, float]:
    """Mean share of sequences right, by batch, of the kept runs."""
    found = {batch: RUNS.read(point(law, n, batch)) for batch in grid(law, n)}
    return {batch: float(np.mean(x)) for batch, x in found.items() if x is not None}


def needed(law: str) -> dict[int, int]:
    """B* by n, where it is known: the first kept batch with a mean share of at least SHARE."""
    first = {n: next((batch for batch, share in shares(law, n).items() if share >= SHARE), None) for n in SIZES}
    return {n: batch for n, batch in first.items() if batch is not None}
