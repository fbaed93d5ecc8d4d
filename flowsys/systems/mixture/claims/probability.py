"""Random starts: their concentration (Lemmas C.1, G.1), and the tail bounds behind it (Appendix H)."""

from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
from scipy.integrate import quad
from scipy.stats import binom, chi2

from flowsys.claims import Claim, Erratum, HighProbability, Inequality, Kit, Limit, Path, Sides
from flowsys.model.starts import own_weights
from flowsys.systems.mixture import SYSTEM
from flowsys.systems.mixture.claims.regimes import SIZES

# centred Bernoulli(q) variables: n of them, P[Z > t]
CASES = [{"n": n, "q": q, "t": t} for n, q, t in ((100, 0.5, 10.0), (1000, 0.1, 30.0), (10_000, 0.01, 20.0),
         (10_000, 0.01, 90.0), (1000, 0.001, 8.0))]  # fmt: skip
WIDTHS = [{"m": m, "delta": δ} for m in (1, 20, 2000) for δ in (0.5, 0.1, 1e-3)]


def deviations(run: Kit, seeds: Iterable[int]) -> Iterator[np.ndarray]:
    """M/ω² - I of the positive head, M the inner products of the keys and queries that runs start with."""
    concrete = SYSTEM.concrete(run.setup, "L2", "simultaneous")
    for seed in seeds:
        weights = own_weights(concrete, seed)
        F = np.hstack([weights["W_K"][0], weights["W_Q"][0]]) / run.p.omega
        yield F.T @ F - np.eye(F.shape[1])


def typical_deviation(run: Kit, seeds: int = 60, off: float = 0.0) -> float:
    """C.1: the rms of M/ω² - I over entries and starts."""
    return float(np.sqrt(np.mean([(M - off) ** 2 for M in deviations(run, range(seeds))])))


def bound(m: float, failure: float) -> float:
    """√(4 log(1/failure)/m) + 4 log(1/failure)/m."""
    x = 4 * np.log(1 / failure) / m
    return float(np.sqrt(x) + x)


def deviation_over_bound(run: Kit, constant: float = 1.0) -> np.ndarray:
    """G.1: max |M/ω² - I| over its bound at δ, for every start."""
    limit = constant * bound(run.p.width, run.delta / 8)
    return np.array([np.abs(M).max() / limit for M in deviations(run, run.starts)])


def failures_of_many_groups(run: Kit, starts: int = 200, δ: float = 0.5) -> tuple[float, float]:
    """[ours] The rate at which the bound of G.1 is exceeded, against δ."""
    limit = bound(run.p.width, δ / 8)
    return float(np.mean([np.abs(M).max() > limit for M in deviations(run, range(starts))])), δ


def _tail(run: Kit) -> tuple[float, float, float, float]:
    """(P[Z > t], V, M, t) of a sum of n centred Bernoulli(q), exactly."""
    n, q, t = run.p.n, run.p.q, run.p.t
    return float(binom.sf(np.floor(n * q + t), n, q)), n * q * (1 - q), max(q, 1 - q), t


def bernstein(run: Kit, factor: float = 1.0) -> tuple[float, float]:
    """H.1, first bound: P[Z > t] against exp(-t²/2 / (V + Mt/3))."""
    P, V, M, t = _tail(run)
    return P, np.exp(-factor * t**2 / 2 / (V + M * t / 3))


def bernstein_by_cases(run: Kit, in_variance: float = 2.0, in_bound: float = 2.0) -> tuple[float, float]:
    """H.1, second step: the first bound against exp(-min{t²/(2V), t/(2M)})."""
    P, V, M, t = _tail(run)
    second = np.exp(-min(t**2 / (in_variance * V), t / (in_bound * M)))
    run.note(probability=max(P / second, run.noted.get("probability", 0.0)))
    return np.exp(-(t**2) / 2 / (V + M * t / 3)), second


