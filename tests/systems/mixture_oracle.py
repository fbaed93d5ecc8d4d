"""The mixture limit in plain NumPy and SciPy, from the paper's formulas: what the engine must agree with.

Every orbit of samples is written out token by token, so attention is an ordinary softmax over L tokens and the
gradient is the closed form of Appendix B. Gates are frozen between kinks; SciPy restarts at every kink.

State: w (2), then the 2×2 matrices S, KK, QQ of the mean sector and of the difference sector, 26 numbers.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq


@dataclass(frozen=True)
class Population:
    """One row an orbit, one column a token: kind (0 = c, 1 = v), group, sign; label +1 and group 0 throughout."""

    kind: np.ndarray
    group: np.ndarray
    sign: np.ndarray
    probability: np.ndarray

    @property
    def is_hard(self) -> np.ndarray:
        return self.sign[:, 1:].sum(axis=1) <= 0


def population(K: int, L: int) -> Population:
    """All orbits, by brute force: every choice of distractors, alike if a permutation of groups maps one to another."""

    def canonical(chosen):
        pairs = Counter(chosen)
        return tuple(sorted((pairs[j, 1], pairs[j, -1]) for j in {j for j, _ in chosen}))

    choices = list(product(product(range(1, K), (1, -1)), repeat=L - 2))
    counted = Counter(map(canonical, choices))
    tokens = []
    for orbit in counted:
        distractors = [(j + 1, s) for j, (a, b) in enumerate(orbit) for s in (1,) * a + (-1,) * b]
        tokens.append([(0, 0, 1), (1, 0, 1), *((1, j, s) for j, s in distractors)])
    kind, group, sign = np.moveaxis(np.array(tokens), -1, 0)
    return Population(kind, group, sign.astype(float), np.array(list(counted.values())) / len(choices))


def unpack(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(w, matrices[sector, S | KK | QQ, row, column])."""
    return y[:2], y[2:].reshape(2, 3, 2, 2)


def start(ω: float) -> np.ndarray:
    """Lemma C.1: w = 0, S = 0, KK = QQ = ω²I."""
    matrices = np.zeros((2, 3, 2, 2))
    matrices[:, 1:] = ω**2 * np.eye(2)
    return np.concatenate([np.zeros(2), matrices.ravel()])


def same_and_diff(sectors: np.ndarray, K: int) -> tuple[np.ndarray, np.ndarray]:
    """A = M_m/K + (1 - 1/K) M_d and B = (M_m - M_d)/K of stacked (mean, difference)."""
    mean, difference = sectors
    return mean / K + (1 - 1 / K) * difference, (mean - difference) / K


class Side:
    """The positive head on all orbits, on X (flip = 1) or on X' with flipped v-signs (flip = -1).

    `token[n, i]` are the coordinates of token i in (c, v); `entry[n, i, l]` those of its score with query l in the
    eight numbers of A and B. Both are constant, so values and gradients are contractions with them.
    """

    def __init__(self, pop: Population, flip: int):
        sign = np.where(pop.kind == 1, flip * pop.sign, pop.sign)
        self.token = sign[..., None] * np.eye(2)[pop.kind]
        pair = np.einsum("nia,nlb->nilab", self.token, self.token).reshape(*sign.shape, sign.shape[1], 4)
        same = (pop.group[:, :, None] == pop.group[:, None, :])[..., None]
        self.entry = np.concatenate([pair * same, pair * ~same], axis=-1)

    def __call__(self, w, A, B):
        """H(X), and its gradients in w, A and B."""
        scores = self.entry @ np.concatenate([A.ravel(), B.ravel()])
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        u = self.token @ w
        mean = np.einsum("nil,ni->nl", p, u)
        d_score = p * (u[:, :, None] - mean[:, None, :])
        d_w = np.einsum("nil,nia->na", p, self.token)
        d_A, d_B = np.moveaxis(np.einsum("nil,nile->ne", d_score, self.entry).reshape(-1, 2, 2, 2), 1, 0)
        return mean.sum(axis=1), d_w, d_A, d_B


