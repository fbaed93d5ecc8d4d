"""A model, declared once: blocks of weights, samples, a loss, what to observe; its levels follow.

    model = fs.Model(
        "signal",
        parameters={"M": fs.Size(3, 1, 8), "omega": fs.Real(0.1, 1e-4, 2, log=True)},
        blocks=lambda p: {"v": fs.Direct(p.M), "S": fs.Pair(p.M, p.M, scale=p.omega)},
        samples=lambda p: fs.Samples(keys=…, y=…),
        loss=lambda ops, w, X, p: ops.softplus(-X.y * ops.attend(w.v[X.keys], w.S[X.keys, -1], axis=-1)),
    )
    fs.derive(model), fs.solve(model), fs.train(model), fs.compare(model)

L0 is gradient descent on the weights or, exactly, on their inner products; L1 and L2 the flows of both; L3 the limit of
infinite width, lumped to the fewest variables. A paper adds what the engine cannot know: a limit stated with sizes as
symbols, surrogates, claims, figures (`variants` and the fields of `System`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from inspect import signature
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.model.concrete import Concrete
from flowsys.model.declaration import Block, Choice, Crossing, Mark, Real, Samples, Size, Stage
from flowsys.model.declared import Declaration, Stages
from flowsys.model.forms import Builder, Form, form_of, levels_of
from flowsys.model.stated import started_from
from flowsys.model.values import arrays_of
from flowsys.system.definition import ENTRY, System, Variants
from flowsys.system.lazy import LazyMapping
from flowsys.system.parameters import FINITE, LEVELS, Parameter, Setup, t_max
from flowsys.system.problem import Problem
from flowsys.system.references import Paper


class Model(System):
    """A system made from one declaration; see the module for an example and `flowsys show --template` for a file.

    `blocks(p)` gives the weights, `samples(p)` the data, `loss(ops, w, X, p)` one number a sample (without samples:
    one number), `observe` further numbers by name, or `observe(p)` those of given sizes. `stages` lists `fs.Stage`, or
    {mode: stages}; `events` are `fs.Crossing` and `fs.Mark`; `integrals` observables integrated in time;
    `batches(key, p)` fresh samples for SGD, made with jax.random and jax.numpy.
    `variants` adds forms of a level, {level: {variant: (meaning, build(setup, mode))}}, the first the default; in place
    of the pair or of its build the name of a form of the engine's own, which the variant then is (at L2 also `unread`:
    the flow of all inner products, of which the blocks' `read` is taken afterwards). A start given to a stated form
    sets coordinates of its state by name; a build that has a keyword `start` takes it as it is.
    `columns` may name the level whose stated forms take every real of it as an array (see `System`).
    `measures` are numbers that no formula gives, {name: function(w, X, p)} on NumPy arrays, taken of recorded states;
    `looks` what a run shows unasked, {mode: events and times}. `stated` has the meanings of observables that only
    stated forms have; `forms` the levels of a mode that has not all, {mode: levels}, or {mode: {level: variants}}.
    `width`, `learning_rate` and `t_max` are their defaults, or declared in full (`fs.Size`, `fs.Real`).
    """

    declaration: Declaration
    given: tuple[str, dict[str, Any]]
    steps: int
    variants: dict[str, dict[str, Form]]
    stated_columns: Callable[[Setup, str, str, str], Sequence[str]] | str | None
    stated: dict[str, str]
    forms: dict[str, Mapping[str, Sequence[str]] | Sequence[str]]

    def __init__(
        self,
        name: str,
        *,
        blocks: Callable[[Any], Mapping[str, Block]],
        loss: Callable,
        parameters: Mapping[str, Size | Real | Choice] | None = None,
        samples: Callable[[Any], Samples] | None = None,
        observe: Mapping[str, Callable] | Callable[[Any], Mapping[str, Callable]] | None = None,
        events: Mapping[str, Crossing | Mark] | None = None,
        stages: Sequence[Stage] | Stages | None = None,
        claims: Sequence[Any] = (),
        integrals: Mapping[str, str] | None = None,
        batches: Callable | None = None,
        t_max: float | Real = 1e6,
        summary: str = "",
        paper: Paper | None = None,
        latex: Mapping[str, str] | None = None,
        width: int | Size = 500,
        learning_rate: float | Real = 0.1,
        steps: int = 1000,
        modes: Mapping[str, str] | None = None,
        variants: Mapping[str, Mapping[str, Form]] | None = None,
        measures: Mapping[str, Callable] | None = None,
        looks: Mapping[str, Sequence[str | float]] | None = None,
        stated: Mapping[str, str] | None = None,
        forms: Mapping[str, Mapping[str, Sequence[str]] | Sequence[str]] | None = None,
        **more: Any,
    ):
        given = {key: value for key, value in locals().items() if key not in ("self", "name", "more", "__class__")}
        object.__setattr__(self, "given", (name, given | more))
        if not isinstance(name, str) or not name.replace("-", "_").isidentifier():
            raise InputError(f"model name = {name!r} must be made of letters, digits, underscores and dashes.")
        declaration = Declaration(
            name, parameters, blocks, samples, loss, observe, events, stages, integrals, batches, latex, measures, looks
        )
        known = {f.name for f in fields(System)}
        for extra in more:
            if extra not in known:
                raise InputError(f"model {name} has no keyword {extra!r}.")
        _set = object.__setattr__
        _set(self, "declaration", declaration)
        if not isinstance(steps, int) or steps < 1:
            raise InputError(f"model {name}: steps = {steps!r} must be a whole number of at least 1.")
        _set(self, "steps", steps)
        _set(self, "variants", {level: dict(of_level) for level, of_level in (variants or {}).items()})
        _set(self, "stated", dict(stated or {}))
        _set(self, "forms", dict(forms or {}))
        parameters_of = self._parameters(width, learning_rate, t_max)
        example = self._example(parameters_of)
        parameters_of = tuple(self._as_read(parameter, example) for parameter in parameters_of)
        values: dict[str, Any] = {
            "name": name,
            "paper": paper or Paper(name, summary or name, ""),
            "summary": summary or f"a model of {', '.join(example.blocks)}",
            "parameters": parameters_of,
            "modes": dict(modes or {mode: _told(listed) for mode, listed in declaration.stages.items()}),
            "levels": self._levels(example),
            "events": {key: event.meaning or _words(event) for key, event in declaration.events.items()}
            | {
                s.name: f"after the gradient step {s.name}"
                for listed in declaration.stages.values()
                for s in listed
                if s.step is not None
            },
            "observables": LazyMapping(lambda: self._observables(parameters_of)),
            "build": self._build,
            "default_level": "L3" if self._has_limit(example) else "L2",
            "training": self._training,
            "derive": self._derive,
            "ladder": self._ladder,
            "claims": claims,
            "latex": declaration.latex,
        }
        _set(self, "stated_columns", more.get("columns"))  # the engine answers for found forms
        super().__init__(**(values | more | {"columns": self._columns}))

    def __getstate__(self) -> tuple:
        return self.given, self.source

    def __setstate__(self, state: tuple) -> None:
        """Declared again, in another process."""
        (name, given), source = state
        self.__init__(name, **given)  # type: ignore[misc]  # declared again in its place
        object.__setattr__(self, "source", source)

    @property
    def content(self) -> Any:
        return self.given

    def alone(self, mode: str, **changed: Any) -> "Model":
        """One mode as a model of its own, some of its declaration replaced: a reading of the same model."""
        events = {name: replace(event, modes=None) for name, event in self.declaration.events_in(mode).items()}
        of_mode = {"stages": {mode: self.declaration.stages[mode]}, "events": events, "modes": None, "looks": None,
                   "variants": None, "forms": None, "mode_defaults": {}, "clocks": {}}  # fmt: skip
        name, given = self.given
        return Model(name, **given | of_mode | changed)

    # -- what the declaration says ------------------------------------------------------------------------------

    def _parameters(
        self, width: int | Size, learning_rate: float | Real, horizon: float | Real
    ) -> tuple[Parameter, ...]:
        own = [p.parameter(name) for name, p in self.declaration.parameters.items()]
        finite = [
            width.parameter("width") if isinstance(width, Size) else
            Parameter("width", width, "inner width m of the finite model", low=1, integer=True, levels=FINITE),
            Parameter("seed", 0, "seed of the random start", low=0, high=2**31 - 1, integer=True, levels=FINITE),
            replace(learning_rate.parameter("learning_rate"), levels=("L0",)) if isinstance(learning_rate, Real) else
            Parameter("learning_rate", learning_rate, "step of descent", low=0, open_low=True, levels=("L0",)),
        ]  # fmt: skip
        return (*own, *finite, horizon.parameter("t_max") if isinstance(horizon, Real) else t_max(horizon))

    def _example(self, parameters: Sequence[Parameter]) -> Concrete:
        values: dict[str, Any] = {}
        for p in parameters:
            values[p.name] = p.check(p.default(values) if callable(p.default) else p.default)
        example = Concrete(self.declaration, values, next(iter(self.declaration.stages)))
        for mode in self.declaration.stages:
            there = Concrete(self.declaration, values, mode)
            for number in range(len(there.stages)):
                there.weights(number)
        return example

    def _as_read(self, parameter: Parameter, example: Concrete) -> Parameter:
        """A parameter; the seed is one of all levels where the data is drawn with it."""
        modes = (Concrete(self.declaration, example.values, mode) for mode in self.declaration.stages)
        is_of_data = parameter.name == "seed" and any("seed" in self.declaration.sample_reads(mode) for mode in modes)
        if not is_of_data:
            return parameter
        return replace(parameter, meaning="seed of the data and of the random start", levels=LEVELS)

    def _has_limit(self, example: Concrete) -> bool:
        reads = {*example.block_reads, *self.declaration.sample_reads(example)}
        try:
            example.seen_at_limit()
        except InputError:
            return bool(self.variants.get("L3"))
        return "width" not in reads or bool(self.variants.get("L3"))

    def _levels(self, example: Concrete) -> dict[str, Variants]:
        return levels_of(self.variants, bool(example.pairs), self.declaration.batches is not None)

    def _observables(self, parameters: Sequence[Parameter]) -> dict[str, str]:
        found = {"loss": "the loss, averaged over the samples"}
        example = self._example(parameters)
        found |= {key: _meaning(function) for key, function in example.observe.items()}
        found |= {key: _meaning(function) for key, function in self.declaration.measures.items()}
        found |= {key: f"{o}, integrated in time" for key, o in self.declaration.integrals.items()}
        coordinates = example.coordinates
        for block, places in coordinates.positions.items() if coordinates.size <= 400 else ():
            found |= dict.fromkeys((coordinates.names[i] for i in np.unique(places)), f"{ENTRY} {block}")
        return found | self.stated

    # -- levels -------------------------------------------------------------------------------------------------

    def concrete(self, setup: Setup, level: str, mode: str, unread: bool = False) -> Concrete:
        """The model at the numbers of a setup."""
        return Concrete(self.declaration, setup, mode, at_limit=level == "L3", unread=unread)

    def _form(self, level: str, variant: str) -> Builder | str:
        return form_of(self.variants.get(level, {}).get(variant, variant))

    def _build(self, setup: Setup, level: str, variant: str, mode: str) -> Problem:
        return self.started(setup, level, variant, mode, None)

    def started(self, setup: Setup, level: str, variant: str, mode: str, start: Mapping[str, Any] | None) -> Problem:
        self._check_form(level, variant, mode)
        form = self._form(level, variant)
        if not isinstance(form, str):
            if start is not None and _takes_start(form):
                return form(setup, mode, start=start)
            return started_from(form(setup, mode), start, f"{level} ({variant})")
        if level == "L3":
            from flowsys.model.columns import in_points
            from flowsys.model.limit import limit_problem

            if arrays_of(setup):
                return in_points(self.declaration, setup, mode)
            return limit_problem(self.concrete(setup, level, mode), start)
        from flowsys.model.finite import flow_problem

        return flow_problem(self.concrete(setup, level, mode, unread=form == "unread"), level, start)

    def forms_of(self, mode: str) -> Mapping[str, Sequence[str]]:
        """The levels of a mode, with their variants."""
        forms = self.forms.get(mode, tuple(self.levels))
        return forms if isinstance(forms, Mapping) else {level: self.levels[level].names for level in forms}

    def _check_form(self, level: str, variant: str, mode: str) -> None:
        forms = self.forms_of(mode)
        if variant not in forms.get(level, ()):
            has = ", ".join(f"{known} ({', '.join(names)})" for known, names in forms.items())
            raise InputError(f"mode = {mode} is not allowed at level {level} ({variant}): it has {has} only.")

    def _columns(self, setup: Setup, level: str, variant: str, mode: str) -> Sequence[str]:
        """What a sweep may pose as arrays: as told for stated forms, what is but a number for found ones."""
        if variant not in self.forms_of(mode).get(level, ()):
            return ()
        if not isinstance(self._form(level, variant), str):
            if isinstance(self.stated_columns, str):
                reals = (p.name for p in self.parameters if level in p.levels and not p.integer and not p.choices)
                return tuple(reals) if level == self.stated_columns else ()
            return self.stated_columns(setup, level, variant, mode) if self.stated_columns else ()
        if level != "L3":
            return ()
        from flowsys.model.columns import column_names

        return column_names(self.declaration, mode)

    def named(self, level: str, form: str) -> str:
        """What the model calls a form of the engine's own."""
        return next((name for name in self.variants.get(level, {}) if self._form(level, name) == form), form)

    def _training(self, setup: Setup, variant: str, mode: str, seeds: int | None):
        return self.trained(setup, variant, mode, seeds, None)

    def trained(self, setup: Setup, variant: str, mode: str, seeds: int | None, start: Mapping[str, Any] | None):
        self._check_form("L0", variant, mode)
        form = self._form("L0", variant)
        if not isinstance(form, str):
            if start is None or _takes_start(form):
                return form(setup, mode, seeds, **({} if start is None else {"start": start}))
            raise InputError(f"start is not allowed at L0 ({variant}): only what follows from blocks takes one.")
        from flowsys.model.finite import training

        return training(self.concrete(setup, "L0", mode), form, seeds, start, self.steps)

    def _derive(self, setup: Setup, variant: str):
        from flowsys.model.derivation import derivation

        return derivation(self.concrete(setup, "L3", self.mode(setup.mode)))

    def _ladder(self, setup: Setup):
        from flowsys.model.rungs import rungs

        return rungs(self, setup)

    def shapes(self, setup: Setup | None = None, level: str = "L2") -> dict[str, tuple[int, ...]]:
        """The shapes of the weights (L0, L1), or of what the loss sees of them (L2, L3)."""
        return {name: array.shape for name, array in self.start(setup, level).items()}

    def start(self, setup: Setup | None = None, level: str = "L2", mode: str | None = None) -> dict[str, np.ndarray]:
        """The start that a run of a level would use, by block."""
        from flowsys.model.starts import own_weights, seen_by_numpy

        form = level, self.variant(level, None), self.mode(mode)
        concrete = self.concrete(self.settled(self.setup_in(mode, setup), *form), level, form[2])
        if level == "L3":
            return concrete.seen_at_limit()
        weights = own_weights(concrete)
        return weights if level in ("L0", "L1") else seen_by_numpy(concrete, weights)


def _takes_start(build: Callable) -> bool:
    """Whether a stated form has a start of its own."""
    return "start" in signature(build).parameters


def _told(stages: Sequence[Stage]) -> str:
    return "everything at once" if len(stages) == 1 else " · ".join(stage.name for stage in stages)


def _words(event: Crossing | Mark) -> str:
    if isinstance(event, Mark):
        return f"the time {event.time}"
    return f"{event.observable} {'rises' if event.direction > 0 else 'falls'} to {event.threshold}"


def _meaning(function: Callable) -> str:
    doc = getattr(function, "__doc__", None)
    return doc.strip().splitlines()[0] if doc else "an observable of the model"
