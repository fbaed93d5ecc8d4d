"""Pictures of diagrams: every outcome without a value is hatched, further axes are panels."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from flowsys.plot import panels
from flowsys.plot import phase as draw
from flowsys.plot.outcomes import rectangles, told
from flowsys.sweeps import Axis, PhaseDiagram
from flowsys.sweeps.diagram import CODES, OUTCOMES, has_value
from flowsys.sweeps.named import Line, NamedDiagram, along, outer_edges, outline


def diagram(*shape: int) -> PhaseDiagram:
    axes = tuple(Axis(name, tuple(range(1, n + 1))) for name, n in zip("xyzw", shape))
    return PhaseDiagram(axes, {"q": np.arange(float(np.prod(shape))).reshape(shape)}, np.zeros(shape, dtype=np.uint8))


def test_panels_are_the_third_axis_at_the_first_value_of_the_others():
    parts = panels(diagram(2, 3, 4, 5))
    assert [where for _, where in parts] == [f"$z$ = {i}, $w$ = 1" for i in (1, 2, 3, 4)]
    for i, (part, _) in enumerate(parts):
        assert part.shape == (2, 3)
        assert np.array_equal(part.quantities["q"], diagram(2, 3, 4, 5).quantities["q"][:, :, i, 0])


def test_a_long_third_axis_is_thinned_to_its_ends():
    whole = panels(diagram(2, 2, 40))
    assert len(whole) == 6 and whole[0][1] == "$z$ = 1" and whole[-1][1] == "$z$ = 40"
    assert panels(diagram(4, 5))[0][1] == ""


SILENT = {"not computed, neighbours agree"}  # drawn as the nearest neighbour


@pytest.mark.parametrize("n_axes", [1, 2])
@pytest.mark.parametrize("outcome", [o for o in OUTCOMES if not has_value(np.array(CODES[o])) and o not in SILENT])
def test_every_outcome_without_a_value_is_hatched_and_named(outcome, n_axes):
    plain = diagram(*[4] * n_axes)
    values, ends = plain.quantities["q"].copy(), plain.outcomes.copy()
    values[1:3], ends[1:3] = np.nan, CODES[outcome]
    ax = draw(PhaseDiagram(plain.axes, {"q": values}, ends), Figure().subplots())
    assert told(CODES[outcome], {}) in [text.get_text() for text in ax.get_legend().get_texts()]


def test_hatched_rectangles_cover_the_cells_once():
    here = np.random.default_rng(0).random((9, 13)) < 0.6
    covered = np.zeros(here.shape, dtype=int)
    for a, b, c, d in rectangles(here):
        covered[c:d, a:b] += 1
    assert np.array_equal(covered, here.astype(int))
    assert len(rectangles(np.ones((50, 70), dtype=bool))) == 1


def test_whole_numbers_have_whole_ticks():
    axes = (Axis("K", (2, 3, 4)), Axis("b", (0.5, 1.0, 1.5)))
    ax = draw(PhaseDiagram(axes, {"T_2": np.ones((3, 3))}, np.zeros((3, 3), np.uint8)), Figure().subplots())
    assert all(float(tick).is_integer() for tick in ax.get_xticks())
    assert not all(float(tick).is_integer() for tick in ax.get_yticks())


def test_lines_reach_to_the_edges_of_the_outermost_cells_and_keep_their_gaps():
    b, L = np.array([0.1, 0.2, 0.3]), np.array([3.0, 4.0, 5.0])
    steps = Line(np.array([0.2, 0.2, np.nan, 0.34, 0.36]), np.array([4.5, 5.5, np.nan, 4.0, 4.0]), "edge").within(b, L)
    np.testing.assert_allclose(steps.x, [0.2, 0.2, np.nan, 0.34])
    np.testing.assert_allclose(steps.y, [4.5, 5.5, np.nan, 4.0])
    n = Axis("n", (1, 10, 100), "log").places
    factors = Line(np.array([0.3, 0.32, 310.0, 320.0]), np.full(4, 4.0), "").within(n, L)
    np.testing.assert_allclose(factors.x, [0.32, 310.0])


@pytest.mark.parametrize(
    ("axis", "ends"),
    [
        (Axis("d", (1e2, 1e4), "log"), (1e1, 1e5)),  # two values do not tell how they are spaced: the axis does
        (Axis("d", (1e2, 1e4)), (-4850.0, 14950.0)),
        (Axis("M", (20, 24, 30, 37), "log"), (20 / 1.2**0.5, 37 * (37 / 30) ** 0.5)),  # whole numbers, rounded
        (Axis("n", (1, 2, 4), "list"), (0.5, 5.0)),
        (Axis("group", ("C3", "S4", "S5"), "list"), (-0.5, 2.5)),
        (Axis("b", (0.4,)), (-0.1, 0.9)),
    ],
)
def test_lines_have_room_to_the_edges_of_the_picture(axis, ends):
    theory = lambda setup, x, y: [Line(along(x), along(x), "x")] if x.dtype.kind != "U" else []
    figure, other = Figure(), Axis("y", (1.0, 2.0))
    shown = PhaseDiagram((axis, other), {"T": np.ones((len(axis), 2))}, np.zeros((len(axis), 2), np.uint8))
    assert draw(shown, figure.subplots()).get_xlim() == pytest.approx(ends)
    assert outer_edges(axis.places) == pytest.approx(ends)
    for line in NamedDiagram("", (axis.text, other.text), ("T",), boundary=theory).lines(None, axis, axis):
        first = axis.values[0] / 2 if ends[0] < 0 else ends[0]  # what is positive stays so
        assert line.x[[0, -1]].tolist() == pytest.approx([first, ends[1]])
    # what is made of an axis's values is an ordinary array
    assert type(axis.places == axis.places[0]) is np.ndarray


def test_an_outline_runs_between_cells_that_differ():
    x, y = np.array([1.0, 2.0, 4.5]), np.array([3.0, 4.0])
    inside = np.array([[True, False], [True, False], [False, False]])
    found = outline(x, y, inside, "edge")
    pieces = {tuple(zip(found.x[i : i + 2], found.y[i : i + 2])) for i in range(0, len(found.x), 3)}
    upright = {((3.25, 2.5), (3.25, 3.5))}
    assert pieces == upright | {((0.5, 3.5), (1.5, 3.5)), ((1.5, 3.5), (3.25, 3.5))}
    assert len(found.within(x, y).x) == len(found.x)  # to the edges of the outermost cells
    assert np.isnan(found.x[2::3]).all() and not len(outline(x, y, inside & False, "none").x)
