"""A sweep: which system, which axes, which quantities; run in chunks that can be stored, resumed and spread out.

A point's numbers depend on its parameters alone: not on the chunk it falls into, the order, or how many threads or
workers there are. Chunks are the unit of storage and of distribution.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

from flowsys.derivatives.columns import TIME, Column
from flowsys.derivatives.columns import check as check_columns
from flowsys.errors import InputError, did_you_mean
from flowsys.kernels import cannot_compile
from flowsys.machine.fingerprint import fingerprint
from flowsys.runs.automatic import NATIVE
from flowsys.runs.flow import flow_of
from flowsys.runs.solving import check_numbers
from flowsys.sweeps.axes import Axis, checked
from flowsys.sweeps.over_seeds import Statistic, fresh_seed
from flowsys.sweeps.quantities import Quantity, Term, parse_quantity
from flowsys.sweeps.verdicts import OfClaim
from flowsys.system import Setup, System
from flowsys.system.problem import Problem, ProgramField
from flowsys.version import VERSION

CHUNK, LARGE_CHUNK, MANY = 1024, 4096, 32_768  # points a chunk; more in sweeps of so many points
LEADING = 6  # a system declares what matters most first
MAX_STEPS = 50_000  # per point: a sweep names the point and goes on
CHUNK_ONE_BY_ONE = 8  # points that cannot be batched are slow, and are stored and sent around in smaller portions


@dataclass(frozen=True)
class Sweep:
    """What to compute, and of which system: a sweep that is sent to another process takes its system along.

    `code` is the system's digest when the sweep was made; `example` stands for what the system makes of a point in the
    middle: program, samples, starts, events and stages (of a package its code says all that). With `selected`, only
    those points of the grid (flat indices) are computed: the rest is known from a file with the digest `base`. With
    `fresh_seeds`, points do not share seeds: each draws its own, from the seed asked for and its place on the axes.
    """

    system: System = field(compare=False)
    level: str
    variant: str
    mode: str
    axes: tuple[Axis, ...]
    quantities: tuple[Quantity | OfClaim, ...]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    rtol: float = 1e-8
    atol: float | None = None
    solver: str = "auto"
    kink_width: float | None = None
    max_steps: int = MAX_STEPS
    chunk_size: int = CHUNK
    seeds: int = 1
    fresh_seeds: bool = False
    selected: tuple[int, ...] | None = None
    base: str = ""
    code: str = ""
    example: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes)

    @property
    def size(self) -> int:
        """How many points are to be computed."""
        return prod(self.shape) if self.selected is None else len(self.selected)

    @property
    def terms(self) -> list[Term]:
        """What must be recorded for the quantities."""
        return [term for term in self._all_terms if not term.along]

    @property
    def slopes(self) -> list[Term]:
        """Derivatives of terms that the quantities need."""
        return [term for term in self._all_terms if term.along]

    @property
    def _all_terms(self) -> list[Term]:
        return list(dict.fromkeys(term for quantity in self.quantities for term in quantity.terms))

    @property
    def is_native(self) -> bool:
        """Whether points go to the native back-end, many at once, where their field is a program."""
        return self.solver in NATIVE and not cannot_compile()

    @property
    def n_chunks(self) -> int:
        return -(-self.size // self.chunk_size)

    def chunk(self, number: int) -> np.ndarray:
        """The flat indices of a chunk's points."""
        first, last = number * self.chunk_size, min((number + 1) * self.chunk_size, self.size)
        return np.arange(first, last) if self.selected is None else np.array(self.selected[first:last], dtype=int)

    def parameters(self, index: int) -> dict[str, Any]:
        """The parameters of a point."""
        places = np.unravel_index(index, self.shape)
        found = dict(self.fixed) | {axis.name: axis.values[i] for axis, i in zip(self.axes, places)}
        if self.fresh_seeds:
            found["seed"] = fresh_seed(found.get("seed", 0), {axis.name: found[axis.name] for axis in self.axes})
        return found

    @property
    def digest(self) -> str:
        """A key for everything that determines the numbers, the code too: equal sweeps resume each other's files."""
        values = repr([self.fixed, [axis.values for axis in self.axes]])  # of a file it tells what it holds
        bare = replace(self, system=None)  # type: ignore[arg-type]  # its name and `code` stand for it
        plain = asdict(bare) | {"system": self.system.name}
        text = json.dumps([plain, values], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def command(self) -> str:
        """The command that makes the diagram (before it was refined), whichever way it was asked for."""
        system = self.system.name if self.system.package or not self.system.place else f"--from {self.system.place}"
        told = [f"flowsys phase {system}", *(f"--axis {axis.text}" for axis in self.axes)]
        told.append(f"--observable '{','.join(quantity.name for quantity in self.quantities)}'")
        told.append(f"--level {self.level} --variant {self.variant} --mode {self.mode}")
        told += [f"--set {name}={value}" for name, value in self.fixed.items()]
        usual = {"rtol": 1e-8, "atol": None, "solver": "auto", "kink_width": None, "seeds": 1}
        told += [
            f"--{name.replace('_', '-')} {getattr(self, name)}" for name, v in usual.items() if getattr(self, name) != v
        ]
        return " ".join([*told, *(["--fresh-seeds"] if self.fresh_seeds else [])])

    @property
    def _usual(self) -> dict[str, Any]:
        """The system's leading parameters where they are neither swept nor set: a picture names them too."""
        example = example_of(self.system, self.axes, self.fixed)
        idle = self.system.fixes(example, self.level, self.variant, self.mode)  # a level's or mode's own values
        taken = {axis.name for axis in self.axes} | set(self.fixed) | set(idle)
        leading = [p for p in self.system.parameters if self.level in p.levels][:LEADING]
        defaults = self.system.mode_defaults.get(self.mode, {})
        free = {p.name: defaults.get(p.name, p.default) for p in leading if p.name not in taken}
        return {name: value for name, value in free.items() if not callable(value)}

    @property
    def origin(self) -> dict[str, Any]:
        """Provenance for the file, and how what it holds reads on a picture."""
        names, usual = self.system.names, self._usual
        return {
            "system": self.system.name,
            "place": self.system.place,
            "level": self.level,
            "variant": self.variant,
            "mode": self.mode,
            "fixed": dict(self.fixed),
            "rtol": self.rtol,
            "atol": self.atol,
            "max_steps": self.max_steps,
            "solver": self.solver,
            "kink_width": self.kink_width,
            "seeds": self.seeds,
            "fresh_seeds": self.fresh_seeds,
            "usual": usual,
            "symbols": names.symbols([*(axis.name for axis in self.axes), *self.fixed, *usual], self.mode),
            "labels": {quantity.name: quantity.label(names, self.mode) for quantity in self.quantities},
            "command": self.command,
            "version": VERSION,
            "code": self.code,
            "digest": self.digest,
        }


def example_of(system: System, axes: Sequence[Axis], fixed: Mapping[str, Any]) -> Setup:
    """The setup in the middle of the axes."""
    return system.setup(**fixed, **{axis.name: axis.values[len(axis) // 2] for axis in axes})


def make_sweep(
    system: System,
    axes: Sequence[Axis],
    quantities: Sequence[str],
    level: str | None = None,
    variant: str | None = None,
    mode: str | None = None,
    fixed: Mapping[str, Any] | None = None,
    **options: Any,
) -> Sweep:
    """A checked sweep; bad input is refused before anything runs."""
    fixed = dict(fixed or {})
    if not axes:
        raise InputError("the sweep is empty: give at least one axis, e.g. --x b=0.1:2:50.")
    if not quantities:
        raise InputError("the sweep measures nothing: give at least one observable.")
    names = [axis.name for axis in axes]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"axis {name} is given twice.")
        if name in fixed:
            raise InputError(f"{name} is both an axis and fixed by --set.")
    axes = tuple(checked(axis, system) for axis in axes)
    level = level or system.default_level
    variant, mode = system.variant(level, variant), system.mode(mode)
    of_mode = {k: v for k, v in system.mode_defaults.get(mode, {}).items() if k not in names}
    asked = sorted({*names, *(k for k, v in fixed.items() if of_mode.get(k) != v)})
    fixed = of_mode | fixed
    values = {p.name: p.check(fixed[p.name]) for p in system.parameters if p.name in fixed}
    for name in fixed:
        if name not in values:
            raise system.unknown_parameter(name)
    seeds = options.get("seeds", 1)
    example = example_of(system, axes, values)
    events, observables, in_batches, content = _vocabulary(system, example, level, variant, mode)
    # claims are measured at their own level, unless another than the system's usual one is asked for
    parsed = tuple(parse_quantity(q, events, level if level != system.default_level else None) for q in quantities)
    for quantity in parsed:
        for term in quantity.terms:
            if term.observable and term.observable not in observables:
                raise _unknown_observable(system, level, term, events, observables)
            if not isinstance(term.at, str) and "t_max" not in names and term.at > example["t_max"]:
                raise InputError(f"observable {quantity.name} lies beyond t_max = {example['t_max']:g}.")
    _check_slopes(system, example, (level, variant, mode), parsed, options.get("kink_width"))
    parsed = tuple(q.checked(system, asked, example, seeds) if isinstance(q, OfClaim) else q for q in parsed)
    _check_seeds(system, level, parsed, names, seeds, options.get("fresh_seeds", False))
    check_numbers(
        options.get("rtol", 1e-8), options.get("atol"), options.get("solver", "auto"),
        options.get("max_steps", MAX_STEPS), options.get("kink_width"),
    )  # fmt: skip
    in_batches &= options.get("solver", "auto") in NATIVE and any(q.terms for q in parsed)
    if options.get("chunk_size") is None:
        n = prod(map(len, axes))
        in_one = (LARGE_CHUNK if n > MANY else CHUNK) if in_batches else CHUNK_ONE_BY_ONE
        options["chunk_size"] = max(1, in_one // seeds)
    return Sweep(system, level, variant, mode, axes, parsed, values, code=system.digest, example=content, **options)


def _unknown_observable(system: System, level: str, term: Term, events, observables) -> InputError:
    """What is said of a name that is none at the level; an event has a time, but nothing else at a place."""
    if term.observable in events:
        return InputError(f"observable {term.observable} is an event: write {term.observable} alone for its time.")
    said = f"observable {term.observable} is not one of {system.name}'s at {level}."
    return InputError(said + did_you_mean(term.observable, observables))


def _vocabulary(system: System, setup: Setup, level: str, variant: str, mode: str):
    """The events and observables at a level, whether its points can be integrated in batches, and `Sweep.example`."""
    content = lambda of, program: "" if system.package else fingerprint([program, *_numbers(of)])
    if level != "L0":
        problem = system.problem(setup, level, variant, mode)
        program = str(problem.field.program) if isinstance(problem.field, ProgramField) else None
        return problem.event_names, problem.observable_names, program is not None, content(problem, program)
    if system.training is None:
        raise InputError(f"level = L0 is not allowed: {system.name} has no finite-width model to train.")
    import jax

    with jax.enable_x64(True):
        training = system.training(system.settled(setup, level, variant, mode), variant, mode, None)
        said = content(training, None)
    return (*(e.name for e in training.events), *training.marks), training.descent.observable_names, False, said


def _numbers(of: Problem | Any) -> tuple:
    """The start, stages, events and marks of a problem or a training."""
    return of.initial, of.stages, of.events, of.marks


def _check_slopes(
    system: System,
    example: Setup,
    form: tuple[str, str, str],
    quantities: Sequence[Quantity | OfClaim],
    kink_width: float | None,
) -> None:
    """Derivatives need a flow that is a derived program, with its kinks as they are."""
    columns = [Column(t.along, t.observable or TIME) for q in quantities for t in q.terms if t.along]
    if columns and (form[0] == "L0" or kink_width is not None):
        why = "level = L0 is descent, not a flow" if form[0] == "L0" else "smoothed kinks cannot be varied"
        raise InputError(f"derivative {columns[0].along} is not allowed here: {why}.")
    if columns:
        check_columns(flow_of(system, example, *form), columns)


def _check_seeds(
    system: System, level: str, quantities: Sequence[Quantity | OfClaim], axes: Sequence[str], seeds: int, fresh: bool
) -> None:
    """Statistics need seeds, seeds need statistics and a level that has them."""
    plain = [q for q in quantities if q.terms and not isinstance(q, Statistic)]
    if seeds == 1 and len(plain) < sum(bool(q.terms) for q in quantities):
        name = next(q.name for q in quantities if isinstance(q, Statistic))
        raise InputError(f"observable {name} is a statistic over seeds: give --seeds N, at least 2.")
    if seeds > 1 and plain:
        raise InputError(
            f"observable {plain[0].name} with --seeds {seeds}: say which statistic, e.g. mean(…) or q90(…)."
        )
    has_seed = any(p.name == "seed" and level in p.levels for p in system.parameters)
    if seeds > 1 and not has_seed:
        raise InputError(f"--seeds {seeds} is not allowed at level {level}: it has no random start.")
    if fresh and not has_seed:
        raise InputError(f"--fresh-seeds is not allowed at level {level}: it has no random start.")
    if seeds > 1 and "seed" in axes:
        raise InputError(f"--seeds {seeds} is not allowed where seed is an axis.")


@dataclass(frozen=True)
class Chunk:
    """The numbers of a chunk: quantities × points, and an index into OUTCOMES for every point."""

    number: int
    values: np.ndarray
    outcomes: np.ndarray
