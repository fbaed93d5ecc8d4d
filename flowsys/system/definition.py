"""A paper's system as a value: its parameters, levels, variants, modes, events and observables, and its problems.

The contract of a package under `flowsys/systems/`: it defines `SYSTEM = System(...)`. `build` turns a validated
`Setup` into a `Problem` for one level (L1 … L4), variant and mode; `fixes` says which parameters a level sets by
itself; `training` gives the finite-width model to train (L0, a `Training` of `flowsys.runs.training`; n seeds at once
if asked); `derive` runs the engine on the packaged definition; `dear` names observables that take more than about a
millisecond a row, with the levels where they do: they are computed only where they are asked for by name; `columns`
names, where the field is a program, the parameters that `build` takes as arrays too, one number a point: its problem
then is that of all the points at once (`flowsys.system.problem`); `latex` gives names their symbols, `meanings` words
to those that are only met in derived equations, `clocks` the clocks of modes that have their own
(`flowsys.system.names`); `constants` lists observables that training does not move, so that pictures name no time of
theirs; `places` says where the paper has the `loss` and the `flow`. Everything else (command line, sweeps, comparison,
checks) works from these values. Two files are found by their names beside it, if they are there: `statements.py`, the
numbered statements of the paper, and `verdicts.json`, the verdicts on record.
"""

import hashlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from flowsys.errors import InputError, did_you_mean
from flowsys.machine.kept import digest_of_sources
from flowsys.system.names import Clock, Names
from flowsys.system.parameters import Parameter, Setup
from flowsys.system.problem import Problem
from flowsys.system.references import Paper
from flowsys.typeset.tables import fold, markdown_table

PACKAGES = "flowsys.systems"
ENTRY = "an entry of"  # how the meaning of an observable begins that is one entry of a block, told by the block's name


@dataclass(frozen=True)
class Variants:
    """The forms a level comes in; the first is the default."""

    names: tuple[str, ...]
    meanings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """Where a system that is no package of flowsys was loaded from, and a digest of the texts that define it."""

    place: str
    digest: str


