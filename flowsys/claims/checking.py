"""Checking: which claims to measure, here or side by side in worker processes, and the verdicts on record."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from flowsys.claims import Checked, Claim, Recorded, Verdict, Word, read_record
from flowsys.claims.conditions import DEFAULT, Conditions
from flowsys.claims.listing import Verdicts
from flowsys.errors import InputError, did_you_mean
from flowsys.machine.kept import Kept
from flowsys.machine.workers import give_memory_back, side_by_side
from flowsys.system import System, system_of


def record_file(system: System) -> Path:
    """Where a system's verdicts are on record: in its package."""
    if system.package is None:
        raise InputError(f"system = {system.name} has no record: verdicts are put on record in flowsys' own packages.")
    return Path(import_module(system.package).__path__[0]) / "verdicts.json"


def recorded(system: System) -> dict[str, Recorded]:
    """A system's verdicts on record, by claim; none of a system made elsewhere."""
    return read_record(record_file(system)) if system.package else {}


def check(
    system: System | str,
    ids: Iterable[str] | str | None = None,
    everything: bool = False,
    conditions: Conditions = DEFAULT,
    workers: int = 1,
    on_progress: Callable[[int], None] | None = None,
    **parameters: Any,
) -> Verdicts:
    """Measure a system's claims: the named ones (by id or the paper's number), by default the cheap ones, or all.

    Parameters given by name put the measurement there instead of at the claim's own place. The result is a list of
    claims with their verdicts; `where(word="does not hold")`, `where(whose="paper")` filter it.

    >>> import flowsys as fs
    >>> [str(checked.verdict.word) for checked in fs.check("mixture", ["E.3-bound"])][:1]
    ['holds']
    """
    system = system_of(system)
    if parameters:
        conditions = replace(conditions, parameters=(*conditions.parameters, *parameters.items()))
    return Verdicts(check_systems([system], ids, everything, conditions, workers, on_progress)[system.name])


def check_systems(
    systems: Sequence[System],
    ids: Iterable[str] | None = None,
    everything: bool = False,
    conditions: Conditions = DEFAULT,
    workers: int = 1,
    on_progress: Callable[[int], None] | None = None,
    journal: Path | None = None,
) -> dict[str, list[Checked]]:
    """The claims of several systems, {system: checked claims in the order of the paper}.

    What is measured is kept in the directory `journal` until all of it is: a check that was broken off goes on there.
    """
    ids = None if ids is None else [ids] if isinstance(ids, str) else list(ids)
    chosen = selected(systems, ids, everything)
    verdicts = _measure(systems, chosen, conditions, workers, on_progress or (lambda n: None), journal)
    if ids is not None and not conditions.is_default:
        _refuse_what_cannot_be_measured(ids, chosen, verdicts)
    found = {}
    for system in systems:
        record = recorded(system)
        found[system.name] = [
            Checked(claim, verdicts[system.name, claim.id], record.get(claim.id))
            for claim in chosen.get(system.name, [])
        ]
    return found


def _refuse_what_cannot_be_measured(ids: Sequence[str], chosen: dict[str, list[Claim]], verdicts: dict) -> None:
    """A name none of whose claims can be measured as asked is bad input; what stands beside one that can is listed."""
    for id in ids:
        there = [(name, c) for name, claims in chosen.items() for c in claims if c.answers_to(id, by_section=True)]
        own = [pair for pair in there if pair[1].id == id] or there
        found = [verdicts[name, claim.id] for name, claim in own if claim.measure]
        if found and all(v.word is Word.NOT_TESTABLE and not v.predicted for v in found):
            raise InputError(found[0].note)


