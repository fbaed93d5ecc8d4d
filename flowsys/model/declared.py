"""A declaration read: names checked, stages in order, functions remembered by what they read of the parameters."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.model.blocks import ConcreteBlock, concrete
from flowsys.model.calling import Told, called, told
from flowsys.model.concrete import Concrete
from flowsys.model.coordinates import Coordinates
from flowsys.model.declaration import Choice, Crossing, Mark, Real, Size, Stage
from flowsys.model.pairs import PairBlock
from flowsys.model.values import Remembered, at_points
from flowsys.program import FUNCTIONS
from flowsys.system.parameters import Parameter
from flowsys.system.problem import Event, decided

RESERVED = {"t", "t_max", "width", "seed", "learning_rate", "loss", "total", "kink_width", "mode"}
EVERYWHERE = ("learning_rate", "t_max", "seed")
_OF_PROGRAMS = re.compile(r"sample_(weight|share|data|total)(_\w*)?")
Stages = Mapping[str, Sequence[Stage]]


class Declaration:
    """What a model was declared with, and what is remembered of reading it."""

    MOST_SHOWN = 60  # entries or classes that a run shows unasked

    def __init__(
        self, name: str, parameters, blocks, samples, loss, observe, events, stages, integrals, batches, latex,
        measures=None, looks=None,
    ):  # fmt: skip
        self.given = (
            name, parameters, blocks, samples, loss, observe, events, stages, integrals, batches, latex, measures,
            looks,
        )  # fmt: skip
        self.name, self.blocks = name, Told(f"blocks of {name}", blocks)
        self.samples, self.loss = told(f"samples of {name}", samples), Told(f"the loss of {name}", loss)
        self.parameters: dict[str, Size | Real | Choice] = dict(parameters or {})
        self._observe, self._observe_at = self._told_observables(observe), Remembered(self._observables_of)
        self.events: dict[str, Crossing | Mark] = dict(events or {})
        self.integrals: dict[str, str] = dict(integrals or {})
        self.batches, self.latex = told(f"batches of {name}", batches), dict(latex or {})
        self.measures: dict[str, Callable] = {
            key: Told(f"measure {key} of {name}", function) for key, function in (measures or {}).items()
        }
        self.looks: dict[str, tuple] = dict(looks or {})
        self.stages: dict[str, list[Stage]] = self._stages(stages)
        self.found: dict[str, Any] = {}
        self.read: set[str] = set()  # parameters that the loss and the observables were seen to look at
        self._fields: dict[Any, Any] = {}
        self._coordinates: dict[Any, Coordinates] = {}
        self._remembered: dict[Callable, Remembered] = {}
        self.concrete_blocks = Remembered(self._concrete_blocks)
        self._check_names()

    def __getstate__(self) -> tuple:
        return self.given

    def __setstate__(self, given: tuple) -> None:
        self.__init__(*given)  # type: ignore[misc]  # declared again in its place

    def _stages(self, stages: Sequence[Stage] | Stages | None) -> dict[str, list[Stage]]:
        if stages is None:
            return {"simultaneous": [Stage("simultaneous")]}
        by_mode = stages if isinstance(stages, Mapping) else {"staged": stages}
        if not by_mode:
            raise InputError("stages is empty: give a list of fs.Stage, or {mode: list}.")
        return {mode: self._listed(mode, listed) for mode, listed in by_mode.items()}

    def _listed(self, mode: str, listed: Sequence[Stage]) -> list[Stage]:
        if isinstance(listed, str) or not isinstance(listed, Sequence):
            raise InputError(f"stages: mode {mode} has a {type(listed).__name__}, but it must have a list of fs.Stage.")
        if not listed:
            raise InputError(f"stages: mode {mode} has none: give at least one fs.Stage.")
        found, names = [], set()
        for stage in listed:
            if not isinstance(stage, Stage):
                raise InputError(f"stages: mode {mode} holds a {type(stage).__name__}, but stages are fs.Stage.")
            if stage.name in names:
                raise InputError(f"stages: mode {mode} has two stages of the name {stage.name}.")
            names.add(stage.name)
            samples = told(f"samples of stage {stage.name}", stage.samples)
            found.append(replace(stage, samples=samples, loss=told(f"the loss of stage {stage.name}", stage.loss)))
        if len({stage.step is None for stage in found}) > 1:
            raise InputError(f"stages: mode {mode} mixes gradient steps with stretches of the flow.")
        for stage in found[:-1]:
            if stage.until is None and stage.ends_on is None and stage.step is None:
                raise InputError(f"stage {stage.name} of mode {mode} never ends: give it until=… or ends_on=….")
        return found

    # -- names --------------------------------------------------------------------------------------------------

    @property
    def reals(self) -> list[Parameter]:
        return [p.parameter(name) for name, p in self.parameters.items() if isinstance(p, Real) and not p.shapes]

    @cached_property
    def real_names(self) -> tuple[str, ...]:
        """What may be a symbol in the loss."""
        return (*(p.name for p in self.reals), *EVERYWHERE)

    @cached_property
    def structural_names(self) -> tuple[str, ...]:
        """Parameters for which a derivation is made anew."""
        return tuple(name for name in self.parameters if name not in self.real_names)

    def _told_observables(self, observe: Any) -> Any:
        if callable(observe):
            return Told(f"observe of {self.name}", observe)
        return {key: Told(f"observable {key} of {self.name}", f) for key, f in (observe or {}).items()}

    def _observables_of(self, p) -> dict[str, Callable]:
        found = self._told_observables(self._observe(p))
        for name in found:
            check_name("observable", name)
            if name in self.parameters or name in self.measures:
                raise InputError(f"the name {name} is used twice: for a parameter or measure and for an observable.")
        return found

    def observe_at(self, values: Mapping[str, Any], refused: Mapping[str, str] | None = None) -> dict[str, Callable]:
        """The declared observables; a function of the parameters may give them, by sizes."""
        return self._observe_at(values, refused) if callable(self._observe) else self._observe

    def _check_names(self) -> None:
        kinds = {
            "parameter": self.parameters, "observable": {} if callable(self._observe) else self._observe,
            "event": self.events, "integral": self.integrals, "measure": self.measures,
        }  # fmt: skip
        seen: dict[str, str] = {}
        for kind, names in kinds.items():
            for name in names:
                if not (name == "loss" and isinstance(self.parameters.get(name), Choice)):  # never a symbol
                    check_name(kind, name, plain=kind != "event")
                if name in seen and {kind, seen[name]} != {"parameter", "event"}:
                    raise InputError(f"the name {name} is used twice: for a {seen[name]} and for a {kind}.")
                seen[name] = kind
        for name, p in self.parameters.items():
            if not isinstance(p, Size | Real | Choice):
                raise InputError(f"parameter {name} is a {type(p).__name__}: it must be fs.Size, fs.Real or fs.Choice.")
            if not callable(p.parameter(name).default):
                p.parameter(name).check(p.parameter(name).default)
        for name, event in self.events.items():
            if not isinstance(event, Crossing | Mark):
                raise InputError(f"event {name} is a {type(event).__name__}: it must be fs.Crossing or fs.Mark.")
            for mode in event.modes or ():
                if mode not in self.stages:
                    raise InputError(f"event {name} is one of mode {mode}; there are {', '.join(self.stages)}.")
        known = ("loss", *self._observe) if not callable(self._observe) else tuple(self.integrals.values())
        for name, observable in self.integrals.items():
            if observable not in known:
                raise InputError(
                    f"integral {name} is of {observable}, which is not an observable; there are {', '.join(known)}."
                )
        for mode, stages in self.stages.items():
            for stage in stages:
                if stage.ends_on is not None and stage.ends_on not in self.events:
                    events = ", ".join(self.events) or "none"
                    raise InputError(
                        f"stage {stage.name} of mode {mode} ends on {stage.ends_on}, which is not an event; there are "
                        f"{events}."
                    )

    def check_blocks(self, blocks: Mapping[str, ConcreteBlock]) -> None:
        """Refuse names of blocks, factors and self-products that are taken."""
        plain = () if callable(self._observe) else self._observe
        taken = dict.fromkeys(self.parameters, "parameter") | dict.fromkeys(plain, "observable")
        for name, block in blocks.items():
            named = {name: "block"}
            if isinstance(block, PairBlock):
                named = dict.fromkeys(block.names, "block") | dict.fromkeys(block.block.factors, "factor")
                if len(named) < 5:
                    raise InputError(f"block {name}: its product, self-products and factors need five different names.")
            for own, kind in named.items():
                check_name(kind, own)
                if own == "rates":
                    raise InputError(f"{kind} rates: the name is reserved (w.rates is how the blocks move).")
                if own in taken:
                    hint = "; a second pair names its factors=… and selfs=…" if isinstance(block, PairBlock) else ""
                    raise InputError(f"the name {own} is used twice: for a {taken[own]} and for a {kind}{hint}.")
                taken[own] = kind
            generated = [f"train_{name}", *(f"rate_{weights}" for weights in block.weight_rates())]
            for clash in self.parameters.keys() & set(generated):
                raise InputError(f"parameter {clash}: the name is reserved in a model with a block {name}.")

    def check_stages(self, blocks: Mapping[str, ConcreteBlock], mode: str) -> None:
        """Refuse stages that train what is no block of their mode."""
        for stage in self.stages[mode]:
            if isinstance(stage.trains, str):
                raise InputError(f"stage {stage.name}: trains = {stage.trains!r} must be a list of blocks.")
            for name in stage.trains or ():
                if name not in blocks:
                    raise InputError(
                        f"stage {stage.name} trains {name}, which is not a block; there are {', '.join(blocks)}."
                    )

    # -- remembered readings ------------------------------------------------------------------------------------

    def _concrete_blocks(self, p) -> dict[str, ConcreteBlock]:
        declared = self.blocks(p)
        if not isinstance(declared, Mapping) or not declared:
            raise InputError(f"blocks of {self.name} must give a mapping of names to fs.Direct and fs.Pair, not empty.")
        found = {name: concrete(name, block) for name, block in declared.items()}
        self.check_blocks(found)
        return found

    def remembered(self, function: Callable) -> Remembered:
        return self._remembered.setdefault(function, Remembered(function))

    def sample_reads(self, at: Concrete) -> set[str]:
        """The parameters that the data depends on."""
        drawn = {self.samples, *(stage.samples for stage in at.stages)}
        functions = [f for f in drawn if f is not None]
        return {name for f in functions for name in self.remembered(f).with_reads(at.values, at.refused)[1]}

    def coordinates_of(self, blocks: Mapping[str, ConcreteBlock]) -> Coordinates:
        key = tuple((name, tuple(b.entry_axes())) for name, b in blocks.items())
        if key not in self._coordinates:
            self._coordinates[key] = Coordinates(list(blocks.values()))
        return self._coordinates[key]

    def compiled(self, key: Any, make: Callable[[], Any]) -> Any:
        """A field or a descent, made once for its key."""
        if key not in self._fields:
            if len(self._fields) >= 64:
                self._fields.pop(next(iter(self._fields)))
            self._fields[key] = make()
        return self._fields[key]

    @cached_property
    def digest(self) -> str:
        """A digest of what was declared."""
        from flowsys.machine.fingerprint import fingerprint

        return fingerprint(self.given)

    # -- defaults -----------------------------------------------------------------------------------------------

    @staticmethod
    def scale(blocks: Mapping[str, ConcreteBlock], seen: Mapping[str, np.ndarray]) -> float:
        """The smallest initial scale of the state, of self-products and direct blocks; 1 where these start at 0."""
        sizes = [1.0]
        for name, block in blocks.items():
            if isinstance(block, PairBlock):
                arrays = [np.diagonal(seen[k], axis1=-2, axis2=-1) for k in block.names[1:]]
            else:
                arrays = [seen[name]]
            sizes += [float(np.sqrt(np.mean(np.square(array)))) for array in arrays if np.any(array)]
        return min(sizes)

    def default_at(self, values: Mapping[str, Any], mode: str) -> tuple[str | float, ...]:
        """What a run looks at unasked: what is declared for its mode, else all events."""
        asked = self.looks.get(mode, tuple(self.events_in(mode))) or (float("inf"),)
        return tuple(look if isinstance(look, str) else min(float(look), float(values["t_max"])) for look in asked)

    # -- events and times at the values of parameters -----------------------------------------------------------

    def number(self, value: float | str | Callable, values: Mapping[str, Any], what: str) -> Any:
        """A number, the parameter of that name, or a function of them; an array where many points are posed at once."""
        if callable(value):
            value = at_points(partial(called, what, value), values)
        if isinstance(value, str) and value not in values:
            raise InputError(f"{what} = {value} is not a parameter of {self.name}.")
        found = values[value] if isinstance(value, str) else value
        if isinstance(found, np.ndarray) and not decided(np.isnan(found)):
            return found
        if not isinstance(found, int | float | np.number) or np.isnan(found):
            raise InputError(f"{what} = {found!r} is not a number.")
        return float(found)

    def events_in(self, mode: str) -> dict[str, Crossing | Mark]:
        """The events that a mode has."""
        return {name: event for name, event in self.events.items() if event.modes is None or mode in event.modes}

    def events_at(self, values: Mapping[str, Any], mode: str) -> tuple[Event, ...]:
        return tuple(
            Event(name, e.observable, self.number(e.threshold, values, f"event {name}: threshold"), e.direction,
                  e.meaning)
            for name, e in self.events_in(mode).items()
            if isinstance(e, Crossing)
        )  # fmt: skip

    def marks_at(self, values: Mapping[str, Any], mode: str) -> dict[str, float]:
        values = {**values, "mode": mode}
        marks = {name: e for name, e in self.events_in(mode).items() if isinstance(e, Mark)}
        return {name: self.number(mark.time, values, f"event {name}: time") for name, mark in marks.items()}

    def until(self, stage: Stage, values: Mapping[str, Any]) -> Any:
        if stage.until is None:
            return None
        until = self.number(stage.until, values, f"stage {stage.name}: until")
        if decided(until < 0):
            raise InputError(f"stage {stage.name}: until = {np.min(until):g} is not allowed: it must not be negative.")
        return until


def check_name(kind: str, name: str, plain: bool = True) -> None:
    """Refuse a name that means something else, or that cannot stand in a program."""
    from keyword import iskeyword

    if not isinstance(name, str) or not name:
        raise InputError(f"{kind} {name!r}: a name is a text that is not empty.")
    if (name in RESERVED and kind != "observable") or name == "t":
        raise InputError(f"{kind} {name}: the name is reserved.")
    if kind == "observable" and name in RESERVED:
        raise InputError(f"observable {name}: the name is reserved{' (the loss is always there)' * (name == 'loss')}.")
    if kind in ("parameter", "block") and _OF_PROGRAMS.fullmatch(name):
        raise InputError(f"{kind} {name}: the name is reserved for the weights and the data of samples.")
    if plain and (not name.isidentifier() or iskeyword(name) or name in FUNCTIONS or name.startswith("_")):
        raise InputError(f"{kind} {name}: a name is made of letters, digits and underscores, and is no function.")
