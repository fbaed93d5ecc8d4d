"""Passing many times over few strings without a chain of thought (Figures 4, 5): stored runs.

The paper's n = 20 with fewer secrets and a smaller transformer, so that a run takes minutes: a small set of strings,
passed over again and again, against strings that are all fresh. The paper's own runs (k = 6, 10^4 strings in 1000
epochs, and 5·10^4 against 10^6 strings, hidden 720) are cases like the others. `stored_runs.fill(cases(), STORED)`
trains what is missing.
"""

from pathlib import Path
from typing import Any

from flowsys.systems.parity.stored_runs import SMALL, Case
from flowsys.systems.parity.transformer import Architecture

STORED = Path(__file__).with_name("passes.json")
K, FEW, BUDGET, SEEDS = 4, 10_000, 3 * 10**6, 3
SHAPES = tuple(Architecture(L, H, SMALL.hidden, SMALL.feed_forward) for L, H in ((1, 1), (1, 2), (1, 4), (2, 2)))
PAPER_K, PAPER_FEW, PAPER_SOME, PAPER_MANY = 6, 10_000, 50_000, 10**6


def case(strings: int | None, seed: int, architecture: Architecture = SMALL, chain: bool = False) -> Case:
    """A run at the small size over `strings` strings, or over fresh ones (None)."""
    return Case(
        K,
        chain,
        seed,
        training_set=strings,
        budget=BUDGET,
        architecture=architecture,
        evaluate_every=5 if chain else 20,
    )


def cases() -> list[Case]:
    """Few and fresh strings for every seed, few with a chain, then few strings for the other shapes."""
    pairs = [case(strings, seed) for seed in range(SEEDS) for strings in (FEW, None)]
    chain = [case(FEW, seed, chain=True) for seed in range(SEEDS)]
    return pairs + chain + [case(FEW, 0, shape) for shape in SHAPES if shape != SMALL]


def paper_case(strings: int, layers: int, heads: int, epochs: int, chain: bool = False) -> Case:
    return Case(
        PAPER_K, chain, seed=0, training_set=strings, budget=strings * epochs, batch=512, validation=2048,
        architecture=Architecture(layers, heads, 720, 3072), learning_rate=1e-4, evaluate_every=20,
    )  # fmt: skip


def paper_cases(figure: str) -> list[Case]:
    """The runs of Figure 4 (all shapes, few strings, 1000 epochs) and of Figure 5 (4 layers and heads)."""
    if figure == "4":
        shapes = [(layers, heads) for layers in (1, 2, 3, 4) for heads in (1, 2, 3, 4)]
        return [paper_case(PAPER_FEW, layers, heads, 1000) for layers, heads in shapes]
    return [paper_case(PAPER_SOME, 4, 4, 200), paper_case(PAPER_MANY, 4, 4, 10)]


def samples(results: dict[str, Any], strings: int | None, chain: bool = False) -> list[int | None]:
    """Samples needed, one per stored seed; None where the budget ran out."""
    keys = [case(strings, seed, chain=chain).key for seed in range(SEEDS)]
    return [results[key]["samples"] for key in keys if key in results]
