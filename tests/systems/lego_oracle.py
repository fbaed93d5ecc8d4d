"""Plain NumPy and SciPy versions of the LEGO systems, written from the formulas, to test the package against.

Nothing here uses the package: groups are recomputed, gradients are written out, expectations are brute force.
"""

from itertools import permutations, product

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import expit, logsumexp


def elements(name):
    """All group elements as tuples (g(0), …, g(n-1))."""
    n = int(name[1:])
    if name[0] == "C":
        return [tuple((y + g) % n for y in range(n)) for g in range(n)]
    return list(permutations(range(n)))


def s(x, rho, q):
    """The reference activation `azl`."""
    return np.where(x <= 0, 0.0, np.where(x <= rho, np.abs(x) ** q / (q * rho ** (q - 1)), x - rho * (1 - 1 / q)))


def ds(x, rho, q):
    return np.clip(x / rho, 0.0, 1.0) ** (q - 1)


# Stage 1 ------------------------------------------------------------


def isotropic_field(y, n_g, n_y, d, rho, q, bias, B=None, width=0.1):
    """The four-variable system, with the rounded clip if B is given."""
    a, bp, c, e = y
    u = lambda left, right: (left + right) / 2 + bias
    F_c = s(u(a, c), rho, q) + (n_y - 1) * s(u(bp, e), rho, q)
    F_w = s(u(bp, c), rho, q) + s(u(a, e), rho, q) + (n_y - 2) * s(u(bp, e), rho, q)
    F_0 = n_y * s(bias, rho, q)
    gate_c = gate_w = 1.0
    if B is not None:
        gate_c, gate_w = expit((B - F_c) / width), expit((B - F_w) / width)
        F_c, F_w = (B - width * np.logaddexp(0, (B - F) / width) for F in (F_c, F_w))
    others = np.array([np.log(n_y - 1) + F_w, np.log(d - n_y) + F_0])
    log_Z = logsumexp(np.append(others, F_c))
    miss = np.exp(logsumexp(others) - log_Z) * gate_c  # 1 - p_c without cancellation
    p_w = np.exp(F_w - log_Z) * gate_w
    k, f = 1 / (2 * n_g * n_y), n_g / n_y
    D = lambda left, right: ds(u(left, right), rho, q)
    return np.array(
        [
            k * (miss * D(a, c) - (n_y - 1) * p_w * D(a, e)),
            k * (-p_w * D(bp, c) + miss * D(bp, e) - (n_y - 2) * p_w * D(bp, e)),
            k * f * (miss * D(a, c) - (n_y - 1) * p_w * D(bp, c)),
            k * f * (-p_w * D(a, e) + miss * D(bp, e) - (n_y - 2) * p_w * D(bp, e)),
        ]
    )


def solve_isotropic(y0, times, n_g, n_y, d, rho, q, bias, B=None, rtol=1e-10):
    """States at the given times, (times, 4)."""
    solution = solve_ivp(
        lambda t, y: isotropic_field(y, n_g, n_y, d, rho, q, bias, B),
        (0, times[-1]),
        y0,
        t_eval=times,
        method="LSODA",
        rtol=rtol,
        atol=1e-14,
    )
    return solution.y.T


def many_variables_field(V_g, V_y, name, d, rho, q, bias, chi=0.0, n_x=np.inf):
    """dV(g), dV(y), dχ of the classes in Y, by a loop over all inputs (L3a; L2e with χ and n_x)."""
    G = elements(name)
    n_g, n_y, m = len(G), len(G[0]), V_g.shape[1]
    dV_g, dV_y, dchi = np.zeros_like(V_g), np.zeros_like(V_y), np.zeros(V_g.shape[:2])
    for g, y in product(range(n_g), range(n_y)):
        Lam = (V_g[:, :, g] + V_y[:, :, y]) / 2 + chi + bias
        F = s(Lam, rho, q).sum(axis=1)
        log_Z = logsumexp(np.append(F, np.log(d - n_y) + m * s(bias, rho, q)))
        xi = (np.arange(n_y) == G[g][y]) - np.exp(F - log_Z)
        omega = xi[:, None] * ds(Lam, rho, q) / (2 * n_g * n_y)
        dV_g[:, :, g] += omega
        dV_y[:, :, y] += omega
        dchi += 3 / (2 * n_x) * omega
    return dV_g, dV_y, dchi


# Stage 2 ------------------------------------------------------------


def brute_force(name, L, ell):
    """Every (g_1 … g_L, y_0): hit, distractors (N, j, y), current, past (N, y), target (N,); equally likely."""
    G = elements(name)
    n_y = len(G[0])
    P = np.array([[[float(g[y] == j) for y in range(n_y)] for j in range(n_y)] for g in G])
    rows = []
    for y_0, *chain in product(range(n_y), *[range(len(G))] * L):
        ys = [y_0]
        for g in chain:
            ys.append(G[g][ys[-1]])
        hit = P[chain[ell - 1]]
        past = np.bincount(ys[: ell - 1], minlength=n_y) if ell > 1 else np.zeros(n_y)
        rows.append((hit, sum(P[g] for g in chain) - hit, np.eye(n_y)[ys[ell - 1]], past, ys[ell]))
    return [np.array(column) for column in zip(*rows)]


