"""The laws a quantity may follow in a large parameter X, each fitted by least squares on relative residuals.

y = X^s (β·φ(X)) with s free or 0, and φ one of

    1                       constant, power
    1, X^-r                 the same with a correction of the next order
    1, 1/L                  the same with a correction that only falls like a logarithm, L = log X
    1, L    (1, L, X^-r)    logarithm, power × logarithm; the 1 beside L is where the logarithm starts
    1, L, L²                the same with a squared logarithm
    1/(β·(1, L))            an inverse logarithm
    1, log L                a logarithm of the logarithm: only as evidence of growth, no range of X tells it from others

For given s and r the β are linear; s and r are found around them. A leading logarithm that is known to be next to
nothing is not there: X + 3 log X is fitted by X^s (1, L, X^-r, L X^-r) and is a power. A law's error is what it leaves
of points that it was not fitted to: one left out at a time, and the last quarter predicted from those before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

RATES = (0.25, 0.5, 1.0, 2.0)
EXACT = 1e-8
NOTHING = 0.05  # of a law at its last point: a leading term that is known to be less is not there


@dataclass(frozen=True)
class Candidate:
    """A family of laws: X^s times (L to a whole power), with what corrects it."""

    kind: str
    is_power: bool
    logarithms: int = 0
    correction: str = ""

    @property
    def n_parameters(self) -> int:
        return (
            self.n_leading
            + self.is_power
            + {"": 0, "power": 2, "logarithm": 1, "iterated": 1, "product": 1 + self.n_falling}[self.correction]
        )

    @property
    def n_leading(self) -> int:
        return 1 + abs(self.logarithms)

    @property
    def n_falling(self) -> int:
        """How many powers of L a correction by a product has."""
        return max(self.n_leading, 2)


@dataclass(frozen=True)
class Fitted:
    """A candidate fitted to points: exponent in X, leading coefficient, their standard errors, held-out error."""

    candidate: Candidate
    exponent: float
    rate: float
    beta: np.ndarray
    errors: np.ndarray
    held_out: float
    residual: float

    @property
    def leading(self) -> float:
        """The coefficient of the term that is largest as X → ∞."""
        k = self.candidate.logarithms
        return float(1 / self.beta[1] if k < 0 else self.beta[k])

    @property
    def leading_error(self) -> float:
        k = self.candidate.logarithms
        return float(self.errors[1] / self.beta[1] ** 2 if k < 0 else self.errors[k])

    @property
    def found_at(self) -> tuple[float, ...] | None:
        """s and r, near which other fits of a law with many terms begin."""
        if self.candidate.correction != "product":
            return None
        return (self.exponent, self.rate) if self.candidate.is_power else (self.rate,)

    @property
    def exponent_error(self) -> float:
        return float(self.errors[len(self.beta)]) if self.candidate.is_power else 0.0


CANDIDATES = (
    Candidate("constant", False),
    Candidate("power", True),
    Candidate("logarithm", False, 1),
    Candidate("constant", False, 0, "logarithm"),
    Candidate("logarithm", False, -1),
    Candidate("power × logarithm", True, 1),
    Candidate("constant", False, 0, "power"),
    Candidate("logarithm", False, 2),
    Candidate("power", True, 0, "logarithm"),
    Candidate("power × logarithm", True, -1),
    Candidate("power", True, 0, "power"),
    Candidate("logarithm", False, 1, "power"),
    Candidate("power × logarithm", True, 2),
    Candidate("power × logarithm", True, 1, "power"),
    Candidate("logarithm", False, 1, "product"),
    Candidate("power × logarithm", True, 1, "product"),
)
"""From the simplest to the least simple."""
ITERATED = Candidate("iterated logarithm", False, 0, "iterated")


def fits(X: np.ndarray, y: np.ndarray, candidates: Sequence[Candidate] = CANDIDATES) -> list[Fitted]:
    """Every candidate that can be fitted, without a leading logarithm that is next to nothing."""
    found = (fit(candidate, X, y) for candidate in candidates)
    return [_without_vanishing(one, X, y) for one in found if one is not None]


def _without_vanishing(found: Fitted, X: np.ndarray, y: np.ndarray) -> Fitted:
    candidate, L = found.candidate, float(np.log(X[-1]))
    most = (abs(found.leading) + 2 * found.leading_error) * L**candidate.logarithms * X[-1] ** found.exponent
    if candidate.correction != "product" or most > NOTHING * abs(y[-1]):
        return found
    less = replace(candidate, kind="power" if candidate.is_power else "constant", logarithms=0)
    return fit(less, X, y, found.found_at) or found


def fit(candidate: Candidate, X: np.ndarray, y: np.ndarray, start: tuple[float, ...] | None = None) -> Fitted | None:
    """The candidate through all points, near s and r if given; None where they are too few, or it makes no sense."""
    n, p = len(X), candidate.n_parameters
    needs_positive = candidate.is_power or candidate.logarithms < 0
    if n < p + 1 or (needs_positive and (y <= 0).any()):
        return None
    L = np.log(X)
    if (candidate.correction in ("logarithm", "iterated") or candidate.logarithms < 0) and L.min() < 0.2:
        return None
    solved = _solve(candidate, X, y, start)
    if solved is None:
        return None
    theta, beta, residuals, jacobian = solved
    size = np.maximum(np.abs(jacobian).max(axis=0), 1e-300)
    jacobian = jacobian / size
    gram = np.linalg.pinv(jacobian.T @ jacobian)
    leverage = np.clip(np.einsum("ij,jk,ik->i", jacobian, gram, jacobian), 0, 0.95)
    left_out = residuals / (1 - leverage)
    beyond = _extrapolated(candidate, X, y, start)
    held_out = float(np.sqrt(np.mean(np.concatenate([left_out, beyond]) ** 2)))
    variance = (residuals**2).sum() / max(n - p, 1)
    errors = np.sqrt(np.clip(np.diag(gram), 0, None) * variance) / size
    s = theta[0] if candidate.is_power else 0.0
    r = theta[-1] if candidate.correction in ("power", "product") else 0.0
    return Fitted(candidate, float(s), float(r), beta, errors, held_out, float(np.sqrt(np.mean(residuals**2))))


def predicted(candidate: Candidate, s: float, r: float, beta: np.ndarray, X: np.ndarray) -> np.ndarray:
    """The fitted law at other X."""
    value = _basis(candidate, X, r) @ beta
    return X**s * (1 / value if candidate.logarithms < 0 else value)


def _basis(candidate: Candidate, X: np.ndarray, r: float) -> np.ndarray:
    L = np.log(X)
    columns = [L**k for k in range(candidate.n_leading)]
    if candidate.correction == "logarithm":
        columns.append(1 / L)
    if candidate.correction == "iterated":
        columns.append(np.log(L))
    if candidate.correction == "power":
        columns.append(X**-r)
    if candidate.correction == "product":
        columns += [L**k * X**-r for k in range(candidate.n_falling)]
    return np.stack(columns, axis=1)


def _linear(candidate: Candidate, X: np.ndarray, y: np.ndarray, s: float, r: float):
    """β for given s and r, relative residuals, and the rows that made them."""
    with np.errstate(all="ignore"):
        scale = X**s / y if candidate.logarithms >= 0 else y / X**s
        rows = _basis(candidate, X, r) * scale[:, None]
    size = np.abs(rows).max(axis=0)
    if not (np.isfinite(size).all() and (size > 0).all()):  # beyond the range of numbers: no fit
        return np.full(rows.shape[1], np.nan), np.full(len(X), np.inf), rows
    beta = np.linalg.lstsq(rows / size, np.ones(len(X)), rcond=1e-13)[0] / size
    return beta, 1 - rows @ beta, rows


def _nonlinear(candidate: Candidate, theta: np.ndarray) -> tuple[float, float]:
    return (theta[0] if candidate.is_power else 0.0), (
        theta[-1] if candidate.correction in ("power", "product") else 0.0
    )


def _solve(candidate: Candidate, X: np.ndarray, y: np.ndarray, start: tuple[float, ...] | None = None):
    """(nonlinear parameters, β, residuals, Jacobian) of least squares: Gauss-Newton from the best of some starts."""
    starts = _starts(candidate, X, y) if start is None else [start]
    squares = lambda theta: _squares(candidate, X, y, theta)
    theta = _descended(candidate, X, y, min(map(np.array, starts), key=squares))
    if not np.isfinite(squares(theta)):
        return None
    beta, residuals, jacobian = _linearised(candidate, X, y, theta)
    return (theta, beta, residuals, jacobian) if np.isfinite(residuals).all() else None


def _squares(candidate: Candidate, X: np.ndarray, y: np.ndarray, theta: np.ndarray) -> float:
    return float((_linear(candidate, X, y, *_nonlinear(candidate, theta))[1] ** 2).sum())


def _descended(candidate: Candidate, X: np.ndarray, y: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Gauss-Newton steps for s and r, halved until they help."""
    best = _squares(candidate, X, y, theta)
    for _ in range(40 if len(theta) and np.isfinite(best) else 0):
        _, residuals, jacobian = _linearised(candidate, X, y, theta)
        step = np.linalg.lstsq(jacobian, residuals, rcond=1e-13)[0][-len(theta) :]
        step = step * min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-300))
        trials = (theta + step / 2**k for k in range(12))
        found = ((t, _squares(candidate, X, y, t)) for t in trials if _is_allowed(candidate, t))
        better = next(((t, there) for t, there in found if there < best), None)
        if better is None:
            break
        improved, (theta, best) = best - better[1], better
        if improved <= 1e-12 * best:
            break
    return theta