def selected(systems: Sequence[System], ids: Sequence[str] | None, everything: bool) -> dict[str, list[Claim]]:
    """{system: claims to check}: named ones first, then others with that number; ours under what they sharpen."""
    if ids is None:
        return {s.name: in_order([c for c in s.claims if everything or c.is_cheap]) for s in systems}
    chosen: dict[str, dict[str, Claim]] = {}
    for id in ids:
        found = {system.name: lines(system, id) for system in systems}
        if not any(found.values()):
            known = [c.id for s in systems for c in s.claims]
            if not known:
                raise InputError(f"claim = {id} is not known: {', '.join(s.name for s in systems)} has no claims.")
            raise InputError(
                f"claim = {id} is not known: it must be the name of a claim ({', '.join(known[:5])}, …; "
                f"`flowsys check` lists them) or a number of the paper.{did_you_mean(id, known)}"
            )
        for name, claims in found.items():
            chosen.setdefault(name, {}).update({claim.id: claim for claim in claims})
    return {name: list(claims.values()) for name, claims in chosen.items() if claims}


def lines(system: System, name: str) -> list[Claim]:
    """The claims that go by an id or a number of the paper, the one with this id first.

    A number is a statement's; only if none has it, a section's.
    """
    claims = in_order(system.claims)
    found = [claim for claim in claims if claim.answers_to(name)]
    found = found or [claim for claim in claims if claim.answers_to(name, by_section=True)]
    return sorted(found, key=lambda claim: (claim.id != name, claim.sharpens != name))


def in_order(claims: Iterable[Claim]) -> list[Claim]:
    """The claims as they are listed, each sharper law of ours under what it sharpens."""
    claims = list(claims)
    ids = {claim.id for claim in claims}
    below: dict[str, list[Claim]] = {}
    for claim in claims:
        if claim.sharpens in ids:
            below.setdefault(claim.sharpens, []).append(claim)
    top = [claim for claim in claims if claim.sharpens not in ids]
    return [line for claim in top for line in (claim, *below.get(claim.id, ()))]


def _measure(systems, chosen: dict[str, list[Claim]], conditions, workers: int, told, directory) -> dict:
    """{(system, claim): verdict}."""
    by_name = {system.name: system for system in systems}
    journal = {name: Kept(directory, name, by_name[name].digest) for name in chosen}
    file_of = lambda id: hashlib.sha256(repr((id, conditions)).encode()).hexdigest()[:16]
    verdicts: dict[tuple[str, str], Verdict] = {}
    for name, claims in chosen.items():
        there = {claim.id: journal[name].read(file_of(claim.id)) for claim in claims if claim.measure}
        verdicts |= {(name, id): verdict for id, verdict in there.items() if verdict is not None}
    told(len(verdicts))
    missing = {name: [c for c in claims if (name, c.id) not in verdicts] for name, claims in chosen.items()}
    for (name, id), verdict in _found(by_name, missing, conditions, workers):
        journal[name].write(file_of(id), verdict)
        verdicts[name, id] = verdict
        told(1)
    for name, claims in chosen.items():
        for claim in claims:
            journal[name].forget(file_of(claim.id))
    return verdicts


def _found(systems: dict[str, System], missing, conditions, workers: int) -> Iterator[tuple[tuple[str, str], Verdict]]:
    """What is measured, as it comes: here, or in worker processes."""
    if workers == 1:
        for name, claims in missing.items():
            for claim in claims:
                yield (name, claim.id), claim.check(systems[name], conditions)
        return
    tasks = ((name, ids, conditions) for name, ids in _tasks(missing))
    for done in side_by_side(_measure_in_worker, systems, tasks, workers):
        yield from done.items()


def _tasks(chosen: dict[str, list[Claim]]) -> list[tuple[str, list[str]]]:
    """What workers take at a time: the long claims one by one, then the cheap ones that share runs together."""
    long = [(name, [c.id]) for name, claims in chosen.items() for c in claims if not c.is_cheap]
    together: dict[tuple[str, str], list[str]] = {}
    for name, claims in chosen.items():
        for claim in claims:
            if claim.is_cheap:
                together.setdefault((name, getattr(claim.measure, "__module__", "")), []).append(claim.id)
    return long + [(name, ids) for (name, _), ids in together.items()]


def _measure_in_worker(systems: Mapping[str, System], name: str, ids: Sequence[str], conditions: Conditions) -> dict:
    by_id = {claim.id: claim for claim in systems[name].claims}
    found = {(name, id): by_id[id].check(systems[name], conditions) for id in ids}
    give_memory_back()
    return found
