"""A picture of a diagram with an axis of seeds: their median, or the share of them above 0; contours over colours."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from flowsys.plot import phase as draw
from flowsys.plot.outcomes import told
from flowsys.sweeps import Axis, PhaseDiagram
from flowsys.sweeps.diagram import CODES
from flowsys.sweeps.named import Contour


def diagram() -> PhaseDiagram:
    """2 × 2 points of 3 seeds: one seed without the event, one point whose solver gave up for every seed."""
    values = np.array([[[1.0, 2.0, -3.0], [1.0, 5.0, np.nan]], [[-1.0, -2.0, -4.0], [np.nan] * 3]])
    outcomes = np.zeros(values.shape, dtype=np.uint8)
    outcomes[0, 1, 2] = CODES["event not reached by t_max"]
    outcomes[1, 1] = CODES["step size underflow"]
    axes = (Axis("a", (1.0, 2.0)), Axis("b", (1.0, 2.0)), Axis("seed", (0, 1, 2), "list"))
    return PhaseDiagram(axes, {"q": values, "r": np.abs(np.nan_to_num(values, nan=3.0))}, outcomes)


def colours(**options):
    ax = draw(diagram(), Figure().subplots(), "q", **options)
    return ax, np.ma.filled(ax.collections[0].get_array(), np.nan).reshape(2, 2).T


def test_the_median_leaves_out_seeds_without_a_value():
    _, shown = colours()
    np.testing.assert_allclose(shown, [[1.0, 3.0], [-2.0, np.nan]])


def test_a_seed_without_the_event_is_not_above_zero_and_one_that_failed_is_left_out():
    ax, shown = colours(over_seeds="share above 0")
    np.testing.assert_allclose(shown, [[2 / 3, 2 / 3], [0.0, np.nan]])
    assert told(CODES["step size underflow"], {}) in ax.get_legend_handles_labels()[1]


@pytest.mark.parametrize("quantity, drawn", [("r", True), ("not there", False)])
def test_contours_of_measured_quantities_are_drawn_where_they_were_measured(quantity, drawn):
    ax, _ = colours(contours=(Contour(quantity, 2.5, "here"),))
    assert ("here" in ax.get_legend_handles_labels()[1]) == drawn
