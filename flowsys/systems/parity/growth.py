"""How many samples the small transformer needs, with and without a chain of thought (Figures 1–3): stored runs.

At n = 20 with hidden size 32, every seed with secrets of its own. The paper's sizes (n = 30 and 100, hidden 720, layers
and heads 1 to 4) are cases like the others; they take days on two cores. `stored_runs.fill(cases(), STORED)` and
`stored_runs.fill(shape_cases(), STORED)` train what is missing.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from flowsys.systems.parity.stored_runs import SMALL, Case, N, parts
from flowsys.systems.parity.transformer import Architecture

STORED = Path(__file__).with_name("growth.json")
SEEDS = 5
WITH_CHAIN, WITHOUT_CHAIN = (1, 2, 3, 4, 6, 8, 12, 16), (1, 2, 3)
SHAPES = tuple(
    Architecture(layers, heads, SMALL.hidden, SMALL.feed_forward)
    for layers, heads in ((1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (4, 1), (4, 4))
)
SHAPE_SEEDS = 1


def case(k: int, chain: bool, seed: int, architecture: Architecture = SMALL) -> Case:
    """A run at the small size; budget and clock follow what it needs."""
    if k == 1:
        return Case(k, chain, seed, architecture=architecture, evaluate_every=2)
    if chain or k == 2:
        return Case(k, chain, seed, architecture=architecture)
    return Case(k, chain, seed, architecture=architecture, budget=10**7, evaluate_every=25)


def cases(seeds: Iterable[int] = range(SEEDS)) -> list[Case]:
    """Figures 1 and 3: all cases, seed by seed, so that what is stored early already spans every k."""
    return [
        case(k, chain, seed)
        for seed in seeds
        for chain, secrets in ((True, WITH_CHAIN), (False, WITHOUT_CHAIN))
        for k in secrets
    ]


def shape_cases(seeds: Iterable[int] = range(SHAPE_SEEDS)) -> list[Case]:
    """Figure 2: other numbers of layers and heads."""
    return [
        case(k, chain, seed, shape)
        for shape in SHAPES
        for seed in seeds
        for chain, secrets in ((True, (1, 2, 4)), (False, (1, 2)))
        for k in secrets
    ]


def paper_case(k: int, chain: bool, n: int = 30, layers: int = 1, heads: int = 1) -> Case:
    """A run at the paper's size (its learning rate is the best of 6, 8 and 10 times 1e-5)."""
    return Case(
        k, chain, seed=0, n=n, budget=10**7, architecture=Architecture(layers, heads, 720, 3072), learning_rate=8e-5,
        batch=512, validation=2048,
    )  # fmt: skip


def paper_cases(figure: str) -> list[Case]:
    """The runs of Figures 1a, 1b, 2, 3a and 3b."""
    both = [(k, chain) for k in (1, 2, 3, 4) for chain in (True, False)]
    if figure == "2":
        shapes = [(layers, heads) for layers in (1, 2, 3, 4) for heads in (1, 2, 3, 4)]
        return [paper_case(k, chain, layers=layers, heads=heads) for layers, heads in shapes for k, chain in both]
    if figure == "3a":
        return [paper_case(k, True, n=100) for k in (20, 40, 60, 80, 100)]
    if figure == "3b":
        return [paper_case(20, True, n=40)]
    return [paper_case(k, chain) for k, chain in both]


def complexities(
    results: dict[str, Any], chain: bool, n: int = N, architecture: Architecture = SMALL
) -> dict[int, list[int | None]]:
    """Samples needed by k, one per stored seed; None where the budget ran out."""
    found: dict[int, list[int | None]] = {}
    for key, result in results.items():
        at = parts(key)
        if key == Case(at["k"], chain, at["seed"], n, architecture=architecture).key:
            found.setdefault(at["k"], []).append(result["samples"])
    return dict(sorted(found.items()))
