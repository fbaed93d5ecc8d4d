"""Three gradient steps on the population with sampled neurons, in closed form at any n, k and m (orthonormal tokens).

Under the linear loss, and while no gate flips, the map decouples by position. With Γ the overlaps of the active neurons
(`frozen`), query token q = (i, b), c_i = 1/2 at n+1 (where b = 0 always) and 1/4 after, the signal on S[i'] is

    K_{q,(S[i'],b')} = -(-1)^b' κ_{q,i'},      κ_{q,i'} = η c_{i'}/i' · Σ_b (-1)^b Γ_{q,(i',b)}

after a step at a = 0. So after two steps a query's score on its target, on an ordinary and on a sure token (end of
sequence, own token) is

    u_q = η_1 c_i (-1)^b κ_{q,i} (1 - 1/i)/i,       v_q = -u_q/(i-1),       w_q = -2 u_q/(i-1),

up to a split of S[n+2]'s tokens by the common mode κ_{q,n+1} at n+2. Attention depends on the query alone after that
(at n+2 also on the bit of S[n+2]), and the third step follows: K moves by the attended signal, scores by O(1 - s).
Of the neurons only the counts within a position and with (n+1, 0) are needed, and these are drawn.

The rates take the place of Assumption 2's, which need astronomical n (Lemma 5). Left out are the outputs on other
positions' secrets, weighed by the attention off target: `spill` bounds them; at n+2 they would move the scores of the
third step too, by O(1 - s). Gates are kept as long as `shift`, the largest move of a neuron's input over ε, is below 1.
"""

from dataclasses import dataclass

import numpy as np

Rates = tuple[float, float, float]


def usable_rates(n: int, m: float, epsilon: float, rho: float = 0.3, eta_2: float | None = None) -> Rates:
    """η_0 = η_1 = ρ·4mnε: ρ is the shift of a neuron's input over ε once attention is on S[i], so gates need ρ < 1.

    η_2 defaults to the 16mε/3 that shifts the input by 2ε/3, as Theorem 3 intends; Lemma 25 uses 4mε/3.
    """
    eta = rho * 4 * m * n * epsilon
    return eta, eta, 16 * m * epsilon / 3 if eta_2 is None else eta_2


@dataclass(frozen=True)
class Counts:
    """Active neurons of query tokens (i, b), i = n+1 … n+k: `own` (k × 2), on `both` of a position (k), with
    (n+1, 0) (`with_first`, k × 2), and those that push up less those that push down (`balance`, k × 2)."""

    own: np.ndarray
    both: np.ndarray
    with_first: np.ndarray
    balance: np.ndarray


def drawn_counts(seed: int, k: int, width: int) -> Counts:
    """The counts of 2·width neurons with independent signs.

    Given those active on (n+1, 0), a later position has every pattern of its two tokens with probability 1/4.
    """
    rng = np.random.default_rng(seed)
    first = rng.binomial(width, 0.5, 2)  # by the sign of h
    groups = np.stack([first, width - first], axis=-1)  # active on (n+1, 0), and not
    # positions × signs of h × groups × (neither token, the second, the first, both)
    patterns = rng.multinomial(groups, [0.25] * 4, (k, 2, 2))
    second = rng.binomial(groups, 0.5)
    patterns[0] = 0
    patterns[0, :, 0, 2], patterns[0, :, 0, 3] = first - second[:, 0], second[:, 0]
    patterns[0, :, 1, 0], patterns[0, :, 1, 1] = width - first - second[:, 1], second[:, 1]
    active = patterns @ np.array([[0, 0], [0, 1], [1, 0], [1, 1]])  # on each of the two tokens
    up, down = np.moveaxis(active.sum(axis=2), 1, 0)
    return Counts(up + down, patterns[..., 3].sum(axis=(1, 2)), active[:, :, 0].sum(axis=1), up - down)


def expected_counts(k: int, width: float) -> Counts:
    """The counts' means: infinite width."""
    with_first = np.full((k, 2), width / 2)
    with_first[0, 0] = width
    return Counts(np.full((k, 2), 1.0 * width), np.full(k, width / 2), with_first, np.zeros((k, 2)))


