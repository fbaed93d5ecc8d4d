"""Chunks on disk: what a sweep has done survives a Ctrl-C, a full disk and a `kill -9`.

Beside the file `NAME.nc` to be, the directory `NAME.nc.parts` holds one small file for each finished chunk, written
whole or not at all, and the sweep they belong to. When all are there, they become one netCDF file, chunk by chunk, so
memory does not grow with the number of points; it is put together inside the directory, then moved to its place.
"""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from flowsys.errors import InputError
from flowsys.machine.files import ask_for_room, write_atomically, write_text
from flowsys.sweeps import netcdf
from flowsys.sweeps.diagram import OUTCOMES, PhaseDiagram
from flowsys.sweeps.sweep import Chunk, Sweep

_HEADER = 128  # bytes before the numbers of a .npy file


class Store:
    """The parts of one sweep beside its output file."""

    def __init__(self, path: str | Path, sweep: Sweep):
        self.path, self.sweep = Path(path), sweep
        self.parts = self.path.with_name(self.path.name + ".parts")
        if not self.path.parent.is_dir():
            raise InputError(f"file = {self.path} cannot be written: there is no directory {self.path.parent}.")
        if self.parts.exists() and self._digest() != sweep.digest:
            shutil.rmtree(self.parts)
        self.parts.mkdir(exist_ok=True)
        if not self._marker.exists():
            try:
                write_text(self._marker, json.dumps(sweep.origin))
            except InputError as error:
                raise self._kept(error) from None

    @property
    def _marker(self) -> Path:
        return self.parts / "sweep.json"

    def _digest(self) -> str | None:
        """Which sweep the parts belong to; None if they do not say."""
        return json.loads(self._marker.read_text(encoding="utf-8"))["digest"] if self._marker.exists() else None

    def _file(self, number: int) -> Path:
        return self.parts / f"{number:08d}.npy"

    def done(self) -> set[int]:
        """The chunks that are there, whole."""
        row = 8 * (len(self.sweep.quantities) + 1)
        return {
            int(entry.name[:8])
            for entry in os.scandir(self.parts)
            if entry.name.endswith(".npy")
            and entry.name[:8].isdigit()
            and entry.stat().st_size == _HEADER + row * len(self.sweep.chunk(int(entry.name[:8])))
        }

    def write(self, chunk: Chunk) -> None:
        """Keep a chunk."""
        rows = np.vstack([chunk.values, chunk.outcomes.astype(float)])

        def save(temporary: Path) -> None:
            with open(temporary, "wb") as handle:
                np.save(handle, rows)

        try:
            write_atomically(self._file(chunk.number), save)
        except InputError as error:
            raise self._kept(error) from None

    def _kept(self, error: Exception) -> InputError:
        """The error with the promise that what was done is kept; nothing is left where nothing was done."""
        if not self.done():
            shutil.rmtree(self.parts, ignore_errors=True)
            return InputError(str(error))
        return InputError(f"{str(error).rstrip('.')}; what was done is kept, and the same command goes on from there.")

    def read(self, number: int) -> Chunk:
        rows = np.load(self._file(number))
        return Chunk(number, rows[:-1], rows[-1].astype(np.uint8))

    def _slabs(self, counts: np.ndarray) -> Iterator[netcdf.Slab]:
        for number in range(self.sweep.n_chunks):
            chunk = self.read(number)
            counts += np.bincount(chunk.outcomes, minlength=len(OUTCOMES))
            yield int(self.sweep.chunk(number)[0]), chunk.values, chunk.outcomes

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """All chunks in memory: quantities × points, outcomes."""
        chunks = [self.read(number) for number in range(self.sweep.n_chunks)]
        return np.concatenate([c.values for c in chunks], axis=1), np.concatenate([c.outcomes for c in chunks])

    def finish(self, whole: PhaseDiagram | None = None) -> dict[str, int]:
        """Write the output file, remove the parts; how many points ended in which way.

        The file has the parts one after the other, or a diagram they have become part of (`whole`).
        """
        counts = np.zeros(len(OUTCOMES), dtype=np.int64)
        names, sweep = [q.name for q in self.sweep.quantities], self.sweep
        slabs = self._slabs(counts)
        if whole is not None:
            counts += np.bincount(whole.outcomes.ravel(), minlength=len(OUTCOMES))
            slabs = iter([(0, np.array([v.ravel() for v in whole.quantities.values()]), whole.outcomes.ravel())])
        assembled = self.parts / "assembled.nc"
        try:
            ask_for_room(assembled, int(np.prod(sweep.shape)) * (8 * len(names) + 1) + 65_536)  # HDF5 needs its room
            netcdf.write(assembled, sweep.axes, names, OUTCOMES, sweep.origin, slabs)
            os.replace(assembled, self.path)
        except OSError as error:
            assembled.unlink(missing_ok=True)
            reason = error.strerror or str(error).splitlines()[0]
            raise self._kept(InputError(f"file = {self.path} cannot be written: {reason}")) from None
        shutil.rmtree(self.parts)
        return {name: int(n) for name, n in zip(OUTCOMES, counts) if n}