def attention_loss_and_gradient(scores, features, configurations, L, ell, d, rho, q, bias):
    """Mean loss over the configurations and its gradient in (α, β, γ, δ), written out by the chain rule."""
    a, bp, c, e = features
    hit, distractors, current, past, target = configurations
    N, n_y = current.shape
    counts = np.array([1.0, L - 1, 1.0, ell - 1])
    present = counts > 0
    top = np.max(np.array(scores)[present])
    w = np.exp(np.array(scores) - top)
    p = w / (counts * w).sum()
    dLam = [
        bp + (a - bp) * hit,
        (L - 1) * bp + (a - bp) * distractors,
        np.broadcast_to((e + (c - e) * current)[:, None, :], hit.shape),
        np.broadcast_to(((ell - 1) * e + (c - e) * past)[:, None, :], hit.shape),
    ]
    Lam = sum(p_i * d_i for p_i, d_i in zip(p, dLam)) + bias
    F = s(Lam, rho, q).sum(axis=2)
    at = np.arange(N)
    F_c = F[at, target]
    log_others = np.where(np.arange(n_y) == target[:, None], -np.inf, F)
    log_others = np.concatenate([log_others, np.full((N, 1), np.log(d - n_y) + n_y * s(bias, rho, q))], axis=1)
    x = logsumexp(log_others, axis=1) - F_c
    losses = np.logaddexp(0, x)
    xi = -np.exp(F - np.logaddexp(F_c, x + F_c)[:, None])  # -p_j
    xi[at, target] = expit(x)  # 1 - p_c without cancellation
    slope = -xi[:, :, None] * ds(Lam, rho, q) / N  # ∂L/∂Λ
    by_p = np.array([(slope * d_i).sum() for d_i in dLam])
    gradient = np.array([sum(by_p[i] * p[i] * ((i == k) - counts[k] * p[k]) for i in range(4)) for k in range(4)])
    return losses.mean(), gradient


def attention_field(scores, features, configurations_by_step, L, d, n_x, rho, q, bias):
    """dα/dτ … dδ/dτ for Σ_ℓ Loss_5^{L,ℓ} over the steps given as {ℓ: configurations}."""
    gradient = sum(
        attention_loss_and_gradient(scores, features, rows, L, ell, d, rho, q, bias)[1]
        for ell, rows in configurations_by_step.items()
    )
    return -gradient * np.array([1.0, 1 / (n_x - 1), 1.0, 1 / (n_x - 1)])


def solve_attention(times, features, configurations_by_step, L, d, n_x, rho, q, bias, rtol=1e-9, events=None):
    """The solution of the four-variable system from 0, as SciPy gives it."""
    arguments = (features, configurations_by_step, L, d, n_x, rho, q, bias)
    return solve_ivp(
        lambda t, y: attention_field(y, *arguments),
        (0, times[-1]),
        np.zeros(4),
        t_eval=times,
        method="LSODA",
        rtol=rtol,
        atol=1e-12,
        events=events,
    )


# The finite model ------------------------------------------------------------


def transformer_logits(xp, W, Q_43, Q_44, tokens, ell, rho, q, bias):
    """Definition 3.5 to the letter for the reference activation: embed, attend with the full Q, sum neurons. (N, d)."""
    d = W.shape[0]
    L = (tokens.shape[1] - 1) // 2
    one_hot = np.eye(d)[:, : d - 1]  # the blank, last, is embedded as 0
    Z = one_hot[tokens[:, : L + ell]].reshape(len(tokens), L + ell, 5 * (d - 1))
    zero = xp.zeros((d - 1, d - 1))
    Q = xp.concatenate(
        [
            xp.concatenate([Q_43 if (i, j) == (3, 2) else Q_44 if (i, j) == (3, 3) else zero for j in range(5)], axis=1)
            for i in range(5)
        ],
        axis=0,
    )
    scores = xp.einsum("nv,nkv->nk", Z[:, -1] @ Q, Z)
    weights = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    weights = weights / weights.sum(axis=1, keepdims=True)
    read = xp.einsum("nk,nkv->nv", weights, Z)
    Lam = xp.einsum("jrv,nv->njr", W.reshape(d, W.shape[1], 5 * (d - 1)), read) + bias
    inner = xp.where(Lam > 0, Lam, 0.0)
    return xp.where(Lam > rho, Lam - rho * (1 - 1 / q), inner**q / (q * rho ** (q - 1))).sum(axis=2)
