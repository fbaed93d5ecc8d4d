"""The law of a quantity in a small or large parameter: constant, power, logarithm or power × logarithm.

The kind is the one whose fit predicts best what it was not fitted to (`flowsys.laws.candidates`); of laws that do this
equally well the simplest is taken. A power with an exponent near 0 and a logarithm that hardly shows beside its own
offset explain little, so they have to predict better to be taken. The interval (95 %) belongs to the exponent, of laws
without one to the leading coefficient. A law is not yet asymptotic where its leading term is not yet most of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flowsys.laws.candidates import CANDIDATES, EXACT, ITERATED, Fitted, fit, fits, predicted

LEAST_EXPONENT = 0.2
NO_EXPONENT = 0.02
FEWEST = 3
RIVAL = 1.5
NO_LAW = 0.5  # of held-out values: what misses them by more says nothing of the end


@dataclass(frozen=True)
class Law:
    """y ≈ coefficient · x^exponent · (log x or log 1/x)^logarithms towards the end of x.

    `error` is the relative error at points that were held out; `local` are exponents between neighbours; `rivals` are
    the other kinds that predict nearly as well.
    """

    kind: str
    exponent: float
    logarithms: int
    coefficient: float
    interval: tuple[float, float]
    error: float
    is_settled: bool
    local: np.ndarray
    rivals: tuple[str, ...]
    x: np.ndarray
    y: np.ndarray
    scores: dict[str, float]

    @property
    def state(self) -> str:
        return "" if self.is_settled else "not yet asymptotic"

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind, "exponent": self.exponent, "logarithms": self.logarithms,
            "coefficient": self.coefficient, "interval": list(self.interval), "held_out_error": self.error,
            "asymptotic": self.is_settled, "local_exponents": self.local.tolist(), "rivals": list(self.rivals),
        }  # fmt: skip

    def __str__(self) -> str:
        low, high = (format(end, ".4g") for end in self.interval)
        name = {"power": "power", "power × logarithm": "power times logarithm"}.get(self.kind, self.kind)
        what = (
            f"exponent {self.exponent:.4g}" if self.kind.startswith("power") else f"coefficient {self.coefficient:.4g}"
        )
        return f"{name}, {what} [{low}, {high}]" + (f", {self.state}" if self.state else "")


def local_exponents(x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> np.ndarray:
    """Exponents of |y| in x between neighbouring points; nan where y vanishes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.diff(np.log(np.abs(np.asarray(y, float)))) / np.diff(np.log(np.asarray(x, float)))


