"""Theorems 1 and 2: parity without a chain of thought can be represented, and its gradient vanishes at the start."""

import jax
import numpy as np

from flowsys.claims import Claim, Verdict, judged
from flowsys.systems.parity import construction, data, embeddings, hardness
from flowsys.systems.parity.claims.runs import chosen, claim
from flowsys.systems.parity.levels import check_size_of

SIZES = ((12, 3), (14, 4), (12, 5))
EMBEDDINGS = 4


def the_construction_computes_every_parity(dimensions: float = 20.0) -> Verdict:
    """Theorem 1's weights on all 2^n strings, d = c·k log(n/0.1) hypercube dimensions, several embeddings."""
    worst, leaks = 1.0, []
    for n, k in SIZES:
        problem = data.ascending(n, k, chain_of_thought=False)
        d = max(2 * k, int(dimensions * k * np.log(n / 0.1)))
        for seed in range(EMBEDDINGS):
            tokens = embeddings.hypercube(jax.random.key(seed), problem.n_tokens, d)
            worst = min(worst, construction.exhaustive_accuracy(problem, tokens))
            leaks.append(construction.largest_leak(problem, tokens))
    return judged(
        worst == 1.0,
        "accuracy 1 on all 2^n inputs",
        f"least accuracy {worst:.6g} over {len(leaks)} embeddings; largest leak |<V, e>| {max(leaks):.2f}",
        parameters={"sizes": SIZES, "c": dimensions, "embeddings": EMBEDDINGS},
        values={"accuracy": worst, "leak": leaks},
    )


def the_gradient_without_a_chain_is_zero_at_the_start(secrets=(2, 3)) -> Verdict:
    """Population gradient at Assumption 1, exactly, over all strings of n = 8 bits."""
    n, m = _enumerable(max(secrets), n=8, m=32.0)
    largest = [hardness.largest_entry(hardness.no_cot_gradient(jax.random.key(0), n, k, m, 1.0)) for k in secrets]
    return judged(
        max(largest) < 1e-18,
        "0 for k >= 2",
        ", ".join(f"k={k}: {x:.2g}" for k, x in zip(secrets, largest)),
        tolerance=1e-18,
        parameters={"n": n, "m": m, "k": secrets},
        values={"largest_entry": largest},
    )


def the_gradient_vanishes_to_order_k_minus_1(chain_of_thought: bool = False) -> Verdict:
    """Norm of the population gradient where q and a are of size σ, between σ = 0.1 and 0.2."""
    secrets = (1, 2, 3, 4)
    n, m = _enumerable(max(secrets), n=8, m=16.0)
    slopes = [
        hardness.order_of_vanishing(jax.random.key(1), n, k, m, 5.0, chain_of_thought=chain_of_thought) for k in secrets
    ]
    off = max(abs(slope - (k - 1)) for k, slope in zip(secrets, slopes))
    return judged(
        off <= 0.2,
        "gradient ~ σ^(k-1): slopes 0, 1, 2, 3",
        "slopes " + ", ".join(f"{slope:.2f}" for slope in slopes),
        tolerance=0.2,
        parameters={"n": n, "m": m, "k": secrets, "sigma": (0.1, 0.2)},
        values={"slopes": slopes},
    )


def _enumerable(k: int, **own: float) -> tuple[int, int]:
    """n and m, where all 2^n strings can be written out."""
    place = chosen(k=k, **own)
    check_size_of(place, "L2", "enumerated")
    return place["n"], int(place["m"])


CLAIMS = (
    claim("theorem_1", "Theorem 1", "weights of width m = k+1 compute the parity of k secret bits without a chain",
          the_construction_computes_every_parity, control={"dimensions": 0.0}, is_cheap=False,
          regime="hypercube embeddings, d = c·k log(n/δ) with c = 20, δ = 0.1; control: d = 2k"),
    claim("theorem_2_gradient", "Theorem 2", "without a chain the population gradient at the start is exactly 0",
          the_gradient_without_a_chain_is_zero_at_the_start, control={"secrets": (1, 2)},
          regime="Assumption 1, k >= 2; the mechanism behind the bound; control: k = 1", takes="n m"),
    claim("theorem_2_order", "Theorem 2", "without a chain the gradient is of order σ^(k-1) at weights of size σ",
          the_gradient_vanishes_to_order_k_minus_1, control={"chain_of_thought": True}, is_cheap=False,
          regime="n = 8, k = 1 … 4; control: with a chain of thought it is not", takes="n m"),
    Claim("theorem_2", "Theorem 2",
          "without a chain of thought, learning needs exponentially many samples or much memory",
          reason="a bound over all algorithms with limited memory; the vanishing gradient behind it is checked "
          "instead, and the samples that training needs (growth_without_chain)"),
)  # fmt: skip
