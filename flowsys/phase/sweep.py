"""A sweep: which system, which axes, which quantities; run in chunks that can be stored, resumed and spread out.

A point's numbers depend on its parameters alone: not on the chunk it falls into, the order, or how many threads or
workers there are. Chunks are the unit of storage and of distribution.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from math import prod
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.phase.axes import Axis, checked
from flowsys.phase.quantities import Quantity, Term, parse_quantity
from flowsys.problem import ProgramField
from flowsys.system import System
from flowsys.version import VERSION

CHUNK = 1024
MAX_STEPS = 50_000  # per point: a sweep names the point and goes on
CHUNK_ONE_BY_ONE = 8  # points that cannot be batched are slow, and are stored and sent around in smaller portions


@dataclass(frozen=True)
class Sweep:
    """What to compute; everything in it is plain data, so that it can be sent to another process.

    With `selected`, only those points of the grid (flat indices) are computed: the rest is known from a file with the
    digest `base`.
    """

    system: str
    level: str
    variant: str
    mode: str
    axes: tuple[Axis, ...]
    quantities: tuple[Quantity, ...]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    rtol: float = 1e-8
    atol: float | None = None
    solver: str = "auto"
    kink_width: float | None = None
    max_steps: int = MAX_STEPS
    chunk_size: int = CHUNK
    selected: tuple[int, ...] | None = None
    base: str = ""

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
        return list(dict.fromkeys(term for quantity in self.quantities for term in quantity.terms))

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
        return dict(self.fixed) | {axis.name: axis.values[i] for axis, i in zip(self.axes, places)}

    @property
    def digest(self) -> str:
        """A key for everything that determines the numbers: equal sweeps resume each other's files."""
        text = json.dumps([VERSION, asdict(self)], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def origin(self) -> dict[str, Any]:
        """Provenance for the file."""
        return {
            "system": self.system,
            "level": self.level,
            "variant": self.variant,
            "mode": self.mode,
            "fixed": dict(self.fixed),
            "rtol": self.rtol,
            "atol": self.atol,
            "max_steps": self.max_steps,
            "solver": self.solver,
            "kink_width": self.kink_width,
            "version": VERSION,
            "digest": self.digest,
        }


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
    fixed = {k: v for k, v in system.mode_defaults.get(mode, {}).items() if k not in names} | fixed
    values = {p.name: p.check(fixed[p.name]) for p in system.parameters if p.name in fixed}
    for name in fixed:
        if name not in values:
            raise InputError(f"{system.name} has no parameter {name!r}.")
    example = system.setup(**values, **{axis.name: axis.values[len(axis) // 2] for axis in axes})
    problem = system.problem(example, level, variant, mode)
    parsed = tuple(parse_quantity(text, problem.event_names) for text in quantities)
    for quantity in parsed:
        for term in quantity.terms:
            if term.observable and term.observable not in problem.observable_names:
                raise InputError(f"observable {term.observable} is not one of {system.name}'s at {level}.")
    in_batches = isinstance(problem.field, ProgramField) and options.get("solver", "auto") in ("auto", "native")
    if options.get("chunk_size") is None:
        options["chunk_size"] = CHUNK if in_batches else CHUNK_ONE_BY_ONE
    return Sweep(system.name, level, variant, mode, axes, parsed, values, **options)


@dataclass(frozen=True)
class Chunk:
    """The numbers of a chunk: quantities × points, and an index into OUTCOMES for every point."""

    number: int
    values: np.ndarray
    outcomes: np.ndarray


def run(
    sweep: Sweep, done: Set[int] = frozenset(), evaluate: Callable[[Sweep, int], Chunk] | None = None
) -> Iterator[Chunk]:
    """The chunks of a sweep that are not done yet, as they finish."""
    from flowsys.phase.points import evaluate_chunk

    evaluate = evaluate or evaluate_chunk
    for number in range(sweep.n_chunks):
        if number not in done:
            yield evaluate(sweep, number)