def law(x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> Law:
    """The law of y in x > 0 towards the last x given: large if x grows along the points, small if it falls."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(x) < FEWEST or (x <= 0).any() or not np.isfinite(y).all():
        raise ValueError(f"a law needs at least {FEWEST} points with x > 0 and finite y")
    steps = np.diff(np.log(x))
    if not ((steps > 0).all() or (steps < 0).all()):
        raise ValueError("the points of a law run one way along x")
    if not y.any():
        return Law("constant", 0.0, 0, 0.0, (0.0, 0.0), 0.0, True, np.zeros(len(x) - 1), (), x, y, {})
    is_small = x[-1] < x[0]
    of_one_sign = _last_of_one_sign(y)
    side, X = np.sign(y[-1]) or 1.0, (1 / x if is_small else x)[of_one_sign]
    least = 1e-12 * np.abs(y).max()
    y_fit = np.where(np.abs(y) > least, side * y, least)[of_one_sign]
    scored = [(_score(found, X), found) for found in fits(X, y_fit)]
    best = max(min(score for score, _ in scored), EXACT)
    score, chosen = next((score, found) for score, found in scored if score <= best)
    kinds = {found.candidate.kind for _, found in scored}
    by_kind = {kind: min(s for s, f in scored if f.candidate.kind == kind) for kind in sorted(kinds)}
    rivals = tuple(k for k, s in by_kind.items() if k != chosen.candidate.kind and s <= RIVAL * max(score, EXACT))
    near = [f for s, f in scored if f.candidate.kind == chosen.candidate.kind and s <= RIVAL * max(score, EXACT)]
    sign = -1.0 if is_small else 1.0
    low, high = _interval(chosen, near, X, y_fit, sign)
    interval = (low, high) if chosen.candidate.is_power or side > 0 else (-high, -low)
    return Law(
        chosen.candidate.kind, sign * chosen.exponent, chosen.candidate.logarithms, side * chosen.leading, interval,
        chosen.held_out, _is_settled(chosen, X), local_exponents(x, y), rivals, x, y, by_kind,
    )  # fmt: skip


def _last_of_one_sign(y: np.ndarray) -> slice:
    """The points after the last change of sign, if they are at least half of them; else all."""
    changes = np.flatnonzero(np.sign(y[1:]) * np.sign(y[:-1]) < 0)
    first = int(changes[-1]) + 1 if len(changes) else 0
    return slice(first if len(y) - first >= max(FEWEST, len(y) / 2) else 0, None)


def evidence(x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> tuple[float, float, float]:
    """How well the best bounded, logarithmic and power-like growing laws predict y > 0: their held-out scores."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    X = 1 / x if x[-1] < x[0] else x
    scores = {"bounded": np.inf, "logarithm": np.inf, "power": np.inf}
    for found in fits(X, y, (*CANDIDATES, ITERATED)):
        name = _growth(found, X)
        scores[name] = min(scores[name], max(_score(found, X), EXACT))
    return scores["bounded"], scores["logarithm"], scores["power"]


def _growth(found: Fitted, X: np.ndarray) -> str:
    """How a fitted law grows beyond the points; an exponent that is 0 for all one can see is none."""
    if found.candidate.is_power and abs(found.exponent) > NO_EXPONENT:
        return "power" if found.exponent > 0 else "bounded"
    if found.candidate.logarithms == 0 and found.candidate is not ITERATED:
        return "bounded"
    ends = np.array([X[-1], X[-1] ** 2 / X[0]])
    here, far = predicted(found.candidate, found.exponent, found.rate, found.beta, ends)
    return "logarithm" if far > here or far < 0 else "bounded"


def _score(found: Fitted, X: np.ndarray) -> float:
    """The held-out error, larger for more parameters and for what explains little."""
    score = found.held_out * float(np.exp(2 * found.candidate.n_parameters / len(X)))
    if found.candidate.is_power:
        score *= max(1.0, LEAST_EXPONENT / max(abs(found.exponent), 1e-9))
    if found.candidate.logarithms > 0:
        score *= max(1.0, min(abs(found.beta[0]) / (abs(found.beta[1]) * np.log(X[-1]) + 1e-300), 1e9))
    elif found.candidate.correction and found.candidate is not ITERATED:
        score *= max(1.0, min(0.5 / max(abs(_share(found, X)), 1e-9), 1e9))
    return score


def _share(found: Fitted, X: np.ndarray) -> float:
    """The leading term's share of the law at the last point."""
    candidate, L = found.candidate, float(np.log(X[-1]))
    whole = float(predicted(candidate, 0.0, found.rate, found.beta, X[-1:])[0])
    return found.leading * L**candidate.logarithms / whole if whole else np.inf


def _is_settled(found: Fitted, X: np.ndarray) -> bool:
    """Whether the leading term is most of the law at the last point, and the law says what it was not fitted to."""
    share = _share(found, X)
    if found.held_out > NO_LAW:
        return False
    if found.candidate.logarithms:
        return 0.4 <= share <= 2.5
    return 0.9 <= share <= 1.1


def _interval(chosen: Fitted, near: Sequence[Fitted], X: np.ndarray, y: np.ndarray, sign: float) -> tuple[float, float]:
    """From the scatter of the fit, from laws of its kind that do as well, and from what the far points alone say."""
    from scipy.stats import t as student

    value, width = _value_and_error(chosen)
    n, p = len(X), chosen.candidate.n_parameters
    half = float(student.ppf(0.975, max(n - p, 1))) * width
    others = [_value_and_error(found)[0] for found in near]
    for first, last in ((n // 4, n), (n // 2, n), (0, n - n // 4)):
        there = slice(first, last)
        part = fit(chosen.candidate, X[there], y[there], chosen.found_at) if last - first > p + 1 else None
        if part is not None:
            others.append(_value_and_error(part)[0])
    half = max(half, 2 * max(abs(other - value) for other in others)) + 1e-9 * max(abs(value), 1.0)
    low, high = value - half, value + half
    if chosen.candidate.is_power and sign < 0:
        return -high, -low
    return float(low), float(high)


def _value_and_error(found: Fitted) -> tuple[float, float]:
    if found.candidate.is_power:
        return found.exponent, found.exponent_error
    return found.leading, found.leading_error
