"""Attention at the end of stage 2: where it concentrates and what stays symmetric (Theorem 4.1, Theorem E.7)."""

from typing import Any

import numpy as np
from scipy.special import softmax

from flowsys.claims import Claim, Kit, Order, Sign
from flowsys.systems.mixture.claims.measured import SEEN, matrix_of
from flowsys.systems.mixture.claims.regimes import BOUNDED_SCORES, SMALLER_OMEGA, TRAINED

POSITIVE = {"c_1": (0, 1), "v_1": (2, 1), "v_2": (3, 1)}
"""X_{1,+,+} as (token, sign), tokens c_1, c_2, v_1, v_2."""
MIRRORED = {"c_1": (0, 1), "v_1": (3, -1), "v_2": (2, -1)}
"""X_{1,-,-}, each token under the name of its partner in X_{1,+,+}: v_1 ↔ -v_2, v_2 ↔ -v_1."""
UNMIRRORED = {"c_1": (0, 1), "v_1": (2, -1), "v_2": (3, -1)}
"""X_{1,-,-} with v_1 ↔ -v_1, v_2 ↔ -v_2: not the theorem's pairs."""
NAMES = {"v": "v_1", "d": "-v_2"}


def gap_between_heads(run: Kit, key: str = "c") -> dict[str, float]:
    """p^(+)(q, c_1) - p^(-)(q, c_1) at T_2 for the queries v_1 and -v_2 of X_{1,+,-}."""
    v = run.values("T_2", observe=SEEN)
    return {name: v[f"p_plus_{q}_{key}"] - v[f"p_minus_{q}_{key}"] for q, name in NAMES.items()}


def gap_of_the_group_query(run: Kit, key: str = "c") -> dict[str, float]:
    """p^(+)(c_1, c_1) - p^(-)(c_1, c_1) at T_2."""
    v = run.values("T_2", observe=SEEN)
    return {"gap": v[f"p_plus_c_{key}"] - v[f"p_minus_c_{key}"]}


def gap_between_keys(run: Kit, queries: str, keys: tuple[str, str] = ("v", "d")) -> dict[str, float]:
    """|p(q, v_1) - p(q, -v_2)| of the positive head on X_{1,+,-} at T_2, of the negative one on X_{1,-,+} alike."""
    v, (first, second) = run.values("T_2", observe=SEEN), keys
    return {f"{side}, {NAMES.get(q, 'c_1')}": abs(v[f"p_{side}_{q}_{first}"] - v[f"p_{side}_{q}_{second}"])
            for side in ("plus", "minus") for q in queries}  # fmt: skip


def gap_between_queries(run: Kit, other: str = "d") -> float:
    """|p(-v_2, c_1) - p(v_1, c_1)| on X_{1,+,-} at T_2."""
    v = run.values("T_2", observe=SEEN)
    return abs(v["p_plus_v_c"] - v[f"p_plus_{other}_c"])


def _attention(S: np.ndarray, sample: dict[str, tuple[int, int]]) -> np.ndarray:
    """p[query, key] of a head with scores S on a sample of signed tokens."""
    token, sign = np.array(list(sample.values())).T
    return softmax(sign[:, None] * sign * S[np.ix_(token, token)], axis=0).T


def gap_between_consistent_samples(run: Kit, partners: dict[str, tuple[int, int]] = MIRRORED) -> dict[str, float]:
    """|p(X_{1,+,+}) - p(X_{1,-,-})| at T_2, the largest over keys by query, v_1 ↔ -v_2."""
    S = matrix_of(run.values("T_2", observe=SEEN), 2)
    gaps = np.abs(_attention(S, POSITIVE) - _attention(S, partners))
    return {q: float(gaps[i].max()) for i, q in enumerate(POSITIVE)}


def group_part_of_the_output(run: Kit, sides: tuple[str, str] = ("plus", "minus")) -> float:
    """w_c Σ_q (p^(+)(q, c_1) - p^(-)(q, c_1)) on X_{1,+,-} at T_3: what the group signal adds to f."""
    v, (first, second) = run.values("T_3", observe=SEEN), sides
    return v["w_c"] * sum(v[f"p_{first}_{q}_c"] - v[f"p_{second}_{q}_c"] for q in "cvd")


def classification_part_of_the_output(run: Kit, key: str = "d") -> float:
    """|w_v Σ_q (p^(+)(q, v_1) - p^(+)(q, -v_2))| on X_{1,+,-} at T_3: what the classification signals add."""
    v = run.values("T_3", observe=SEEN)
    return abs(v["w_v"] * sum(v[f"p_plus_{q}_v"] - v[f"p_plus_{q}_{key}"] for q in "cvd"))


SMALL = Order("Õ", lambda p: p.omega, floor=1e-13)
COMMON: dict[str, Any] = {"path": SMALLER_OMEGA, "regime": BOUNDED_SCORES}
CLAIMS = [
    Claim("E.7", "Theorem E.7, Theorem 4.1", "queries v_1, -v_2: the heads' attention to c_1 differs by Θ(1)",
          Order("Θ"), gap_between_heads, **COMMON, levels=TRAINED, control={"key": "v"}),
    Claim("E.7-consistent", "Theorem E.7", "X_{1,+,+} and X_{1,-,-} are attended alike, v_1 ↔ -v_2, up to Õ(ω)", SMALL,
          gap_between_consistent_samples, **COMMON, levels="L3", control={"partners": UNMIRRORED}),
    Claim("E.7-queries", "Theorem E.7", "queries v_1 and -v_2 attend to c_1 alike, up to Õ(ω)", SMALL,
          gap_between_queries, **COMMON, levels=TRAINED, control={"other": "c"}),
    Claim("4.1-group-query", "Theorem 4.1, Theorem E.7", "query c_1: p^(+) - p^(-) on c_1 is > 0",
          Sign({"gap": 1}, strict=True), gap_of_the_group_query, **COMMON, levels=TRAINED, control={"key": "v"}),
    Claim("4.1-symmetry-v", "Theorem 4.1, Theorem E.7", "queries v_1, -v_2: |p(v_1) - p(-v_2)| ≤ Õ(ω)", SMALL,
          lambda run, keys=("v", "d"): gap_between_keys(run, "vd", keys), **COMMON, levels=TRAINED,
          control={"keys": ("c", "v")}),
    Claim("4.1-symmetry-c", "Theorem 4.1, Theorem E.7", "query c_1: |p(v_1) - p(-v_2)| ≤ Õ(ω)", SMALL,
          lambda run, queries="c", keys=("v", "d"): gap_between_keys(run, queries, keys), **COMMON, levels=TRAINED,
          control={"queries": "v", "keys": ("c", "v")}),
    Claim("4.1-output-c", "Theorem 4.1", "at T_3 w_c Σ_q (p^(+) - p^(-))(q, c_1) ≥ Ω(1) on X_{1,+,-}", Order("Ω"),
          group_part_of_the_output, **COMMON, at={"t_max": 1e12}, what="display", levels=TRAINED,
          control={"sides": ("plus", "plus")}),
    Claim("4.1-output-v", "Theorem 4.1", "at T_3 w_v Σ_q (p^(+)(q, v_1) - p^(+)(q, -v_2)) ≈ 0, up to Õ(ω)", SMALL,
          classification_part_of_the_output, **COMMON, at={"t_max": 1e12}, what="display", levels=TRAINED,
          control={"key": "c"}),
]  # fmt: skip
