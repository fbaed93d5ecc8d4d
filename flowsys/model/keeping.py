"""A derived limit as plain data: its program, its partition, where its numbers come from; kept on disk by content."""

import contextlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.machine.files import cache_directory, write_atomically
from flowsys.model.concrete import Concrete
from flowsys.program import Program
from flowsys.symbolic.lumping import Partition
from flowsys.system.problem import ProgramField


@dataclass(frozen=True)
class Table:
    """Merged samples of one kind, a row each: those of a population whose groups are `members`; all data is columns."""

    name: str
    population: int
    members: tuple[int, ...]
    entries: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def columns(self) -> list[str]:
        data = [f"{self.name}_{array}_{'_'.join(map(str, place))}".rstrip("_") for array, place in self.entries]
        return [f"{self.name}_weight", f"{self.name}_share", *data]


@dataclass(frozen=True)
class Slots:
    """Where the numbers of a program's parameters come from: merged samples and entries of the data.

    `groups` has a label for every sample of every population, `rows` the first sample of each group. A varying entry is
    (population, array, place in it): its value is the parameter of the same position in `entry_names`. Populations with
    many groups stand in `tables`.
    """

    groups: tuple[np.ndarray, ...]
    entries: tuple[tuple[int, str, tuple[int, ...]], ...] = ()
    tables: tuple[Table, ...] = ()

    @cached_property
    def rows(self) -> tuple[np.ndarray, ...]:
        return tuple(np.unique(labels, return_index=True)[1] for labels in self.groups)

    def weight_names(self, population: int) -> list[str]:
        return [f"sample_weight_{population}_{g}" for g in range(len(self.rows[population]))]

    @property
    def share_names(self) -> list[str]:
        return [f"sample_share_{g}" for g in range(len(self.rows[0]))]

    @property
    def entry_names(self) -> list[str]:
        return [f"sample_data_{j}_{name}_{'_'.join(map(str, place))}" for j, name, place in self.entries]

    @cached_property
    def of_data(self) -> frozenset[str]:
        """The parameters that are numbers of the samples."""
        weights = (name for population in range(len(self.groups)) for name in self.weight_names(population))
        return frozenset((*weights, *self.share_names, *self.entry_names, "sample_total"))

    def values_of_tables(self, concrete: Concrete, stage: int) -> dict[str, dict[str, np.ndarray]]:
        """The tables in a stage, by name and column."""
        found = {}
        for table in self.tables:
            j, members = table.population, np.array(table.members)
            labels, weight = self.groups[j], np.broadcast_to(concrete.weights(stage)[j], len(self.groups[j]))
            share = concrete.share if j == 0 else np.zeros(len(labels))
            sums = [np.bincount(labels, values, len(self.rows[j]))[members] for values in (weight, share)]
            numbers, rows = concrete.populations[j].numbers(), self.rows[j][members]
            data = [numbers[array][(rows, *place)] for array, place in table.entries]
            found[table.name] = dict(zip(table.columns, [*sums, *data]))
        return found

    def parameters(self, concrete: Concrete, stage: int) -> dict[str, float]:
        """The program's parameters in a stage, by name."""
        found: dict[str, float] = dict(concrete.reals())
        for j, (labels, weight) in enumerate(zip(self.groups, concrete.weights(stage))):
            sums = np.bincount(labels, np.broadcast_to(weight, len(labels)), len(self.rows[j]))
            found |= dict(zip(self.weight_names(j), sums.tolist()))
        shares = np.bincount(self.groups[0], concrete.share, len(self.rows[0]))
        found |= dict(zip(self.share_names, shares.tolist()))
        numbers = [population.numbers() for population in concrete.populations]
        found |= {
            name: float(numbers[j][array][place]) for name, (j, array, place) in zip(self.entry_names, self.entries)
        }
        samples = concrete.populations[0].samples
        found["sample_total"] = 1.0 if samples is None else float(samples.total)
        found |= {f"train_{name}": on for name, on in concrete.trains(concrete.stages[stage]).items()}
        for block in concrete.blocks.values():
            found |= {f"rate_{name}": float(rate) for name, rate in block.weight_rates().items()}
        return found


@dataclass(frozen=True, eq=False)
class Found:
    """A derived limit: its program, the partition, and where the numbers of its parameters come from."""

    program: Program
    partition: Partition
    slots: Slots
    constants: str
    keeps_spectra: bool

    @cached_property
    def field(self) -> ProgramField:
        return ProgramField(self.program)


def read(key: str) -> Found | None:
    """The limit kept under a key; None if there is none that can be read."""
    path = cache_directory("limits") / f"{key}.npz"
    try:
        with np.load(path, allow_pickle=False) as file:
            content = json.loads(str(file["content"]))
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, KeyError):
        return None
    groups = tuple(arrays[f"group_{j}"] for j in range(content["populations"]))
    entries = tuple((j, name, tuple(place)) for j, name, place in content["entries"])
    tables = tuple(
        Table(name, j, tuple(members), tuple((array, tuple(place)) for array, place in columns))
        for name, j, members, columns in content["tables"]
    )
    partition = Partition(arrays["labels"], arrays["signs"])
    return Found(
        Program.parse(content["program"]),
        partition,
        Slots(groups, entries, tables),
        content["constants"],
        content["keeps_spectra"],
    )


def write(key: str, found: Found) -> None:
    """Keep a limit; a directory that cannot be written is no error, only slower."""
    content = {
        "program": str(found.program),
        "constants": found.constants,
        "keeps_spectra": found.keeps_spectra,
        "populations": len(found.slots.groups),
        "entries": found.slots.entries,
        "tables": [(t.name, t.population, t.members, t.entries) for t in found.slots.tables],
    }
    arrays: dict[str, Any] = {f"group_{j}": labels for j, labels in enumerate(found.slots.groups)}
    arrays |= {
        "labels": found.partition.labels,
        "signs": found.partition.signs,
        "content": np.array(json.dumps(content)),
    }

    def save(temporary) -> None:
        with open(temporary, "wb") as handle:
            np.savez_compressed(handle, **arrays)

    path = cache_directory("limits") / f"{key}.npz"
    with contextlib.suppress(OSError, InputError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, save)
