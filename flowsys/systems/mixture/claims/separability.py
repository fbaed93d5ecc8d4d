"""What uniform attention cannot separate, and how the margin grows (Lemma 5.4, Eq. (2))."""

from itertools import product

import numpy as np
from scipy.optimize import linprog

from flowsys.claims import Verdict, judged, listed
from flowsys.laws.fits import power_law
from flowsys.systems.mixture import SYSTEM
from flowsys.systems.mixture.claims.runs import TRAINED, claim, finite, start_deviation, values
from flowsys.systems.mixture.margin import head_features, max_margin


def all_samples(K: int, L: int):
    """The declared samples of a size."""
    return SYSTEM.concrete(SYSTEM.setup(K=K, L=L), "L2", "simultaneous").populations[0].samples


def scores_of_limit(v: dict[str, float], K: int, head: int = 1) -> np.ndarray:
    """The 2K × 2K score matrix of a head from the limit's entries; the negative head has its v-signs flipped."""
    sign = {"c": 1, "v": head}
    block = lambda x, y: sign[x] * sign[y] * (
        v[f"S_{x}{y}_diff"] * np.ones((K, K)) + (v[f"S_{x}{y}_same"] - v[f"S_{x}{y}_diff"]) * np.eye(K)
    )  # fmt: skip
    return np.block([[block("c", "c"), block("c", "v")], [block("v", "c"), block("v", "v")]])


def _best_minimum(rows: np.ndarray) -> float:
    """max over |z|_∞ ≤ 1 of min over rows of row · z, by linear programming."""
    n, d = rows.shape
    found = linprog(np.append(np.zeros(d), -1.0), A_ub=np.hstack([-rows, np.ones((n, 1))]), b_ub=np.zeros(n),
                    bounds=[(-1, 1)] * d + [(None, None)])  # fmt: skip
    return float(-found.fun)


def _best_over_gates(F: list[np.ndarray], label: np.ndarray, b: float = 0.5, box: float = 100.0) -> float:
    """The largest min y f with |w| ≤ box over every pattern of open ReLUs, each a linear program; F by head."""
    n, d = F[0].shape
    zero, best = np.zeros((n, d)), -np.inf
    H = np.vstack([np.hstack([F[0], zero]), np.hstack([zero, F[1]])])
    for gates in product((0.0, 1.0), repeat=2 * n):
        is_open = np.array(gates)
        f = is_open[:n, None] * H[:n] - is_open[n:, None] * H[n:]
        bias = b * (is_open[:n] - is_open[n:])
        inside = np.where(is_open > 0, -1.0, 1.0)  # inside · (H w + b) ≤ 0 keeps the pattern
        rows = np.vstack([np.hstack([-label[:, None] * f, np.ones((n, 1))]),
                          np.hstack([inside[:, None] * H, np.zeros((2 * n, 1))])])  # fmt: skip
        found = linprog(np.append(np.zeros(2 * d), -1.0), A_ub=rows, b_ub=np.append(label * bias, -inside * b),
                        bounds=[(-box, box)] * (2 * d) + [(None, None)])  # fmt: skip
        if found.status == 0:
            best = max(best, float(-found.fun))
    return best


def uniform_attention_is_not_separable(at: str = "T_1") -> Verdict:
    """5.4: no neurons classify the conflicting samples; linear features at other sizes, all ReLU patterns at K = 2."""
    found, with_gates = {}, -np.inf
    for K, L in ((2, 3), (3, 3), (4, 3), (3, 4), (4, 5), (2, 4)):
        samples = all_samples(K, L)
        v = values(at, K=K, L=3)
        heads = [head_features(samples, scores_of_limit(v, K, h)) for h in (1, -1)]
        rows = samples.y[:, None] * np.hstack(heads)
        found[K, L] = _best_minimum(rows[samples.hard > 0] if L == 3 else rows)
        if (K, L) == (2, 3):
            hard = samples.hard > 0
            with_gates = _best_over_gates([F[hard] for F in heads], samples.y[hard])
    four = all_samples(3, 4)
    subset = _best_minimum((four.y[:, None] * head_features(four, np.zeros((6, 6))))[four.hard > 0])
    largest = max(found.values())
    return judged(
        largest < 1e-9 and with_gates < 1e-9, "max min y f ≤ 0",
        f"largest optimum {largest + 0.0:.1e} over (K, L) = {', '.join(map(str, found))}; over all 256 ReLU "
        f"patterns of (2, 3) {with_gates + 0.0:.1e}",
        note=f"for L = 4 the hard samples alone are separable (optimum {subset:.3g}): there all samples are meant",
        tolerance=1e-9, parameters={"at": at}, values={"optima": list(found.values()), "with_gates": with_gates},
    )  # fmt: skip


