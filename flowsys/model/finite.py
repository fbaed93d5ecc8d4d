"""The finite levels of a model as problems and trainings: its own start, or a given one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.errors import InputError
from flowsys.machine.memory import check_room
from flowsys.model.averages import Averages
from flowsys.model.checks import keeps_spectra, tried
from flowsys.model.concrete import Concrete
from flowsys.model.descent import IN_BATCHES, ON_SEEN, descent, initial_state
from flowsys.model.flows import Weights, count_gates, reduced_field, weights_field
from flowsys.model.limit import spectra
from flowsys.model.starts import seen_by_numpy, seen_from, weights_from
from flowsys.model.steps import are_steps, in_steps, rates_of_steps
from flowsys.runs.layout import Placed, in_a_row
from flowsys.runs.training import Descent, Training
from flowsys.system.lazy import first_of
from flowsys.system.problem import Problem, Stage


def stages_of(concrete: Concrete, n_gates: int = 0) -> tuple[Stage, ...]:
    return tuple(
        Stage(stage.name, concrete.arguments(i, n_gates), concrete.until(stage), stage.ends_on)
        for i, stage in enumerate(concrete.stages)
    )


def flow_problem(concrete: Concrete, level: str, start: Mapping[str, Any] | None = None) -> Problem:
    """Gradient flow on the weights (L1) or on what the loss sees of them (L2)."""
    tried(concrete)
    coordinates, compiled = concrete.coordinates, concrete.declaration.compiled
    kinks = "exact" if are_steps(concrete.stages) else "frozen"
    with jax.enable_x64(True):
        n_gates = compiled(("gates", concrete.structure), lambda: count_gates(concrete))
        if level == "L1":
            weights = weights_from(concrete, start)
            shapes = Weights({name: array.shape for name, array in weights.items()})
            width = tuple(shapes.shapes.items())
            field = compiled(("L1", concrete.structure, width), lambda: weights_field(concrete, shapes, kinks))
            initial, layout = shapes.join(weights), in_a_row(shapes.shapes)
            flat = lambda y: coordinates.join(seen_by_numpy(concrete, shapes.split(y[: shapes.size])))
            seen = seen_by_numpy(concrete, weights)
        else:
            seen = seen_from(concrete, start)
            field = compiled(("L2", concrete.structure), lambda: reduced_field(concrete, kinks))
            initial, flat = coordinates.join(seen), lambda y: y
            layout = {name: Placed(at.shape, 0, at) for name, at in coordinates.positions.items()}
    shown = concrete.default_names()
    averages = {} if concrete.is_unread else Averages(concrete, flat)  # classes are those of what the loss sees
    problem = Problem(
        field=field,
        initial=np.concatenate([initial, np.zeros(len(concrete.declaration.integrals))]),
        stages=stages_of(concrete, n_gates),
        events=concrete.events(),
        marks=concrete.marks(),
        derived=first_of(concrete.measures(lambda y: coordinates.split(flat(y))), averages),
        dear=frozenset((*field.observables, *coordinates.averages)) - frozenset(shown),
        conserved=spectra(coordinates, None) if level == "L2" and keeps_spectra(concrete) else None,
        scale=concrete.declaration.scale(concrete.blocks, seen),
        t_max=float(concrete.values["t_max"]),
        default_at=concrete.declaration.default_at(concrete.values, concrete.mode),
        layout=layout,
    )
    return in_steps(problem, concrete.declaration, concrete.values, concrete.mode)


def training(
    concrete: Concrete, variant: str, seeds: int | None, start: Mapping[str, Any] | None, steps: int
) -> Training:
    """Gradient descent from the weights of `seed`, or of `seeds` seeds side by side."""
    tried(concrete)
    declared, first = concrete.declaration, int(concrete.values["seed"])
    if seeds is not None and start is not None:
        raise InputError(f"seeds = {seeds} is not allowed with start: seeds differ in where they start.")
    observed_only = variant in IN_BATCHES  # fresh batches train, the samples are what they are observed on
    reads_of_samples = set() if observed_only else declared.sample_reads(concrete)
    for what, reads in (("samples", reads_of_samples), ("blocks", concrete.block_reads)):
        if seeds is not None and "seed" in reads:
            raise InputError(f"seeds = {seeds} is not allowed: the {what} of {declared.name} depend on the seed.")
    if variant in IN_BATCHES:
        for stage in concrete.stages:
            if stage.samples or stage.loss or stage.where:
                raise InputError(
                    f"variant = {variant} is not allowed in mode {concrete.mode}: stage {stage.name} has samples, "
                    "a loss or a where of its own, which fresh batches do not know."
                )
    made = declared.compiled(("L0", variant, concrete.structure), lambda: descent(concrete, variant))
    states: list = []
    for seed in range(first, first + (seeds or 1)):
        if len(states) == 1:
            each = sum(np.size(array) for array in jax.tree.leaves(states[0]))
            check_room((seeds or 1) * each, f"the weights of {seeds} seeds")
        on_seen = variant in ON_SEEN and start is not None
        weights = seen_from(concrete, start) if on_seen else weights_from(concrete, start, seed)
        states.append(initial_state(concrete, variant, weights, seed))
    initial = states[0] if seeds is None else jax.tree.map(lambda *x: jnp.stack(x), *states)
    if are_steps(concrete.stages):
        return _trained_in_steps(concrete, made, initial)
    return Training(made, initial, stages_of(concrete), concrete.events(), concrete.marks(), default_steps=steps)


def _trained_in_steps(concrete: Concrete, made: Descent, initial: Any) -> Training:
    """One step of descent a stage, each with the rate of its stage."""
    η = float(concrete.values["learning_rate"])
    rates = rates_of_steps(concrete.declaration, concrete.values, concrete.mode)
    ends = {name: (1 + number) * η for number, name in enumerate(rates)}
    stages = []
    for stage, rate in zip(stages_of(concrete), rates.values()):
        scaled = {name: own * rate / η for name, own in stage.arguments.rates.items()}
        stages.append(replace(stage, arguments=stage.arguments._replace(rates=scaled), until=ends[stage.name]))
    return Training(made, initial, tuple(stages), concrete.events(), ends, default_steps=len(stages))
