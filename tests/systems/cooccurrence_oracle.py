"""The limit system of word co-occurrence in plain NumPy, with hand-written derivatives: an oracle for derived ones.

Blocks on (μ1, μ2, μ3, f_1 … f_4) plus the scalars s_T, k_T, without the swap. Three forms of the same system:
`full` carries (G, c, VV, S, KK, QQ), `eliminated` drops VV and c, `scores_only` keeps (G, S) and takes square roots.
"""

from types import SimpleNamespace

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp

SPECIALS = ((0, 1, 2), (0, 2), (1, 2), (2,))
Y = np.array([1.0, -1.0, -1.0, -1.0])


def sizes(n, L, shares=(1 / 2, 1 / 6, 1 / 6, 1 / 6)):
    return n * np.array(shares), np.array([L - 3.0, L - 2.0, L - 2.0, L - 1.0]), np.array(shares)


def _attention(scores, counts):
    weights = np.exp(scores - np.max(scores[counts > 0]))
    return weights / np.sum(counts * weights)


def outputs_and_drives(G, S, n, L, s, shares=(1 / 2, 1 / 6, 1 / 6, 1 / 6)):
    """F_T, r per word class, and (M block, M_s, M_k) = −∂L/∂(block coordinates)/multiplicity."""
    block, across, within = S
    n_T, R_T, p_T = sizes(n, L, shares)
    root = np.sqrt(n_T * R_T)
    F, contributions = np.zeros(4), []
    for T, special in enumerate(SPECIALS):
        R, special = R_T[T], list(special)
        mean = (block[3 + T, 3 + T] + (n_T[T] - 1) * across[T]) / n_T[T]
        other = (mean - within[T]) / R
        values_sq, counts_sq = np.append(G[special], G[3 + T]), np.append(np.ones(len(special)), R)
        queries = []
        for q in special:
            scores = s * np.append(block[special, q], block[3 + T, q] / root[T])
            p = _attention(scores, counts_sq)
            queries.append((q, p, counts_sq @ (p * values_sq)))
        scores = s * np.concatenate([block[special, 3 + T] / root[T], [other + within[T], other]])
        values_rq = np.append(values_sq, G[3 + T])
        counts_rq = np.append(np.ones(len(special) + 1), R - 1)
        p = _attention(scores, counts_rq)
        random = (p, counts_rq @ (p * values_rq))
        F[T] = sum(o for _, _, o in queries) + R * random[1]
        contributions.append((special, queries, random))
    h = p_T * Y / (1 + np.exp(Y * F))
    r, M, M_s, M_k = np.zeros(7), np.zeros((7, 7)), np.zeros(4), np.zeros(4)
    for T, (special, queries, (p, o)) in enumerate(contributions):
        R, N = R_T[T], n_T[T]
        for q, pq, oq in queries:
            for k, word in enumerate(special):
                r[word] += h[T] * pq[k]
                M[word, q] += s * h[T] * pq[k] * (G[word] - oq)
            r[3 + T] += h[T] * pq[-1] / N
            M[3 + T, q] += s * h[T] * R * pq[-1] * (G[3 + T] - oq) / root[T]
        for k, word in enumerate(special):
            r[word] += h[T] * R * p[k]
            M[word, 3 + T] += s * h[T] * R * p[k] * (G[word] - o) / root[T]
        r[3 + T] += h[T] * (p[-2] + (R - 1) * p[-1]) / N
        itself, another = s * h[T] * R * p[-2:] * (G[3 + T] - o)
        M[3 + T, 3 + T] += (itself + (R - 1) * another) / (R * N)
        M_s[T] = (itself + (R - 1) * another) / (R * N)
        M_k[T] = (itself - another) / (R * N)
    return F, r, (M, M_s, M_k)


def loss(F, shares=(1 / 2, 1 / 6, 1 / 6, 1 / 6)):
    return float(np.sum(np.array(shares) * np.logaddexp(0, -Y * F)))


def _product(X, Z):
    return X[0] @ Z[0], X[1] * Z[1], X[2] * Z[2]


def _add(X, Z):
    return tuple(x + z for x, z in zip(X, Z))


def _transpose(X):
    return X[0].T, X[1], X[2]


def _flat(*matrices):
    return np.concatenate([np.concatenate([X[0].ravel(), X[1], X[2]]) for X in matrices])


def _matrices(y):
    return [(p[:49].reshape(7, 7), p[49:53], p[53:57]) for p in y.reshape(-1, 57)]


def _unit(x):
    return x * np.eye(7), np.full(4, x), np.full(4, x)


def _root(X):
    values, vectors = np.linalg.eigh(X[0])
    return (vectors * np.sqrt(values)) @ vectors.T, np.sqrt(X[1]), np.sqrt(X[2])


