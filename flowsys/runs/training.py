"""train: gradient descent of the finite-width model, recorded under the names of the theory.

Time is learning rate × steps. Steps run in compiled chunks (a loop inside XLA, a Python loop outside), so memory stays
flat, a progress bar can move and Ctrl-C stops between chunks. Between records nothing is stored. An event is reported
at the first step after which it holds: descent is discrete, there is nothing to interpolate.
"""

import zipfile
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flowsys.errors import InputError, did_you_mean
from flowsys.integrate.outcome import Ending, Outcome
from flowsys.runs.layout import in_a_row
from flowsys.runs.plan import Plan, plan_of
from flowsys.runs.requests import plain_requests
from flowsys.runs.trajectory import Origin, Trajectory
from flowsys.system import Setup, System, asked
from flowsys.system.names import Names
from flowsys.system.problem import Event, Stage
from flowsys.version import VERSION

OF_WEIGHTS = b"weights"  # what a file of weights says of itself
AT_ONCE = 100_000  # steps between which Ctrl-C is heard
MOST_KEPT = 20_000_000  # numbers: weights are kept beside the records of a run up to here


@dataclass(frozen=True, eq=False)
class Descent:
    """A model to train: how one step changes its weights, and what can be observed.

    `step(weights, arguments, learning_rate)` and `observe(weights, arguments) -> {name: scalar}` are JAX functions on
    pytrees; if `observe` `takes_names`, the names that are asked for come third. Build one per structure
    (`functools.lru_cache`), so that what was compiled is found again. `derived` are further observables, computed from
    the weights outside JAX; the `dear` ones are computed only where they are asked for by name. `arrays` gives the
    blocks of weights by name, for runs that are asked for them.
    """

    step: Callable
    observe: Callable
    observables: tuple[str, ...]
    derived: Mapping[str, Callable[[Any, Any], float]] = field(default_factory=dict)
    dear: frozenset[str] = frozenset()
    takes_names: bool = False
    arrays: Callable[[Any], Mapping[str, Any]] | None = None

    def observed(self, weights, arguments, names: tuple[str, ...]) -> Mapping[str, Any]:
        """At least the named observables."""
        return self.observe(weights, arguments, names) if self.takes_names else self.observe(weights, arguments)

    @property
    def observable_names(self) -> tuple[str, ...]:
        return (*self.observables, *self.derived)


@dataclass(frozen=True)
class Training:
    """A descent with its initial weights and stages; the discrete counterpart of a `Problem`.

    `start` is the time that was trained before, and is a multiple of the learning rate.
    """

    descent: Descent
    initial: Any
    stages: tuple[Stage, ...]
    events: tuple[Event, ...] = ()
    marks: Mapping[str, float] = field(default_factory=dict)
    default_steps: int = 1000
    start: float = 0.0


@lru_cache(maxsize=64)
def _chunk(descent: Descent, watched: tuple[str, ...], batched: bool) -> Callable:
    """Up to n steps, fewer if a watched event fires; n is data, so one compilation serves every chunk length."""
    import jax
    import jax.numpy as jnp

    def fires(weights, arguments, thresholds, directions):
        if not watched:
            return jnp.asarray(False)
        everything = descent.observed(weights, arguments, watched)
        values = jnp.stack([everything[name] for name in watched])
        return ((directions != 0) & (directions * (values - thresholds) >= 0)).any()

    def run(weights, arguments, learning_rate, n, thresholds, directions):
        def body(carry):
            done, w, _ = carry
            w = descent.step(w, arguments, learning_rate)
            return done + 1, w, fires(w, arguments, thresholds, directions)

        done, weights, _ = jax.lax.while_loop(
            lambda c: (c[0] < n) & ~c[2], body, (jnp.asarray(0), weights, jnp.asarray(False))
        )
        return done, weights

    return jax.jit(jax.vmap(run, in_axes=(0, *[None] * 5)) if batched else run)


@lru_cache(maxsize=64)
def _observer(observe: Callable, names: tuple[str, ...], batched: bool, takes_names: bool) -> Callable:
    """Named values of the weights; descents that share `observe` share what is compiled."""
    import jax
    import jax.numpy as jnp

    def values(weights, arguments):
        everything = observe(weights, arguments, *([names] if takes_names else []))
        return jnp.array([everything[name] for name in names], dtype=float)

    return jax.jit(jax.vmap(values, in_axes=(0, None)) if batched else values)


