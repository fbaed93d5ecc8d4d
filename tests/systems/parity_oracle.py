"""Independent NumPy/SciPy implementations of the parity limit systems: the oracle of what is derived.

Nothing here imports the package. Three systems, all for the linear loss at infinite width: one position (g, u, v, w),
the 16-variable block of positions n+1 and n+2, and the collapsed frozen-gate system (K, a) by enumerating secrets.
"""

from itertools import product

import numpy as np
from scipy.integrate import solve_ivp


def softmax(logits):
    weights = np.exp(logits - np.max(logits))
    return weights / weights.sum()


def solve(rhs, y0, times, rtol=1e-11, atol=1e-13, method="DOP853"):
    """States (variables × times) of dy/dt = rhs(t, y)."""
    solution = solve_ivp(rhs, (0.0, times[-1]), y0, method=method, t_eval=times, rtol=rtol, atol=atol)
    assert solution.success, solution.message
    return solution.y


def position_rhs(n, k, i, m):
    """Position i ≥ n+3, or i = n+1 when k = 1."""
    if k == 1:
        ordinary, sure, signal_rate, score_rate = n - 1, 1, 1 / (8 * m), 0.5
    else:
        ordinary, sure, signal_rate, score_rate = i - 3, 2, 1 / (32 * m), 0.25

    def rhs(t, y):
        g, u, v, w = y
        top = max(u, v, w)
        norm = np.exp(u - top) + ordinary * np.exp(v - top) + sure * np.exp(w - top)
        s, s_v, s_w = np.exp(u - top) / norm, np.exp(v - top) / norm, np.exp(w - top) / norm
        return np.array(
            [
                signal_rate * s,
                score_rate * s * (1 - s) * g,
                -score_rate * s * s_v * g,
                -2 * score_rate * s * s_w * g,
            ]
        )

    return rhs


def block_rhs(n, m):
    """Positions n+1 and n+2 in the own-part coordinates D."""
    ordinary = n - 2

    def rhs(t, y):
        D_1, u_1, v_1, w_1, D_x0, D_x1, D_z, D_o, D_e, D_f, a_x0, a_x1, a_z, a_o, a_e, a_f = y
        top = max(u_1, v_1, w_1)
        norm = np.exp(u_1 - top) + (n - 1) * np.exp(v_1 - top) + np.exp(w_1 - top)
        s, s_v, s_w = np.exp(u_1 - top) / norm, np.exp(v_1 - top) / norm, np.exp(w_1 - top) / norm
        g_1 = 2 * D_1 - D_z
        first = [s / (16 * m), s * (1 - s) * g_1 / 2, -s * s_v * g_1 / 2, -s * s_w * g_1]
        shared = [a_z, a_o + np.log(ordinary), a_e, a_f]
        values = [2 * D_z - D_1, D_o, D_e, 2 * D_f]
        P = [softmax(np.array([a_x, *shared])) for a_x in (a_x0, a_x1)]
        K = [np.array([D_x, *values]) for D_x in (D_x0, D_x1)]
        T = [P[beta] @ K[beta] for beta in (0, 1)]
        pull = [P[beta] * (K[beta] - T[beta]) for beta in (0, 1)]
        shift, force = P[0] - P[1], pull[0] - pull[1]
        D = [-P[0][0] / (32 * m), P[1][0] / (32 * m), -shift[1] / (32 * m)]
        D += [-shift[2] / (64 * m * ordinary), -shift[3] / (32 * m), -shift[4] / (32 * m)]
        a = [-pull[0][0] / 4, pull[1][0] / 4, -force[1] / 4]
        a += [-force[2] / (8 * ordinary), -force[3] / 4, -force[4] / 4]
        return np.array(first + D + a)

    return rhs


def block_outputs(y):
    """The block's (g_1, K_x0, K_x1, K_z, K_o, K_e, K_f) from its D coordinates."""
    D_1, D_x0, D_x1, D_z, D_o, D_e, D_f = y[0], *y[4:10]
    return np.array([2 * D_1 - D_z, D_x0, D_x1, 2 * D_z - D_1, D_o, D_e, 2 * D_f])


def collapsed_rows(n, k):
    """(query token, {class: count}, sign, weight) of every secret string and position, by direct bookkeeping."""
    rows = []
    for secret in product((0, 1), repeat=k):
        chain = [0]
        for bit in secret:
            chain.append(chain[-1] ^ bit)
        for step in range(k):
            counts = {2 * order + bit: 1 for order, bit in enumerate(secret)}
            counts[2 * k] = n - k
            counts.update({2 * k + 1 + 2 * order + chain[order]: 1 for order in range(step + 1)})
            rows.append((2 * step + chain[step], counts, (-1) ** chain[step + 1], 2.0**-k))
    return rows


def frozen_rhs(n, k, overlaps):
    """d(K, a)/dt of the collapsed frozen-gate system with gate overlaps Γ (2k × 2k), linear loss."""
    rows = collapsed_rows(n, k)
    classes = 4 * k + 1
    sizes = np.ones(classes)
    sizes[2 * k] = 2 * (n - k)

    def rhs(t, y):
        K, a = y[: 2 * k * classes].reshape(2 * k, classes), y[2 * k * classes :].reshape(classes, 2 * k)
        slope_K, slope_a = np.zeros_like(K), np.zeros_like(a)
        for query, counts, sign, weight in rows:
            keys = list(counts)
            s = softmax(a[keys, query] + np.log(list(counts.values())))
            slope_K[query, keys] += weight * sign * s
            slope_a[keys, query] += weight * sign * s * (K[query, keys] - s @ K[query, keys])
        return np.concatenate([(-overlaps @ slope_K / sizes).ravel(), (-slope_a / sizes[:, None]).ravel()])

    return rhs


def limit_overlaps(k, m):
    return (np.eye(2 * k) + np.ones((2 * k, 2 * k))) / (8 * m)
