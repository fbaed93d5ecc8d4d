"""A declared model at numbers: its blocks, populations and stages, and its loss as a function of what it sees.

A *population* is a loss with the samples it is averaged over; stages share one or bring their own. Everything that may
differ between two points of a sweep (reals, float arrays, weights, what trains) is in `Arguments`, as data.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from flowsys.errors import InputError
from flowsys.model.coordinates import Coordinates
from flowsys.model.declaration import Samples, Stage
from flowsys.model.pairs import PairBlock
from flowsys.model.values import Values
from flowsys.system.problem import Event

FINITE_ONLY = "width"


class Arguments(NamedTuple):
    """The data of a stage: a JAX pytree. `data` and `weight` have an entry a population, `share` is the model's own."""

    reals: Mapping[str, Any]
    data: tuple[Mapping[str, Any], ...]
    weight: tuple[Any, ...]
    share: Any
    trains: Mapping[str, Any]
    rates: Mapping[str, Any]
    gates: Any
    kink_width: Any


class View:
    """What the loss sees, `w.S`; `reads` collects the blocks it looked at. Observables also see `w.rates.S`, dS/dt."""

    def __init__(self, arrays: Mapping[str, Any], moving: Callable[[], Mapping[str, Any]] | None = None):
        self._arrays, self._moving = arrays, moving
        self._reads: set[str] = set()
        self._shared: dict[tuple[Any, int], tuple[Any, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._arrays:
            raise InputError(f"w.{name} is not a block of the model; there are {', '.join(self._arrays)}.")
        self._reads.add(name)
        return self._arrays[name]

    @property
    def reads(self) -> set[str]:
        return self._reads

    @property
    def arrays(self) -> Mapping[str, Any]:
        return self._arrays

    def once(self, what: Any, X: Any, find: Callable[[], Any]) -> Any:
        """What several observables of these samples share, such as an attention: found once, under a name or a key."""
        key = what, id(X)
        if key not in self._shared:
            self._shared[key] = X, find()  # with X, so that its id stays its own
        return self._shared[key][1]

    @cached_property
    def rates(self) -> "View":
        """How what is seen moves in the stage at hand."""
        if self._moving is None:
            raise InputError("w.rates is for observables: a loss or a measure has no rates of the weights.")
        return View(self._moving())


class Rows:
    """Samples as the model's functions see them: some rows, and arrays of any kind (numbers, JAX, symbols)."""

    def __init__(self, arrays: Mapping[str, Any], weight: Any):
        self._arrays, self.weight = arrays, weight

    def __len__(self) -> int:
        return len(self.weight)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._arrays:
            known = ", ".join([*self._arrays, "weight"])
            raise InputError(f"X.{name} is not an array of the samples; there are {known}.")
        return self._arrays[name]


@dataclass(frozen=True)
class Population:
    """A loss and the samples it is averaged over; None where the loss is one number."""

    loss: Callable
    samples: Samples | None

    @property
    def n(self) -> int:
        return 1 if self.samples is None else len(self.samples)

    def whole_numbers(self) -> dict[str, np.ndarray]:
        """The arrays that are structure, not data: indices and counts."""
        return {} if self.samples is None else {k: a for k, a in self.samples.arrays.items() if a.dtype.kind == "i"}

    def numbers(self) -> dict[str, np.ndarray]:
        """The arrays that are data."""
        return {} if self.samples is None else {k: a for k, a in self.samples.arrays.items() if a.dtype.kind == "f"}

    def rows(self, numbers: Mapping[str, Any], weight: Any) -> Rows | None:
        """The samples with given data in place of their own."""
        return None if self.samples is None else Rows({**self.whole_numbers(), **numbers}, weight)


class Concrete:
    """A declaration at the values of a setup, in one mode.

    `unread`: what is seen are all weights and inner products, and the blocks' `read` is a part of the loss.
    """

    def __init__(
        self, declaration: Any, values: Mapping[str, Any], mode: str, at_limit: bool = False, unread: bool = False
    ):
        self.declaration, self.values, self.mode = declaration, {**values, "mode": mode}, mode
        reason = (
            f"model {declaration.name} reads p.{FINITE_ONLY}, which its limit does not have: state a limit of its own, "
            "or use L0, L1 or L2."
        )
        self.refused = {FINITE_ONLY: reason} if at_limit else {}
        blocks, self.block_reads = declaration.concrete_blocks.with_reads(self.values, self.refused)
        self.blocks = {name: block.unread() for name, block in blocks.items()} if unread else blocks
        self._read = blocks if unread else {}
        declaration.check_stages(self.blocks, mode)
        self.stages: Sequence[Stage] = declaration.stages[mode]
        self.populations, self._of_stage = self._populations()

    def _populations(self) -> tuple[list[Population], list[int]]:
        """The distinct populations, the model's own first, and the one of each stage."""
        declared = self.declaration
        asked = [(declared.samples, declared.loss)]
        asked += [(stage.samples or declared.samples, stage.loss or declared.loss) for stage in self.stages]
        distinct = list(dict.fromkeys(asked))
        found = []
        for samples, loss in distinct:
            made = None if samples is None else declared.remembered(samples)(self.values, self.refused)
            if made is not None and not isinstance(made, Samples):
                raise InputError(f"samples gives a {type(made).__name__}, but it must give fs.Samples(…).")
            found.append(Population(loss, made))
        return found, [distinct.index(pair) for pair in asked[1:]]

    @cached_property
    def coordinates(self) -> Coordinates:
        return self.declaration.coordinates_of(self.blocks)

    @property
    def pairs(self) -> list[PairBlock]:
        return [block for block in self.blocks.values() if isinstance(block, PairBlock)]

    def population_of(self, stage: Stage) -> int:
        """Which of the populations a stage trains on."""
        return self._of_stage[self.stages.index(stage)]

    # -- names and numbers --------------------------------------------------------------------------------------

    @cached_property
    def observe(self) -> dict[str, Callable]:
        """The declared observables at these sizes."""
        return self.declaration.observe_at(self.values, self.refused)

    @property
    def observable_names(self) -> tuple[str, ...]:
        return ("loss", *self.observe)

    def default_names(self) -> tuple[str, ...]:
        """What a run shows unasked: all observables, and the entries if they are few."""
        few = self.coordinates.names if self.coordinates.size <= self.declaration.MOST_SHOWN else ()
        return tuple(dict.fromkeys((*self.observable_names, *self.declaration.integrals, *few)))

    def events(self) -> tuple[Event, ...]:
        return self.declaration.events_at(self.values, self.mode)

    def marks(self) -> dict[str, float]:
        return self.declaration.marks_at(self.values, self.mode)

    def until(self, stage: Stage) -> float | None:
        return self.declaration.until(stage, self.values)

    def trains(self, stage: Stage) -> dict[str, float]:
        """1 for the blocks that train in a stage, else 0."""
        return {
            name: float(block.block.trains and (stage.trains is None or name in stage.trains))
            for name, block in self.blocks.items()
        }

    def weights(self, number: int) -> tuple[np.ndarray | float, ...]:
        """The weights of every population's samples in a stage; 0 where it plays no part."""
        stage, mine = self.stages[number], self._of_stage[number]
        found: list[np.ndarray | float] = []
        for i, population in enumerate(self.populations):
            if population.samples is None:
                found.append(float(i == mine))
                continue
            weight = population.samples.weight
            found.append(self._where(stage, population.samples) if i == mine else np.zeros_like(weight))
        return tuple(found)

    def _where(self, stage: Stage, samples: Samples) -> np.ndarray:
        if stage.where is None:
            return samples.weight
        if stage.where not in samples.arrays:
            raise InputError(
                f"stage {stage.name}: where = {stage.where} is not an array of the samples; there are "
                f"{', '.join(samples.arrays)}."
            )
        chosen = samples.arrays[stage.where]
        if chosen.ndim != 1 or not np.isin(chosen, (0, 1)).all():
            raise InputError(f"stage {stage.name}: where = {stage.where} must hold 0 or 1 for each sample.")
        weight = samples.weight * chosen
        if not weight.sum() > 0:
            raise InputError(f"stage {stage.name}: where = {stage.where} leaves no samples.")
        return weight * (samples.total / weight.sum())

    @property
    def share(self) -> np.ndarray:
        """What each of the model's own samples counts in a mean."""
        samples = self.populations[0].samples
        return np.ones(1) if samples is None else samples.weight / samples.weight.sum()

    def reals(self) -> dict[str, float]:
        """What may be a symbol in the loss: the reals, and the numbers that every model has."""
        return {name: float(self.values[name]) for name in self.declaration.real_names}

    def arguments(self, number: int, n_gates: int = 0) -> Arguments:
        return Arguments(
            reals=self.reals(),
            data=tuple(population.numbers() for population in self.populations),
            weight=self.weights(number),
            share=self.share,
            trains=self.trains(self.stages[number]),
            rates={k: float(r) for block in self.blocks.values() for k, r in block.weight_rates().items()},
            gates=np.ones(n_gates),
            kink_width=np.float64(0.0),
        )

    def seen_at_limit(self) -> dict[str, np.ndarray]:
        return {name: array for block in self.blocks.values() for name, array in block.limit().items()}

    # -- the loss -----------------------------------------------------------------------------------------------

    @property
    def is_unread(self) -> bool:
        return bool(self._read)

    def told(self, seen: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the declared functions are told of what is seen: all of it, or what the blocks `read`."""
        of_blocks = (block.read_of(seen).items() for block in self._read.values())
        return {name: array for items in of_blocks for name, array in items} if self._read else seen

    def p(self, reals: Mapping[str, Any]) -> Values:
        """The parameters as the loss sees them."""
        return Values({**self.values, **reals}, self.refused, self.declaration.read)

    def losses(self, ops: Any, seen: Mapping[str, Any], arguments: Arguments) -> list[Any]:
        """Of every population, one number a sample (or one number)."""
        w, p = seen if isinstance(seen, View) else View(self.told(seen)), self.p(arguments.reals)
        return [
            population.loss(ops, w, population.rows(data, weight), p)
            for population, data, weight in zip(self.populations, arguments.data, arguments.weight)
        ]

    def loss(self, ops: Any, seen: Mapping[str, Any], arguments: Arguments) -> Any:
        """The loss of the stage."""
        parts = [(weight * x).sum() for weight, x in zip(arguments.weight, self.losses(ops, seen, arguments))]
        return sum(parts[1:], parts[0])

    def observed(self, ops: Any, seen: Mapping[str, Any], arguments: Arguments, names: Sequence[str]) -> dict[str, Any]:
        """The declared observables, each one number: means over the model's samples."""
        w, p = self.moving(seen, arguments), self.p(arguments.reals)
        X = self.populations[0].rows(arguments.data[0], arguments.share)
        total = 1.0 if self.populations[0].samples is None else self.populations[0].samples.total
        found = {}
        for name in names:
            if name == "loss":
                found[name] = total * self.mean(name, self.populations[0].loss(ops, w, X, p), arguments.share)
            else:
                found[name] = self.mean(name, self.observe[name](ops, w, X, p), arguments.share)
        return found

    def moving(self, seen: Mapping[str, Any], arguments: Arguments) -> View:
        """What observables see: the blocks, and when asked for their rates under the flow."""
        from flowsys.model.flows import rates_of, slopes_of

        rates = lambda: rates_of(self, seen, slopes_of(self, seen, arguments, "exact"), arguments)
        return View(self.told(seen), lambda: self.told(rates()))

    def measures(self, split: Callable[[np.ndarray], Mapping[str, Any]]) -> dict[str, Callable]:
        """The declared measures as functions of a state; `split` gives what the loss sees of it."""
        arguments, end = self.arguments(0), -len(self.declaration.integrals) or None
        names = self.declaration.measures
        return {name: lambda y, name=name: self.measured(split(y[:end]), arguments, name) for name in names}

    def measured(self, seen: Mapping[str, Any], arguments: Arguments, name: str) -> float:
        """A declared measure of what is seen, on NumPy arrays."""
        arrays = {key: np.asarray(array) for key, array in self.told(seen).items()}
        if not all(np.isfinite(array).all() for array in arrays.values()):
            return float("nan")
        numbers = {key: np.asarray(array) for key, array in arguments.data[0].items()}
        X = self.populations[0].rows(numbers, np.asarray(arguments.share))
        return float(self.declaration.measures[name](View(arrays), X, self.p(arguments.reals)))

    def sample_observables(self, ops: Any, seen: Mapping[str, Any], arguments: Arguments) -> list[Any]:
        """The declared observables that have one number a sample, sample by sample."""
        w, p, n = self.moving(seen, arguments), self.p(arguments.reals), self.populations[0].n
        X = self.populations[0].rows(arguments.data[0], arguments.share)
        values = [observable(ops, w, X, p) for observable in self.observe.values()]
        return [value for value in values if getattr(value, "shape", ()) == (n,)]

    def mean(self, name: str, value: Any, share: Any) -> Any:
        """An observable as one number."""
        shape = getattr(value, "shape", ())
        if shape == ():
            return value
        if shape == (len(share),) and self.populations[0].samples is not None:
            return (share * value).sum()
        samples = "" if self.populations[0].samples is None else f" or one number for each of {len(share)} samples"
        raise InputError(f"observable {name} is an array of shape {shape}, but it must be one number{samples}.")

    @cached_property
    def structure(self) -> tuple:
        """What compiled functions depend on: two setups with equal structures share them."""
        parts: list[Any] = [self.mode]
        parts += [self.values[name] for name in self.declaration.structural_names]
        parts += [self.values[name] for name in (FINITE_ONLY,) if name in self.declaration.read and not self.refused]
        for name, block in self.blocks.items():
            parts += [name, tuple(block.weight_rates()), tuple(block.arrays.items()), block.block.trains, block.mark]
        parts += [block.mark for block in self._read.values()]
        parts += [
            None if population.samples is None else population.samples.structure for population in self.populations
        ]
        return tuple(parts)
