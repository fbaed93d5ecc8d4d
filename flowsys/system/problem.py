"""An initial-value problem in stages: what a system hands to a solver.

A `Field` is a vector field with the observables and switching functions that go with it, on flat state vectors; all
numbers it needs arrive as `arguments` (any pytree of arrays), so nothing is compiled in. A `Problem` chains stages of
one field: each has its own arguments (which blocks train, on which samples) and ends at a time or on an event.

Points of a sweep that share all but some numbers are one problem too: wherever a number depends on a parameter that was
given as an array over the points (initial state, the arguments' parameters, ends of stages, thresholds, marks, scale,
t_max), it has a leading axis of points. `derived` observables and what is `conserved` are taken from single points'
problems then.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from flowsys.program import Program

if TYPE_CHECKING:
    from flowsys.program.arrays import Kinks


class Field(Protocol):
    """A vector field dy/dt = rhs(y, arguments) in JAX, hashable so that compiled solvers are found again."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def observables(self) -> tuple[str, ...]: ...

    @property
    def has_kinks(self) -> bool: ...

    def __hash__(self) -> int: ...

    def rhs(self, y, arguments): ...

    def switching(self, y, arguments): ...

    def observe(self, names: tuple[str, ...]) -> Callable: ...

    def smoothed(self) -> "Field": ...


@dataclass(frozen=True)
class ProgramField:
    """A derived program as a field. `kinks` says how ReLUs are read (see `flowsys.program.arrays`)."""

    program: Program
    kinks: "Kinks" = "frozen"

    def __hash__(self) -> int:
        return hash((self.program.digest, self.kinks))

    def __eq__(self, other) -> bool:
        same_kind = isinstance(other, ProgramField)
        return same_kind and (self.program.digest, self.kinks) == (other.program.digest, other.kinks)

    @property
    def names(self) -> tuple[str, ...]:
        return self.program.state

    @property
    def observables(self) -> tuple[str, ...]:
        return tuple(self.program.observables)

    @property
    def has_kinks(self) -> bool:
        return self.kinks == "frozen" and bool(self.program.kinks)

    def rhs(self, y, arguments):
        import jax.numpy as jnp

        from flowsys.program.arrays import vector_field

        return vector_field(self.program, self.kinks, jnp)(y, arguments)

    def switching(self, y, arguments):
        import jax.numpy as jnp

        from flowsys.program.arrays import switching_functions

        return switching_functions(self.program, self.kinks, jnp)(y, arguments)

    def observe(self, names: tuple[str, ...]) -> Callable:
        import jax.numpy as jnp

        from flowsys.program.arrays import observed

        return observed(self.program, names, "smooth" if self.kinks == "smooth" else "exact", jnp)

    def smoothed(self) -> "ProgramField":
        return replace(self, kinks="smooth")


@dataclass(frozen=True, eq=False)
class FunctionField:
    """A field given by JAX functions: gradient flow on weights, or a reduced system in matrix form.

    `observed` maps (y, arguments) to a mapping of scalars; if it `takes_names`, the names that are asked for come
    third, and only those are computed. Two fields are equal only if they are one object, so build each once per
    structure (`functools.lru_cache`).
    """

    names: tuple[str, ...]
    right_hand_side: Callable
    observed: Callable
    observables: tuple[str, ...]
    switching_functions: Callable | None = None
    smooth: Callable[[], "FunctionField"] | None = None
    takes_names: bool = False

    @property
    def has_kinks(self) -> bool:
        return self.switching_functions is not None

    def rhs(self, y, arguments):
        return self.right_hand_side(y, arguments)

    def switching(self, y, arguments):
        return self.switching_functions(y, arguments)

    def observe(self, names: tuple[str, ...]) -> Callable:
        import jax.numpy as jnp

        def values(y, arguments):
            everything = self.observed(y, arguments, *([names] if self.takes_names else []))
            return jnp.stack([jnp.asarray(everything[name], dtype=y.dtype) for name in names])

        return values

    def smoothed(self) -> "FunctionField":
        return self._smoothed

    @cached_property
    def _smoothed(self) -> "FunctionField":  # one object, so that what is compiled for it is found again
        assert self.smooth is not None
        return self.smooth()


@dataclass(frozen=True)
class Event:
    """An observable crossing a threshold, upwards (+1) or downwards (-1); its first crossing is recorded."""

    name: str
    observable: str
    threshold: float
    direction: int
    meaning: str = ""


@dataclass(frozen=True)
class Stage:
    """A stretch of the flow with its own arguments. It ends at time `until` or on the event `ends_on`."""

    name: str
    arguments: Any
    until: float | None = None
    ends_on: str | None = None


@dataclass(frozen=True)
class Problem:
    """Stages of one field from an initial state.

    `marks` are events at fixed times (the end of a stage of given length). `derived` holds observables computed after
    the fact from states, {name: function(state)}; the `dear` observables are computed only if they are asked for by
    name. `conserved` maps states (n × dim) to quantities (n × q) that the exact flow keeps. `scale` is the smallest
    initial scale of the state: the default absolute tolerance is 1e-4 · rtol · scale. `layout` says where the blocks
    of weights stand in a state (`flowsys.runs.layout.Placed`).
    """

    field: Field
    initial: np.ndarray
    stages: tuple[Stage, ...]
    events: tuple[Event, ...] = ()
    marks: Mapping[str, float] = dataclasses.field(default_factory=dict)
    derived: Mapping[str, Callable] = dataclasses.field(default_factory=dict)
    dear: frozenset[str] = frozenset()
    conserved: Callable[[np.ndarray], np.ndarray] | None = None
    scale: float = 1.0
    t_max: float = 1e6
    start: float = 0.0
    default_at: Sequence[str | float] = ()
    layout: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def event_names(self) -> tuple[str, ...]:
        return (*(event.name for event in self.events), *self.marks)

    @property
    def observable_names(self) -> tuple[str, ...]:
        return (*self.field.observables, *self.derived)


class Apart(Exception):
    """A decision that falls out differently at points posed at once: those of `where`, and the others."""

    def __init__(self, where: np.ndarray):
        self.where = where


def decided(condition: Any) -> bool:
    """Whether a condition holds at a point, or at all points posed at once; where they differ they are posed apart."""
    where = np.asarray(condition, dtype=bool)
    if where.any() != where.all():
        raise Apart(where)
    return bool(where.all())
