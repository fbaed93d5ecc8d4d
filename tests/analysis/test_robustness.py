"""Robustness: whether the full flow returns to the limit, what is kept of it, and the constants of the rung."""

import numpy as np
import pytest

import flowsys as fs
from flowsys.analysis.perturbed import Perturbed
from flowsys.analysis.robustness import robust
from flowsys.ladder import Rung
from flowsys.runs.flow import flow_of
from flowsys.runs.robust import keep, known
from flowsys.runs.surfaces import nearest_surface


def saddle():
    """Two weights pulled to their sum: u - v leaves 0 at the rate c, so perturbations that break u = v grow."""
    return fs.Model(
        "pitchfork",
        parameters={"c": fs.Real(-1.0, -2.0, 2.0, "rate at which u - v grows")},
        blocks=lambda p: {"w": fs.Direct(2, start=0.1)},
        loss=lambda ops, w, X, p: (
            (w.w[0] + w.w[1] - 2) ** 2 / 2 - p.c * (w.w[0] - w.w[1]) ** 2 / 4 + (w.w[0] - w.w[1]) ** 4 / 4
        ),
        observe={"difference": lambda ops, w, X, p: (w.w[0] - w.w[1]) ** 2},
        ladder=lambda setup: [Rung("L2", "L3", "a rung", _nothing), Rung("L0", "L1", "another", _nothing)],
        t_max=100.0,
    )


def _nothing(_) -> float:
    return 0.0


def test_a_symmetric_limit_that_attracts_is_robust_and_one_that_repels_is_not():
    model = saddle()
    calm = robust(model, model.setup(c=-1.0), at=[10.0], sizes=(1e-2, 1e-4, 1e-6))
    assert calm.radius == 1e-2 and not calm.is_fragile and "robust" in calm.sentence
    assert max(calm.path.growth) == 1 and calm.path.t[-1] == 10
    wild = robust(model, model.setup(c=1.0), at=[60.0], sizes=(1e-2, 1e-4, 1e-6))
    assert wild.radius == 0 and wild.is_fragile and "no width follows it" in wild.sentence
    grown = np.interp([4.0, 8.0], wild.path.t, np.log(wild.path.growth))
    assert np.diff(grown) == pytest.approx(4.0, rel=0.02), "u - v leaves 0 at the rate 1"
    assert "<svg" in wild._repr_html_()


def steps(jump: float):
    """Three weights with du/dt = 1 + jump·[u > 1]: what parts them is stretched by 1 + jump at t = 1, or held there."""
    return fs.Model(
        "steps",
        parameters={"jump": fs.Real(jump, -3.0, 3.0, "change of the speed at 1")},
        blocks=lambda p: {"w": fs.Direct(3, start=0.0)},
        loss=lambda ops, w, X, p: -sum(w.w[i] + p.jump * ops.relu(w.w[i] - 1) for i in range(3)),
        observe={"height": lambda ops, w, X, p: w.w[0] + 0.0},
        t_max=100.0,
    )


@pytest.mark.parametrize("jump, factor", [(2.0, 3.0), (-0.5, 0.5), (-2.0, 0.0)])
def test_what_breaks_the_symmetry_jumps_at_kinks_and_slides(jump, factor):
    """Saltation: f⁺/f⁻ where the surface is crossed, 0 where it is slid on; nothing in between."""
    found = robust(steps(jump), None, at=[2.0], sizes=(1e-4, 1e-6))
    (turn,) = found.path.turns
    assert turn.t == pytest.approx(1.0) and turn.factor == pytest.approx(factor, abs=1e-5)
    assert found.path.growth[-1] == pytest.approx(factor, abs=1e-5)
    first, *_ = found.path.rates
    assert first == (0.0, pytest.approx(1.0), pytest.approx(0.0, abs=1e-6))
    if factor:
        assert f"it jumps by {factor:g} at t = 1" in found.remarks[-1]


