"""Section 7: a transformer of two heads, Adam, L = 5, on C6 and S5, and self-training of it; read from kept runs.

A length counts as solved if at least 0.9 of the model's own rollouts have every value right.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flowsys.claims import Claim, Regime, Verdict, Word, judged, listed, word_of
from flowsys.systems.lego import section_7
from flowsys.systems.lego.claims.runs import by_name, claim

GROUPS = ("C6", "S5")
SOLVED = 0.9
FALLEN = 0.95  # a ratio closer to 1 is no fall that a figure would show


def kept(group: str, seed: int = 0) -> list[dict[str, Any]]:
    """The results of a group by training length; none if no run has been kept."""
    try:
        return section_7.packaged(group, seed=seed)
    except FileNotFoundError:
        return []


def first_stages(group: str) -> dict[int, dict[str, Any]]:
    """The results of training at L = 5, by seed."""
    return {seed: kept(group, seed)[0] for seed in section_7.packaged_seeds(group)}


def curve(results: Mapping[str, Any], scale: float = 1.0) -> dict[int, float]:
    """Share of rollouts with every value right, by length; a `scale` below 1 makes a worse model of it."""
    return {int(L): scale * float(share) for L, share in results["all_right"].items()}


def solved_length(results: Mapping[str, Any], scale: float = 1.0) -> int:
    """The longest tested length up to which every one is solved; 0 if the first is not."""
    longest = 0
    for L, share in sorted(curve(results, scale).items()):
        if share < SOLVED:
            break
        longest = L
    return longest


def _settings(results: Mapping[str, Any]) -> dict[str, Any]:
    experiment = results["experiment"]
    names = ("group", "L", "n_x", "epochs", "steps_per_epoch", "batch", "learning_rate", "seed")
    return {name: experiment[name] for name in names if name in experiment}


def cyclic_group_is_solved_far_beyond_its_training(scale: float = 1.0) -> Verdict:
    """Figure 1a: trained at L = 5, C6 is near 1 up to L = 160."""
    stages = first_stages("C6")
    lengths = {seed: solved_length(stage, scale) for seed, stage in stages.items()}
    longest, shares = min(lengths.values()), curve(stages[0], scale)
    word = Word.HOLDS if longest >= 160 else Word.IN_PART if longest > 10 else Word.FAILS
    return Verdict(word, "all values right with probability near 1 up to L = 160",
                   f"C6: {by_name(shares, '.3f')}; solved to L = {_by_seed(lengths)}",
                   f"least loss {min(stages[0]['losses']):.2g}", tolerance=SOLVED,
                   parameters=_settings(stages[0]) | {"seed": list(lengths)}, values={"L_star": lengths})  # fmt: skip


def cyclic_group_goes_further_than_symmetric(scale: float = 1.0) -> Verdict:
    """Figure 1a: S5 extends only by a constant factor beyond L = 5, far less than C6; every seed is to show it."""
    far = {seed: solved_length(stage) for seed, stage in first_stages("C6").items()}
    near = {seed: solved_length(stage, scale) for seed, stage in first_stages("S5").items()}
    at_20 = {group: curve(kept(group)[0])[20] for group in GROUPS}
    bare = {group: solved_length(section_7.packaged(group, adds_query=False)[0]) for group in GROUPS}
    separate = min(far.values()) >= 4 * max(*near.values(), 5) and max(near.values()) <= 20
    return judged(separate, "C6 ≫ S5 ~ a small multiple of 5",
                  f"solved lengths C6 {_by_seed(far)}, S5 {_by_seed(near)}; at L = 20: {by_name(at_20, '.3f')}",
                  note="Adam and two heads: not the flow of the theory, where the factor is 1 to 3; without a residual "
                  f"around attention {by_name(bare, 'g')} (one seed)", tolerance=SOLVED,
                  parameters=_settings(kept("S5")[0]) | {"seed": list(near)},
                  values={"C6": far, "S5": near})  # fmt: skip


def self_training_extends_the_symmetric_group(last: int = -1) -> Verdict:
    """Figure 1b: S5 self-trained at 10, 20, 40 ends near 1 up to L = 160."""
    runs = {seed: kept("S5", seed) for seed in section_7.packaged_seeds("S5")}
    runs = {seed: stages for seed, stages in runs.items() if len(stages) > 1}
    stages = runs[0]
    lengths = {f"trained to {r['trained_to']}": solved_length(r) for r in stages}
    ends = {seed: solved_length(run[last]) for seed, run in runs.items()}
    first, end = max(solved_length(run[0]) for run in runs.values()), min(ends.values())
    word = Word.HOLDS if end >= 160 else Word.IN_PART if end > max(first, 5) else Word.FAILS
    return Verdict(word, "each stage shifts the curve; the last is near 1 up to 160",
                   f"solved to {by_name(lengths, 'g')}; in the end {_by_seed(ends)}",
                   f"kept up to L = {stages[-1]['trained_to']}; last: {by_name(curve(stages[last]), '.3f')}; "
                   + _with_as_many_steps_at_5(),
                   tolerance=SOLVED, parameters=_settings(stages[last]) | {"seed": list(runs)},
                   values=lengths)  # fmt: skip


def _with_as_many_steps_at_5() -> str:
    """The control: as many steps more, all of them at L = 5."""
    more = section_7.packaged_controls("S5")
    solved = {seed: solved_length(results) for seed, results in more.items()}
    at = [f"seed {seed} {curve(results)[160]:.3f}" for seed, results in more.items()]
    return f"as many more steps at L = 5 alone solve to {_by_seed(solved)}, L = 160: {', '.join(at)}"


def _by_seed(lengths: Mapping[int, int]) -> str:
    return f"{', '.join(map(str, lengths.values()))} ({len(lengths)} seed{'s' if len(lengths) > 1 else ''})"


def attention_has_two_diagonals(shown: str = "in_order", shift: int = 0) -> Verdict:
    """Figures 2, 5: ans_ℓ attends to pred_{ℓ+1} and to itself more than to any other clause, and than evenly."""
    shares, rows_right = {}, []
    for name, model in (pair for group in GROUPS for pair in _models(group).items()):
        found = model["attention"]["5"]
        attention, order = np.array(found[shown]["map"]), np.array(found["order"])
        L = len(attention)
        place = np.argsort(order) if shown == "shuffled" else np.arange(L)
        for ell, row in enumerate(attention):
            wanted = {int(place[(ell + shift) % L]), L + ell}
            visible = row[: L + ell + 1]
            is_largest = set(np.argsort(visible)[-2:].tolist()) == wanted
            rows_right.append(is_largest and min(row[list(wanted)]) > 1 / len(visible))
        at = np.arange(L)
        shares[f"{name} predicate"] = float(attention[at, place[(at + shift) % L]].mean())
        shares[f"{name} answer"] = float(attention[at, L + at].mean())
    return Verdict(word_of(rows_right), "the two largest of every row, both above even attention",
                   f"{sum(rows_right)} of {len(rows_right)} rows; mean attention {by_name(shares, '.2g')}",
                   "mean of both heads over 100 sentences, L = 5, predicates "
                   + ("in random order" if shown == "shuffled" else "in order"),
                   parameters={"groups": GROUPS, "L": 5}, values=shares)  # fmt: skip


def _models(group: str) -> dict[str, dict[str, Any]]:
    """Every model trained at L = 5; that without a residual around attention sees nothing but what it attends to."""
    seeds = {f"{group} seed {seed}": stage for seed, stage in first_stages(group).items()}
    return seeds | {f"{group} without residual": section_7.packaged(group, adds_query=False)[0]}


def predicates_in_any_order_are_found(shift: int = 0) -> Verdict:
    """Figure 5: with the predicates permuted the diagonal follows the permutation."""
    return attention_has_two_diagonals("shuffled", shift)


def _diagonals(group: str, L: int, kind: str) -> dict[str, np.ndarray]:
    """Attention on the right clause by position, of every model trained at L = 5."""
    return {name: np.array(model["attention"][str(L)]["in_order"][kind]) for name, model in _models(group).items()}


def _fall(line: np.ndarray) -> float:
    """How much of the attention of the first quarter is lost in the last."""
    quarter = max(len(line) // 4, 1)
    return float(1 - line[-quarter:].mean() / line[:quarter].mean())


def attention_dilutes_with_length(lengths: tuple[int, int] = (10, 20)) -> Verdict:
    """Figures 6, 7: attention on the right predicate and on the answer falls from L = 10 to L = 20."""
    ratios, falls = {}, []
    for group in GROUPS:
        for kind in ("predicate", "answer"):
            short, long = (_diagonals(group, L, kind) for L in lengths)
            for name in short:
                ratios[f"{name} {kind}"] = ratio = float(long[name].mean() / short[name].mean())
                # attention below an even share is none that could fall
                falls.append(ratio < FALLEN and short[name].mean() > 1 / (2 * lengths[0]))
    return Verdict(word_of(falls), f"attention above an even share, ratio < {FALLEN:g}",
                   f"{sum(falls)} of {len(falls)}; L = {lengths[1]} over {lengths[0]}: {by_name(ratios, '.3f')}",
                   "where the query's own answer has next to no attention, the residual carries it",
                   tolerance=1 - FALLEN, parameters={"L": lengths}, values=ratios)  # fmt: skip


def symmetric_group_loses_predicates_with_position(tilt: float = 0.0) -> Verdict:
    """Figure 6: predicate attention falls with ℓ for S5, and hardly for C6 (L = 20)."""
    return _more_decay("predicate", ("S5", "C6"), tilt)


def cyclic_group_loses_answers_with_position(tilt: float = 0.0) -> Verdict:
    """Figure 7: answer attention falls with ℓ for C6, and hardly for S5 (L = 20)."""
    return _more_decay("answer", ("C6", "S5"), tilt)


def _more_decay(kind: str, pair: tuple[str, str], tilt: float = 0.0) -> Verdict:
    """`tilt` lowers the first group's attention along the chain by that share."""
    first, second = (_diagonals(group, 20, kind) for group in pair)
    first = {name: line * np.linspace(1, 1 - tilt, 20) for name, line in first.items()}
    falls = {name: _fall(line) for name, line in (first | second).items()}
    least, most = min(falls[name] for name in first), max(falls[name] for name in second)
    return judged(least > 0.1 and most < least / 2, f"{pair[0]} falls, {pair[1]} less than half as much",
                  f"{kind} attention lost from the first to the last quarter of L = 20: {by_name(falls, '.3f')}",
                  note="; ".join(f"{name} {listed(line[::5], '.2g')}" for name, line in (first | second).items()),
                  tolerance=0.1, parameters={"L": 20}, values=falls)  # fmt: skip


