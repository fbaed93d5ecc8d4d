"""A diagram with more than two axes as several pictures: one for each value of the third axis."""

import numpy as np

from flowsys.sweeps.diagram import PhaseDiagram
from flowsys.system.names import assignments, in_lines

MOST = 6


def panels(diagram: PhaseDiagram, most: int = MOST) -> list[tuple[PhaseDiagram, str]]:
    """Diagrams of at most two axes (and seeds), each with where it lies on the others.

    Of the third axis at most so many values are shown, evenly chosen; further axes stay at their first value.
    """
    further = [i for i, axis in enumerate(diagram.axes) if axis.name != "seed"][2:]
    if not further:
        return [(diagram, "")]
    third = diagram.axes[further[0]]
    chosen = np.unique(np.linspace(0, len(third) - 1, min(most, len(third))).round().astype(int))
    return [_at(diagram, further, int(i)) for i in chosen]


def _at(diagram: PhaseDiagram, further: list[int], place: int) -> tuple[PhaseDiagram, str]:
    """The diagram at a place of the first of the further axes, and at the beginning of the others."""
    places = {i: place if i == further[0] else 0 for i in further}
    pick = tuple(places.get(i, slice(None)) for i in range(len(diagram.axes)))
    axes = tuple(axis for i, axis in enumerate(diagram.axes) if i not in places)
    quantities = {name: values[pick] for name, values in diagram.quantities.items()}
    at = {diagram.axes[i].name: diagram.axes[i].values[k] for i, k in places.items()}
    where = in_lines(assignments(at, diagram.origin.get("symbols", {})))
    return PhaseDiagram(axes, quantities, diagram.outcomes[pick], diagram.origin), where
