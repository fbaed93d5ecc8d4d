"""Linearisation: Jacobians against differences, the plateau of the mixture against its closed form."""

import numpy as np
import pytest

import flowsys as fs
from flowsys.analysis.linearisation import matrix_at
from flowsys.runs.flow import flow_of


@pytest.fixture(scope="module")
def plateau():
    return fs.analyse(fs.load("mixture"), linearise=["T_1", "T_2"])


def test_the_rate_explains_the_slope_of_the_plateau(plateau):
    """The scores leave with the rate 2 w_c/9 and start like ω², so T_2 - T_1 has the slope 9/w_c in log(1/ω)."""
    (found,) = plateau.plateaus
    w_c = fs.solve(fs.load("mixture"), at=["T_1"], observe=["w_c"])["w_c"][0]
    assert found.rate == pytest.approx(2 * w_c / 9, rel=2e-4)
    assert found.slopes == {"omega": pytest.approx(9 / w_c, rel=5e-4)}
    assert found.predicted == pytest.approx(found.length, rel=0.1), "saturation takes the rest"


def test_the_unstable_direction_has_names(plateau):
    first, second = plateau.points[:2]
    assert (first.stage, second.stage) == ("stage 1", "stage 2") and first.n_unstable == 0
    assert set(second.leading.direction) == {"KK_cc_difference", "QQ_vv_difference", "S_cv_difference"}
    assert second.logarithmic_norm >= second.leading.value.real


def test_jacobians_agree_with_differences():
    flow = flow_of(fs.load("mixture"), None, mode="simultaneous")
    (state,), _ = flow.states([100.0], 1e-10)
    _, J = matrix_at(flow, state.y, 0)
    h = 1e-6
    shifts = h * np.eye(len(state.y))
    f = lambda y: matrix_at(flow, y, 0)[0]
    differences = np.array([(f(state.y + s) - f(state.y - s)) / (2 * h) for s in shifts]).T
    assert np.abs(J - differences).max() < 1e-9


def test_an_event_that_is_not_there_is_refused_and_one_not_reached_is_said():
    system = fs.load("mixture")
    with pytest.raises(fs.InputError, match="at = T_9 is not an event"):
        fs.analyse(system, linearise=["T_9"])
    found = fs.analyse(system, system.setup(t_max=50.0), linearise=["T_1", "T_2"])
    assert any("T_2 is not reached" in remark for remark in found.remarks)
