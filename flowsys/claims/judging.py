"""From a declared claim to its verdict: measure at its places, keep those in its regime, let its kind judge.

A claim is measured at its own places with what was asked for in them. Places outside its regime are measured too, for
the least hidden constant that works, but only those inside are judged. Asked for where all lie outside, the answer is
`outside the regime`, with what was measured; a regime that no allowed parameters reach is `not testable`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from flowsys.claims.conditions import Conditions
from flowsys.claims.kit import Kit, NotReached
from flowsys.claims.measurements import Finding, Point, Sides, branches, placed, shown, together
from flowsys.claims.regime import Values
from flowsys.claims.verdict import Verdict, Word, untested
from flowsys.errors import InputError
from flowsys.runs.trajectory import Trajectory
from flowsys.system import System

if TYPE_CHECKING:
    from flowsys.claims.claim import Claim


POINTWISE = ("identity", "inequality", "sign", "existence")


def judgement(claim: "Claim", system: System, conditions: Conditions) -> Verdict:
    """The verdict of a declared claim under conditions."""
    asked = dict(conditions.parameters)
    kit = Kit(system, asked, conditions.level, claim.mode, claim.variants)
    points, unreached, refused, last = [], [], [], kit
    for sets, branch, given in places_of(claim, kit, asked):
        there = kit.at(**given)
        margin = np.nan
        try:
            margin = claim.regime.margin(there.p)
            measured = _measured(claim, there)
        except NotReached as error:
            unreached.append((margin, f"{placed(sets)}: {error}" if sets else str(error)))
            continue
        except MemoryError:
            unreached.append((margin, f"{placed(sets) or 'here'}: it takes more memory than there is"))
            continue
        except InputError as error:
            if margin >= 1 or np.isnan(margin):
                raise
            refused.append(str(error))
            continue
        if claim.kind.name in POINTWISE and not _is_finite(measured):
            unreached.append((margin, f"{placed(sets) or 'here'}: a value is not finite"))
            continue
        points.append(Point(sets, there.p, measured, margin, branch))
        last = there
    inside = [point for point in points if point.margin >= 1]
    missed = [sentence for margin, sentence in unreached if margin >= 1]
    if claim.regime and not inside and not missed:
        return _outside(claim, system, asked, points, unreached, refused, last)
    if not inside:
        return replace(untested(together(missed)), inside=True, predicted=predicted(claim))
    finding = _judged(claim, inside, last)
    if missed and finding.word is Word.HOLDS:  # where nothing can be measured nothing is decided
        finding = replace(finding, word=Word.NOT_TESTABLE)
    return _verdict(claim, system, asked, finding, inside, points, missed, last)


def _measured(claim: "Claim", kit: Kit) -> Any:
    assert claim.measure is not None
    by_starts = getattr(claim.kind, "measured", None)
    return by_starts(claim.measure, kit) if by_starts else claim.measure(kit)


def _is_finite(measured: Any) -> bool:
    """Whether every number that was measured is one; of a trajectory its own solver has seen to that."""
    if isinstance(measured, Mapping):
        return all(map(_is_finite, measured.values()))
    if isinstance(measured, Sides):
        return bool(np.isfinite(measured.left).all() and np.isfinite(measured.right).all())
    if isinstance(measured, Trajectory):
        return True
    if isinstance(measured, tuple | list):
        return all(map(_is_finite, measured))
    return bool(np.isfinite(measured).all())


def places_of(
    claim: "Claim", kit: Kit, asked: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
    """(what tells a place apart, its path, all that it sets); what was asked for takes the place of the claim's own."""
    several = [claim.at] if isinstance(claim.at, Mapping) else list(claim.at)
    seen = []
    for own in several:
        own = {**own, **{name: asked[name] for name in own if name in asked}}
        if own in seen:
            continue
        seen.append(own)
        apart = own if len(several) > 1 else {}
        if claim.path is None:
            yield apart, "", {**asked, **own}
            continue
        for point in claim.path.points(Values({**kit.at(**own).p})):
            yield {**point, **apart}, placed(apart), {**asked, **own, **point}


def _judged(claim: "Claim", points: Sequence[Point], kit: Kit) -> Finding:
    fewest = 3 if claim.kind.name.startswith(("order", "limit")) and claim.path is not None else 1
    if min(map(len, branches(points).values())) < fewest:
        where = "inside the regime " if claim.regime else ""
        return Finding(Word.NOT_TESTABLE, "", f"the path has {len(points)} places {where}that can be measured")
    return claim.kind.judge(points, kit)


def predicted(claim: "Claim") -> str:
    """What is checked, in the words of the kind."""
    along = f" along {claim.path.name} to {shown(claim.path.values[-1])}" if claim.path else ""
    return claim.kind.predicted + along


