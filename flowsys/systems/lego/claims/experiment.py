"""Section 7: a transformer of two heads, Adam, L = 5, on C6 and S5, and self-training of it; read from kept runs.

"Closely aligned with the theoretical setup", the block reads only what attention gives it, as in Definition 3.5: claims
are judged on runs without a residual around attention; what a residual changes stands in their notes. A length counts
as solved if at least 0.9 of the model's own rollouts have every value right. The paper states no width, number of
variables, batch or steps an epoch: ours are those of `section_7`.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from flowsys.claims import Claim, Experiment, Kit, Regime, Sides
from flowsys.systems.lego import section_7

GROUPS = ("C6", "S5")
SOLVED = 0.9
FALLEN = 0.95  # a ratio closer to 1 is no fall that a figure would show
FAR = 160
Results = Mapping[str, Any]


def first_stages(group: str, adds_query: bool = False) -> dict[int, Results]:
    """The results of training at L = 5, by seed; without a residual around attention unless told."""
    return {seed: results[0] for seed, results in section_7.kept(group, adds_query).items()}


def curve(results: Results, scale: float = 1.0) -> dict[int, float]:
    """Share of rollouts with every value right, by length; a `scale` below 1 makes a worse model of it."""
    return {int(L): scale * float(share) for L, share in results["all_right"].items()}


def solved_length(results: Results, scale: float = 1.0) -> int:
    """The longest tested length up to which every one is solved; 0 if the first is not."""
    longest = 0
    for L, share in sorted(curve(results, scale).items()):
        if share < SOLVED:
            break
        longest = L
    return longest


def _lengths(stages: Mapping[int, Results], scale: float = 1.0) -> list[int]:
    return [solved_length(stage, scale) for stage in stages.values()]


def _listed(numbers: Iterable[float]) -> str:
    return ", ".join(f"{x:g}" for x in numbers)


def _least_losses(group: str, adds_query: bool) -> str:
    return _listed(min(stage["losses"]) for stage in first_stages(group, adds_query).values())


def at_equal_loss(group: str, other: str) -> str:
    """What share of rollouts of one group is all right, by length, where its loss is not yet that of the other."""
    reached = max(min(stage["losses"]) for stage in first_stages(other).values())
    told = []
    for seed, stage in first_stages(group).items():
        before = [look for look in stage.get("course", ()) if look[1] >= reached]
        if before:
            _, loss, *shares = before[-1]
            told.append(f"seed {seed} at loss {loss:.2g}: {_listed(shares)}")
    return "; ".join(told) or "not looked at"


def cyclic_lengths(run: Kit, goal: int = FAR) -> dict[str, Sides]:
    """Figure 1a: the length that C6 solves, of every seed, against 160."""
    run.note(loss=_least_losses("C6", False), beside=_listed(_lengths(first_stages("C6", True))),
             beside_loss=_least_losses("C6", True))  # fmt: skip
    return {f"C6 seed {seed} solves": Sides(solved_length(stage), goal) for seed, stage in first_stages("C6").items()}


def cyclic_beyond_symmetric(run: Kit, scale: float = 1.0) -> dict[str, Sides]:
    """Figure 1a: C6's solved length against four times S5's, and S5's within a small multiple of 5."""
    near = max(_lengths(first_stages("S5"), scale))
    run.note(equal=at_equal_loss("S5", "C6"), lengths=_listed(section_7.COURSE_LENGTHS),
             **{f"{g}_losses": _least_losses(g, False) for g in GROUPS},
             **{f"{g}_beside": _listed(_lengths(first_stages(g, True))) for g in GROUPS},
             **{f"{g}_beside_losses": _least_losses(g, True) for g in GROUPS})  # fmt: skip
    return {"C6 beyond four times S5": Sides(min(_lengths(first_stages("C6"))), 4 * max(near, 5)),
            "S5 within a small multiple of 5": Sides(20, near)}  # fmt: skip


def self_trained(adds_query: bool = False) -> dict[int, list[section_7.Results]]:
    """The results of S5 by training length, of the seeds that went on to longer ones."""
    return {seed: results for seed, results in section_7.kept("S5", adds_query).items() if len(results) > 1}


def self_trained_lengths(run: Kit, last: int = -1) -> dict[str, Sides]:
    """Figure 1b: the length that S5 solves after 5 → 10 → 20 → 40, of every seed, against 160; and stage by stage."""
    runs, beside = self_trained(), self_trained(adds_query=True)
    more = section_7.kept("S5", longer=len(section_7.DOUBLED_LENGTHS))
    far = lambda runs, stage: _listed(curve(results[stage])[FAR] for results in runs.values())
    run.note(first=_listed(solved_length(results[0]) for results in runs.values()),
             share=far(runs, 0), shares=far(runs, last), control=far(more, 0) or "not run",
             beside=far(beside, 0), beside_shares=far(beside, last))  # fmt: skip
    found: dict[str, Any] = {
        f"seed {seed} solves": Sides(solved_length(stages[last]), FAR) for seed, stages in runs.items()
    }
    found |= {f"seed {seed} beyond as many steps at the first length":
              Sides(curve(runs[seed][last])[FAR], curve(results[0])[FAR]) for seed, results in more.items()
              if seed in runs}  # fmt: skip
    later = [curve(b)[FAR] - curve(a)[FAR] for stages in runs.values() for a, b in pairwise(stages)]
    return found | {"every stage extends it": min(later) >= 0}