@dataclass(frozen=True, repr=False)
class System:
    """Everything the rest of the package needs to know of one paper."""

    name: str
    paper: Paper
    summary: str
    parameters: tuple[Parameter, ...]
    modes: Mapping[str, str]
    levels: Mapping[str, Variants]
    events: Mapping[str, str]
    observables: Mapping[str, str]
    build: Callable[[Setup, str, str, str], Problem]
    default_level: str = "L3"
    dear: Mapping[str, Sequence[str]] = field(default_factory=dict)
    columns: Callable[[Setup, str, str, str], Sequence[str]] = lambda setup, level, variant, mode: ()
    mode_defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    validate: Callable[[Mapping[str, Any]], None] = lambda values: None
    fixes: Callable[[Setup, str, str, str], Mapping[str, Any]] = lambda setup, level, variant, mode: {}
    training: Callable[[Setup, str, str, int | None], Any] | None = None
    derive: Callable[[Setup, str], Any] | None = None
    equations: Callable[[], Mapping[str, str]] | None = None
    ladder: Callable[[Setup], Any] | None = None
    claims: Sequence[Any] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)
    diagrams: Mapping[str, Any] = field(default_factory=dict)
    latex: Mapping[str, str] = field(default_factory=dict)
    clocks: Mapping[str, Clock] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    constants: Sequence[str] = ()
    places: Mapping[str, str] = field(default_factory=dict)
    source: Source | None = field(default=None, compare=False)

    @property
    def package(self) -> str | None:
        """The package under `flowsys/systems/` that defines it; None for a system made elsewhere, whatever its name."""
        name = f"{PACKAGES}.{self.name}"
        return name if getattr(sys.modules.get(name), "SYSTEM", None) is self else None

    @property
    def names(self) -> Names:
        """How its names read: symbols, words, clocks."""
        return Names(self)

    @property
    def place(self) -> str:
        """Where it is defined, for provenance: a package, a file, an entry point; nothing if it was made in Python."""
        return self.package or (self.source.place if self.source else "")

    @property
    def content(self) -> Any:
        """What it is made of, for a fingerprint."""
        return self

    @property
    def digest(self) -> str:
        """A digest of all that makes its numbers: results that were kept under another one are not its own.

        Of a package, the text of the engine and its own; else the text of all of flowsys, the texts it was loaded from,
        and its content (`flowsys.machine.fingerprint`).
        """
        if self.package:
            return digest_of_sources(self.name)
        from flowsys.machine.fingerprint import fingerprint

        texts = self.source.digest if self.source else ""
        return hashlib.sha256(f"{digest_of_sources()} {texts} {fingerprint(self.content)}".encode()).hexdigest()[:16]

    def __reduce__(self) -> tuple:
        """A package's system is sent to other processes by its name, any other by its content."""
        if self.package:
            return _of_package, (self.package,)
        return _empty, (type(self),), self.__getstate__()

    def __repr__(self) -> str:
        return f"<System {self.name}: {self.summary}>"

    def _repr_markdown_(self) -> str:
        """What a notebook shows: the parameters, and folded the modes, events, observables and equations in LaTeX."""
        symbol = lambda name: f"${self.names.symbol(name)}$"
        default = lambda p: p.default_text or ("" if callable(p.default) else p.default)
        parameters = [(symbol(p.name), f"`{p.name}`", p.meaning, p.allowed, default(p)) for p in self.parameters]
        levels = [(level, ", ".join(f"`{n}`" for n in forms.names)) for level, forms in self.levels.items()]
        told = {name: words for name, words in self.observables.items() if not words.startswith(ENTRY)}
        observables = [(symbol(name), f"`{name}`", words) for name, words in told.items()]
        parts = [
            f"**{self.name}**: {self.summary}",
            f"*{self.paper.title}* ({self.paper.venue})" if self.paper.venue else "",
            markdown_table(("symbol", "parameter", "meaning", "allowed", "default"), parameters),
            fold("levels and variants", markdown_table(("level", "variants, the first the default"), levels)),
            fold("modes", markdown_table(("mode", "what"), [(f"`{k}`", v) for k, v in self.modes.items()])),
            fold("events", markdown_table(("event", "what"), [(f"`{k}`", v) for k, v in self.events.items()])),
            fold(f"{len(observables)} observables", markdown_table(("symbol", "observable", "what"), observables)),
        ]
        equations = "\n\n".join(f"$${text}$$" for text in (self.equations() if self.equations else {}).values())
        return "\n\n".join(filter(None, [*parts, fold("reduced equations", equations) if equations else ""]))

    def setup(self, mode: str | None = None, **given: Any) -> Setup:
        """Validated parameters: those given, the defaults (of the mode, if it has its own) for the rest."""
        mode, asked = self.mode(mode), frozenset(name for name, value in given.items() if value is not None)
        given = {**self.mode_defaults.get(mode, {}), **given}
        known = {p.name for p in self.parameters}
        for name in given:
            if name not in known:
                raise self.unknown_parameter(name)
        values: dict[str, Any] = {}
        for parameter in self.parameters:
            value = given.get(parameter.name)
            if value is None:
                value = parameter.default(values) if callable(parameter.default) else parameter.default
            values[parameter.name] = parameter.check(value)
        self.validate(values)
        return Setup(self.name, values, mode, asked, self)

    def given_of(self, setup: Setup | None) -> dict[str, Any]:
        """What was given in a setup; of one that was not made by `setup`, everything."""
        if setup is None:
            return {}
        self._check_own(setup)
        return dict(setup) if setup.mode is None else {name: setup[name] for name in setup.given}

    def _check_own(self, setup: Any) -> None:
        if not isinstance(setup, Setup) or setup.system != self.name:
            of = f"is one of {setup.system}" if isinstance(setup, Setup) else f"is a {type(setup).__name__}"
            raise InputError(f"setup {of}, but {self.name}.setup(…) makes those that {self.name} takes.")

    def setup_in(self, mode: str | None, setup: Setup | None) -> Setup:
        """The setup for a mode; one that was made for another mode gets this one's defaults where nothing was given."""
        if setup is None:
            return self.setup(mode)
        self._check_own(setup)
        defaults = [self.mode_defaults.get(name or "", {}) for name in (setup.mode, self.mode(mode))]
        if setup.mode is None or defaults[0] == defaults[1]:
            return setup
        return self.setup(mode, **self.given_of(setup))

    def unknown_parameter(self, name: str) -> InputError:
        """The refusal of a name that is no parameter."""
        known = sorted(p.name for p in self.parameters)
        return InputError(
            f"{self.name} has no parameter {name!r}; it has {', '.join(known)}.{did_you_mean(name, known)}"
        )

    def variant(self, level: str, name: str | None) -> str:
        """The variant asked for at a level, or its default."""
        if level not in self.levels:
            raise InputError(f"level = {level} is not one of {self.name}'s: {', '.join(self.levels)}.")
        names = self.levels[level].names
        if name is None:
            return names[0]
        if name not in names:
            raise InputError(f"variant = {name} is not one of {self.name}'s at {level}: {', '.join(names)}."
                             + did_you_mean(name, names))  # fmt: skip
        return name

    def mode(self, name: str | None) -> str:
        """The mode asked for, or the default."""
        if name is None:
            return next(iter(self.modes))
        if name not in self.modes:
            raise InputError(f"mode = {name} is not one of {self.name}'s: {', '.join(self.modes)}."
                             + did_you_mean(name, self.modes))  # fmt: skip
        return name

    def unasked(self, level: str, of: Any) -> tuple[str, ...]:
        """What is observed of a problem (or a descent) where nothing is asked for by name: all that is not dear."""
        at_level = {name for name, levels in self.dear.items() if level in levels}
        return tuple(name for name in of.observable_names if name not in at_level and name not in of.dear)

    def problem(
        self, setup: Setup, level: str | None = None, variant: str | None = None, mode: str | None = None
    ) -> Problem:
        """The initial-value problem of a level, variant and mode."""
        level = level or self.default_level
        form = level, self.variant(level, variant), self.mode(mode)
        return self.build(self.settled(setup, *form), *form)

    def started(self, setup: Setup, level: str, variant: str, mode: str, start: Mapping[str, Any] | None) -> Problem:
        """The problem of a level from the system's own start, or with some of it overridden."""
        if start is not None:
            raise InputError(f"start is not allowed: {self.name} does not declare its blocks (fs.Model does).")
        return self.build(setup, level, variant, mode)

    def trained(self, setup: Setup, variant: str, mode: str, seeds: int | None, start: Mapping[str, Any] | None) -> Any:
        """The training of level L0, from the system's own start, or with some of it overridden."""
        if self.training is None:
            raise InputError(f"system = {self.name} has no finite-width model to train.")
        if start is not None:
            raise InputError(f"start is not allowed: {self.name} does not declare its blocks (fs.Model does).")
        return self.training(setup, variant, mode, seeds)

    def start(self, setup: Setup | None = None, level: str = "L2", mode: str | None = None) -> dict[str, Any]:
        """The start that a run of a level would use, by block."""
        raise InputError(f"{self.name} does not declare its blocks: its start is known only as a state.")

    def shapes(self, setup: Setup | None = None, level: str = "L2") -> dict[str, tuple[int, ...]]:
        """The shapes of the blocks of weights (L0, L1), or of what the loss sees of them."""
        raise InputError(f"{self.name} does not declare its blocks: shapes are known of fs.Model.")

    def settled(self, setup: Setup, level: str, variant: str, mode: str) -> Setup:
        """The setup as a level reads it: with the values it fixes by itself, and the defaults that follow from them.

        A value that equals its default counts as one; of many points in columns each follows by itself.
        """
        fixed = self.fixes(setup, level, variant, mode)
        if not fixed:
            return setup
        values = {**setup, **fixed}
        for parameter in self.parameters:
            name, default = parameter.name, parameter.default
            if not callable(default) or name in fixed:
                continue
            if isinstance(setup[name], np.ndarray):
                values[name] = np.where(setup[name] == default(setup), default(values), setup[name])
            elif setup[name] == parameter.check(default(setup)):
                values[name] = parameter.check(default(values))
        self.validate(values)
        return Setup(self.name, values, of=self)


def _of_package(name: str) -> System:
    return import_module(name).SYSTEM


def _empty(cls: type[System]) -> System:
    """A system whose content comes after it, as it may hold itself: a claim's function may look at its model."""
    return cls.__new__(cls)
