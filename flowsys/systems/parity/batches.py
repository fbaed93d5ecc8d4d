"""How large a batch three steps of stochastic gradient descent need: success over (B, n, m), as kept runs.

Rates η_0 = η_1 = c·mε√B, as large as the batch's noise lets the gates stay. The second step's score must reach log n:
c²mBε²/(128n²) ≳ (1 + k/n)² log n, so that B* ∝ n² log n/(mε²), which is Õ(n) when m ∝ n. Frozen gates, k = n/4.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import jax
import numpy as np

from flowsys.experiments.stored import StoredRuns
from flowsys.systems.parity.data import Parity, shuffled
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


def share_and_attention(
    key: jax.Array, problem: Parity, at: Point, d: int | None = None, fresh: int = 0
) -> list[float]:
    """After three steps, of fresh strings: the share of sequences entirely right, the median attention on S[i]."""
    last = batch_steps(key, problem, at.m, at.epsilon, at.batch, batch_rates(at.m, at.epsilon, at.batch, at.c), d=d)
    test = sample_bits(jax.random.fold_in(key, fresh) if fresh else key, problem, at.test)
    margins, attention = margins_and_attention(last, problem, test)
    return [float((margins > 0).all(axis=1).mean()), float(np.median(attention))]


def success(at: Point) -> list[float]:
    """Share of fresh sequences entirely right after three steps, one per seed."""
    problem = shuffled(100, at.n, at.n // 4)
    keys = [jax.random.fold_in(jax.random.key(seed), at.batch) for seed in range(at.seeds)]
    return [round(share_and_attention(key, problem, at, fresh=1)[0], 4) for key in keys]


@lru_cache(maxsize=32)
def in_dimension(d: int | None, n: int = 8, k: int = 2, seeds: int = 5) -> np.ndarray:
    """Share of sequences right and median attention on S[i], mean over seeds, with hypercube embeddings in R^d."""
    at = Point(n, 1600, 4096, 0.08)
    runs = [share_and_attention(jax.random.key(seed), shuffled(seed, n, k), at, d) for seed in range(seeds)]
    return np.mean(runs, axis=0)


def fill() -> None:
    """Run what is missing; past the first success at an n and a law there is nothing to learn."""
    for n, law in product(SIZES, LAWS):
        for batch in grid(law, n):
            ((_, found),) = RUNS.fill([point(law, n, batch)], lambda at, _: success(at))
            if np.mean(found) >= SHARE:
                break


@lru_cache(maxsize=64)
def shares(law: str, n: int) -> dict[int, float]:
    """Mean share of sequences right, by batch, of the kept runs."""
    return {at.batch: float(np.mean(x)) for at, x in RUNS.kept(point(law, n, batch) for batch in grid(law, n))}


def needed(law: str) -> dict[int, int]:
    """B* by n, where it is known: the first kept batch with a mean share of at least SHARE."""
    enough = {n: [batch for batch, share in shares(law, n).items() if share >= SHARE] for n in SIZES}
    return {n: batches[0] for n, batches in enough.items() if batches}
