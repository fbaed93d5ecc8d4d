"""Transformers that solve any K groups: Lemma 6.1 as printed, and two repairs [ours]."""

import numpy as np
from scipy.special import softmax

from flowsys.claims import Erratum, Verdict, judged, listed
from flowsys.systems.mixture.claims.runs import claim
from flowsys.systems.mixture.claims.separability import all_samples
from flowsys.systems.mixture.margin import head_features

SIZES = ((2, 3), (3, 4), (4, 5), (3, 5))


def _part(K: int, key: str, query: str) -> np.ndarray:
    """Σ_k x_k y_kᵀ, keys first."""
    M = np.zeros((2 * K, 2 * K))
    at = {"c": 0, "v": K}
    M[at[key] + np.arange(K), at[query] + np.arange(K)] = 1
    return M


def _signal(K: int, which: str) -> np.ndarray:
    return np.repeat([1.0, 0.0] if which == "c" else [0.0, 1.0], K)


def printed_scores(K: int, C: float, sign: int, key: str = "v", query: str = "c") -> np.ndarray:
    """± 2C Σ v_k c_kᵀ + C Σ c_k c_kᵀ + C Σ v_k v_kᵀ."""
    return C * (2 * sign * _part(K, key, query) + _part(K, "c", "c") + _part(K, "v", "v"))


def _margins(K: int, L: int, scores, neurons) -> np.ndarray:
    """y f with f = w_+ · features_+ - w_- · features_-, for the heads' scores and value vectors."""
    samples = all_samples(K, L)
    plus, minus = (head_features(samples, scores(K, sign)) @ neurons(K, sign) for sign in (1, -1))
    return samples.y * (plus - minus)


def _accuracy(K: int, L: int, y_f: np.ndarray) -> float:
    return float((all_samples(K, L).weight * (y_f > 1e-3)).sum())


def printed_construction_classifies(value: str = "v", C: float = 60.0) -> Verdict:
    """6.1 as printed: values +Σ v_k and -Σ v_k are added, so f = Σ v · (features_+ - features_-).

    With value = "c" the value vectors are those of repair (a).
    """
    scores = lambda K, sign: printed_scores(K, C, sign)
    values = lambda K, sign: _signal(K, "v") if value == "v" else -_signal(K, "c")
    accuracies = {size: _accuracy(*size, _margins(*size, scores, values)) for size in SIZES}
    samples = all_samples(2, 3)
    f = samples.y * _margins(2, 3, scores, values)
    by_label = [float(f[samples.y == y].mean()) for y in (1, -1)]
    swapped = lambda K, sign: printed_scores(K, C, sign, "c", "v")
    other = {size: _accuracy(*size, _margins(*size, swapped, values)) for size in SIZES}
    flipped = lambda K, sign: sign * values(K, sign)
    one_sign = {size: _accuracy(*size, _margins(*size, scores, flipped)) for size in SIZES}
    return judged(
        min(accuracies.values()) > 0.999, "accuracy 1 for every K",
        f"accuracy {listed(accuracies.values())} at (K, L) = {', '.join(map(str, SIZES))}; f = {by_label[0]:+.2f} for "
        f"y = 1 and {by_label[1]:+.2f} for y = -1",
        note=f"the proof treats y = +1 only; indices swapped: {listed(other.values())}; second value vector's sign "
        f"flipped: {listed(one_sign.values())}",
        parameters={"C": C, "(K, L)": SIZES},
        values={"accuracy": list(accuracies.values()), "swapped": list(other.values()),
                "flipped": list(one_sign.values())},
    )  # fmt: skip


def printed_scores_with_group_values_classify(sign: int = -1, C: float = 60.0) -> Verdict:
    """[ours] Repair (a): the printed scores with values w_± = -Σ c_k, f = H_+ - H_-: y f = 1."""
    y_f = {size: _margins(*size, lambda K, s: printed_scores(K, C, s), lambda K, s: sign * _signal(K, "c"))
           for size in SIZES}  # fmt: skip
    accuracies = [_accuracy(*size, m) for size, m in y_f.items()]
    least = min(float(m.min()) for m in y_f.values())
    return judged(min(accuracies) > 0.999, "accuracy 1, y f = 1",
                  f"accuracy {listed(accuracies)}; least y f = {least:.4f}", note="scaled so that H > -b with the ReLU",
                  parameters={"C": C, "(K, L)": SIZES}, values={"least": least})  # fmt: skip


def group_key_construction_classifies(key: str = "c", query: str = "v") -> Verdict:
    """[ours] Repair (b): S_± = ±C Σ c_k v_kᵀ, w_± = Σ c_k; y f = e^C/(e^C + L - 1) - e^-C/(e^-C + L - 1), any C > 0."""
    errors, at_one, least = [], [], np.inf
    for C in (0.01, 0.3, 1.0, 5.0, 30.0):
        for K, L in SIZES:
            y_f = _margins(K, L, lambda K, s, C=C: s * C * _part(K, key, query), lambda K, s: _signal(K, "c"))
            formula = softmax([C, *[0] * (L - 1)])[0] - softmax([-C, *[0] * (L - 1)])[0]
            errors.append(np.abs(y_f - formula).max())
            least = min(least, float(y_f.min()))
            if C == 1.0:
                at_one.append(float(y_f.min()))
    return judged(max(errors) < 1e-12 and least > 0, "y f by formula, > 0 for every C > 0",
                  f"largest difference {max(errors):.1e}; at C = 1 y f = {listed(at_one)} for (K, L) = "
                  + ", ".join(map(str, SIZES)), note="the scores that training finds", tolerance=1e-12,
                  parameters={"C": (0.01, 0.3, 1, 5, 30)}, values={"error": float(max(errors))})  # fmt: skip


CLAIMS = [
    claim("6.1", "Lemma 6.1", "the printed construction solves K mixtures", printed_construction_classifies,
          control={"value": "c"}, regime="any K, L", levels="", what="printed construction",
          erratum=Erratum("values ±Σ v_k", "values -Σ c_k with the printed scores", "harmless", "6.1-repair-a")),
    claim("6.1-repair-a", "Lemma 6.1 [ours]", "printed scores with values -Σ c_k solve K mixtures",
          printed_scores_with_group_values_classify, control={"sign": 1}, regime="any K, L", levels=""),
    claim("6.1-repair-b", "Lemma 6.1 [ours]", "S_± = ±C Σ c_k v_kᵀ with w_± = Σ c_k solves K mixtures for every C > 0",
          group_key_construction_classifies, control={"key": "v", "query": "c"}, regime="any K, L", levels=""),
]  # fmt: skip
