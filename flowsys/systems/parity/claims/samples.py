"""Batches and dimensions: how many samples three steps need, and what embeddings of finite dimension cost."""

import numpy as np
from scipy.optimize import brentq

from flowsys.claims import Claim, Condition, Inequality, Kit, Order, Path, Regime, Sides
from flowsys.claims.kit import NotReached
from flowsys.laws.fits import power_law
from flowsys.systems.parity import batches
from flowsys.systems.parity.claims.regimes import DELTA, SECRETS

FIRST = 32


def needed(run: Kit, law: str = batches.PROPORTIONAL) -> float:
    """B* at n, from kept runs; noted is the first n at which a single secret is in the theorem's range."""
    found = batches.needed(law).get(int(run.p.n))
    first = brentq(lambda log_n: log_n - 4 * np.log(log_n - np.log(DELTA)), 5.0, 30.0)
    run.note(per_n=batches.LAWS[law][0](1), first=np.exp(first))
    if found is None:
        raise NotReached(f"no kept batch is large enough at n = {run.p.n}: {batches.RUNS.command} makes more.")
    return float(found)


def width_law(run: Kit, power_of_m: float = -1.0) -> dict[str, Sides]:
    """The exponent of B* in m at the largest kept n, and B* over its law from n = FIRST on."""
    by_width = {m: batches.needed(f"m={m}") for m in batches.WIDTHS}
    sizes = sorted(set.intersection(*(set(found) for found in by_width.values())))
    last = power_law(list(by_width), [found[sizes[-1]] for found in by_width.values()])
    ratios = [by_width[m][n] / batches.predicted(f"m={m}", n) for m in by_width for n in sizes if n >= FIRST]
    run.note(n=sizes[-1], first=FIRST, exponent=last.slope, low=min(ratios), high=max(ratios))
    return {"exponent in m": Sides(abs(last.slope - power_of_m), 0.15), "B* over its law": Sides(max(ratios), 3.0),
            "law over B*": Sides(1 / min(ratios), 3.0)}  # fmt: skip


def finite_dimension(run: Kit, d: int | None = None, seeds: int = 5) -> dict[str, Sides]:
    """Sequences right and median attention on S[i] with hypercube embeddings against orthonormal ones (less 0.05).

    The batch is four times what orthonormal tokens need, so that what fails is the dimension.
    """
    n, k, d = run.p.n, run.p.k, d or run.p.d
    finite, exact = (batches.in_dimension(x, n, k, seeds) for x in (d, None))
    run.note(right=float(finite[0]), attention=float(finite[1]),
             times=d / (k * np.log(n / DELTA) ** 1.1))  # fmt: skip
    return {"right": Sides(finite[0], exact[0] - 0.05), "attention": Sides(finite[1], exact[1] - 0.05)}


FEW = {"n": 8, "k": 2, "tokens": "all"}
WIDE = Condition("d ≥ c k log^1.1(n/δ)", lambda p, c: (p.d, c * p.k * np.log(p.n / DELTA) ** 1.1))
CLAIMS = (
    Claim("sample_complexity", "Theorem 3, Assumption 2", "with a chain of thought Õ(n) samples suffice", Order("Õ",
          lambda p: p.n), needed, path=Path("n", batches.SIZES, k=lambda p: int(p.n) // 4),
          regime=Regime(*SECRETS), takes="",
          control={"regime": Regime()},
          note="the batch that three steps need at m = {per_n} n (not the theorem's o(nk) parameters), a quarter of "
          "the bits secret, frozen gates, kept runs; a secret in the theorem's range exists from n = {first:.3g} on; "
          "what is needed follows batch_law, by which a width of the theorem's order makes it linear up to logarithms"),
    Claim("batch_law", "Theorem 3, Assumption 2 [ours]", "three steps need a batch B* ∝ n² log n/(mε²)", Inequality(),
          width_law, takes="", control={"power_of_m": -0.5},
          note="at n = {n} the exponent in m is {exponent:.3g}; B* over the law between {low:.2g} and {high:.2g} "
          "from n = {first} on"),
    Claim("finite_dimension", "Assumption 2", "three steps learn with hypercube embeddings of dimension k "
          "log^1.1(n/δ), as with orthonormal ones", Inequality(">="), finite_dimension, at={**FEW, "d": 10},
          regime=Regime(*SECRETS, WIDE, c=1.0), takes="d", control={"regime": Regime()}, is_cheap=False,
          note="right {right:.3g}, attention {attention:.3g} at {times:.3g} of that dimension; no k of the paper's "
          "range exists at an n that can be run"),
    Claim("finite_dimension_small_n", "Assumption 2 [ours]", "at n = 8, k = 2 they learn as with orthonormal ones from "
          "d = c k log^1.1(n/δ) on", Inequality(">="), finite_dimension,
          at=[{**FEW, "d": d} for d in (16, 32, 64, 128, 256, 512)], regime=Regime(WIDE, c=1.0), takes="d",
          sharpens="finite_dimension", control={"at": {**FEW, "d": 512}}, is_cheap=False,
          note="right {right:.3g}, attention {attention:.3g} at {times:.3g} times that dimension, the last place; "
          "below, cross-talk between tokens shows"),
)  # fmt: skip
