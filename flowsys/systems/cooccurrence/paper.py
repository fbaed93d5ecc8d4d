"""The paper's own formulas for phase 2: rates, sizes and the quadratic for the gradient ratio, constants set to 1."""

import numpy as np


def loss_after_phase_1(t, T_1, loss_T_1, rate):
    """Theorem F.8: 1/(rate·(t − T_1) + 1/loss(T_1)), rate = Θ(beta)."""
    return 1 / (rate * (t - T_1) + 1 / loss_T_1)


def gradient_ratio(g_prime):
    """Lemma F.6: the positive root R of aR² + bR + c = 0, from g'_T = Σ_{i in I_T} g_i(1 − g_i), T = 1 … 4."""
    g_1, g_2, g_3, g_4 = g_prime
    a, b, c = g_1 + g_2, g_3 + g_4 - g_1, -(g_2 + g_3 + 2 * g_1)
    return (-b + np.sqrt(b**2 - 4 * a * c)) / (2 * a)


def score_rate(loss, alpha, m, L):
    """Lemma 4.7: the size of dS_21/dt in phase 2, loss·σ_0² m/(√m L)."""
    return loss * alpha / (np.sqrt(m) * L)


def score_coefficient(alpha, beta, m, L, n=None):
    """Theorem 3.3, first term: the size of C_12, C_21, −C_31, −C_32; with n, the bound for irrelevant words."""
    coefficient = alpha / (np.sqrt(m) * L * beta)
    return coefficient if n is None else coefficient / n


def score_coefficient_of_initial_scores(alpha, beta, m):
    """Theorem 3.3, second term: σ_0² √m/(√m σ_1² m m1), what the nonzero initial scores contribute."""
    return alpha / (m * beta)
