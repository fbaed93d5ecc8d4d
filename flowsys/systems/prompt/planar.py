"""Many patterns: the planar system of two scores, and the two stages solved by quadrature.

As M → ∞ label collisions and the coupling to b are O(1/M), and all steps become alike: what is left is a, the score
of the query's pattern, and g = H_kk - H_k'k, the score of the query's step. Attention falls on four kinds of
columns,

    (p, q, s, o) ∝ (α e^(a+g), (1-α) e^g, (K-1) α, (K-1)(1-α)),        L = ½ [(1-p)² + s²/(K-1)],

p: pattern and step of the query, q: its step only, s: its chain at other steps, o: the rest. The flow is
da/dt = -∂_a L/(M-1), dg/dt = -∂_g L/(K-1): g moves first (stage 1, Lemma F.6) and a after it (stage 2, Lemma F.7).
"""

import numpy as np
from scipy.integrate import quad

from flowsys.errors import InputError


def stage_1_velocity(n, K, alpha):
    """dn/dt at a = 0, n = p + q the attention on the query's step."""
    return n**2 * (1 - n) ** 2 / (K - 1) * (alpha * (1 - alpha * n) + alpha**2 * (1 - n) / (K - 1))


def stage_1_time(epsilon, K: int, alpha) -> float:
    """T_1: time until the attention on other steps falls to ε while the patterns are still unlearnt (a = 0)."""
    start = 1 - 1 / K
    if not 0 < epsilon <= start:
        raise InputError(f"epsilon = {epsilon!r}, but attention on other steps starts at 1 - 1/K = {start:.6g}.")
    # In log(1 - n) the integrand varies by 1/(1 - n) only, however small ε is.
    return quad(
        lambda y: np.exp(y) / stage_1_velocity(-np.expm1(y), K, alpha),
        np.log(epsilon), np.log(start), epsabs=0, epsrel=1e-12, limit=400,
    )[0]  # fmt: skip


def stage_1_time_asymptote(epsilon, K: int, alpha) -> float:
    """T_1 as ε → 0: (K - 1)/(α (1 - α) ε). A power law, where Eq. (34) has log(1/ε)."""
    return (K - 1) / (alpha * (1 - alpha) * epsilon)


def stage_2_clock(p):
    """Φ(p), with dΦ/dp = 1/(p² (1 - p)³)."""
    p = np.asarray(p, dtype=float)
    return 3 * np.log(p / (1 - p)) - 1 / p + 2 / (1 - p) + 1 / (2 * (1 - p) ** 2)


def stage_2_time(p, M: int, alpha) -> float:
    """Time from p = α to `p` once all attention is on the query's step: (M - 1)[Φ(p) - Φ(α)]. No factor K."""
    return float((M - 1) * (stage_2_clock(p) - stage_2_clock(alpha)))


def late_pattern_score(t, M, alpha):
    """a(t) ≃ ½ log(2 (1 - α)² t / (α² (M - 1))) as t → ∞."""
    return np.log(2 * (1 - alpha) ** 2 * np.asarray(t) / (alpha**2 * (M - 1))) / 2


def late_loss(t, M):
    """L ≃ (M - 1)/(4 t) as t → ∞."""
    return (M - 1) / (4 * np.asarray(t))