def _initial_margins(m: int, ω: float, seeds: int = 8, exponent: float = 0.5) -> float:
    """The mean max margin of the attention features at initialisation, all gates open (w = 0)."""
    samples, found = all_samples(2, 3), []
    for seed in range(seeds):
        draw = np.random.default_rng(seed).normal(scale=ω / m**exponent, size=(2, 2, m, 4))
        F = [head_features(samples, keys.T @ queries) for keys, queries in draw]
        found.append(max_margin(samples.y[:, None] * np.hstack([F[0], -F[1]])))
    return float(np.mean(found))


def initial_margin_is_small(exponent: float = 0.5) -> Verdict:
    """After 5.4: the max margin at initialisation is Õ(ω²/√m)."""
    widths = (32, 128, 512, 2048)
    fit = power_law(widths, [_initial_margins(m, 0.1, 24, exponent) for m in widths])
    in_scale = power_law((0.03, 0.1, 0.3), [_initial_margins(512, ω, 8, exponent) for ω in (0.03, 0.1, 0.3)])
    return judged(
        abs(fit.slope + 0.5) < 0.12 and abs(in_scale.slope - 2) < 0.05, "exponent -1/2 in m, 2 in ω",
        f"exponent {fit} in m (24 seeds), {in_scale} in ω (8 seeds)", interval=fit.interval, tolerance=0.12,
        parameters={"m": widths, "omega": (0.03, 0.1, 0.3)},
        values={"in_m": fit.slope, "in_omega": in_scale.slope},
        fits={"initial margin over m": fit, "initial margin over ω": in_scale},
    )  # fmt: skip


def margin_grows_with_the_final_score(at: str = "T_2") -> Verdict:
    """[ours] The max margin at T_2 is Ω(1), does not depend on ω, and grows with s_star."""
    margin = lambda **p: values(at, observe=("max_margin",), **p)["max_margin"]
    over_scale = [margin(omega=ω) for ω in (0.3, 0.1, 0.001)]
    over_score = [margin(s_star=s) for s in (0.25, 0.5, 1.0, 2.0, 3.0, 4.0)]
    return judged(bool(min(over_scale) > 0.4 and (np.diff(over_score) > 0).all()), "Ω(1) and increasing in s_star",
                  f"{listed(over_scale)} for ω = 0.3, 0.1, 0.001; {listed(over_score)} for s_star = 0.25 … 4",
                  parameters={"at": at}, values={"over_omega": over_scale, "over_s_star": over_score})  # fmt: skip


def margin_grows_during_simultaneous_training(mode: str = "simultaneous", T_1: float = 20.0) -> Verdict:
    """[ours] Simultaneous training makes the features separable: the margin rises from 0 to 0.84."""
    times = (1.0, 5.0, 20.0, 60.0, 80.0, 100.0, 120.0, 150.0, 200.0, 300.0)
    margins = [values(t, mode=mode, T_1=T_1, observe=("max_margin",))["max_margin"] for t in times]
    return judged(bool((np.diff(margins) > 0).all() and margins[0] < 1e-9 + start_deviation()), "increasing from 0",
                  f"{listed(margins, '.2g')} at t = {listed(times)}", parameters={"t": times},
                  values={"margins": margins})  # fmt: skip


CLAIMS = [
    claim("5.4", "Lemma 5.4", "uniform attention: no neurons classify the conflicting samples",
          uniform_attention_is_not_separable, control={"at": "T_2"}),
    finite("initial_margin", "after Lemma 5.4", "the initial max margin is Õ(ω²/√m)", initial_margin_is_small,
           control={"exponent": 0.25}, regime="K = 2, L = 3, finite width"),
    claim("margin_at_T_2", "Eq. (2) [ours]", "the max margin at T_2 is Ω(1) and grows with s_star",
          margin_grows_with_the_final_score, control={"at": "T_1"}, levels=TRAINED, takes="b T_1"),
    claim("margin_over_time", "Eq. (2) [ours]", "simultaneous training raises the max margin",
          margin_grows_during_simultaneous_training, control={"mode": "three_stage", "T_1": 1000.0}, levels=TRAINED,
          takes="omega b"),
]  # fmt: skip
