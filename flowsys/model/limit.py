"""The limit of a model (L3): found by lumping, written as a program, and posed as a problem.

A derivation is made for sizes, choices and a mode; it serves every value of the real parameters.
"""

import hashlib
import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from flowsys.errors import InputError
from flowsys.model.concrete import Concrete
from flowsys.model.conserved import pair_invariants
from flowsys.model.coordinates import Coordinates
from flowsys.model.keeping import Found, Slots, read, write
from flowsys.model.starts import check_grams, checked_seen, given_arrays, one_number
from flowsys.model.steps import in_steps
from flowsys.program.arrays import Arguments, arguments
from flowsys.runs.layout import Placed
from flowsys.symbolic.kept import engine_digest
from flowsys.symbolic.lumping import Partition
from flowsys.system.lazy import first_of
from flowsys.system.parameters import Parameter
from flowsys.system.problem import Problem, Stage

if TYPE_CHECKING:
    from flowsys.model.lumping import Lumping
    from flowsys.symbolic.assemble import Statement

_log = logging.getLogger("flowsys")
_DRAWS, _TRIES = 3, 20
_LARGEST_SPECTRUM = 64  # of a Gram matrix whose conserved spectrum is watched


def drawn_values(concrete: Concrete, seed: int = 0) -> list[dict[str, Any]]:
    """Values of the real parameters (and of the seed, if the data reads it): those asked for, and random ones."""
    declared, rng = concrete.declaration, np.random.default_rng(seed)
    asked, found = dict(concrete.values), [dict(concrete.values)]
    reads_seed = "seed" in declared.sample_reads(concrete)
    for _ in range(_DRAWS):
        drawn = {p.name: _random(p, asked, rng) for p in declared.reals}
        if reads_seed:
            drawn["seed"] = int(rng.integers(2**31 - 1))
        found.append(asked | drawn)
    return found


def _random(parameter: Parameter, asked: Mapping[str, Any], rng) -> float:
    """A value well inside a parameter's range."""
    low, high = parameter.low, parameter.high
    default = float(parameter.default(asked) if callable(parameter.default) else parameter.default)
    share = rng.uniform(0.1, 0.9)
    if parameter.log:
        return float(low * (high / low) ** share)
    reach = 10 * max(1.0, abs(default))
    low, high = max(low, -reach), min(high, reach)
    return float(low + share * (high - low))


def draws_of(concrete: Concrete, start: Mapping[str, np.ndarray] | None) -> list:
    """The model at every drawn set of values; a set that the model refuses is drawn towards the values asked for."""
    from flowsys.model.lumping import Draw

    found, held = [], _held(concrete)
    for values in drawn_values(concrete):
        values = values | {name: concrete.values[name] for name in held}
        for shrink in 2.0 ** -np.arange(_TRIES):
            try:
                there = _between(concrete, values, float(shrink))
                seen = there.seen_at_limit() if start is None else start
                flat = concrete.coordinates.join(seen)
                if there.structure == concrete.structure:
                    stages = tuple(there.arguments(i) for i in range(len(there.stages)))
                    found.append(Draw(there, flat, stages))
                break
            except InputError:
                if values == dict(concrete.values):
                    raise
    return found


def _held(concrete: Concrete) -> list[str]:
    """The real parameters that change more than numbers: what is read of the weights, or indices of the samples."""
    drawn = drawn_values(concrete)[-1]
    return [p.name for p in concrete.declaration.reals if _changes_structure(concrete, {p.name: drawn[p.name]})]


def _changes_structure(concrete: Concrete, changes: Mapping[str, float]) -> bool:
    try:
        there = Concrete(concrete.declaration, {**concrete.values, **changes}, concrete.mode, at_limit=True)
        return there.structure != concrete.structure
    except InputError:
        return False


def _between(concrete: Concrete, values: Mapping[str, Any], share: float) -> Concrete:
    asked = concrete.values
    moved = {p.name: asked[p.name] + share * (values[p.name] - asked[p.name]) for p in concrete.declaration.reals}
    return Concrete(concrete.declaration, {**values, **moved}, concrete.mode, at_limit=True)


def found_limit(concrete: Concrete, start: Mapping[str, np.ndarray] | None = None) -> Found:
    """The derived limit of a model's sizes, choices and mode; derived once, then read."""
    known = _kept(concrete, start, limit_key(concrete, start))
    if known.constants != constants_of(concrete, known.slots):
        # data that did not vary with the drawn reals does at these: a derivation of its own
        known = _kept(concrete, start, limit_key(concrete, start, with_data=True))
    return known


