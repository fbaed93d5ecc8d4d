"""A phase diagram in one call: the sweep is made, run and put together, in memory or in a file that can be resumed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flowsys.sweeps.axes import parse_axis
from flowsys.sweeps.diagram import PhaseDiagram, load
from flowsys.sweeps.points import run
from flowsys.sweeps.store import Store
from flowsys.sweeps.sweep import make_sweep
from flowsys.system import System


def phase(
    system: System,
    *,
    x: str,
    y: str | None = None,
    observable: str | Sequence[str],
    level: str | None = None,
    variant: str | None = None,
    mode: str | None = None,
    threads: int = 2,
    out: str | Path | None = None,
    **parameters: Any,
) -> PhaseDiagram:
    """Sweep one or two parameters: what an observable (`T_2-T_1`, `loss@t=300`, …) is at every point.

        fs.phase(system, x="b=0.05:3:80", y="T_1=1:100:80:log", observable="T_2-T_1")

    An axis is NAME=start:stop:count[:log] or NAME=a,b,c; other parameters are given by name. With `out` the diagram is
    written to that netCDF file, and the same call goes on with a sweep that was interrupted.
    """
    axes = [parse_axis(text) for text in (x, y) if text is not None]
    quantities = [observable] if isinstance(observable, str) else list(observable)
    sweep = make_sweep(system, axes, quantities, level, variant, mode, parameters)
    if out is not None:
        store = Store(out, sweep)
        for chunk in run(sweep, store.done(), threads):
            store.write(chunk)
        store.finish()
        return load(out)
    chunks = list(run(sweep, threads=threads))
    values = np.concatenate([chunk.values for chunk in chunks], axis=1)
    outcomes = np.concatenate([chunk.outcomes for chunk in chunks])
    named = {q.name: v.reshape(sweep.shape) for q, v in zip(sweep.quantities, values)}
    return PhaseDiagram(sweep.axes, named, outcomes.reshape(sweep.shape), sweep.origin)
