"""More groups: what Figs. 5–7 and Observation 1 show, and the mean sector."""

from typing import Any

import numpy as np

from flowsys.claims import Claim, Experiment, Inequality, Kit, Sides
from flowsys.systems.mixture.claims.measured import SCORES, SEEN
from flowsys.systems.mixture.claims.regimes import TRAINED

GROUPS = (3, 4, 8)
ENDS = {2: 3e3, 3: 3e3, 4: 6e3, 8: 2e4}


def stagewise(run: Kit, swap: bool = False) -> dict[str, Sides]:
    """What is seen in simultaneous training: each finding as a number that has to be at least another.

    A loss has fallen at half of log 2, a score has moved at 1/2.
    """
    there = run.course(0.0, "2.5 T_2", 300, observe=SEEN)
    kinds = ("conflicting", "consistent") if swap else ("consistent", "conflicting")
    easy, hard = (_first(there[f"loss_{kind}"] < np.log(2) / 2) for kind in kinds)
    moved = _first(there["S_cv_same"] > 0.5)
    t = lambda row: float(there.t[row]) if row < len(there) else np.inf
    largest = lambda row, names: max(abs(there[f"{x}_{part}"][row]) for x in names for part in ("same", "diff"))
    run.note(consistent=t(easy), conflicting=t(hard), scores=t(moved))
    return {
        "consistent samples are learnt first": Sides(t(hard), 2 * t(easy)),
        "neurons align before scores move": Sides(there["w_v"][min(easy, len(there) - 1)],
                                                  10 * largest(min(easy, len(there) - 1), SCORES)),
        "the conflicting loss falls when scores move": Sides([1.25 * t(moved), 1.25 * t(hard)], [t(hard), t(moved)]),
        "S_cv of the same group grows most": Sides(there["S_cv_same"][-1], 2 * largest(-1, ("S_cc", "S_vc", "S_vv"))),
        "S_cv of different groups falls": Sides(-there["S_cv_diff"][-1], 0.1),
    }  # fmt: skip


def _first(marks: np.ndarray) -> int:
    """The first row that is marked; one past the last if none is."""
    return int(np.argmax(marks)) if marks.any() else len(marks)


def times_of_learning(run: Kit, groups: tuple[int, ...] = (2, 3, 4, 8)) -> dict[str, bool]:
    """Observation 1: when simultaneous training comes to loss ε, by the number of groups."""
    kits = [run.at(K=K, t_max=800.0 * K) for K in groups]
    learnt, onset = ([kit.time(event) for kit in more] for event, more in
                     (("T_3", kits), ("T_2", [kit.at(s_star=0.5) for kit in kits])))  # fmt: skip
    run.note(learnt=[round(t, 1) for t in learnt], onset=[round(t, 1) for t in onset], groups=list(groups))
    return {"every K is learnt": bool(np.isfinite(learnt).all()),
            "more groups take longer": bool((np.diff(learnt) > 0).all())}  # fmt: skip


def asymmetry_of_groups(run: Kit) -> dict[str, Sides]:
    """Observation 1: |S_cv_same + S_cv_diff| over S_cv_same late in training; 0 under near symmetry."""
    v = run.values(ENDS[run.p.K], observe=SEEN)
    off = abs(v["S_cv_same"] + v["S_cv_diff"]) / abs(v["S_cv_same"])
    return {"near symmetry is lost": Sides(off, 0.1)}


def mean_and_difference(run: Kit, others: float = 1.0) -> tuple[float, float]:
    """[ours] |S_cv_same + (K-1) S_cv_diff| and |S_cv_same - S_cv_diff| late in training."""
    v, K = run.values(ENDS[run.p.K], observe=SEEN), run.p.K
    return abs(v["S_cv_same"] + (K - 1) ** others * v["S_cv_diff"]), abs(v["S_cv_same"] - v["S_cv_diff"])


SIMULTANEOUS: dict[str, Any] = {"mode": "simultaneous", "levels": TRAINED}
CLAIMS = [
    Claim("observation_1", "Observation 1", "K ≥ 3 is learnt, more slowly with more groups", Experiment(),
          times_of_learning, at={"L": 3}, what="experiment", **SIMULTANEOUS,
          takes="omega b L", control={"groups": (3, 2)},
          note="loss ε at t = {learnt}, S_cv moved at {onset} for K = {groups}"),
    Claim("observation_1-longer", "Observation 1", "it is so with two distractors too", Experiment(), times_of_learning,
          at={"L": 4}, what="experiment", sharpens="observation_1", **SIMULTANEOUS, takes="omega b",
          control={"groups": (3, 2)}, note="loss ε at t = {learnt}, S_cv moved at {onset} for K = {groups}"),
    Claim("observation_1-symmetry", "Observation 1", "near symmetry S_same ≈ -S_diff no longer holds for K ≥ 3",
          Experiment(), asymmetry_of_groups, at=[{"K": K} for K in GROUPS], what="experiment", **SIMULTANEOUS,
          takes="omega b", control={"at": {"K": 2}}),
    Claim("observation_1-stages", "Figs. 5, 6, 7, Sec. 6, Appendix A.4",
          "training is still stage-wise for K = 3, 4, 8, and S_cv grows most", Experiment(), stagewise,
          at=[{"K": K} for K in GROUPS], what="experiment", **SIMULTANEOUS, takes="omega b", control={"swap": True}),
    Claim("mean_sector", "Observation 1 [ours]", "near symmetry is S_same ≈ -(K-1) S_diff for every K, within 5 %",
          Inequality("<=", constant=0.05), mean_and_difference, at=[{"K": K} for K in GROUPS], **SIMULTANEOUS,
          takes="omega b", control={"others": 0.0}),
]  # fmt: skip
