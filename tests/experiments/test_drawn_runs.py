"""Pictures of kept runs: colours go with labels, what ran out of its budget is told, wanted keys are marked."""

import numpy as np
from matplotlib.figure import Figure
from picture_faults import faults

from flowsys.plot import Course, attention, courses, needed


def test_a_label_has_one_colour_in_all_panels_and_a_star_where_the_goal_was_reached():
    family = {
        "few": [Course("right", [1, 10, 100], [0, 0.5, 1], (100, 1)), Course("entropy", [1, 10, 100], [1, 1, 0])],
        "many": [Course("right", [1, 10, 100], [0, 0, 0])],
    }
    figure = courses(family, "samples", "share")
    left, right = (ax.get_lines() for ax in figure.axes)
    assert left[0].get_color() == right[0].get_color() != left[2].get_color() and left[1].get_marker() == "*"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["right", "entropy"]
    assert faults(figure) == []


def test_runs_over_their_budget_are_triangles_and_weigh_in_the_median():
    ax = Figure().subplots()
    needed(ax, {1: [10, 30, 20], 2: [100, None, None]}, {1: 500, 2: 900}, "with a hint")
    dots = {tuple(line.get_xdata()): list(line.get_ydata()) for line in ax.get_lines() if line.get_marker() == "o"}
    assert dots[(1.0, 1.0, 1.0)] == [10, 30, 20] and dots[(2.0,)] == [100]
    (triangle,) = (line for line in ax.get_lines() if line.get_marker() == "^")
    assert list(triangle.get_ydata()) == [900] and ax.texts[0].get_text() == "2 of 3\nover budget"
    (medians,) = (line for line in ax.get_lines() if line.get_marker() == "None" and line.get_linestyle() == "-")
    assert list(medians.get_ydata()) == [20, np.inf]


def test_every_head_has_a_panel_with_the_wanted_keys_marked():
    heads = np.random.default_rng(0).dirichlet(np.ones(7), (2, 3, 4))
    figure = attention(heads, [3, 0, 6, 2], "source", ("key position", "step "), "a run")
    *panels, _ = figure.axes
    assert [ax.get_title() for ax in panels][-1] == "layer 2, head 3" and len(panels) == 6
    assert all(list(ax.get_lines()[0].get_xdata()) == [3, 0, 6, 2] for ax in panels)
    assert np.array_equal(panels[4].images[0].get_array(), heads[1, 1]) and faults(figure) == []