@dataclass(frozen=True)
class PopulationMap:
    """Per query token (k × 2; that of (n+1, 1), which never occurs, is nan).

    `signals` after each step; after step 2 the score of the `target`, the least of its tokens, and the largest |score|
    of any `other` token; `log_error` of attention off target after steps 2 and 3;
    `margin` after step 3 by the bit of S[i].
    """

    signals: np.ndarray
    target: np.ndarray
    other: np.ndarray
    log_error: np.ndarray
    margin: np.ndarray
    spill: float
    shift: float

    @property
    def one_hot_error(self) -> float:
        """The largest attention off S[i] after steps 2 and 3, over sequences and positions."""
        return float(np.exp(np.nanmax(self.log_error)))

    @property
    def least_margin(self) -> float:
        return float(np.nanmin(self.margin)) - self.spill

    @property
    def largest_margin(self) -> float:
        return float(np.nanmax(self.margin)) + self.spill


def signals_per_rate(n: int, counts: Counts, width: float, m: float) -> np.ndarray:
    """(-1)^b κ on S[i] after a step of rate 1 at a = 0 (k × 2): by the neurons active on the query's token less those
    that its position's other token shares, which at n+1 never occurs."""
    i, c = chain(n, len(counts.both))
    others = np.where(i == n + 1, 0, counts.both)
    return (c / i)[:, None] * (counts.own - others[:, None]) / (4 * width * m)


def chain(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The positions i = n+1 … n+k and c_i."""
    i = np.arange(n + 1, n + k + 1, dtype=float)
    return i, np.where(i == n + 1, 0.5, 0.25)


def population_map(n: int, counts: Counts, width: float, m: float, epsilon: float, rates: Rates) -> PopulationMap:
    """The map from Assumption 1; `width` neurons of each sign of h, moving width/m times as fast."""
    k = len(counts.both)
    η_0, η_1, η_2 = rates
    i, c = chain(n, k)
    per_pair = 1 / (4 * width * m)  # h² · mobility: Γ of one shared neuron
    common = per_pair * counts.with_first * 0.5 / (n + 1)  # κ_{q,n+1} per unit of rate
    signals = [rate * signals_per_rate(n, counts, width, m) for rate in (η_0, η_0 + η_1)]  # (-1)^b κ after steps 1, 2
    u = η_1 * (c * (1 - 1 / i) / i)[:, None] * signals[0]
    ordinary = -u / (i - 1)[:, None]
    n_sure = np.where(i == n + 1, 1, np.where(i == n + 2, 3, 2))  # at n+2 also S[n+1], whose bit is b[n+2]
    split = np.zeros((k, 2))
    if k > 1:
        split[1] = -η_1 * 0.25 / (n + 2) ** 2 * η_0 * common[1]
    target = u[..., None] + split[..., None] * [1, -1]  # last axis: the bit of S[i]
    s, log_off = _attention(target, ordinary[..., None], 2 * ordinary[..., None], i, n_sure)
    seen = per_pair * (counts.own[..., None] * s - np.where(i == n + 1, 0, counts.both)[:, None, None] * s[:, ::-1])
    signal_3 = signals[1][..., None] + η_2 * c[:, None, None] * seen
    # the third step moves scores along the slope at the attention of the second
    pull = η_2 * c[:, None, None] * s * signals[1][..., None]
    on_one = s * np.exp(ordinary[..., None] - target), s * np.exp(2 * ordinary[..., None] - target)
    s_3, log_off_3 = _attention(
        target + pull * np.exp(log_off), ordinary[..., None] - pull * on_one[0],
        2 * ordinary[..., None] - 2 * pull * on_one[1], i, n_sure,
    )  # fmt: skip
    P = epsilon * counts.balance / (2 * width)
    margin = signal_3 * s_3 + P[..., None] * [[-1, 1], [1, -1]]
    occurs = np.ones((k, 2))
    occurs[0, 1] = np.nan
    return PopulationMap(
        signals=np.stack([*signals, signal_3.mean(axis=-1)]) * occurs,
        target=(u - np.abs(split)) * occurs,
        other=2 * np.abs(ordinary) * occurs,
        log_error=np.stack([log_off.max(axis=-1), log_off_3.max(axis=-1)]) * occurs,
        margin=margin * occurs[..., None],
        spill=float(np.exp(np.nanmax(log_off_3 * occurs[..., None])) * ((η_0 + η_1) / (n + 1) + η_2) / (4 * m)),
        shift=float((c * ((η_0 + η_1) / i + η_2)).max() / (2 * m * epsilon)),
    )


def _attention(target, ordinary, sure, i, n_sure):
    """Attention on the target, and the logarithm of what is off it, for both bits of S[i] (last axis)."""
    counts, n_sure = np.log(i - 1 - n_sure)[:, None, None], np.log(n_sure)[:, None, None]
    rest = np.logaddexp(counts + ordinary - target, n_sure + sure - target)
    return 1 / (1 + np.exp(rest)), rest - np.logaddexp(0.0, rest)
