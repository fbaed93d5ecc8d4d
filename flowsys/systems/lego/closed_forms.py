"""Closed forms of both stages: clip level, phase-I time, final feature shape, thresholds of the symmetry proof."""

import numpy as np

from flowsys.systems.lego.isotropic import Isotropic


def clip_level(C_B, d):
    """B = C_B log d."""
    return C_B * np.log(d)


def outside_logit(m, bias, rho, q):
    """F_0 = m s(b), the logit of a class that is never a target, its features neglected; all activations agree here."""
    return m * (rho / q * np.minimum(bias / rho, 1) ** q + np.maximum(bias - rho, 0))


def phase_1_rate(n_g, n_y, q, rho):
    """k in dx/dt = k x^(q-1) for the winner's x = (a + c)/2 + b while the others are small."""
    f = n_g / n_y
    return (1 + f) / (4 * n_g * n_y * rho ** (q - 1))


def phase_1_blow_up(x_0, n_g, n_y, q, rho):
    """t_* = 4 n_g n_y ϱ^(q-1) / ((1 + f)(q - 2) x_0^(q-2)): where the power law alone would diverge."""
    return 1 / (phase_1_rate(n_g, n_y, q, rho) * (q - 2) * x_0 ** (q - 2))


def phase_1_time(x_0, n_g, n_y, q, rho):
    """t_1 = t_* (1 - (x_0/ϱ)^(q-2)): the winner reaches the linear branch, x = ϱ."""
    return phase_1_blow_up(x_0, n_g, n_y, q, rho) * (1 - (x_0 / rho) ** (q - 2))


def linear_phase_time(n_g, n_y, d):
    """4 n_g n_y / (1 + f) · log d: the time a winner on the linear branch needs to reach log d."""
    return 4 * n_g * n_y / (1 + n_g / n_y) * np.log(d)


def C_alpha(n_g, n_y):
    """a / c at the end of stage 1, from b' = -c, e = -a and the conservation law (Theorem C.1)."""
    return (1 + n_g * (n_y - 1) / n_y) / (n_y - 1 + n_g / n_y)


def final_features(n_g, n_y, B) -> Isotropic:
    """a = 2 B C_α / (1 + C_α), c = 2 B / (1 + C_α), b' = -c, e = -a (Eqs. 17, 18; 18's 2B, 2B/n_y is n_y → ∞)."""
    ratio = C_alpha(n_g, n_y)
    a, c = 2 * B * ratio / (1 + ratio), 2 * B / (1 + ratio)
    return Isotropic(a, -c, c, -a)


def c_1(C_B):
    """c_1 = 1.005 log d / (2 B), the attention level of the symmetry proof (Lemma E.35)."""
    return 1.005 / (2 * C_B)


def log_loss_threshold(C_B, d):
    """log of e^((-1/2 + 3.01 c_1) 2B) = d^(3.025 - C_B), where stages 1.2 and k of Algorithm 2 stop."""
    return (-0.5 + 3.01 * c_1(C_B)) * 2 * clip_level(C_B, d)


def largest_solvable_eps(C_B):
    """ε^{L,L} at which the correct logit 2B(½ - ε) falls to log d."""
    return 0.5 * (1 - 1 / C_B)


def eps_at_loss(loss, C_B, d):
    """ε^{2,2} at which the leading loss d e^(-F_c), F_c = 2B(½ - ε), has fallen to `loss`."""
    return 0.5 - np.log(d / loss) / (2 * clip_level(C_B, d))


def floor_time(C_B, d):
    """τ = 2 E_2(1) d^(C_B - 1), at which ε^{2,2} = 1/(2B), the loss a factor e above its floor d^(1 - C_B).

    The right logit 2B(½ - ε) of step 2 drives α and γ alone: α' = 2Bε p_α L with L = d^(1 - C_B) e^(2Bε), so that
    dε/dτ = -B ε² L and τ = d^(C_B - 1)/B ∫_ε e^(-2Bx) x^-2 dx.
    """
    from scipy.special import expn

    return 2 * expn(2, 1) * d ** (C_B - 1)


def solvable_length(eps_22, C_B):
    """The L at which ε^{L,L} = (2L - 2)/(2L - 2 + e^α + e^γ) reaches `largest_solvable_eps`, from ε^{2,2}."""
    largest = largest_solvable_eps(C_B)
    return 1 + (1 / eps_22 - 1) * largest / (1 - largest)


def trap_boundary(bias, n_g, n_y, q, rho, d, share=0.5):
    """V_0 below which stage 1 falls into the additive trap: it shortens phase I by `share` of the linear phase.

    t_1(b) - t_1(b + V_0) = share · (linear phase); `share` is measured. Infinite where the whole phase I is shorter.
    """
    left = phase_1_time(bias, n_g, n_y, q, rho) - share * linear_phase_time(n_g, n_y, d)
    inverse_power = (q - 2) * phase_1_rate(n_g, n_y, q, rho) * np.maximum(left, 0) + rho ** (2.0 - q)
    return np.where(left > 0, inverse_power ** (-1 / (q - 2)) - bias, np.inf)


def least_separating_d(m, n_g, n_y, q, rho, bias=0.0, bias_scale=1.0):
    """The d from which the best of m neurons is expected to lead the second by `trap_boundary`: our heuristic.

    Features of a combination start Gaussian with variance σ_0² (1 + n_y/n_g) / 4, σ_0 = d^(-1/2). The largest of m is
    near √(2 log m) deviations, and leads the second by 1/√(2 log m) of one; b = bias + bias_scale · σ_0 log d.
    """
    d = np.geomspace(1e2, 1e15, 4000)[:, None]
    spread = np.sqrt((1 + n_y / n_g) / 4 / d)
    extreme = np.sqrt(2 * np.log(np.atleast_1d(m)))[None, :]
    second = bias + bias_scale * np.log(d) / np.sqrt(d) + spread * (extreme - 1 / extreme)
    leads = spread / extreme >= trap_boundary(second, n_g, n_y, q, rho, d)
    return np.where(leads.any(axis=0), d[leads.argmax(axis=0), 0], np.inf)
