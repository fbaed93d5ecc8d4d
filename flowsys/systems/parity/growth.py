"""How many samples the small transformer needs, with and without a chain of thought (Figures 1–3): stored runs.

At n = 20 with hidden size 32, five seeds with secrets of their own. `flowsys figure parity 1a --paper` trains and draws
the paper's sizes (n = 30, hidden 720, layers and heads 1 to 4), which take days on two cores.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from flowsys.systems.parity import stored_runs
from flowsys.systems.parity.stored_runs import SMALL, Case, N, parts
from flowsys.systems.parity.transformer import Architecture

STORED = Path(__file__).with_name("growth.json")
SEEDS = 5
WITH_CHAIN, WITHOUT_CHAIN = (1, 2, 3, 4, 6, 8), (1, 2, 3)
BUDGET_WITHOUT = 10**7


def case(k: int, chain: bool, seed: int) -> Case:
    """A run at the small size; without a chain the budget is larger and, where much is needed, the clock coarser."""
    if chain:
        return Case(k, chain, seed)
    return Case(k, chain, seed, budget=BUDGET_WITHOUT, evaluate_every=10 if k == 1 else 100)


def cases(seeds: Iterable[int] = range(SEEDS)) -> list[Case]:
    """All cases, seed by seed, so that what is stored early already spans every k."""
    return [
        case(k, chain, seed)
        for seed in seeds
        for chain, secrets in ((True, WITH_CHAIN), (False, WITHOUT_CHAIN))
        for k in secrets
    ]


def stored(path: Path = STORED) -> dict[str, Any]:
    """Results by key; empty if there are none."""
    return stored_runs.stored(path)


def fill(
    chosen: Iterable[Case], path: Path = STORED, on_progress: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Run the cases that are not stored yet."""
    return stored_runs.fill(chosen, path, on_progress)


def complexities(
    results: dict[str, Any], chain: bool, n: int = N, architecture: Architecture = SMALL
) -> dict[int, list[int | None]]:
    """Samples needed by k, one per stored seed; None where the budget ran out."""
    found: dict[int, list[int | None]] = {}
    for key, result in results.items():
        at = parts(key)
        k, seed = at["k"], at["seed"]
        if key == Case(k, chain, seed, n, architecture=architecture).key:
            found.setdefault(k, []).append(result["samples"])
    return dict(sorted(found.items()))
