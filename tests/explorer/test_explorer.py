"""What an explorer does, without a browser: sliders, curves, dots behind its back, clicks, lines that say the same."""

import subprocess
import sys
import time
from io import BytesIO

import matplotlib.image
import numpy as np
import pytest

import flowsys as fs
from flowsys.explorer.background import Background
from flowsys.explorer.controls import controls
from flowsys.explorer.pictures import Curves

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def mixture():
    return fs.explore("mixture", omega=0.2)


def waited(condition, seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


@pytest.mark.parametrize("name", fs.names())
def test_sliders_span_allowed_values_and_their_start(name):
    system = fs.load(name)
    for control in controls(system, system.setup(), system.default_level):
        parameter = next(p for p in system.parameters if p.name == control.name)
        if not control.choices:
            assert control.low <= control.value <= control.high and (control.low > 0 or not control.log)
            assert [parameter.check(control.nearest(x)) for x in (control.low, control.high)]


def test_a_slider_moves_the_curve_and_both_lines_give_its_data(mixture, tmp_path):
    before = mixture.curves.png
    mixture.sliders["omega"].value = 0.3
    assert mixture.curves.png != before and matplotlib.image.imread(BytesIO(mixture.curves.png)).shape[2] == 4
    again = eval(mixture.python, {"fs": fs})
    assert again.origin.parameters["omega"] == 0.3 and np.array_equal(again["w_c"], mixture.run["w_c"])
    command = [sys.executable, "-m", *mixture.command.split()]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    last = (tmp_path / "run.csv").read_text().splitlines()
    columns, row = last[0].split(","), last[-1].split(",")
    assert float(row[columns.index("w_c")]) == mixture.run["w_c"][-1]


@pytest.mark.parametrize("logarithmic", [False, True])
def test_a_picture_that_was_moved_is_the_picture_drawn_anew(mixture, logarithmic):
    names, kept = ("w_c", "loss"), Curves()
    for omega in (0.3, 0.05):
        run = mixture.view.at(omega=omega).run()
        assert kept.png(run, names, logarithmic, None) == Curves().png(run, names, logarithmic, None)


def test_a_click_on_the_diagram_moves_its_two_sliders(mixture):
    mixture.ask_for_diagram()
    assert waited(lambda: mixture.phase.png)
    before = mixture.run
    mixture.phase.clicked = [0.4, 0.3, 1]
    setup = mixture.view.setup
    assert 0.05 < setup["b"] < 3 and 1 < setup["T_1"] < 100 and mixture.run is not before
    assert mixture.run.events["T_1"] == pytest.approx(setup["T_1"])
    inside = mixture.view
    mixture.phase.clicked = [0.001, 0.001, 2]
    assert mixture.view is inside


def test_what_was_asked_for_stays_where_another_slider_moves():
    explorer = fs.explore("mixture", omega=0.2)
    explorer.move(b=0.7)
    assert (explorer.view.setup["omega"], explorer.view.setup["b"]) == (0.2, 0.7) and "omega=0.2" in explorer.python


def test_equations_unfold_as_the_page_of_the_derivation(mixture):
    mixture.children[1].selected_index = 0
    assert waited(lambda: "flowsys-equations" in mixture.equations.value, 60)
    assert "Lumping and certificate" in mixture.equations.value and "<math" in mixture.equations.value


def test_what_happens_early_is_looked_at_in_logarithmic_time():
    explorer = fs.explore("lego")
    assert explorer.logarithmic.value and not fs.explore("parity").logarithmic.value
    before = explorer.curves.png
    explorer.logarithmic.value = False
    assert explorer.curves.png != before


def test_a_refusal_is_told_and_the_curves_stay(mixture):
    before = mixture.curves.png
    mixture.view = mixture.view.__class__(**{**mixture.view.__dict__, "until": -1.0})
    mixture.refresh()
    assert "until = -1 is not allowed" in mixture.told.value and mixture.curves.png == before


def test_dots_come_later_and_never_from_an_old_wish():
    done, begun = [], []

    def work(wish, check):
        begun.append(wish)
        while wish == "old":
            check()
            time.sleep(0.005)
        return wish.upper()

    background = Background(work, lambda wish, result: done.append(result))
    before = time.perf_counter()
    background.ask("old")
    assert time.perf_counter() - before < 0.1 and waited(lambda: begun)
    background.ask("new")
    assert waited(lambda: done) and done == ["NEW"] and begun == ["old", "new"]


def test_training_is_drawn_as_dots_when_it_is_there():
    explorer = fs.explore("mixture", mode="simultaneous", T_1=5)
    explorer.until.value, explorer.width.value = 20.0, 8
    before = explorer.curves.png
    explorer.dots.value = True
    assert waited(lambda: explorer.curves.png != before)
    assert explorer.trained.origin.parameters["width"] == 8 and explorer.trained.t[-1] == pytest.approx(20.0)


def test_without_widgets_there_is_a_static_figure():
    assert fs.explore("parity", widgets=False).get_lines()
