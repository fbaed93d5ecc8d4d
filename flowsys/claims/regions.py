"""Where a claim holds: its word, constant and margin over two parameters."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from flowsys.claims.claim import Claim
from flowsys.claims.conditions import Conditions
from flowsys.claims.verdict import Verdict
from flowsys.errors import InputError
from flowsys.machine.workers import side_by_side
from flowsys.sweeps.axes import Axis, checked
from flowsys.system import System

HEAD = ("word", "inside", "margin", "constant", "measured", "note")


@dataclass(frozen=True)
class Region:
    """A claim's verdicts on a grid, first axis first."""

    system: str
    claim: Claim
    axes: tuple[Axis, Axis]
    verdicts: np.ndarray

    @property
    def words(self) -> np.ndarray:
        return np.vectorize(lambda verdict: str(verdict.word), otypes=[object])(self.verdicts)

    @property
    def constants(self) -> np.ndarray:
        """The best constants, of a pair the larger; nan where there is none."""
        read = lambda verdict: np.nan if verdict.constant is None else float(np.max(verdict.constant))
        return np.vectorize(read, otypes=[float])(self.verdicts)

    def counts(self) -> dict[str, int]:
        return dict(Counter(self.words.ravel().tolist()))

    def as_csv(self, command: str = "") -> str:
        """One line a point, below the command that made it."""
        text, (x, y) = io.StringIO(), self.axes
        text.write(f"# {self.system}, claim {self.claim.id}: {self.claim.statement}\n# {command}\n")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow((x.name, y.name, *HEAD))
        for i, first in enumerate(x.values):
            for j, second in enumerate(y.values):
                found = self.verdicts[i, j].as_dict()
                writer.writerow((first, second, *(found[name] for name in HEAD)))
        return text.getvalue()


def region(
    system: System,
    claim: Claim,
    axes: Sequence[Axis],
    conditions: Conditions,
    workers: int = 1,
    on_progress: Callable[[int], None] | None = None,
) -> Region:
    """A claim measured at every point of two axes, under conditions that set neither."""
    x, y = (checked(axis, system) for axis in axes)
    if x.name == y.name:
        raise InputError(f"--map needs two parameters, not {x.name} twice.")
    tasks, told = [], on_progress or (lambda n: None)
    for i, first in enumerate(x.values):
        for j, second in enumerate(y.values):
            given = (*conditions.parameters, (x.name, first), (y.name, second))
            tasks.append(
                (claim.id, Conditions(conditions.level, conditions.seeds, given, conditions.constants), (i, j))
            )
    if refused := claim.refusal(system, tasks[0][1]):
        raise InputError(refused)
    verdicts = np.empty((len(x), len(y)), dtype=object)
    for place, verdict in side_by_side(_checked_at, system, tasks, workers):
        verdicts[place] = verdict
        told(1)
    return Region(system.name, claim, (x, y), verdicts)


def _checked_at(system: System, id: str, conditions: Conditions, place) -> tuple[tuple[int, int], Verdict]:
    claim = next(claim for claim in system.claims if claim.id == id)
    return place, claim.check(system, conditions)
