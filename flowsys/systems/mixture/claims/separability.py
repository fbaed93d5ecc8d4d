"""What uniform attention cannot separate, and how the margin grows (Lemma 5.4, Eq. (2))."""

from itertools import product

import numpy as np
from scipy.optimize import linprog

from flowsys.claims import Claim, Identity, Kit, Order, Path, Sides, Sign
from flowsys.model.separator import separator
from flowsys.model.starts import own_weights
from flowsys.systems.mixture import SYSTEM
from flowsys.systems.mixture.claims.measured import SEEN, all_samples, matrix_of, neurons_of
from flowsys.systems.mixture.claims.regimes import BOUNDED_SCORES, SIZES, SMALLER_OMEGA, TRAINED, TWO_GROUPS
from flowsys.systems.mixture.margin import attention_features, head_features

OTHER_SIZES = [{"K": K, "L": L} for K, L in ((3, 3), (4, 3), (3, 4), (4, 5), (2, 4))]


def _best_minimum(rows: np.ndarray) -> float:
    """max over |z|_∞ ≤ 1 of min over rows of row · z, by linear programming."""
    n, d = rows.shape
    found = linprog(np.append(np.zeros(d), -1.0), A_ub=np.hstack([-rows, np.ones((n, 1))]), b_ub=np.zeros(n),
                    bounds=[(-1, 1)] * d + [(None, None)])  # fmt: skip
    return float(-found.fun)


def _best_over_gates(F: list[np.ndarray], label: np.ndarray, b: float, box: float = 100.0) -> float:
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


def best_output_on_conflicting_samples(run: Kit, when: str = "T_1") -> tuple[float, float]:
    """5.4: the largest min y f over all neurons, every pattern of ReLUs tried; attention is uniform up to T_1."""
    X, v = all_samples(2, 3), run.values(when, observe=SEEN)
    hard = X.hard > 0
    return _best_over_gates([head_features(X, matrix_of(v, 2, h))[hard] for h in (1, -1)], X.y[hard], run.p.b), 0.0


def best_linear_output(run: Kit, of: str = "all") -> tuple[float, float]:
    """[ours] The largest min y w·F(X) under uniform attention, gates open; for L = 3 over the conflicting samples."""
    X = all_samples(run.p.K, run.p.L)
    rows = X.y[:, None] * head_features(X, np.zeros((2 * run.p.K, 2 * run.p.K)))
    return _best_minimum(rows[X.hard > 0] if run.p.L == 3 or of == "hard" else rows), 0.0


def output_and_features(run: Kit, sign: float = 1.0) -> dict[str, Sides]:
    """Eq. (2): y f as observed, by kind of sample, and y [w_+, w_-, 1]·F(X), at the ends of the stages."""
    X, found = all_samples(2, 3), {}
    for at in ("T_1", "T_2", "T_3"):
        v = run.values(at, observe=SEEN)
        heads = [(neurons_of(v, 2, h), matrix_of(v, 2, h)) for h in (1, -1)]
        f = attention_features(X, heads, run.p.b) @ np.concatenate([heads[0][0], sign * heads[1][0], [1.0]])
        for kind in ("consistent", "conflicting"):
            found[f"{kind} at {at}"] = Sides((X.y * f)[getattr(X, kind) > 0], v[f"f_{kind}"])
    return found


def initial_margin(run: Kit, seeds: int = 24) -> float:
    """The mean max margin of the attention features as the runs start, all gates open (w = 0)."""
    X, concrete, found = all_samples(2, 3), SYSTEM.concrete(run.setup, "L2", "simultaneous"), []
    for seed in range(seeds):
        weights = own_weights(concrete, seed)
        S = np.swapaxes(weights["W_K"], 1, 2) @ weights["W_Q"]
        features = np.hstack([head_features(X, S[0]), -head_features(X, S[1])])
        found.append(separator(X.y[:, None] * features).margin)
    return float(np.mean(found))


def margin(run: Kit, when: str | float = "T_2") -> float:
    """The max margin at an event or time."""
    return run.values(when, observe=("max_margin",))["max_margin"]


def growing_margin(run: Kit, when: str = "T_2") -> dict[str, np.ndarray]:
    """[ours] Differences of the margin at T_2 between final scores s_star = 0.25 … 4."""
    return {"margin": np.diff([margin(run.at(s_star=s), when) for s in (0.25, 0.5, 1.0, 2.0, 3.0, 4.0)])}


def margin_over_time(run: Kit, T_1: float | None = None) -> dict[str, np.ndarray]:
    """Differences of the margin between 1 %, half, once and twice the time T_2."""
    kit = run if T_1 is None else run.at(T_1=T_1)
    margins = [margin(kit, share * kit.reached("T_2")) for share in (0.01, 0.5, 1.0, 2.0)]
    run.note(first=margins[0], last=margins[-1])
    return {"margin": np.diff(margins)}


OVER_WIDTH = Path("width", (16, 64, 256, 1024, 4096, 16384))
CLAIMS = [
    Claim("Eq.2", "Eq. (2)", "f(X) = [w_+, w_-, 1]·F(X), gates inside F", Identity(1e-8), output_and_features,
          regime=SIZES, levels="L3", control={"sign": -1.0}),
    Claim("5.4", "Lemma 5.4", "uniform attention: no neurons classify the conflicting samples",
          Identity(1e-9, relative=False), best_output_on_conflicting_samples, regime=SIZES, levels="L3",
          control={"when": "T_2"}),
    Claim("5.4-sizes", "Lemma 5.4", "nor at other sizes, with open gates; for L ≥ 4 all samples are meant",
          Identity(1e-9, relative=False), best_linear_output, at=OTHER_SIZES, sharpens="5.4", takes="",
          control={"of": "hard"}),
    Claim("initial_margin", "after Lemma 5.4", "the initial max margin is Õ(ω²/√m) in m",
          Order("Õ", lambda p: p.omega**2 / p.width**0.5), initial_margin, path=OVER_WIDTH, regime=SIZES, takes="",
          control={"kind": Order("Õ", lambda p: 1 / p.width)}),
    Claim("initial_margin-omega", "after Lemma 5.4", "the initial max margin is Õ(ω²/√m) in ω",
          Order("Õ", lambda p: p.omega**2 / p.width**0.5), initial_margin, path=Path("omega", (0.3, 0.1, 0.03, 0.01)),
          regime=SIZES, takes="", control={"kind": Order("Õ", lambda p: p.omega**3)}),
    Claim("margin_at_T_2", "Appendix F", "at T_2 the attention features are separable with a constant margin",
          Order("Ω"), margin, path=SMALLER_OMEGA, regime=BOUNDED_SCORES, levels=TRAINED, control={"when": "T_1"}),
    Claim("margin_over_s_star", "Appendix F", "the max margin at T_2 grows with s_star",
          Sign({"margin": 1}, strict=True), growing_margin, regime=TWO_GROUPS, sharpens="margin_at_T_2",
          levels=TRAINED, control={"when": "T_1"}),
    Claim("margin_over_time", "Eq. (2), Sec. 7", "the max margin of the attention features increases during training",
          Sign({"margin": 1}, strict=True), margin_over_time, what="remark", mode="simultaneous", regime=SIZES,
          levels=TRAINED, control={"mode": "three_stage", "T_1": 1000.0}, note="from {first:.2g} to {last:.3g}"),
]  # fmt: skip
