"""How large a batch three steps of stochastic gradient descent need: success over (B, n, m), stored, resumable.

Rates η_0 = η_1 = c·mε√B, as large as the batch's noise lets the gates stay. The second step's score must reach log n:
c²mBε²/(128n²) ≳ (1 + k/n)² log n, so that B* ∝ n² log n/(mε²), which is Õ(n) when m ∝ n. Frozen gates, k = n/4. `fill`
runs the seeds of points that are not in the file yet and writes it after each point.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

from flowsys.machine.files import write_text
from flowsys.systems.parity.data import sample_bits, shuffled
from flowsys.systems.parity.frozen_batch import batch_margins
from flowsys.systems.parity.sgd import frozen_states
from flowsys.systems.parity.three_step import batch_rates

STORED = Path(__file__).with_name("batches.json")
SEEDS, SHARE, TEST_SEQUENCES = 10, 0.9, 1024
SIZES = (8, 16, 32, 64, 128)
WIDTHS = (400, 1600, 6400, 25600)
PROPORTIONAL = "m=200n"
LAWS = {PROPORTIONAL: (lambda n: 200 * n, 0.08)} | {f"m={m}": (lambda n, m=m: m, 0.2) for m in WIDTHS}


@dataclass(frozen=True)
class Point:
    """A batch size at n bits under a law for the width."""

    law: str
    n: int
    batch: int

    @property
    def key(self) -> str:
        return f"{self.law} n={self.n} B={self.batch}"


def predicted(law: str, n: int) -> float:
    """The batch at which the second step's score reaches (1 + k/n)² log n, ε = 1, k = n/4."""
    width, c = LAWS[law]
    return 128 * n**2 * 1.25**2 * np.log(n) / (c**2 * width(n))


def points(sizes: Iterable[int] = SIZES, laws: Iterable[str] = tuple(LAWS), largest: int = 400_000) -> list[Point]:
    """Powers of 2^(1/4) around the predicted batch up to `largest`, small n first."""
    grid = [
        Point(law, n, round(2 ** (quarter / 4)))
        for n in sizes
        for law in laws
        for quarter in range(*[int(4 * np.log2(predicted(law, n) * f)) for f in (1 / 8, 32.0)])
    ]
    return [point for point in grid if point.n <= point.batch <= largest]


def success(point: Point, seeds: Iterable[int] = range(SEEDS)) -> list[float]:
    """Share of fresh sequences entirely right after three steps, one per seed."""
    width, c = LAWS[point.law]
    m, problem = width(point.n), shuffled(jax.random.key(100), point.n, point.n // 4)
    rates, shares = batch_rates(m, 1.0, point.batch, c), []
    for seed in seeds:
        key = jax.random.fold_in(jax.random.key(seed), point.batch)
        last = frozen_states(key, problem, m, 1.0, point.batch, rates)[-1]
        test = sample_bits(jax.random.fold_in(key, 1), problem, TEST_SEQUENCES)
        shares.append(round(float((batch_margins(last, problem, test) > 0).all(axis=1).mean()), 4))
    return shares


def stored(path: Path = STORED) -> dict[str, list[float]]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def fill(
    chosen: Iterable[Point], path: Path = STORED, on_progress: Callable[[str], None] | None = None
) -> dict[str, list[float]]:
    """Run the seeds that are not stored yet; past the first success at an n and a law there is nothing to learn."""
    results = stored(path)
    for point in chosen:
        known = results.get(point.key, [])
        past = (first := smallest(results, point.law, point.n)) is not None and point.batch > first
        if len(known) < SEEDS and not past:
            results[point.key] = known + success(point, range(len(known), SEEDS))
            write_text(path, _text(results))
        if on_progress is not None:
            on_progress(point.key)
    return results


def _text(results: dict[str, list[float]]) -> str:
    """JSON with one point a line."""
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(x)}" for key, x in results.items()) + "\n}\n"


def shares(results: dict[str, list[float]], law: str, n: int) -> dict[int, float]:
    """Mean share of sequences right, by batch."""
    start = f"{law} n={n} B="
    found = {int(key.removeprefix(start)): float(np.mean(x)) for key, x in results.items() if key.startswith(start)}
    return dict(sorted(found.items()))


def smallest(results: dict[str, list[float]], law: str, n: int) -> int | None:
    """B*: the first stored batch with a mean share of at least SHARE over at least SEEDS seeds."""
    complete = {key: x for key, x in results.items() if len(x) >= SEEDS}
    return next((batch for batch, share in shares(complete, law, n).items() if share >= SHARE), None)


def needed(results: dict[str, list[float]], law: str) -> dict[int, int]:
    """B* by n, where it is known."""
    return {n: batch for n in SIZES if (batch := smallest(results, law, n)) is not None}