def limit_of(concrete: Concrete, start: Mapping[str, np.ndarray] | None = None) -> Found:
    """The derived limit from the model's own start, or from a given one."""
    found = found_limit(concrete, start)
    if start is None:
        seen = concrete.seen_at_limit()
        flat = concrete.coordinates.join(seen)
        if not np.allclose(found.partition.lift(found.partition.project(flat)), flat, rtol=1e-11, atol=0):
            found = found_limit(concrete, seen)  # a start less symmetric than those at the values that were drawn
    return found


def _kept(concrete: Concrete, start: Mapping[str, np.ndarray] | None, key: str) -> Found:
    found = concrete.declaration.found
    if key not in found:
        known = read(key)
        if known is None:
            known = derived(concrete, start)
            write(key, known)
        found[key] = known
    return found[key]


def derived(concrete: Concrete, start: Mapping[str, np.ndarray] | None = None) -> Found:
    """Lump, write, assemble: now."""
    from flowsys.model.checks import tried
    from flowsys.model.lumping import Lumping
    from flowsys.model.verified import refuse_wrong

    tried(concrete)
    begun = time.perf_counter()
    lumping = Lumping(draws_of(concrete, start))
    found = assembled(lumping)[0]
    refuse_wrong(lumping, found)
    seconds = time.perf_counter() - begun
    if seconds > 5:
        _log.info(
            "derived the limit of %s in %.1f s; it is kept for the next time.", concrete.declaration.name, seconds
        )
    return found


def assembled(lumping: "Lumping") -> "tuple[Found, Statement]":
    """The found limit of a lumping, with its statement."""
    from flowsys.model.checks import keeps_spectra
    from flowsys.model.found import Writer, slots_of
    from flowsys.symbolic.assemble import assemble

    concrete = lumping.concrete
    if not lumping.partition.n_classes:
        raise InputError(
            f"model {concrete.declaration.name} rests at its start in mode {concrete.mode}: nothing that its loss sees "
            "leaves 0; give blocks a start or a scale that is not 0."
        )
    slots = slots_of(lumping)
    watched = [event.observable for event in concrete.events()]
    statement = Writer(lumping, slots).statement(watched)
    constants = constants_of(concrete, slots)
    try:
        program = assemble(statement)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"model {concrete.declaration.name} cannot be written as a program: {error}.") from error
    return Found(program, lumping.partition, slots, constants, keeps_spectra(concrete)), statement


def constants_of(concrete: Concrete, slots: Slots) -> str:
    """A digest of the numbers in the data that the program holds as such: all that are not its parameters.

    Of samples that were merged it has which of their numbers agree, up to sign, with those of the sample that stands
    for them.
    """
    digest = hashlib.sha256()
    in_tables = {table.population for table in slots.tables}
    for j, (population, rows) in enumerate(zip(concrete.populations, slots.rows)):
        stands_for = rows[slots.groups[j]]
        merged = np.flatnonzero(stands_for != np.arange(len(stands_for)))
        for name, array in population.numbers().items():
            mine, its = array[merged], array[stands_for[merged]]
            digest.update(np.packbits(mine == its).tobytes() + np.packbits(mine == -its).tobytes())
            if j in in_tables:
                continue
            fixed = array.copy()
            for at in (place for k, other, place in slots.entries if (k, other) == (j, name)):
                fixed[at] = 0.0
            digest.update(name.encode() + fixed[rows].tobytes())
    return digest.hexdigest()[:16]


def limit_key(concrete: Concrete, start: Mapping[str, np.ndarray] | None, with_data: bool = False) -> str:
    """What a derivation depends on; data that varies with the reals is none of it, unless asked for."""
    parts: list[Any] = [concrete.declaration.digest, engine_digest(), concrete.structure]
    digest = hashlib.sha256(repr(parts).encode())
    for name, array in (start or {}).items():
        digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
    varies = {*concrete.declaration.real_names, "seed"} & set(concrete.declaration.sample_reads(concrete))
    for population in concrete.populations if with_data or not varies else ():
        digest.update(population.samples.data.encode() if population.samples else b"")
    return digest.hexdigest()[:32]


# -- the problem ------------------------------------------------------------------------------------------------


