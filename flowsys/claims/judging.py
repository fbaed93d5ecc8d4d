"""From a declared claim to its verdict: measure at its places, keep those in its regime, let its kind judge.

A claim is measured at its own places with what was asked for in them. Places outside its regime are measured too, for
the least hidden constant that works, but only those inside are judged. Asked for where all lie outside, the answer is
`outside the regime`, with what was measured; a regime that no allowed parameters reach is `not testable`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from flowsys.claims.conditions import Conditions
from flowsys.claims.kit import Kit, NotReached
from flowsys.claims.measurements import Finding, Point, placed, shown, together
from flowsys.claims.regime import Values
from flowsys.claims.verdict import Verdict, Word, untested
from flowsys.errors import InputError
from flowsys.system import System

if TYPE_CHECKING:
    from flowsys.claims.claim import Claim


def judgement(claim: "Claim", system: System, conditions: Conditions) -> Verdict:
    """The verdict of a declared claim under conditions."""
    asked = dict(conditions.parameters)
    kit = Kit(system, asked, conditions.level, claim.mode, claim.variants)
    points, unreached, refused, last = [], [], [], kit
    for sets, given in _places(claim, kit, asked):
        there = kit.at(**given)
        margin = np.nan
        try:
            margin = claim.regime.margin(there.p)
            measured = _measured(claim, there)
        except NotReached as error:
            unreached.append((margin, f"{placed(sets)}: {error}" if sets else str(error)))
            continue
        except InputError as error:
            if margin >= 1 or np.isnan(margin):
                raise
            refused.append(str(error))
            continue
        points.append(Point(sets, there.p, measured, margin))
        last = there
    inside = [point for point in points if point.margin >= 1]
    missed = [sentence for margin, sentence in unreached if margin >= 1]
    if claim.regime and not inside and not missed:
        return _outside(claim, system, asked, points, unreached, refused, last)
    if not inside:
        return replace(untested(together(missed)), inside=True, predicted=predicted(claim))
    finding = _judged(claim, inside, last)
    if missed and finding.word is Word.HOLDS:
        finding = replace(finding, word=Word.IN_PART)
    return _verdict(claim, system, asked, finding, inside, points, missed, last)


def _measured(claim: "Claim", kit: Kit) -> Any:
    by_starts = getattr(claim.kind, "measured", None)
    return by_starts(claim.measure, kit) if by_starts else claim.measure(kit)


def _places(claim: "Claim", kit: Kit, asked: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """(what tells a place apart, all that it sets), what was asked for taking the place of the claim's own."""
    several = [claim.at] if isinstance(claim.at, Mapping) else list(claim.at)
    seen = []
    for own in several:
        own = {**own, **{name: asked[name] for name in own if name in asked}}
        if own in seen:
            continue
        seen.append(own)
        apart = own if len(several) > 1 else {}
        if claim.path is None:
            yield apart, {**asked, **own}
            continue
        for point in claim.path.points(Values({**kit.at(**own).p})):
            yield {**point, **apart}, {**asked, **own, **point}


def _judged(claim: "Claim", points: Sequence[Point], kit: Kit) -> Finding:
    fewest = 3 if claim.kind.name.startswith(("order", "limit")) and claim.path is not None else 1
    if len(points) < fewest:
        where = "inside the regime " if claim.regime else ""
        return Finding(Word.NOT_TESTABLE, "", f"the path has {len(points)} places {where}that can be measured")
    return claim.kind.judge(points, kit)


def predicted(claim: "Claim") -> str:
    """What is checked, in the words of the kind."""
    along = f" along {claim.path.name} to {shown(claim.path.values[-1])}" if claim.path else ""
    return claim.kind.predicted + along


def _verdict(claim: "Claim", system: System, asked, finding: Finding, inside, points, missed, kit: Kit) -> Verdict:
    margin = min(point.margin for point in inside)
    values = {**kit.noted, **finding.values, **_least_constants(claim, finding, inside, points, kit)}
    note = [finding.note, together(missed), _template(claim.note, {**kit.p, **_flat(values)}),
            _where(claim, system, margin, values)]  # fmt: skip
    return Verdict(
        finding.word, predicted(claim), finding.measured, together(note), finding.interval, finding.tolerance,
        _parameters(claim, asked), values, finding.fits, True, margin if isfinite(margin) else None,
        finding.constant, finding.breaks_at,
    )  # fmt: skip


def _outside(claim: "Claim", system: System, asked, points, unreached, refused, kit: Kit) -> Verdict:
    """Where the paper claims nothing: what was measured there, or that there is nowhere to measure."""
    reach = claim.regime.over_box(system, claim.mode)
    found = _judged(claim, points, kit) if points else None
    margins = [point.margin for point in points] + [margin for margin, _ in unreached]
    margin = float(max(margins)) if margins else None
    if not (reach >= 1).any():
        note = f"no allowed parameters lie in the regime {claim.regime}: the largest margin is {shown(reach.max())}"
        word = Word.NOT_TESTABLE
    else:
        note = f"the regime is {claim.regime}, the margin here {shown(margin)}" if margin is not None else refused[0]
        word = Word.OUTSIDE
    said = together([note, *(sentence for _, sentence in unreached), found.note if found else ""])
    values = {**kit.noted, **(found.values if found else {})}
    return Verdict(word, predicted(claim), found.measured if found else "", said, found and found.interval, None,
                   _parameters(claim, asked), values, found.fits if found else {}, False, margin,
                   found and found.constant, found and found.breaks_at)  # fmt: skip


def _where(claim: "Claim", system: System, margin: float, values: Mapping[str, Any]) -> str:
    """Where in the regime it was measured, and where the default set-up lies."""
    if not claim.regime:
        return ""
    usual = claim.regime.margin(Values(system.setup(claim.mode)))
    side = "inside" if usual >= 1 else "outside"
    least = "".join(f"; {name[6:]} = {shown(x)} works" for name, x in values.items() if name.startswith("least_"))
    return (
        f"regime {claim.regime}: margin {shown(margin)}; the default set-up lies {side}, margin {shown(usual)}{least}"
    )


def _least_constants(claim: "Claim", finding: Finding, inside, points: Sequence[Point], kit: Kit) -> dict[str, float]:
    """The least value of the one hidden constant with which the claim holds wherever it was measured inside."""
    if len(claim.regime.constants) != 1 or finding.by_point is None or len(points) < 2:
        return {}
    ((name, value),) = claim.regime.constants.items()
    judged = claim.kind.judge(points, kit).by_point or ()
    failing = [point.margin for point, holds in zip(points, judged) if not holds]
    bound = max(failing) if failing else min(point.margin for point in points)
    return {f"least_{name}": float(value * bound)} if isfinite(bound) else {}


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