def _linearised(candidate: Candidate, X: np.ndarray, y: np.ndarray, theta: np.ndarray):
    """β, residuals, and their derivatives (with the sign of a fitted value) in β, s and r."""
    s, r = _nonlinear(candidate, theta)
    beta, residuals, rows = _linear(candidate, X, y, s, r)
    columns, L = [rows], np.log(X)
    if candidate.is_power:
        columns.append((np.sign(0.5 + candidate.logarithms) * (rows @ beta) * L)[:, None])
    if candidate.correction in ("power", "product"):
        falling = slice(candidate.n_leading, None)
        columns.append((-L * (rows[:, falling] @ beta[falling]))[:, None])
    return beta, residuals, np.concatenate(columns, axis=1)


def _is_allowed(candidate: Candidate, theta: np.ndarray) -> bool:
    s, r = _nonlinear(candidate, theta)
    return abs(s) <= 8 and (candidate.correction not in ("power", "product") or 0.1 <= r <= 6)


def _starts(candidate: Candidate, X: np.ndarray, y: np.ndarray) -> list[tuple[float, ...]]:
    exponents: list[tuple[float, ...]] = [()]
    if candidate.is_power:
        slope = float(np.polyfit(np.log(X), np.log(y), 1)[0])
        exponents = [(slope + shift,) for shift in np.linspace(-1, 1, 17)]
    if candidate.correction in ("power", "product"):
        return [(*start, r) for start in exponents for r in RATES]
    return exponents


def _extrapolated(candidate: Candidate, X: np.ndarray, y: np.ndarray, start: tuple[float, ...] | None) -> np.ndarray:
    """Relative residuals of the last quarter, predicted from the points before; those of three points say nothing."""
    n_last = max(1, len(X) // 4)
    before = slice(0, len(X) - n_last)
    if len(X) - n_last < candidate.n_parameters + 1:
        return np.zeros(0)
    solved = _solve(candidate, X[before], y[before], start)
    if solved is None:
        return np.zeros(0)
    s, r = _nonlinear(candidate, solved[0])
    with np.errstate(all="ignore"):
        found = predicted(candidate, s, r, solved[1], X[-n_last:]) / y[-n_last:] - 1
    return np.clip(np.nan_to_num(found, nan=1.0, posinf=1.0, neginf=-1.0), -1, 1)