def limit_problem(concrete: Concrete, start: Mapping[str, Any] | None = None) -> Problem:
    """The flow of the limit; `start` overrides blocks (lumped anew from there) or coordinates by name."""
    from flowsys.model.averages import Classes

    coordinates = concrete.coordinates
    given = given_arrays(start)
    seen = concrete.seen_at_limit()
    blocks = {name: given.pop(name) for name in list(given) if name in coordinates.shapes}
    if blocks:
        seen = {**seen, **checked_seen(concrete, blocks)}
    found = limit_of(concrete, seen if blocks else None)
    names = found.program.state
    initial = np.zeros(len(names))
    n_classes = found.partition.n_classes
    initial[:n_classes] = found.partition.project(coordinates.join(seen))
    for name, value in given.items():
        if name not in names:
            raise InputError(
                f"start: {name} is neither a block ({', '.join(coordinates.shapes)}) nor a coordinate of the limit "
                f"({_few(names)})."
            )
        initial[names.index(name)] = one_number(value, f"start: {name}")
    if given:
        check_grams(concrete, coordinates.split(found.partition.lift(initial[:n_classes])))
    stages = []
    for number, stage in enumerate(concrete.stages):
        stages.append(Stage(stage.name, arguments_of(found, concrete, number), concrete.until(stage), stage.ends_on))
    declared = concrete.default_names()
    hidden = [] if n_classes <= concrete.declaration.MOST_SHOWN else found.program.state
    further = first_of(Entries(coordinates, found), Classes(concrete, found.partition))
    seen_of_state = lambda state: coordinates.split(found.partition.lift(state[:n_classes]))
    problem = Problem(
        field=found.field,
        initial=initial,
        stages=tuple(stages),
        events=concrete.events(),
        marks=concrete.marks(),
        derived=first_of(concrete.measures(seen_of_state), further),
        dear=frozenset((*(name for name in hidden if name not in declared), *further)),
        conserved=spectra(coordinates, found.partition) if found.keeps_spectra else None,
        scale=concrete.declaration.scale(concrete.blocks, seen),
        t_max=float(concrete.values["t_max"]),
        default_at=concrete.declaration.default_at(concrete.values, concrete.mode),
        layout=lifted_layout(coordinates, found.partition),
    )
    return in_steps(problem, concrete.declaration, concrete.values, concrete.mode)


class Entries(Mapping):
    """Entries that do not give a class its name, as functions of the classes: {name: function(state)}."""

    def __init__(self, coordinates: Coordinates, found: Found):
        self._coordinates, self._partition = coordinates, found.partition
        self._own = frozenset(found.program.observables)

    def __getitem__(self, name: str):
        if name not in self:
            raise KeyError(name)
        i = self._coordinates.index[name]
        label, sign = int(self._partition.labels[i]), float(self._partition.signs[i])
        return (lambda state: sign * state[label]) if label >= 0 else (lambda state: 0.0)

    def __contains__(self, name: object) -> bool:
        return name in self._coordinates.index and name not in self._own

    def __iter__(self):
        return (name for name in self._coordinates.names if name not in self._own)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def arguments_of(found: Found, concrete: Concrete, stage: int) -> Arguments:
    """The data of a stage for the found program."""
    tables = found.slots.values_of_tables(concrete, stage)
    return arguments(found.program, found.slots.parameters(concrete, stage), tables)


def lifted_layout(coordinates: Coordinates, partition: Partition) -> dict[str, Placed]:
    return {
        name: Placed(at.shape, 0, partition.labels[at], partition.signs[at])
        for name, at in coordinates.positions.items()
    }


def spectra(coordinates: Coordinates, partition: Partition | None):
    """States to the conserved spectra of all pairs that have one; None if there are none."""
    chosen = [
        (len(block.sides[0]), positions, _inverse_rates(block))
        for block, positions in coordinates.grams()
        if block.keeps_spectrum and len(positions) <= _LARGEST_SPECTRUM
    ]
    if not chosen:
        return None

    def quantities(states: np.ndarray) -> np.ndarray:
        full = states if partition is None else partition.signs * np.pad(states, ((0, 0), (0, 1)))[
            :, np.where(partition.labels < 0, states.shape[1], partition.labels)
        ]  # fmt: skip
        parts = [pair_invariants(full[:, positions] * slow, n) for n, positions, slow in chosen]
        return np.concatenate(parts, axis=-1)

    return quantities


def _inverse_rates(block) -> np.ndarray:
    """1/√(r_i r_j): with unequal rates it is M scaled by these whose spectrum is kept."""
    sizes = [len(side) for side in block.sides]
    root = np.repeat(1 / np.sqrt(block.block.rates), sizes)
    return root[:, None] * root[None, :]


def _few(names) -> str:
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
