"""A phase diagram in one call: the sweep is made, run and put together, in memory or in a file that can be resumed."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.sweeps.axes import parse_axis
from flowsys.sweeps.diagram import PhaseDiagram, load
from flowsys.sweeps.named import named_diagram
from flowsys.sweeps.points import run
from flowsys.sweeps.refine import refined_sweep
from flowsys.sweeps.store import Store
from flowsys.sweeps.sweep import Sweep, make_sweep
from flowsys.system import System, system_of


def phase(
    system: System | str,
    diagram: str | None = None,
    *,
    x: str | None = None,
    y: str | None = None,
    observable: str | Sequence[str] | None = None,
    level: str | None = None,
    variant: str | None = None,
    mode: str | None = None,
    threads: int = 2,
    out: str | Path | None = None,
    rtol: float = 1e-8,
    kink_width: float | None = None,
    **parameters: Any,
) -> PhaseDiagram:
    """Sweep one or two parameters: what an observable (`T_2-T_1`, `loss@t=300`, …) is at every point.

    An axis is NAME=start:stop:count[:log] or NAME=a,b,c; other parameters are given by name. Without axes it is the
    system's own `diagram` of that name, or its first. With `out` the diagram is written to that netCDF file, and the
    same call goes on with a sweep that was interrupted. The result is a `PhaseDiagram`: `plot()`, `to_xarray()`,
    `refine()` for more points along its boundary, `outcome_counts()`.

    >>> import flowsys as fs
    >>> diagram = fs.phase("mixture", x="b=0.5:1:3", y="T_1=10,20", observable="T_2-T_1")
    >>> diagram.shape, diagram.outcome_counts()
    ((3, 2), {'completed': 6})
    >>> diagram.refine().shape
    (4, 2)
    """
    found = system_of(system)
    texts = [text for text in (x, y) if text is not None]
    quantities = [observable] if isinstance(observable, str) else list(observable or ())
    named = named_diagram(found, diagram) if diagram or not (texts or quantities) else None
    if named is None and not (texts and quantities):
        raise InputError('phase needs x and observable, as x="b=0.05:3:80", observable="T_2-T_1".')
    if named is not None:
        texts, quantities = named.with_axes(x, y), quantities or list(named.observables)
    own = {"seeds": named.seeds, "fresh_seeds": named.fresh_seeds} if named else {}
    sweep = make_sweep(
        found, [parse_axis(text) for text in texts], quantities,
        level or (named.level if named else None), variant or (named.variant if named else None),
        mode or (named.mode if named else None),
        (dict(named.fixed) if named else {}) | parameters, rtol=rtol,
        kink_width=kink_width if kink_width is not None else named and named.kink_width, **own,
    )  # fmt: skip
    return _swept(sweep, threads, out)


def refine(diagram: PhaseDiagram, threads: int = 2, out: str | Path | None = None) -> PhaseDiagram:
    """The diagram with more points along its boundary; those it has are not computed again."""
    if diagram.of is None:
        raise InputError("the diagram has lost its system: flowsys phase SYSTEM --refine FILE.nc refines a file.")
    sweep, finer = refined_sweep(diagram, diagram.of)
    if out is not None:
        store = Store(out, sweep)
        for chunk in run(sweep, store.done(), threads):
            store.write(chunk)
        store.finish(finer.merged(diagram, *store.arrays(), sweep.origin))
        return replace(load(out), of=diagram.of)
    return replace(finer.merged(diagram, *_computed(sweep, threads), sweep.origin), of=diagram.of)


def _swept(sweep: Sweep, threads: int, out: str | Path | None) -> PhaseDiagram:
    if out is not None:
        store = Store(out, sweep)
        for chunk in run(sweep, store.done(), threads):
            store.write(chunk)
        store.finish()
        return replace(load(out), of=sweep.system)
    values, outcomes = _computed(sweep, threads)
    quantities = {q.name: v.reshape(sweep.shape) for q, v in zip(sweep.quantities, values)}
    return PhaseDiagram(sweep.axes, quantities, outcomes.reshape(sweep.shape), sweep.origin, sweep.system)


def _computed(sweep: Sweep, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Quantities × points and their outcomes, in memory."""
    chunks = list(run(sweep, threads=threads))
    return np.concatenate([c.values for c in chunks], axis=1), np.concatenate([c.outcomes for c in chunks])