def _recorder(descent: Descent, names: tuple[str, ...], batched: bool) -> Callable:
    """Named values of the weights, the derived ones (seed by seed) among them."""
    import jax

    direct = tuple(name for name in names if name not in descent.derived)
    observed = _observer(descent.observe, direct, batched, descent.takes_names)
    if direct == names:
        return lambda weights, arguments: np.asarray(observed(weights, arguments))

    def values(weights, arguments) -> np.ndarray:
        found = dict(zip(direct, np.moveaxis(np.asarray(observed(weights, arguments)), -1, 0)))
        for name in (name for name in names if name in descent.derived):
            of = descent.derived[name]
            if batched:
                n = len(jax.tree.leaves(weights)[0])
                found[name] = np.array([of(jax.tree.map(lambda w, i=i: w[i], weights), arguments) for i in range(n)])
            else:
                found[name] = np.asarray(of(weights, arguments))
        return np.stack([found[name] for name in names], axis=-1)

    return values


def train(
    system: System | str,
    setup: Setup | None = None,
    *,
    variant: str | None = None,
    mode: str | None = None,
    steps: int | None = None,
    until: float | None = None,
    at: Sequence[str | float] | None = None,
    records: int = 200,
    observe: Sequence[str] | None = None,
    seeds: int | None = None,
    stop_when_done: bool = False,
    start: Mapping[str, Any] | None = None,
    save_weights: str | Path | None = None,
    command: str = "",
    progress: Callable[[int, int], None] | None = None,
    **parameters: Any,
) -> Trajectory:
    """Train the real model by gradient descent at the setup's width, seed and learning rate.

    The system is named or given, parameters are keywords or a `setup`, as in `flowsys.solve`. Training takes so many
    `steps`, or goes on `until` a time; `records` evenly spaced steps are recorded besides the requested times and
    events. With `seeds` = n, the seeds seed … seed + n - 1 train side by side and every series has a second axis over
    them. `stop_when_done` ends training once everything in `at` has been reached. `start` overrides some of the initial
    weights by name; `save_weights` names a file (NPZ) for the last ones. Names are those of the theory.

    >>> import flowsys as fs
    >>> trained = fs.train("mixture", mode="simultaneous", width=50, until=20, observe=["w_c"])
    >>> theory = fs.solve("mixture", mode="simultaneous", until=20, observe=["w_c"])
    >>> bool(abs(trained["w_c"][-1] - theory["w_c"][-1]) < 0.05)
    True
    """
    import jax

    system, setup = asked(system, setup, mode, parameters)
    if system.training is None:
        raise InputError(f"system = {system.name} has no finite-width model to train.")
    variant, mode = system.variant("L0", variant), system.mode(mode)
    setup = system.settled(setup, "L0", variant, mode)
    at = plain_requests(at) if at is not None else None
    η = setup["learning_rate"]
    with jax.enable_x64(True):
        training = system.trained(setup, variant, mode, seeds, start)
        names = tuple(observe) if observe is not None else system.unasked("L0", training.descent)
        for name in names:
            if name not in training.descent.observable_names:
                hint = did_you_mean(name, training.descent.observable_names)
                raise InputError(f"observe = {name} is not an observable of {system.name} in training.{hint}")
        steps = steps if until is None else _steps_until(until, steps, training.start, η, setup["t_max"])
        plan = plan_of(system, training, steps, at, records, η, setup["t_max"])
        if seeds is not None and (plan.events or any(stage.ends_on for stage in training.stages[:-1])):
            raise InputError(f"seeds = {seeds} is not allowed with events: seeds reach them at different steps.")
        keeps = seeds is None and training.descent.arrays is not None
        arrays = dict(training.descent.arrays(training.initial)) if keeps else {}
        keeps &= sum(array.size for array in arrays.values()) * (len(plan.wanted) + len(plan.events)) <= MOST_KEPT
        if save_weights is not None and not arrays:
            raise InputError(f"save_weights = {save_weights} is not allowed: {_why_no_weights(system, seeds)}.")
        rows, last = _collected(_run(training, names, plan, η, seeds is not None, stop_when_done, progress, keeps))
    if save_weights is not None:
        _save(save_weights, training.descent.arrays(last))
    origin = Origin(system.name, "L0", variant, mode, dict(setup), VERSION, command, system.place)
    layout = in_a_row({name: array.shape for name, array in arrays.items()}) if keeps else {}
    return _trajectory(rows, names, at, plan, origin, η, system.names, layout)


def _steps_until(until: float, steps: int | None, start: float, η: float, t_max: float) -> int:
    """How many steps come to a time."""
    if steps is not None:
        raise InputError(f"until = {until:g} is not allowed beside steps = {steps}: either says how long to train.")
    if not start < until <= t_max:
        raise InputError(f"until = {until:g} is not allowed: it must lie between the start, t = {start:g}, and "
                         f"t_max = {t_max:g}.")  # fmt: skip
    return max(1, round((until - start) / η))