def bernstein_by_quantile(run: Kit, linear: float = 2.0) -> tuple[float, float]:
    """H.1, last line: P[Z > √(2V log 1/δ) + 2M log 1/δ] against δ, the δ whose quantile is t."""
    _, V, M, t = _tail(run)
    a, b = linear * M, np.sqrt(2 * V)
    root = (-b + np.sqrt(b**2 + 4 * a * t)) / (2 * a) if a else t / b
    return _tail(run)[0], np.exp(-(root**2))


@cache
def _tails_of_gaussian_vectors(m: int, x: float) -> tuple[float, float]:
    """P[||w|² - 1| ≥ x] and P[|⟨w_1, w_2⟩| ≥ x] for N(0, I_m/m); ⟨w_1, w_2⟩ = (χ² - χ'²)/(2m)."""
    norm = chi2.sf(m * (1 + x), m) + chi2.cdf(m * (1 - x), m)
    inner = quad(lambda s: chi2.pdf(s, m) * chi2.sf(s + 2 * m * x, m), 0, chi2.isf(1e-14, m), limit=200)[0]
    return float(norm), float(2 * inner)


def gaussian_tails(run: Kit, constant: float = 1.0) -> dict[str, Sides]:
    """H.2: both probabilities, exactly, against δ."""
    x = constant * bound(run.p.m, run.p.delta / 2)
    return {name: Sides(P, run.p.delta) for name, P in zip(("norm", "inner product"),
            _tails_of_gaussian_vectors(run.p.m, x))}  # fmt: skip


CLAIMS = [
    Claim("C.1", "Lemma C.1", "as m → ∞ the initial inner products are 0, the self-scores ω²", Limit(0.0),
          typical_deviation, path=Path("width", (20, 80, 320, 1280, 5120, 20480)), regime=SIZES, takes="",
          control={"off": 0.1}),
    Claim("G.1", "Lemma G.1", "initial inner products within ω² (√(4 log(8/δ)/m) + 4 log(8/δ)/m) of their means",
          HighProbability((0.5, 0.1)), deviation_over_bound, at=[{"width": m} for m in (20, 200, 2000)], regime=SIZES,
          takes="", control={"constant": 0.5}),
    Claim("G.1-union", "Lemma G.1 [ours]", "the bound has no union bound over pairs: with many groups it fails",
          Inequality(">="), failures_of_many_groups, at={"K": 16, "width": 2000}, takes="",
          control={"at": {"K": 2, "width": 2000}}),
    Claim("H.1", "Lemma H.1", "P[Z > t] ≤ exp(-t²/2 / (V + Mt/3))", Inequality("<="), bernstein, at=CASES, takes="",
          control={"factor": 2.0}),
    Claim("H.1-second", "Lemma H.1", "exp(-t²/2 / (V + Mt/3)) ≤ exp(-min{t²/(2V), t/(2M)}) as printed",
          Inequality("<="), bernstein_by_cases, at=CASES, what="display", takes="",
          control={"in_variance": 4.0, "in_bound": 4 / 3},
          note="the probability itself is up to {probability:.3g} times what is printed",
          erratum=Erratum("min{t²/(2V), t/(2M)}", "min{t²/(4V), 3t/(4M)}", "harmless", "H.1-corrected")),
    Claim("H.1-corrected", "Lemma H.1 [ours]", "exp(-t²/2 / (V + Mt/3)) ≤ exp(-min{t²/(4V), 3t/(4M)})",
          Inequality("<="), lambda run, in_variance=4.0, in_bound=4 / 3: bernstein_by_cases(run, in_variance, in_bound),
          at=CASES, takes="", control={"in_variance": 2.0}),
    Claim("H.1-quantile", "Lemma H.1", "Z ≤ √(2V log 1/δ) + 2M log 1/δ with probability 1 - δ", Inequality("<="),
          bernstein_by_quantile, at=CASES, takes="", control={"linear": 0.0}),
    Claim("H.2", "Lemma H.2", "||w|² - 1| and |⟨w_1, w_2⟩| reach √(4 log(2/δ)/m) + 4 log(2/δ)/m with probability ≤ δ",
          Inequality("<="), gaussian_tails, at=WIDTHS, takes="", control={"constant": 0.4}),
]  # fmt: skip