def _stored_claim(
    needs: tuple[str, ...], id: str, place: str, statement: str, measure, *, control, stages: int = 1
) -> Claim:
    """A claim on kept runs; not testable while there are none."""
    missing = [group for group in needs if len(kept(group)) < stages]
    regime = "two heads, Adam 1e-4, L = 5"
    if missing:
        reason = f"no finished run of {' and '.join(missing)} is kept yet: flowsys.systems.lego.section_7.run makes it"
        return Claim(id, place, statement, regime=Regime(text=regime), reason=reason)
    return claim(id, place, statement, measure, control=control, regime=regime)


CLAIMS = [
    _stored_claim(("C6",), "fig_1a_C6", "Figure 1a", "trained at L = 5, C6 is solved up to L = 160",
                  cyclic_group_is_solved_far_beyond_its_training, control={"scale": 0.5}),
    _stored_claim(GROUPS, "fig_1a", "Figure 1a", "C6 and S5 separate in length generalisation",
                  cyclic_group_goes_further_than_symmetric, control={"scale": 0.5}),
    _stored_claim(("S5",), "fig_1b", "Figure 1b", "self-training 5 → 10 → 20 → 40 extends S5 to L = 160",
                  self_training_extends_the_symmetric_group, control={"last": 0}, stages=2),
    _stored_claim(GROUPS, "fig_2", "Figure 2", "attention has the two diagonals", attention_has_two_diagonals,
                  control={"shift": 1}),
    _stored_claim(GROUPS, "fig_5", "Figure 5", "retrieval follows the variable, not the position",
                  predicates_in_any_order_are_found, control={"shift": 1}),
    _stored_claim(GROUPS, "fig_6_7", "Figures 6, 7", "attention on both targets falls with the length",
                  attention_dilutes_with_length, control={"lengths": (20, 10)}),
    _stored_claim(GROUPS, "fig_6", "Figure 6", "S5 loses predicate attention with position, C6 does not",
                  symmetric_group_loses_predicates_with_position, control={"tilt": 0.5}),
    _stored_claim(GROUPS, "fig_7", "Figure 7", "C6 loses answer attention with position, S5 does not",
                  cyclic_group_loses_answers_with_position, control={"tilt": 0.95}),
]  # fmt: skip