def _rows_right(model: Results, shown: str, shift: int) -> tuple[int, int]:
    """Rows whose two largest entries are the right ones and above even attention, and all rows."""
    found = model["attention"]["5"]
    attention, L = np.array(found[shown]["map"]), len(found[shown]["map"])
    place = np.argsort(found["order"]) if shown == "shuffled" else np.arange(L)
    right = 0
    for ell, row in enumerate(attention):
        wanted, visible = {int(place[(ell + shift) % L]), L + ell}, row[: L + ell + 1]
        right += set(np.argsort(visible)[-2:].tolist()) == wanted and min(row[list(wanted)]) > 1 / len(visible)
    return right, L


def diagonals(run: Kit, shown: str = "in_order", shift: int = 0) -> dict[str, Sides]:
    """Figures 2, 5: rows where ans_ℓ attends most to pred_{ℓ+1} and to itself, of all rows."""
    for group in GROUPS:
        beside = [_rows_right(m, shown, shift) for m in first_stages(group, True).values()]
        run.note(**{f"{group}_rows": sum(r for r, _ in beside), f"{group}_of": sum(n for _, n in beside)})
    return {f"{group} seed {seed}": Sides(*_rows_right(model, shown, shift))
            for group in GROUPS for seed, model in first_stages(group).items()}  # fmt: skip


def permuted_diagonals(run: Kit, shift: int = 0) -> dict[str, Sides]:
    """Figure 5: with the predicates permuted the diagonal follows the permutation."""
    return diagonals(run, "shuffled", shift)


def attention_by_position(group: str, L: int, kind: str) -> np.ndarray:
    """Attention on the right clause by position, mean over seeds."""
    return np.mean([m["attention"][str(L)]["in_order"][kind] for m in first_stages(group).values()], axis=0)


def dilution(run: Kit, share: float = FALLEN) -> dict[str, Sides]:
    """Figures 6, 7: mean attention at L = 10 times 0.95 against that at L = 20."""
    found = {}
    for group in GROUPS:
        for kind in ("predicate", "answer"):
            short, long = (float(attention_by_position(group, L, kind).mean()) for L in (10, 20))
            found[f"{group} {kind}"] = Sides(share * short, long)
    return found


def lost(line: np.ndarray) -> float:
    """How much of the attention of the first quarter is lost in the last."""
    quarter = max(len(line) // 4, 1)
    return float(1 - line[-quarter:].mean() / line[:quarter].mean())


def decay(run: Kit, kind: str, falling: str, steady: str, tilt: float = 0.0) -> dict[str, Sides]:
    """Attention lost along L = 20: a tenth at least of one group, of the other less than half as much."""
    first = lost(attention_by_position(falling, 20, kind) * np.linspace(1, 1 - tilt, 20))
    second = lost(attention_by_position(steady, 20, kind))
    return {f"{falling} loses": Sides(first, 0.1), f"{steady} keeps": Sides(first / 2, second)}


def predicates_along_the_chain(run: Kit, tilt: float = 0.0) -> dict[str, Sides]:
    """Figure 6: predicate attention falls with ℓ for S5, and hardly for C6."""
    return decay(run, "predicate", "S5", "C6", tilt)


def answers_along_the_chain(run: Kit, tilt: float = 0.0) -> dict[str, Sides]:
    """Figure 7: answer attention falls with ℓ for C6, and hardly for S5."""
    return decay(run, "answer", "C6", "S5", tilt)


KEPT: dict[str, Any] = {
    "kind": Experiment(),
    "regime": Regime(text="two heads, Adam, rate 1e-4, 300 epochs, L = 5"),
    "takes": "",
}
CLAIMS = [
    Claim("fig_1a_C6", "Figure 1a, Section 7", "trained at L = 5, C6 is solved up to L = 160", measure=cyclic_lengths,
          **KEPT, control={"goal": 20},
          note="least loss {loss}; with a residual around attention solved to {beside}, at least losses {beside_loss}"),
    Claim("fig_1a", "Figure 1a, Section 7", "C6 and S5 separate in length generalisation",
          measure=cyclic_beyond_symmetric, **KEPT, control={"scale": 0.0},
          note="least losses {C6_losses} and {S5_losses}; before the cyclic group's loss is reached, the other's "
          "shares at L = {lengths} are {equal}; with a residual the lengths are {C6_beside} and {S5_beside} at "
          "least losses {C6_beside_losses} and {S5_beside_losses}"),
    Claim("fig_1b", "Figure 1b, Section 7", "self-training 5 → 10 → 20 → 40 extends S5 to L = 160",
          measure=self_trained_lengths, **KEPT, control={"last": 0},
          note="shares of all-right rollouts at the longest length go from {share} to {shares}; as many steps more at "
          "the first length alone give {control}; the first stage solves {first}; with a residual the shares go from "
          "{beside} to {beside_shares}"),
    Claim("fig_2", "Figure 2, Section 7", "attention has the two diagonals", measure=diagonals, **KEPT,
          control={"shift": 1}, note="with a residual, rows: {C6_rows} of {C6_of}, {S5_rows} of {S5_of}"),
    Claim("fig_5", "Figure 5, Section 7", "retrieval follows the variable, not the position",
          measure=permuted_diagonals, **KEPT, control={"shift": 1},
          note="with a residual, rows: {C6_rows} of {C6_of}, {S5_rows} of {S5_of}"),
    Claim("fig_6_7", "Figures 6, 7, Section 7", "attention on both targets falls with the length", measure=dilution,
          **KEPT, control={"share": 1.1}),
    Claim("fig_6", "Figure 6, Section 7", "S5 loses predicate attention with position, C6 does not",
          measure=predicates_along_the_chain, **KEPT, control={"tilt": 0.5}),
    Claim("fig_7", "Figure 7, Section 7", "C6 loses answer attention with position, S5 does not",
          measure=answers_along_the_chain, **KEPT, control={"tilt": 0.95}),
]  # fmt: skip
