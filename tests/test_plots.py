"""Pictures tell the truth: maps by sign, decades and phase; legends as drawn; dots with bars; data beside figures."""

import csv
import io

import numpy as np
import pytest
from matplotlib.colors import BoundaryNorm, CenteredNorm, LogNorm
from matplotlib.figure import Figure
from other_systems import changed

from flowsys.claims import Verdict, Word
from flowsys.claims.regions import Region
from flowsys.errors import InputError
from flowsys.ladder import Rung, compare
from flowsys.laws.fits import line
from flowsys.plot import curves, dots, heat, residuals
from flowsys.plot import phase as draw
from flowsys.plot.colours import of_values
from flowsys.plot.drawing import Drawing, PaperFigure
from flowsys.plot.drawn import HEAD, as_csv
from flowsys.plot.ladder import ladder
from flowsys.plot.region import region
from flowsys.runs.solving import solve
from flowsys.sweeps import Axis, PhaseDiagram
from flowsys.sweeps.diagram import CODES
from flowsys.sweeps.named import Contour, Line, Phases
from flowsys.systems import load

X, Y = Axis("x", (1.0, 2.0, 3.0)), Axis("y", (1.0, 2.0))


def diagram(values, **origin) -> PhaseDiagram:
    values = np.asarray(values, dtype=float)
    outcomes = np.where(np.isfinite(values), 0, CODES["quantity not finite"]).astype(np.uint8)
    return PhaseDiagram((X, Y), {"q": values}, outcomes, {"labels": {"q": "$q$"}, **origin})


def test_signed_values_get_a_diverging_map_around_zero():
    norm = of_values(np.array([-1.0, 3.0])).norm
    assert isinstance(norm, CenteredNorm) and norm.vcenter == 0
    assert not isinstance(of_values(np.array([-1e-12, 3.0])).norm, CenteredNorm)  # rounding is no sign


@pytest.mark.parametrize("values, asked, is_log", [
    ([1.0, 1e3], None, True), ([1.0, 50.0], None, False), ([1.0, 50.0], True, True), ([0.0, 1e3], True, True),
    ([0.0, 1e3], None, False),
])  # fmt: skip
def test_values_over_decades_get_a_logarithmic_map(values, asked, is_log):
    assert isinstance(of_values(np.array(values), asked).norm, LogNorm) == is_log


def test_values_that_vanish_have_the_lowest_colour_of_a_logarithmic_map():
    norm = of_values(np.array([0.0, 1e-300, 1e-5, 1.0]), True).norm
    assert isinstance(norm, LogNorm) and norm(0.0) == norm(1e-300) == 0 and 0 < norm(1e-5) < 1 == norm(1.0)


def test_phases_are_colours_with_words():
    phases = Phases((0.0,), ("stuck", "learns"))
    figure = Figure()
    ax = draw(diagram([[-1, 2], [3, -0.5], [np.nan, 0]]), figure.subplots(), phases=phases)
    assert isinstance(ax.collections[0].norm, BoundaryNorm)
    np.testing.assert_array_equal(np.ma.filled(ax.collections[0].get_array(), -1).ravel(), [0, 1, -1, 1, 0, 1])
    assert [t.get_text() for t in figure.axes[1].get_yticklabels()] == ["stuck", "learns"]


def test_the_legend_has_what_is_drawn_and_nothing_else():
    there, not_there = (
        Line(np.array([1.0, 2]), np.array([1.0, 2]), "predicted"),
        Line(np.full(2, np.nan), np.ones(2), "gone"),
    )
    contours = (Contour("q", 2.5, "measured"), Contour("q", 99.0, "never"))
    ax = draw(diagram([[1, 2], [3, 4], [5, 6]]), Figure().subplots(), boundary=(there, not_there), contours=contours)
    handles, labels = ax.get_legend_handles_labels()
    assert labels == ["predicted", "measured"]
    (drawn,) = (c for c in ax.collections if c.get_array() is not None and len(c.get_array()) == 1)
    shown = handles[labels.index("measured")]
    assert tuple(drawn.get_edgecolor()[0][:3]) == (0, 0, 0) and shown.get_color() == "black"
    assert drawn.get_linewidth()[0] == shown.get_linewidth()


def test_lines_do_not_widen_a_map():
    beyond = Line(np.array([0.0, 4]), np.array([1.0, 2]), "predicted")
    ax = draw(diagram([[1, 2], [3, 4], [5, 6]]), Figure().subplots(), boundary=(beyond,))
    assert (*ax.get_xlim(), *ax.get_ylim()) == (0.5, 3.5, 0.5, 2.5)


def test_outcomes_are_told_in_the_diagrams_own_words():
    ax = draw(diagram([[1, 2], [3, 4], [np.nan, 6]]), Figure().subplots(), words={"quantity not finite": "above 150"})
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["above 150"]


def test_seeds_are_dots_with_their_standard_deviation():
    ax = Figure().subplots()
    dots(ax, [1.0, 2.0], [[1.0, 3.0], [5.0, 5.0]], "training")
    assert ax.get_legend_handles_labels()[1] == ["training, mean and standard deviation of 2 seeds"]
    rows = list(csv.DictReader(io.StringIO(as_csv(ax.figure))))
    assert [float(row["y"]) for row in rows] == [2.0, 5.0]
    np.testing.assert_allclose([float(row["above"]) for row in rows], [np.sqrt(2), 0.0])
    np.testing.assert_allclose([float(row["below"]) for row in rows], [np.sqrt(2), 0.0])


