"""Chunks on disk: what a sweep has done survives a Ctrl-C, a full disk and a `kill -9`.

Beside the file `NAME.nc` to be, the directory `NAME.nc.parts` holds one small file for each finished chunk, each written
whole or not at all, and the sweep they belong to. When all are there, they become one netCDF file, chunk by chunk, so
memory does not grow with the number of points.
"""

import json
import shutil
from pathlib import Path

import numpy as np

from flowsys.errors import InputError
from flowsys.files import write_atomically, write_text
from flowsys.phase.diagram import PhaseDiagram
from flowsys.phase.sweep import Chunk, Sweep


class Store:
    """The parts of one sweep beside its output file."""

    def __init__(self, path: str | Path, sweep: Sweep):
        self.path, self.sweep = Path(path), sweep
        self.parts = self.path.with_name(self.path.name + ".parts")
        if not self.path.parent.is_dir():
            raise InputError(f"file = {self.path} cannot be written: there is no directory {self.path.parent}.")
        self.parts.mkdir(exist_ok=True)
        marker = self.parts / "sweep.json"
        if marker.exists() and json.loads(marker.read_text(encoding="utf-8"))["digest"] != sweep.digest:
            shutil.rmtree(self.parts)
            self.parts.mkdir()
        if not marker.exists():
            write_text(marker, json.dumps(sweep.origin))

    def _file(self, number: int) -> Path:
        return self.parts / f"{number:08d}.npy"

    def done(self) -> set[int]:
        """The chunks that are there, whole."""
        return {int(p.stem) for p in self.parts.glob("[0-9]*.npy")}

    def write(self, chunk: Chunk) -> None:
        """Keep a chunk."""
        rows = np.vstack([chunk.values, chunk.outcomes.astype(float)])

        def save(temporary: Path) -> None:
            with open(temporary, "wb") as handle:
                np.save(handle, rows)

        write_atomically(self._file(chunk.number), save)

    def read(self, number: int) -> Chunk:
        rows = np.load(self._file(number))
        return Chunk(number, rows[:-1], rows[-1].astype(np.uint8))

    def diagram(self) -> PhaseDiagram:
        """All chunks as one diagram in memory."""
        n = len(self.sweep.quantities)
        values, outcomes = np.empty((n, self.sweep.size)), np.empty(self.sweep.size, dtype=np.uint8)
        for number in range(self.sweep.n_chunks):
            chunk, place = self.read(number), self.sweep.chunk(number)
            values[:, place], outcomes[place] = chunk.values, chunk.outcomes
        shape = self.sweep.shape
        quantities = {q.name: values[i].reshape(shape) for i, q in enumerate(self.sweep.quantities)}
        return PhaseDiagram(self.sweep.axes, quantities, outcomes.reshape(shape), self.sweep.origin)

    def finish(self) -> PhaseDiagram:
        """Write the output file and remove the parts."""
        diagram = self.diagram()
        diagram.save(self.path)
        shutil.rmtree(self.parts)
        return diagram