class Limit:
    """L3 with parameters (n, L, alpha, beta, m1, score_scale); `G0` shifts the start off 0 (7 word classes)."""

    def __init__(self, n, L, alpha, beta, m1, score_scale, form="full", shares=(1 / 2, 1 / 6, 1 / 6, 1 / 6), G0=None):
        self.n, self.L, self.alpha, self.beta, self.m1 = n, L, alpha, beta, m1
        self.s, self.form, self.shares = score_scale, form, shares
        n_T, R_T, _ = sizes(n, L, shares)
        self.class_sizes = np.append(np.ones(3), n_T * R_T)
        self.G0 = np.zeros(7) if G0 is None else np.asarray(G0, float)

    def initial(self):
        unit, zero = _unit(self.alpha), _unit(0.0)
        if self.form == "full":
            return np.concatenate([self.G0, [self.beta], _flat(unit, zero, unit, unit)])
        tail = _flat(zero, unit, unit) if self.form == "eliminated" else _flat(zero)
        return np.concatenate([self.G0, tail])

    def unpack(self, y):
        """G, c, VV, S, KK, QQ whatever the form."""
        G, norm = y[:7], np.sqrt(self.class_sizes)
        m1, alpha, beta = self.m1, self.alpha, self.beta
        if self.form == "full":
            VV, S, KK, QQ = _matrices(y[8:])
            return G, y[7], VV, S, KK, QQ
        square = np.sum((norm * G) ** 2)
        c = (beta - m1 * alpha + np.sqrt((beta + m1 * alpha) ** 2 + 4 * m1 * square)) / 2
        VV = _add(_unit(alpha), (np.outer(norm * G, norm * G) / (c + m1 * alpha), 0.0, 0.0))
        if self.form == "eliminated":
            return G, c, VV, *_matrices(y[7:])
        S = _matrices(y[7:])[0]
        KK = _root(_add(_unit(alpha**2), _product(S, _transpose(S))))
        QQ = _root(_add(_unit(alpha**2), _product(_transpose(S), S)))
        return G, c, VV, S, KK, QQ

    def field(self, t, y):
        G, c, VV, S, KK, QQ = self.unpack(y)
        _, r, M = outputs_and_drives(G, S, self.n, self.L, self.s, self.shares)
        norm = np.sqrt(self.class_sizes)
        dG = c * r + self.m1 * (VV[0] @ (norm * r)) / norm
        dS = _add(_product(KK, M), _product(M, QQ))
        if self.form == "scores_only":
            return np.concatenate([dG, _flat(dS)])
        S_M, ST_M = _product(S, _transpose(M)), _product(_transpose(S), M)
        dKK, dQQ = _add(S_M, _transpose(S_M)), _add(ST_M, _transpose(ST_M))
        if self.form == "eliminated":
            return np.concatenate([dG, _flat(dS, dKK, dQQ)])
        rG = np.outer(norm * r, norm * G)
        dc = 2 * self.m1 * np.sum(rG.diagonal())
        return np.concatenate([dG, [dc], _flat((rG + rG.T, np.zeros(4), np.zeros(4)), dS, dKK, dQQ)])

    def solve(self, times, rtol=1e-10, atol=1e-14):
        """States at `times` (ascending, from 0), stepping exactly to each: dense output is less accurate."""
        states, t, y = [], 0.0, self.initial()
        for end in times:
            if end > t:
                y = solve_ivp(self.field, (t, end), y, method="DOP853", rtol=rtol, atol=atol).y[:, -1]
            states.append(y)
            t = end
        return np.array(states)

    def outputs(self, y):
        G, _, _, S, _, _ = self.unpack(y)
        return outputs_and_drives(G, S, self.n, self.L, self.s, self.shares)[0]

    def crossing(self, function, t_max, rtol=1e-10, atol=1e-14, first=1e-6):
        """First time after `first` at which function(t, y) rises through 0, and the state there."""
        start = solve_ivp(self.field, (0, first), self.initial(), method="DOP853", rtol=rtol, atol=atol).y[:, -1]
        function.terminal, function.direction = True, 1
        solution = solve_ivp(self.field, (first, t_max), start, method="DOP853", rtol=rtol, atol=atol, events=function)
        return solution.t_events[0][0], solution.y_events[0][0]


def group_orbits(samples, swap=True, symmetric=False, pairs=True):
    """Number of orbits of words or of pairs of words under generators of the group, by union-find."""
    d, index = samples.d, np.arange(samples.d)
    generators = []
    by_type = [[samples.words[i][samples.words[i] >= 3] for i in np.flatnonzero(samples.types == T)] for T in range(4)]
    for rows in by_type:
        for row in rows:
            for l in range(len(row) - 1):
                generators.append(_exchange(index, [row[l]], [row[l + 1]]))
        for i in range(len(rows) - 1):
            generators.append(_exchange(index, rows[i], rows[i + 1]))
    if swap:
        targets = [np.append([0], np.concatenate(by_type[1])), np.append([1], np.concatenate(by_type[2]))]
        generators.append(_exchange(index, *targets))
    parent = np.arange(d * d if pairs else d)

    def find(x):
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    def join(x, z):
        parent[find(x)] = find(z)

    for g in generators:
        images = (g[:, None] * d + g[None, :]).ravel() if pairs else g
        for x, z in enumerate(images):
            join(x, z)
    if symmetric:
        for x, z in enumerate(np.arange(d * d).reshape(d, d).T.ravel()):
            join(x, z)
    return len({find(x) for x in range(len(parent))}), np.array([find(x) for x in range(len(parent))])


def _exchange(index, left, right):
    g = index.copy()
    g[left], g[right] = right, left
    return g


def _object_array(x):
    return np.vectorize(sp.sympify, otypes=[object])(np.asarray(x, dtype=object))


def _symbolic_softmax(scores, counts=None, axis=-1):
    assert axis == -1
    weights = np.vectorize(sp.exp, otypes=[object])(scores)
    if counts is not None:
        weights = counts * weights
    return weights / weights.sum(axis=-1)[..., None]


symbolic_ops = SimpleNamespace(
    array=_object_array,
    concatenate=np.concatenate,
    sqrt=np.vectorize(sp.sqrt, otypes=[object]),
    softmax=_symbolic_softmax,
    attend=lambda values, scores, counts=None, axis=-1: (_symbolic_softmax(scores, counts, axis) * values).sum(axis),
    softplus=np.vectorize(lambda x: sp.log(1 + sp.exp(x)), otypes=[object]),
)
"""The few functions the loss needs, on object arrays of sympy expressions."""
