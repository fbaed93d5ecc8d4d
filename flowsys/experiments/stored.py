"""Runs that take hours, kept in a data folder: one file a run, keyed by everything that determines it.

A case is a frozen dataclass; all its fields, those of dataclasses inside it and the name of its class make the key, so
a run with another rate, batch or budget is another run. A file holds the case in words, the command that makes it, the
version, and the result. Filling a folder goes on where it stopped, and so does a single run that keeps checkpoints.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from flowsys.machine.files import write_text
from flowsys.version import VERSION

Case = TypeVar("Case")


def described(case: Any) -> Any:
    """A case as plain values: the name of its class and every field, nested ones too."""
    if is_dataclass(case) and not isinstance(case, type):
        return {"of": type(case).__name__, **{f.name: described(getattr(case, f.name)) for f in fields(case)}}
    if isinstance(case, list | tuple):
        return [described(x) for x in case]
    if case is None or isinstance(case, bool | int | float | str):
        return case
    raise TypeError(f"a case cannot hold {case!r}: its key would not be the same in every process")


def key_of(case: Any) -> str:
    """A name for a case that no other case has."""
    text = json.dumps(described(case), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class StoredRuns:
    """A data folder of runs; `command` is what makes those that are missing.

    A run's weights are dropped once its result is kept, unless the folder `keeps_weights`, to go on from them.
    """

    folder: Path
    command: str
    keeps_weights: bool = False

    def read(self, case: Any) -> Any:
        """The result of a case; None if it was not run."""
        path = self._file(case)
        return json.loads(path.read_text(encoding="utf-8"))["result"] if path.exists() else None

    def kept(self, cases: Iterable[Case]) -> list[tuple[Case, Any]]:
        """Those of the cases that were run, with their results."""
        found = ((case, self.read(case)) for case in cases)
        return [(case, result) for case, result in found if result is not None]

    def missing(self, cases: Iterable[Case]) -> list[Case]:
        return [case for case in cases if not self._file(case).exists()]

    def reason(self, cases: Iterable[Any]) -> str:
        """Why a claim on these runs cannot be tested: how many are missing, and what makes them; empty if none are."""
        cases = list(cases)
        n = len(self.missing(cases))
        return f"{n} of {len(cases)} runs are not kept yet: {self.command} makes them" if n else ""

    def fill(
        self, cases: Iterable[Case], run: Callable[[Case, Path], Any], on_progress: Callable[[Case], Any] | None = None
    ) -> list[tuple[Case, Any]]:
        """Run what is missing: run(case, checkpoint) goes on from its checkpoint file, if it wrote one before."""
        cases = list(cases)
        for case in cases:
            if not self._file(case).exists():
                checkpoint = self.checkpoint(case)
                kept = {"case": described(case), "command": self.command, "version": VERSION}
                kept["result"] = run(case, checkpoint)
                write_text(self._file(case), json.dumps(kept, separators=(",", ":"), ensure_ascii=False) + "\n")
                if not self.keeps_weights:
                    checkpoint.unlink(missing_ok=True)
            if on_progress is not None:
                on_progress(case)
        return self.kept(cases)

    def checkpoint(self, case: Any) -> Path:
        """Where the weights of a case stand while it is trained."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{key_of(case)}.npz"

    def _file(self, case: Any) -> Path:
        return self.folder / f"{key_of(case)}.json"
