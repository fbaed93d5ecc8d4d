"""The laws a quantity may follow in a large parameter X, each fitted by least squares on relative residuals.

y = X^s (β·φ(X)) with s free or 0, and φ one of

    1                       constant, power
    1, X^-r                 the same with a correction of the next order
    1, 1/L                  the same with a correction that only falls like a logarithm, L = log X
    1, L    (1, L, X^-r)    logarithm, power × logarithm; the 1 beside L is where the logarithm starts
    1, L, L²                the same with a squared logarithm
    1/(β·(1, L))            an inverse logarithm

For given s and r the β are linear; s and r are found around them. A law's error is what it leaves of points that it
was not fitted to: one left out at a time, and the last quarter predicted from those before it.
"""

from dataclasses import dataclass

import numpy as np

RATES = (0.25, 0.5, 1.0, 2.0)
EXACT = 1e-8


@dataclass(frozen=True)
class Candidate:
    """A family of laws: X^s times (L to a whole power), with what corrects it."""

    kind: str
    is_power: bool
    logarithms: int = 0
    correction: str = ""

    @property
    def n_parameters(self) -> int:
        leading = 1 + abs(self.logarithms)
        return leading + self.is_power + {"": 0, "power": 2, "logarithm": 1, "product": 1 + leading}[self.correction]


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


def fit(candidate: Candidate, X: np.ndarray, y: np.ndarray) -> Fitted | None:
    """The candidate through all points; None where there are too few, or it makes no sense."""
    n, p = len(X), candidate.n_parameters
    needs_positive = candidate.is_power or candidate.logarithms < 0
    if n < p + 1 or (needs_positive and (y <= 0).any()):
        return None
    L = np.log(X)
    if (candidate.correction == "logarithm" or candidate.logarithms < 0) and L.min() < 0.2:
        return None
    solved = _solve(candidate, X, y)
    if solved is None:
        return None
    theta, beta, residuals, jacobian = solved
    size = np.maximum(np.abs(jacobian).max(axis=0), 1e-300)
    jacobian = jacobian / size
    gram = np.linalg.pinv(jacobian.T @ jacobian)
    leverage = np.clip(np.einsum("ij,jk,ik->i", jacobian, gram, jacobian), 0, 0.95)
    left_out = residuals / (1 - leverage)
    beyond = _extrapolated(candidate, X, y)
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
    columns = [L**k for k in range(abs(candidate.logarithms) + 1)]
    if candidate.correction == "logarithm":
        columns.append(1 / L)
    if candidate.correction == "power":
        columns.append(X**-r)
    if candidate.correction == "product":
        columns += [column * X**-r for column in columns]
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


def _solve(candidate: Candidate, X: np.ndarray, y: np.ndarray):
    """(nonlinear parameters, β, residuals, Jacobian) of least squares: Gauss-Newton from the best of some starts."""
    n_theta = candidate.is_power + (candidate.correction in ("power", "product"))
    squares = lambda theta: float((_linear(candidate, X, y, *_nonlinear(candidate, theta))[1] ** 2).sum())
    theta = min((np.array(start) for start in _starts(candidate, X, y)), key=squares)
    best = squares(theta)
    for _ in range(40 if n_theta and np.isfinite(best) else 0):
        _, residuals, jacobian = _linearised(candidate, X, y, theta)
        step = np.linalg.lstsq(jacobian, residuals, rcond=1e-13)[0][-n_theta:]
        step = step * min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-300))
        trials = [theta + step / 2**k for k in range(12)]
        better = next((t for t in trials if _is_allowed(candidate, t) and squares(t) < best), None)
        if better is None:
            break
        improved, theta, best = best - squares(better), better, squares(better)
        if improved <= 1e-12 * best:
            break
    if not np.isfinite(best):
        return None
    beta, residuals, jacobian = _linearised(candidate, X, y, theta)
    return (theta, beta, residuals, jacobian) if np.isfinite(residuals).all() else None


def _linearised(candidate: Candidate, X: np.ndarray, y: np.ndarray, theta: np.ndarray):
    """β, residuals, and their derivatives (with the sign of a fitted value) in β, s and r."""
    s, r = _nonlinear(candidate, theta)
    beta, residuals, rows = _linear(candidate, X, y, s, r)
    columns, L = [rows], np.log(X)
    if candidate.is_power:
        columns.append((np.sign(0.5 + candidate.logarithms) * (rows @ beta) * L)[:, None])
    if candidate.correction in ("power", "product"):
        falling = _n_leading(candidate)
        columns.append((-L * (rows[:, falling:] @ beta[falling:]))[:, None])
    return beta, residuals, np.concatenate(columns, axis=1)


def _n_leading(candidate: Candidate) -> int:
    return 1 + abs(candidate.logarithms)


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


def _extrapolated(candidate: Candidate, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Relative residuals of the last quarter, predicted from the points before; those of three points say nothing."""
    n_last = max(1, len(X) // 4)
    before = slice(0, len(X) - n_last)
    if len(X) - n_last < candidate.n_parameters + 1:
        return np.zeros(0)
    solved = _solve(candidate, X[before], y[before])
    if solved is None:
        return np.zeros(0)
    s, r = _nonlinear(candidate, solved[0])
    with np.errstate(all="ignore"):
        found = predicted(candidate, s, r, solved[1], X[-n_last:]) / y[-n_last:] - 1
    return np.clip(np.nan_to_num(found, nan=1.0, posinf=1.0, neginf=-1.0), -1, 1)
