"""One position of the limit as a quadrature, an oracle: its invariants, signal, time and lock-on.

A position obeys dg/dt = α s, du/dt = β s(1-s)g, dv/dt = -β s s_v g, dw/dt = -2β s s_w g. Along the flow

    u + N_o v + N_w w/2 = 0,      e^(-w) = 2e^(-v) - 1,      g² = (2α/β) ∫_0^u du'/(1-s),

so x = -v ≥ 0 parametrises the orbit explicitly: u = N_o x + (N_w/2) log(2e^x - 1). With du = e^x (N_o e^v + N_w e^w) dx
the last integral is u + ∫_0^x e^(u+x') dx', elementary for N_w = 2, and time is t = ∫ dg/(α s). Times have the unit of
gradient-flow time; α = 1/(32m), β = 1/4 at i ≥ n+3, and α = 1/(8m), β = 1/2 for the only position of k = 1, which is
also position n+1 of any k up to the small common mode of n+2.
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq


def key_counts(n, k: int, i) -> tuple[int, int]:
    """(N_o, N_w): ordinary and sure keys at query position i, for k = 1 (i = n+1) or i ≥ n+3."""
    return (n - 1, 1) if k == 1 else (i - 3, 2)


@dataclass(frozen=True)
class Position:
    """A decoupled query position: N_o ordinary and N_w sure keys, rates α of g and β of u."""

    n_ordinary: int
    n_sure: int
    alpha: float
    beta: float


def later_position(n: int, k: int, i: int, m: float) -> Position:
    """Position i ≥ n+3 of a chain of k ≥ 3."""
    if not n + 3 <= i <= n + k:
        raise ValueError(f"i = {i}, but a decoupled position lies between n+3 = {n + 3} and n+k = {n + k}.")
    return Position(*key_counts(n, k, i), alpha=1 / (32 * m), beta=0.25)


def only_position(n: int, m: float) -> Position:
    """Position n+1 when k = 1."""
    return Position(*key_counts(n, 1, n + 1), alpha=1 / (8 * m), beta=0.5)


def scores(position: Position, x: float) -> tuple[float, float, float]:
    """(u, v, w) at v = -x, from the two invariants."""
    sure = np.log1p(2 * np.expm1(x))
    return position.n_ordinary * x + position.n_sure * sure / 2, -x, -sure


def s_target(position: Position, x: float) -> float:
    """Attention on S[i] at v = -x."""
    u, v, w = scores(position, x)
    return 1 / (1 + position.n_ordinary * np.exp(v - u) + position.n_sure * np.exp(w - u))


def signal(position: Position, x: float) -> float:
    """g at v = -x."""
    u = scores(position, x)[0]
    if position.n_sure == 2:
        low, high = position.n_ordinary + 1, position.n_ordinary + 2
        grown = 2 * np.expm1(high * x) / high - np.expm1(low * x) / low
    else:
        grown = quad(lambda z: np.exp(scores(position, z)[0] + z), 0, x, epsabs=0, epsrel=1e-12)[0]
    return np.sqrt(2 * position.alpha / position.beta * (u + grown))


def time(position: Position, x: float) -> float:
    """t at v = -x; the square-root start is smoothed by x = z²."""

    def speed(z):
        _, v, w = scores(position, z * z)
        s = s_target(position, z * z)
        others = position.n_ordinary * np.exp(v) + position.n_sure * np.exp(w)
        du_dx = np.exp(z * z) * others
        return 2 * z * du_dx / (position.beta * s * (1 - s) * signal(position, z * z))

    return quad(speed, 0, np.sqrt(x), epsabs=0, epsrel=1e-11, limit=400)[0]


def lock(position: Position, threshold: float = 0.5) -> float:
    """x at which attention on S[i] first reaches `threshold`."""
    start = s_target(position, 0.0)
    if not start < threshold < 1:
        raise ValueError(f"threshold = {threshold}, but it must lie between the initial {start:.3g} and 1.")
    return _first(position, lambda x: s_target(position, x) - threshold)


def _first(position: Position, excess) -> float:
    step = 1 / (position.n_ordinary + position.n_sure)
    upper = step
    while excess(upper) < 0:
        upper += step
    return brentq(excess, 0.0, upper, xtol=1e-15 * upper, rtol=1e-14)