def _verdict(claim: "Claim", system: System, asked, finding: Finding, inside, points, missed, kit: Kit) -> Verdict:
    margin = min(point.margin for point in inside)
    best, breaks = _best_constants(claim, finding, points, kit)
    values = {**kit.noted, **finding.values, **best}
    note = [finding.note, together(missed), _template(claim.note, {**kit.p, **_flat(values)}),
            _where(claim, system, margin, best, breaks)]  # fmt: skip
    return Verdict(
        finding.word, predicted(claim), finding.measured, together(note), finding.interval, finding.tolerance,
        _parameters(claim, asked), values, finding.fits, True, margin if isfinite(margin) else None,
        finding.constant, finding.breaks_at,
    )  # fmt: skip


def _outside(claim: "Claim", system: System, asked, points, unreached, refused, kit: Kit) -> Verdict:
    """Where the paper claims nothing: what was measured there, or that there is nowhere to measure."""
    usual = Kit(system, {}, None, claim.mode, claim.variants)
    at_its_own = [claim.regime.margin(usual.at(**given).p) for _, _, given in places_of(claim, usual, {})]
    reach = np.array([*claim.regime.over_box(system, claim.mode), *at_its_own])  # fixed values are met by no draw
    found = _judged(claim, points, kit) if points else None
    margins = [point.margin for point in points] + [margin for margin, _ in unreached]
    margin = float(max(margins)) if margins else None
    if not (reach >= 1).any():
        note = f"no allowed parameters lie in the regime {claim.regime}: the largest margin is {shown(reach.max())}"
        word = Word.NOT_TESTABLE
    else:
        note = f"the regime is {claim.regime}, the margin here {shown(margin)}" if margin is not None else refused[0]
        word = Word.OUTSIDE
    values = {**kit.noted, **(found.values if found else {})}
    remark = _template(claim.note, {**kit.p, **_flat(values)}) if found else ""
    said = together([note, *(sentence for _, sentence in unreached), found.note if found else "", remark])
    verdict = Verdict(
        word, predicted(claim), "", said, None, None, _parameters(claim, asked), values, {}, False, margin
    )
    if found is None:
        return verdict
    return replace(verdict, measured=found.measured, interval=found.interval, fits=found.fits,
                   constant=found.constant, breaks_at=found.breaks_at)  # fmt: skip


def _where(claim: "Claim", system: System, margin: float, best: Mapping[str, float], breaks: bool) -> str:
    """Where in the regime it was measured, where the default set-up lies, and what its constants may be."""
    if not claim.regime:
        return ""
    usual = claim.regime.margin(Values(system.setup(claim.mode)))
    side = "inside" if usual >= 1 else "outside"
    may_be = ""
    for which, x in best.items():
        end, name = which.split("_", 1)
        beyond = {"least": ">", "largest": "<"}[end] if breaks else "="
        may_be += f"; it holds with {name} {beyond} {shown(x)}" + ("" if breaks else ", at every place measured")
    return (
        f"regime {claim.regime}: margin {shown(margin)}; the default set-up lies {side}, margin {shown(usual)}{may_be}"
    )


def _best_constants(claim: "Claim", finding: Finding, points: Sequence[Point], kit: Kit) -> tuple[dict, bool]:
    """Of each hidden constant, the others held: how far it may open the regime so that the claim still holds there.

    A constant that a regime asks for more of as it grows (n ≥ c L²) has a least value that works, one that opens it as
    it grows (ω ≤ c) a largest one. Where the claim breaks somewhere, that place lies on the edge and the value itself
    does not work any more; else it is the value that takes all places in.
    """
    if not claim.regime.constants or finding.by_point is None or len(points) < 2:
        return {}, False
    holds = claim.kind.judge(points, kit).by_point or ()
    failing = [point.p for point, is_kept in zip(points, holds) if not is_kept]
    found = {}
    for name, value in claim.regime.constants.items():
        inside = lambda p, c, name=name: claim.regime.with_constant(name, c).is_inside(p)
        ends = value * 1e-12, value * 1e12
        asked = failing or [point.p for point in points]
        decided = [p for p in asked if inside(p, ends[0]) != inside(p, ends[1])]
        if not decided or any(inside(p, ends[0]) and inside(p, ends[1]) for p in asked):
            continue  # no value of this constant takes every one of them in, or keeps every one out
        opens = inside(decided[0], ends[1])
        edges = [_edge(partial(inside, p), *ends) for p in decided]
        found[f"{'largest' if opens else 'least'}_{name}"] = min(edges) if opens == bool(failing) else max(edges)
    return found, bool(failing)


def _edge(is_inside: Callable[[float], bool], low: float, high: float) -> float:
    """The value of a hidden constant that puts a place on the edge of the regime."""
    at_low = is_inside(low)
    for _ in range(120):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if is_inside(middle) == at_low else (low, middle)
    return float((low * high) ** 0.5)


def _parameters(claim: "Claim", asked: Mapping[str, Any]) -> dict[str, Any]:
    """What the verdict says it was measured at."""
    own = dict(claim.at) if isinstance(claim.at, Mapping) else {"places": [dict(place) for place in claim.at]}
    path = {claim.path.name: claim.path.values} if claim.path else {}
    mode = {"mode": claim.mode} if claim.mode else {}
    return {**own, **path, **mode, **asked}


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if isinstance(name, str)}


def _template(text: str, values: Mapping[str, Any]) -> str:
    return text.format_map(values) if text else ""
