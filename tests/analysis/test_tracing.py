"""Traced lines against closed forms, round a turning point, and on a diagram."""

import numpy as np
import pytest
from typer.testing import CliRunner

import flowsys as fs
from flowsys.analysis.tracing import trace
from flowsys.cli import app
from flowsys.sweeps.axes import parse_axis
from flowsys.systems.mixture.limits import onset_of_group_signal


def test_the_boundary_of_the_first_stage_has_its_closed_form():
    found = trace(fs.load("mixture"), "T_1=T_0.5", parse_axis("b=0.05:1.5:2"), parse_axis("T_1=0.1:20:2:log"))
    (curve,) = found.curves
    exact = [onset_of_group_signal(2, b) for b in curve[:, 0]]
    assert np.abs(curve[:, 1] - exact).max() < 1e-8
    assert curve[0, 0] == pytest.approx(0.05) and curve[-1, 0] == pytest.approx(1.5), "from border to border"


def ring():
    """A model whose loss at its only time is a circle in two parameters."""
    return fs.Model(
        "ring",
        parameters={"p": fs.Real(1.0, 0.0, 4.0), "q": fs.Real(1.0, 0.0, 4.0)},
        blocks=lambda p: {"v": fs.Direct(1, start=1.0)},
        samples=None,
        loss=lambda ops, w, X, p: 0.5 * (w.v[0] - (p.p - 2) ** 2 - (p.q - 2) ** 2) ** 2,
        observe={"height": lambda ops, w, X, p: w.v[0]},
        events={},
    )


def test_a_closed_curve_is_followed_round_its_turning_points():
    """v(t) = r² + (1 - r²) e^(-t), so v = c is a circle around (2, 2)."""
    t, c = 5.0, 1.3
    found = trace(ring(), f"height@t={t}={c}", parse_axis("p=0:4:2"), parse_axis("q=0:4:2"))
    (curve,) = found.curves
    radius = np.sqrt((c - np.exp(-t)) / (1 - np.exp(-t)))
    assert np.hypot(*(curve - 2).T) == pytest.approx(radius, rel=1e-8)
    assert curve[0] == pytest.approx(curve[-1]) and np.ptp(curve[:, 0]) == pytest.approx(2 * radius, rel=0.01)


def test_what_cannot_be_traced_is_refused():
    system, x, y = fs.load("mixture"), parse_axis("b=0.1:1:2"), parse_axis("T_1=1:9:2")
    for target, said in (("T_2", "not understood"), ("T_2=x", "neither a number"), ("T_1=T_1", "two different events"),
                         ("nothing@T_2=1", "not an observable"), ("T_9=1", "needs a place")):  # fmt: skip
        with pytest.raises(fs.InputError, match=said):
            trace(system, target, x, y)
    with pytest.raises(fs.InputError, match="two different real ends"):
        trace(system, "T_2=500", parse_axis("K=2:4:3"), y)


def test_the_command_draws_lines_over_a_diagram(tmp_path):
    asked = ["phase", "mixture", "--x", "b=0.1:1:6", "--y", "T_1=2:40:6:log", "--trace", "T_1=T_0.5"]
    done = CliRunner().invoke(app, [*asked, "--observable", "T_2", "--out", str(tmp_path / "d.nc")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "d.png").exists()
    header, first, *_ = (tmp_path / "d-trace.csv").read_text().splitlines()
    assert header == "target,curve,b,T_1" and first.startswith("T_1=T_0.5,0,")
    done = CliRunner().invoke(app, [*asked, "--out", str(tmp_path / "alone.nc")])
    assert done.exit_code == 0 and (tmp_path / "alone.png").exists() and not (tmp_path / "alone.nc").exists()