def test_a_curve_of_means_over_seeds_is_dots_with_the_deviation_that_stands_beside_them():
    width = Axis("width", (10.0, 100.0, 1000.0), "log")
    values = {"mean(q@T)": np.array([3.0, 2.0, 1.0]), "std(q@T)": np.array([0.5, 0.4, 0.3])}
    diagram = PhaseDiagram((width,), values, np.zeros(3, dtype=np.uint8), {"level": "L2", "seeds": 8})
    ax = draw(diagram, Figure().subplots())
    (bars,) = ax.containers
    low, high = np.array([segment[:, 1] for segment in bars[2][0].get_segments()]).T
    assert np.allclose(high - low, 2 * values["std(q@T)"]) and np.allclose((high + low) / 2, values["mean(q@T)"])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["mean and standard deviation of 8 seeds"]


def test_a_figure_refuses_what_plays_no_part_in_it():
    system, drawn = load("prompt"), []

    def draw(setup):
        drawn.append(setup)
        run = solve(system, system.setup(M=4, K=2, alpha=setup["alpha"]), at=[1.0], observe=["loss"])
        return Drawing(Figure(), {"run": run})

    by_runs, kept = PaperFigure(draw, ""), PaperFigure(draw, "", heeds=("seed", "K"))
    assert by_runs(system.setup(alpha=0.7, K=2)).data and kept(system.setup(seed=3)).data
    drawn.clear()
    with pytest.raises(InputError, match=r"^K = 3 plays no part in this figure: it is drawn at its own\.$"):
        by_runs(system.setup(alpha=0.7, K=3))
    assert len(drawn) == 1
    with pytest.raises(InputError, match=r"^alpha = 0.7 plays no .* at its own; seed, K may be set\.$"):
        kept(system.setup(alpha=0.7))
    assert len(drawn) == 1  # before anything is drawn
    with pytest.raises(InputError, match=r"^K = 3 plays no part in this figure: it is drawn at its own\.$"):
        PaperFigure(lambda setup, on_run=None: pytest.fail("hours of training"), "")(system.setup(K=3), on_run=print)


def test_curves_are_a_line_of_theory_and_dots_of_what_was_sampled_for_every_value_of_the_first_axis():
    axes = Axis("b", (0.1, 0.3), "list"), Axis("seed", (0, 1), "list"), Axis("l", (5, 10, 20), "log")
    exact = np.arange(12.0).reshape(2, 2, 3)
    swept = PhaseDiagram(axes, {"exact": exact, "drawn": exact**2}, np.zeros((2, 2, 3), dtype=np.uint8))
    ax = curves(swept, "exact", "drawn", Figure().subplots())
    drawn = [of for of in ax.lines if of.get_linestyle() == "-"]
    assert [of.get_label() for of in drawn] == ["$b$ = 0.1", "$b$ = 0.3"] and ax.get_xscale() == "log"
    assert np.array([of.get_ydata() for of in drawn]).tolist() == exact.mean(axis=1).tolist()
    for bars, values, of in zip(ax.containers, exact**2, drawn):
        low, high = np.array([segment[:, 1] for segment in bars[2][0].get_segments()]).T
        assert np.allclose((high + low) / 2, values.mean(axis=0))
        assert np.allclose(high - low, 2 * values.std(axis=0, ddof=1)) and bars[0].get_color() == of.get_color()
    one = PhaseDiagram(axes[2:], {"exact": exact[0, 0]}, np.zeros(3, dtype=np.uint8))
    (only,) = curves(one, "exact", ax=Figure().subplots(), labels=["counted"], first_colour=3).lines
    assert (only.get_label(), only.get_color()) == ("counted", "C3")


def test_ladders_regions_and_fits_are_labelled_by_the_table_of_names():
    system = load("lego")  # its bias b is written in symbols of the paper, not by rule
    rung = Rung("L3", "L4", "a law", lambda x: x, "bias", (0.1, 0.2, 0.4), 1.0, 0.1)
    measured = compare(changed(system, ladder=lambda setup: [rung]))
    assert ladder(measured, system.names).axes[0].get_xlabel() == "$b$"
    cells = np.array([[Verdict(Word.HOLDS, "", "")]], dtype=object)
    axes = (Axis("bias", (0.1,)), Axis("rho", (0.2,)))
    found = Region("lego", system.claims[0], axes, cells)
    assert region(found, system.names).axes[0].get_ylabel() == r"$\varrho$"
    fits = {"stage_2_1 over -log bias": line([1.0, 2, 3], [1.0, 2, 3.1])}
    drawn = residuals(Verdict(Word.HOLDS, "", "", fits=fits), system.names).axes
    assert (drawn[0].get_ylabel(), drawn[1].get_xlabel()) == ("$T_{2.1}$", r"$-\log b$")


def test_a_drawing_writes_all_it_shows_with_its_command(tmp_path):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], [2, 3], label="$w_c$")
    left.set(xlabel="$t$", title="values")
    heat(right, [[0.1, 0.9]], ["$c$"], ["$c$", "$v$"], "key", "query", "attention")
    written = Drawing(figure, {}).save(tmp_path / "a.png", "flowsys figure x 1")
    assert [path.name for path in written] == ["a.png", "a.csv"]
    command, *text = written[1].read_text().splitlines()
    rows = list(csv.DictReader(text))
    assert command == "# flowsys figure x 1" and tuple(rows[0]) == HEAD
    assert [(r["panel"], r["series"], float(r["x"]), float(r["y"])) for r in rows[:2]] == [
        ("values", "$w_c$", 0, 2),
        ("values", "$w_c$", 1, 3),
    ]
    assert [float(r["value"]) for r in rows[2:]] == [0.1, 0.9]
    assert b"flowsys figure x 1" in written[0].read_bytes()
