"""Derivatives beside observables in runs and sweeps: their values, and what is refused."""

import numpy as np
import pytest
from typer.testing import CliRunner

import flowsys as fs
from flowsys.cli import app


@pytest.fixture(scope="module")
def steps():
    """dw/dt = rate + [w > first] + [w > second]: from 0, T_up = 1/rate + 1/(rate + 2) where both are 1."""
    return fs.Model(
        "steps",
        parameters={
            "rate": fs.Real(1.0, 0.5, 2.0),
            "first": fs.Real(1.0, 0.0, 3.0),
            "second": fs.Real(1.0, 0.0, 3.0),
            "n": fs.Size(2, 1, 3),
        },
        blocks=lambda p: {"w": fs.Direct(start=0.0)},
        loss=lambda ops, w, X, p: -p.rate * w.w - ops.relu(w.w - p.first) - ops.relu(w.w - p.second),
        observe={"height": lambda ops, w, X, p: w.w + 0.0, "speed": lambda ops, w, X, p: p.rate * w.w},
        events={"up": fs.Crossing("height", 2.0, +1), "low": fs.Crossing("height", 0.5, +1)},
        t_max=100.0,
    )


def exact(rate):
    """d T_up / d rate, and d T_low / d rate."""
    return -1 / rate**2 - 1 / (rate + 2) ** 2, -0.5 / rate**2


def test_a_run_shows_them_beside_its_observables(steps):
    run = fs.solve(steps, at=["up", 0.25], observe=["height", "speed"], derivatives=["rate"])
    assert list(run) == ["d_rate(t)", "height", "d_rate(height)", "speed", "d_rate(speed)"]
    assert run.at("up")["values"] == pytest.approx(
        {"d_rate(t)": exact(1.0)[0], "height": 2, "d_rate(height)": 0, "speed": 2, "d_rate(speed)": 2}, abs=1e-7
    )
    assert run.at(0.25)["values"] == pytest.approx(
        {"d_rate(t)": 0, "height": 0.25, "d_rate(height)": 0.25, "speed": 0.25, "d_rate(speed)": 0.5}
    )
    alone = fs.solve(steps, at=["up"], observe=["d_start:w(t)", "height"])
    assert list(alone) == ["d_start:w(t)", "height"] and alone.at("up")["values"]["d_start:w(t)"] == pytest.approx(-1)


def test_they_are_taken_where_the_run_is(steps):
    """Not at the defaults: the other parameters stay as given."""
    run = fs.solve(steps, steps.setup(rate=0.8), at=["up"], observe=["height"], derivatives=["rate", "start:w"])
    assert run.at("up")["values"]["d_rate(t)"] == pytest.approx(exact(0.8)[0])
    assert run.at("up")["values"]["d_start:w(t)"] == pytest.approx(-1 / 0.8)
    both = fs.solve(steps, rate=0.8, first=0.7, second=0.7, at=["up"], observe=["d_rate(t)"])
    assert both.at("up")["values"]["d_rate(t)"] == pytest.approx(-0.7 / 0.8**2 - 1.3 / 2.8**2)


def test_a_setup_that_lost_what_was_given_is_refused(steps):
    bare = fs.Setup("steps", dict(steps.setup(first=2.5)))
    with pytest.raises(fs.InputError, match="does not say which of its parameters were given"):
        fs.solve(steps, bare, at=["up"], derivatives=["rate"])


def test_a_sweep_measures_them_as_any_quantity(steps):
    quantities = ["d_rate(up)", "d_rate(up-low)", "d_rate(up:low)", "up", "low"]
    found = fs.phase(steps, x="rate=0.6:1.8:3", observable=quantities).quantities
    up, low = exact(np.linspace(0.6, 1.8, 3))
    assert found["d_rate(up)"] == pytest.approx(up) and found["d_rate(up-low)"] == pytest.approx(up - low)
    ratio = (up - found["up"] / found["low"] * low) / found["low"]
    assert found["d_rate(up:low)"] == pytest.approx(ratio)


def test_where_there_is_none_the_run_and_the_sweep_say_so(steps):
    """The surfaces of both ReLUs are met together, and the direction parts them."""
    run = fs.solve(steps, at=["up"], observe=["height"], derivatives=["second"])
    assert np.isnan(run.at("up")["values"]["d_second(t)"])
    assert any("no derivative in second here" in remark for remark in run.outcome.remarks)
    found = fs.phase(steps, x="rate=0.6:1.8:3", observable="d_second(up)")
    assert np.isnan(found.quantities["d_second(up)"]).all()
    assert {fs.sweeps.diagram.OUTCOMES[code] for code in found.outcomes} == {"no derivative there"}


@pytest.mark.parametrize(
    "asked, said",
    [
        ({"derivatives": ["rat"]}, "has no parameter 'rat'.* Did you mean rate"),
        ({"derivatives": ["n"]}, "n = 2 is no real number"),
        ({"derivatives": ["start:v"]}, "v is not a coordinate here"),
        ({"observe": ["d_rate(hight)"]}, "hight is no observable here, so it has no derivative. Did you mean height"),
        ({"derivatives": ["rate"], "level": "L0"}, "derivative rate is not allowed here: level = L0 is descent"),
        ({"derivatives": ["rate"], "level": "L2"}, "needs a derived program"),
        ({"derivatives": ["rate"], "kink_width": 0.1}, "smoothed kinks cannot be varied"),
    ],
)
def test_what_has_no_derivative_is_refused_in_a_sentence(steps, asked, said):
    with pytest.raises(fs.InputError, match=said):
        fs.solve(steps, at=["up"], **asked)


@pytest.mark.parametrize(
    "quantity, said",
    [
        ("d_n(up)", "no real number"),
        ("d_rate(rate(height)@t=1..2)", "is no time or observable"),
        ("d_rate(height)", "needs a place"),
    ],
)
def test_a_sweep_refuses_likewise(steps, quantity, said):
    with pytest.raises(fs.InputError, match=said):
        fs.phase(steps, x="rate=0.6:1.8:3", observable=quantity)


def test_the_command_line_has_them_as_columns():
    done = CliRunner().invoke(
        app, ["solve", "parity", "--at", "lock", "--observe", "loss", "--derivative", "epsilon", "--format", "csv"]
    )
    assert done.exit_code == 0, done.output
    header, row = done.stdout.splitlines()[:2]
    assert header == "at,t,reached,d_epsilon(t),loss,d_epsilon(loss)" and row.startswith("lock,")