def _why_no_weights(system: System, seeds: int | None) -> str:
    return "seeds side by side have no one set of weights" if seeds else f"{system.name} does not declare its blocks"


def _save(path: str | Path, arrays: Mapping[str, Any]) -> None:
    """Weights by name in an NPZ file, written whole or not at all."""
    from flowsys.machine.files import write_atomically

    plain: dict[str, Any] = {name: np.asarray(array) for name, array in arrays.items()}

    def write(temporary: Path) -> None:
        with open(temporary, "wb") as handle:
            np.savez(handle, **plain)
        with zipfile.ZipFile(temporary, "a") as archive:
            archive.comment = OF_WEIGHTS

    write_atomically(path, write)


def _collected(run: Generator) -> tuple[list, Any]:
    """All rows of a run, and the weights at its end."""
    rows = []
    while True:
        try:
            rows.append(next(run))
        except StopIteration as end:
            return rows, end.value


class _Row(NamedTuple):
    """A recorded step: its label, its observables, and the blocks of weights where they are kept."""

    step: int
    label: str
    values: np.ndarray
    arrays: Mapping[str, Any]


def _run(training: Training, names, plan: Plan, η: float, batched: bool, stop_when_done: bool, progress, keeps: bool):
    """Rows at the wanted steps and at the events, stage after stage; returns the weights at the end."""
    values = _recorder(training.descent, names, batched)
    weights, done = training.initial, round(training.start / η)
    reached: set[str] = set()
    arrays_of = training.descent.arrays
    kept = lambda: arrays_of(weights) if keeps and arrays_of is not None else {}
    yield _Row(done, plan.wanted.get(done, ""), np.asarray(values(weights, training.stages[0].arguments)), kept())
    for number, stage in enumerate(training.stages):
        is_last = number == len(training.stages) - 1
        terminal = None if is_last else stage.ends_on
        end = plan.total if stage.until is None or is_last else min(plan.total, round(stage.until / η))
        while done < end and terminal not in reached:
            if stop_when_done and plan.events <= reached and done >= max(plan.asked, default=0):
                return weights
            looked_for = plan.events | {terminal}
            events = [e for e in training.events if e.name in looked_for - reached]
            run = _chunk(training.descent, tuple(e.observable for e in events), batched)
            target = min([end, done + AT_ONCE, *(w for w in plan.wanted if w > done)])
            thresholds = np.array([e.threshold for e in events])
            directions = np.array([float(e.direction) for e in events])
            n, weights = run(weights, stage.arguments, η, target - done, thresholds, directions)
            done += int(np.max(n))
            now = np.asarray(values(weights, stage.arguments))
            for event in events:
                x = _recorder(training.descent, (event.observable,), batched)(weights, stage.arguments)
                if np.all(event.direction * (np.asarray(x) - event.threshold) >= 0):
                    reached.add(event.name)
                    yield _Row(done, event.name, now, kept())
            if done in plan.wanted:
                yield _Row(done, plan.wanted[done], now, kept())
            if not np.isfinite(now).all():
                if done not in plan.wanted:
                    yield _Row(done, "", now, kept())
                return weights
            if progress is not None:
                progress(done, plan.total)
    return weights


def _trajectory(
    rows: Sequence[_Row], names, at, plan: Plan, origin: Origin, η: float, named: Names, layout
) -> Trajectory:
    values = np.array([row.values for row in rows])
    labels = tuple(row.label for row in rows)
    done = max(row.step for row in rows)
    missing = sorted(plan.events - set(labels)) + [f"t = {η * step:g}" for step in sorted(plan.asked) if step > done]
    if not np.isfinite(values).all():
        outcome = Outcome(Ending.NOT_FINITE, "the weights stopped being finite: lower the learning rate.")
    elif missing:
        outcome = Outcome(Ending.NOT_REACHED, f"{', '.join(missing)} not reached in {done} steps; give more steps.")
    else:
        outcome = Outcome(Ending.COMPLETED, f"trained {done} steps to t = {η * done:g}")
    return Trajectory(
        t=np.array([η * row.step for row in rows]),
        series={name: values[..., i] for i, name in enumerate(names)},
        labels=labels,
        states=np.array([np.concatenate([np.zeros(0), *(np.ravel(row.arrays[k]) for k in layout)]) for row in rows]),
        state_names=tuple(
            f"{k}[{i}]" for k, placed in layout.items() for i in range(int(np.prod(placed.shape, dtype=int)))
        ),
        outcome=outcome,
        origin=origin,
        statistics={"steps": done, "learning_rate": η},
        requested=tuple(at) if at is not None else tuple(label for label in labels if label),
        meanings=named.meanings(names),
        symbols=named.symbols({*names, *filter(None, labels), *origin.parameters}, origin.mode),
        layout=layout,
    )
