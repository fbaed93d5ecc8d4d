"""Theorem 1: weights that compute the parity of k secret bits without a chain of thought, checked on every string.

    A = 40 log(n) V e_{n+1,0}ᵀ,   W_{r,1:d} = a_r e_{n+1,0},   W_{r,d+1:2d} = 2k U,   m = k+1,   h = ±1,

with U, V dual to the secret tokens: ⟨U, e_{j,b}⟩ = b and ⟨V, e_{j,b}⟩ = 1 on secret j. Attention averages the secret
bits, and 2m ramps turn their number c into the zigzag (-1)^(c+1). The ReLU's argument is a_r + 2k⟨U, ·⟩; the minus sign
of the last display of the proof is a misprint, as its next line shows.

All strings with c secret ones differ only in where the attention that leaks off the secrets goes. The leak and what it
reads are bounded token by token, the zigzag is evaluated at both ends of what the ramps can then be given, and between
them it is monotone or has its kinks looked at: so 2^n strings are checked at the cost of k+1, at any n.
"""

from dataclasses import dataclass

import numpy as np


def ramps(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Offsets a_r and output weights h_r of the 2(k+1) neurons."""
    m = k + 1
    r = np.arange(1, 2 * m + 1)
    falling = np.where(r == m + 1, 1, -4 * ((r - m) // 2) + 2)
    return np.where(r <= m, -4 * ((r + 1) // 2) + 4, falling) * 1.0, np.where(r <= m, 1.0, -1.0)


@dataclass(frozen=True)
class Construction:
    """The weights through the tokens: scores of positions 1..n (n × 2) and of the end, values ⟨U, e⟩ of the same.

    `secrets` are the first k positions; `bits` rounds weights and activations to that many fractional bits.
    """

    k: int
    scores: np.ndarray
    end_score: float
    values: np.ndarray
    end_value: float
    leak: float
    bits: int | None = None

    def least_margin(self) -> float:
        """The least (-1)^(c+1) T over all strings, or a lower bound of it; positive if every parity is right."""
        offsets, h = ramps(self.k)
        zigzag = lambda x: float(h @ np.maximum(offsets + x, 0.0))
        least = np.inf
        for ones in range(self.k + 1):
            low, high = self.ramp_inputs(ones)
            corners = [low, high, *(-a for a in offsets if low < -a < high)]
            least = min(least, min((-1) ** (ones + 1) * zigzag(x) for x in corners))
        return least

    def ramp_inputs(self, ones: int) -> tuple[float, float]:
        """Bounds of 2k ⟨U, attention output⟩ over all strings with `ones` secret ones."""
        secret, other = self.scores[: self.k], np.append(self.scores[self.k :].max(axis=1), self.end_score)
        top = max(secret.max(), other.max())
        # secret scores differ by rounding alone: bounded by the least and the largest of them
        on_low, on_high = (self.k * np.exp(x - top) for x in (secret.min(), secret.max()))
        off = float(np.exp(other - top).sum())
        leak = off / (off + on_low)
        spread = on_high / on_low - 1
        share = ones / self.k
        values = np.append(self.values[self.k :].ravel(), self.end_value)
        reads = np.array([min(values.min(), 0.0), max(values.max(), 0.0)])
        noise = np.abs(self.values[: self.k] - [0.0, 1.0]).max() + spread
        low, high = share * (1 - leak) + leak * reads[0] - noise, share + leak * reads[1] + noise
        rounded = 0.0 if self.bits is None else 0.5 * 2.0**-self.bits
        return 2 * self.k * (low - rounded), 2 * self.k * (high + rounded)


def construct(n: int, k: int, d: int, rng: np.random.Generator, bits: int | None = None) -> Construction:
    """Theorem 1's weights for fresh hypercube embeddings, secrets first; vectors rounded to `bits` fractional bits."""
    if d < 2 * k:
        raise ValueError(f"d = {d}, but at least 2k = {2 * k} dimensions are needed.")
    round_ = (lambda x: x) if bits is None else (lambda x: np.round(x * 2.0**bits) * 2.0**-bits)
    draw = lambda count: rng.choice(np.array([-1.0, 1.0]), (count, d)) / d**0.5
    secret = draw(2 * k)  # (1, 0), (1, 1), (2, 0), …
    end = draw(1)[0]
    duals = np.linalg.solve(secret @ secret.T, secret).T
    U, V = duals[:, 1::2].sum(axis=1), duals.sum(axis=1)
    query = round_(40 * np.log(n) * V), round_(U)
    unit = float(round_(end) @ end)
    see = lambda tokens: (unit * (tokens @ query[0]), tokens @ query[1])
    scores, values = np.zeros((n, 2)), np.zeros((n, 2))
    scores[:k], values[:k] = (x.reshape(k, 2) for x in see(secret))
    for start in range(k, n, 20_000):
        stop = min(n, start + 20_000)
        scores[start:stop], values[start:stop] = (x.reshape(-1, 2) for x in see(draw(2 * (stop - start))))
    end_score, end_value = see(end)
    leak = float(np.abs(scores[k:]).max() / (40 * np.log(n))) if n > k else 0.0
    return Construction(k, scores, float(end_score), values, float(end_value), leak, bits)
