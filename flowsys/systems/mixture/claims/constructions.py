"""Transformers that solve any K groups: Lemma 6.1, its printed construction, and two repairs [ours]."""

from collections.abc import Callable

import numpy as np
from scipy.special import softmax

from flowsys.claims import Claim, Erratum, Existence, Identity, Kit, Sides, Sign
from flowsys.systems.mixture.claims.measured import all_samples
from flowsys.systems.mixture.margin import head_features

SIZES = [{"K": K, "L": L} for K, L in ((2, 3), (3, 4), (4, 5), (3, 5))]
LARGE = 60.0


def _part(K: int, key: str, query: str) -> np.ndarray:
    """Σ_k x_k y_kᵀ, keys first."""
    M = np.zeros((2 * K, 2 * K))
    at = {"c": 0, "v": K}
    M[at[key] + np.arange(K), at[query] + np.arange(K)] = 1
    return M


def _signal(K: int, which: str) -> np.ndarray:
    return np.repeat([1.0, 0.0] if which == "c" else [0.0, 1.0], K)


def printed_scores(K: int, sign: int, C: float = LARGE, key: str = "v", query: str = "c") -> np.ndarray:
    """± 2C Σ v_k c_kᵀ + C Σ c_k c_kᵀ + C Σ v_k v_kᵀ."""
    return C * (2 * sign * _part(K, key, query) + _part(K, "c", "c") + _part(K, "v", "v"))


def _outputs(run: Kit, scores: Callable, neurons: Callable) -> tuple[np.ndarray, np.ndarray]:
    """(y, y f) of every sample with f = w_+ · features_+ - w_- · features_-, heads' scores and value vectors given."""
    K, X = run.p.K, all_samples(run.p.K, run.p.L)
    plus, minus = (head_features(X, scores(K, sign)) @ neurons(K, sign) for sign in (1, -1))
    return X.y, X.y * (plus - minus)


def _by_group_key(C: float, key: str = "c", query: str = "v") -> tuple[Callable, Callable]:
    """Repair (b): S_± = ±C Σ c_k v_kᵀ, w_± = Σ c_k."""
    return (lambda K, sign: sign * C * _part(K, key, query)), (lambda K, sign: _signal(K, "c"))


def least_output(run: Kit, key: str = "c", query: str = "v") -> float:
    """6.1: the least y f over all samples of the transformer of repair (b) at C = 1."""
    return float(_outputs(run, *_by_group_key(1.0, key, query))[1].min())


def outputs_as_printed(run: Kit, value: str = "v") -> dict[str, np.ndarray]:
    """6.1's proof: values +Σ v_k and -Σ v_k are added, so f = Σ v · (features_+ - features_-)."""
    values = lambda K, sign: _signal(K, "v") if value == "v" else -_signal(K, "c")
    y, y_f = _outputs(run, printed_scores, values)
    swapped = _outputs(run, lambda K, sign: printed_scores(K, sign, key="c", query="v"), values)[1]
    flipped = _outputs(run, printed_scores, lambda K, sign: sign * values(K, sign))[1]
    share = lambda margins: float((all_samples(run.p.K, run.p.L).weight * (margins > 1e-3)).sum())
    run.note(plus=float(y_f[y > 0].mean()), minus=float(-y_f[y < 0].mean()))
    for name, margins in (("accuracy", y_f), ("swapped", swapped), ("flipped", flipped)):
        run.note(**{name: [*run.noted.get(name, ()), round(share(margins), 4)]})
    return {"y f": y_f}


def outputs_with_group_values(run: Kit, sign: int = -1) -> tuple[np.ndarray, float]:
    """[ours] Repair (a): the printed scores with values w_± = -Σ c_k."""
    return _outputs(run, printed_scores, lambda K, _: sign * _signal(K, "c"))[1], 1.0


def outputs_and_formula(run: Kit, key: str = "c", query: str = "v") -> dict[str, Sides]:
    """[ours] Repair (b): y f = e^C/(e^C + L - 1) - e^-C/(e^-C + L - 1)."""
    found = {}
    for C in (0.01, 0.3, 1.0, 5.0, 30.0):
        p = [softmax([s * C, *[0] * (run.p.L - 1)])[0] for s in (1, -1)]
        found[f"C = {C:g}"] = Sides(_outputs(run, *_by_group_key(C, key, query))[1], p[0] - p[1])
    return found


CLAIMS = [
    Claim("6.1", "Lemma 6.1", "a transformer of this architecture solves the K-mixture", Existence(), least_output,
          at=SIZES, takes="", control={"key": "v", "query": "c"}),
    Claim("6.1-printed", "Lemma 6.1", "the printed construction has y f > 0 on every sample",
          Sign({"y f": 1}, strict=True), outputs_as_printed, at=SIZES, what="printed construction", takes="",
          control={"value": "c"},
          note="the proof treats y = + only: f = {plus:+.2f} for y = + and {minus:+.2f} for y = -; accuracy "
          "{accuracy}, indices swapped {swapped}, second value vector's sign flipped {flipped}",
          erratum=Erratum("values ±Σ v_k", "values -Σ c_k with the printed scores", "harmless", "6.1-repair-a")),
    Claim("6.1-repair-a", "Lemma 6.1 [ours]", "the printed scores with values -Σ c_k give y f = 1, for large C",
          Identity(1e-9), outputs_with_group_values, at=SIZES, takes="", control={"sign": 1}),
    Claim("6.1-repair-b", "Lemma 6.1 [ours]",
          "S_± = ±C Σ c_k v_kᵀ with w_± = Σ c_k: y f = e^C/(e^C + L - 1) - e^-C/(e^-C + L - 1) > 0 for every C > 0",
          Identity(1e-12), outputs_and_formula, at=SIZES, takes="", control={"key": "v", "query": "c"}),
]  # fmt: skip