def test_what_is_known_is_said_by_solve_and_by_the_rung(tmp_path, monkeypatch):
    monkeypatch.setenv("FLOWSYS_CACHE", str(tmp_path))
    model = saddle()
    setup = model.setup(c=1.0)
    assert known(model, setup, model.mode(None)) is None
    found = robust(model, setup, at=[60.0], sizes=(1e-2, 1e-4))
    assert fs.solve(model, setup, at=[1.0]).outcome.remarks == (found.sentence,)
    assert fs.solve(model, setup, at=[1.0], level="L2").outcome.remarks == ()
    ladder = fs.compare(model, setup)
    assert [row["meaning"] for row in ladder.rows()] == [f"a rung; {found.sentence}", "another"]
    keep(model, setup, model.mode(None), "")
    assert fs.solve(model, setup, at=[1.0]).outcome.remarks == ()


def test_the_fragile_limit_slides_next_to_another_surface():
    system = fs.load("mixture")
    flow = flow_of(system, system.setup("simultaneous", L=4, b=0.1), mode="simultaneous")
    nearest = nearest_surface(flow, 150.0, 1e-10)
    assert nearest.distance == pytest.approx(1.9e-6, rel=0.05) and nearest.t == pytest.approx(0.806, abs=0.02)


@pytest.mark.parametrize("b, is_suspected", [(0.1, True), (0.5, False)])
def test_a_run_that_slides_beside_another_surface_suspects_it(b, is_suspected, tmp_path, monkeypatch):
    """Nobody has asked how robust these limits are; the first is fragile, the second slides too and is robust."""
    monkeypatch.setenv("FLOWSYS_CACHE", str(tmp_path))
    system = fs.load("mixture")
    setup = system.setup("simultaneous", L=4, b=b)
    run = fs.solve(system, setup, mode="simultaneous", at=[150.0])
    assert run.statistics["slides"] > 0
    assert any("the limit may be fragile" in remark for remark in run.outcome.remarks) == is_suspected


CASES = {
    "mixture (2, 3, 0.5)": ("mixture", "simultaneous", [150.0], {"K": 2, "L": 3, "b": 0.5}),
    "mixture (2, 4, 0.5)": ("mixture", "simultaneous", [150.0], {"K": 2, "L": 4, "b": 0.5}),
    "mixture (3, 3, 0.5)": ("mixture", "simultaneous", [150.0], {"K": 3, "L": 3, "b": 0.5}),
    "cooccurrence": ("cooccurrence", None, ["T_star"], {"n": 12}),
    "prompt": ("prompt", None, ["T_2"], {"M": 5}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_limits_that_are_robust(name):
    system, mode, at, given = CASES[name]
    loaded = fs.load(system)
    found = fs.analyse(loaded, loaded.setup(mode, **given), robust=True, at=at, mode=mode)
    assert found.radius == 1e-2, found.rows


@pytest.mark.slow
def test_the_limit_of_longer_samples_is_fragile():
    system = fs.load("mixture")
    found = fs.analyse(system, system.setup("simultaneous", L=4, b=0.1), robust=True, at=[150.0], mode="simultaneous")
    assert found.is_fragile and 1e-7 <= found.radius < 1e-5
    assert found.limit["w_c"] == pytest.approx(2.066, abs=1e-3) and found.limit["accuracy"] == 1


@pytest.mark.slow
def test_the_constant_of_the_rung_is_predicted():
    """24 seeds at width 1000, the largest deviation of an entry of the state at T_2."""
    system = fs.load("mixture")
    around = Perturbed(flow_of(system, None), "T_2")
    found = robust(system, None, at=["T_2"], sizes=(1e-6, 1e-7), draws=48)
    base = around.run(np.zeros(len(around.problem.initial)))
    deviations = []
    for seed in range(24):
        run = fs.solve(system, system.setup(width=1000, seed=seed), level="L2", at=["T_2"], observe=["loss"])
        deviations.append(np.abs(run.states[0] - base.state).max())
    measured = np.sqrt(1000 * np.mean(np.square(deviations)))
    assert found.rung_constant == pytest.approx(measured, rel=0.15)