@dataclass(frozen=True)
class Flow:
    """The limit flow of one stage: sizes, bias, the samples' weights, and what trains."""

    K: int
    L: int
    b: float
    weight: np.ndarray
    pop: Population
    neurons: bool = True
    attention: bool = True
    width: float = 0.0  # of the smoothed ReLU; 0 means frozen gates

    @cached_property
    def sides(self) -> tuple[Side, Side]:
        return Side(self.pop, 1), Side(self.pop, -1)

    def preactivations(self, y: np.ndarray) -> np.ndarray:
        """H + b, one row for X and one for X'."""
        w, matrices = unpack(y)
        A, B = same_and_diff(matrices[:, 0], self.K)
        return np.array([side(w, A, B)[0] + self.b for side in self.sides])

    def active(self, h: np.ndarray, gates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """σ(h) and its derivative."""
        if not self.width:
            return gates * h, gates
        return self.width * np.logaddexp(h / self.width, 0), 0.5 * (1 + np.tanh(0.5 * h / self.width))

    def outputs(self, y: np.ndarray) -> np.ndarray:
        """y f of every orbit, with true ReLUs."""
        plus, minus = np.maximum(self.preactivations(y), 0)
        return plus - minus

    def loss(self, y: np.ndarray) -> float:
        return float(self.pop.probability @ np.logaddexp(-self.outputs(y), 0))

    def rhs(self, y: np.ndarray, gates: np.ndarray) -> np.ndarray:
        """dy/dt with gates[side, orbit]."""
        K, (w, matrices) = self.K, unpack(y)
        A, B = same_and_diff(matrices[:, 0], K)
        sides = [side(w, A, B) for side in self.sides]
        value, slope = self.active(np.array([s[0] + self.b for s in sides]), gates)
        g = -self.weight / (1 + np.exp(value[0] - value[1]))
        d_w, d_A, d_B = (
            np.tensordot(g * slope[0], plus, 1) - np.tensordot(g * slope[1], minus, 1)
            for plus, minus in zip(sides[0][1:], sides[1][1:])
        )
        G_A, G_B = d_A / (2 * K), d_B / (2 * K * (K - 1))
        rates = np.zeros_like(matrices)
        for sector, G in enumerate((G_A + (K - 1) * G_B, G_A - G_B)):
            S, KK, QQ = matrices[sector]
            rates[sector] = -(KK @ G + G @ QQ), -(G @ S.T + S @ G.T), -(S.T @ G + G.T @ S)
        return np.concatenate([-self.neurons * d_w / (2 * K), (self.attention * rates).ravel()])


def flow(K: int, L: int, b: float, stage: int = 0, width: float = 0.0) -> Flow:
    """Simultaneous training (stage 0), or one of Algorithm 1's stages."""
    pop = population(K, L)
    weight = np.where(pop.is_hard, pop.probability, 0.0) if stage == 2 else pop.probability
    return Flow(K, L, b, weight / weight.sum(), pop, stage != 2, stage in (0, 2), width)


def integrate(flow: Flow, y: np.ndarray, t: float, times, method="DOP853", rtol=1e-12, atol=1e-16, stop=None):
    """States at the times, restarted at every kink; `stop(y)` (if given) ends the run where it rises through 0.

    Returns (times reached, states, kink times); the last state is the one at the stop.
    """
    times, kinks, found = np.asarray(times, dtype=float), [], []
    gates = (flow.preactivations(y) > 0).astype(float)

    def switch(_, y):
        return np.min((2 * gates - 1) * flow.preactivations(y))

    switch.terminal, switch.direction = True, -1
    ends = [lambda _, y: stop(y)] if stop else []
    for end in ends:
        end.terminal, end.direction = True, 1
    watched = ends if flow.width else [switch, *ends]
    while t < times[-1]:
        run = solve_ivp(
            lambda _, y, gates=gates: flow.rhs(y, gates), (t, times[-1]), y, method, times[times > t],
            rtol=rtol, atol=atol, events=watched or None,
        )  # fmt: skip
        found += zip(run.t, np.transpose(run.y))
        if run.status == 0:
            break
        t, y = next((e[0], states[0]) for e, states in zip(run.t_events, run.y_events) if len(e))
        if ends and len(run.t_events[-1]):
            found.append((t, y))
            break
        kinks.append(t)
        h = flow.preactivations(y)
        gates = np.where(np.abs(h) < 1e-9, 1 - gates, gates)
        # step off the surface, so that the restarted run does not meet the same root
        y, t = y + 1e-10 * flow.rhs(y, gates), t + 1e-10
    return np.array([s for s, _ in found]), np.array([x for _, x in found]), kinks


def names() -> list[str]:
    """The state of the 22-variable program, in the oracle's order (the transposed self-scores left out)."""
    found = ["w_c", "w_v"]
    for part in ("mean", "difference"):
        for matrix in ("S", "KK", "QQ"):
            found += [f"{matrix}_{xy}_{part}" for xy in ("cc", "cv", "vc", "vv")]
    return found


def from_program(state, program_names) -> np.ndarray:
    """A state of the 22-variable program in the oracle's coordinates."""
    by_name = dict(zip(program_names, state))
    return np.array([by_name[n] if n in by_name else by_name[n.replace("_vc_", "_cv_")] for n in names()])


def stage_1_end(T_1: float, K: int, b: float) -> tuple[float, float]:
    """(w_c, w_v) of the closed form for L = 3, its scalar equation solved by bisection."""
    τ, τ_half = 2 * T_1 / K, b + (np.exp(2 * b) - 1) / 2
    F = brentq(lambda F: F + np.exp(F) - 2 * b - np.exp(2 * b) - 5 / 8 * (τ - τ_half), 0, 100)
    return (F - 2 * b) / 5, b / 2 + 2 / 5 * (F - 2 * b)


def agrees(value: float, printed: str) -> bool:
    """The value rounds to the number as printed (half a unit in its last digit, a hair more for ties)."""
    mantissa, _, exponent = printed.lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    return abs(value - float(printed)) <= 0.5001 * 10.0 ** (int(exponent or 0) - digits)
