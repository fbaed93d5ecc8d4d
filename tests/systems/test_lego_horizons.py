"""LEGO's long horizons: time to 1e55 at a large clip, and what ends a run before."""

import pytest

from flowsys.errors import InputError
from flowsys.runs.solving import solve
from flowsys.systems import load

SYSTEM = load("lego")


def course(at, **parameters):
    setup = SYSTEM.setup(t_max=1e60, **parameters)
    return solve(SYSTEM, setup, mode="stage_2", at=list(at), observe=["alpha", "loss"])


def test_the_loss_falls_like_one_over_time_to_1e55():
    found = course([1e10, 1e30, 1e55], C_B=20.0)
    assert found.outcome.is_complete and found.statistics["steps"] < 1000
    # loss × τ stays of order one until the floor d^(1 - C_B) = 1e-57
    assert all(1e-5 < loss * t < 10 for t, loss in zip(found.t, found["loss"]))


@pytest.mark.parametrize("solver", ["auto", "radau"])
def test_looser_and_tighter_tolerances_agree_late(solver):
    setup = SYSTEM.setup(t_max=1e30, C_B=8.0)
    coarse, fine = (
        solve(SYSTEM, setup, mode="stage_2", at=[1e22], observe=["alpha"], rtol=rtol, solver=solver)["alpha"][0]
        for rtol in (1e-6, 1e-9)
    )
    assert coarse == pytest.approx(fine, rel=1e-5)


def test_stages_past_a_saturation_are_iterated_to_their_end():
    # when the neuron saturates the pull of α and γ together ends inside a step, and from then on their gap grows like t
    setup = SYSTEM.setup("stage_2", t_max=1e10, group="C5", d=700.5414128151691, C_B=2.97375515521012,
                         rho=0.10580122046055193, bias=0.13469197743058778)  # fmt: skip
    coarse, fine = (
        solve(SYSTEM, setup, mode="stage_2", at=[1e10], observe=["alpha", "gamma"], rtol=rtol) for rtol in (1e-8, 1e-11)
    )
    for name in ("alpha", "gamma"):
        assert coarse[name][0] == pytest.approx(fine[name][0], rel=1e-6)


def test_a_flow_that_rounding_errors_drown_says_so_soon():
    # beyond the loss floor both scores rise as one, and their difference is below their last digit
    found = course([1e30], C_B=3.0)
    assert found.outcome.is_failure and "rounding errors of the state drown the flow" in found.outcome.sentence
    assert found.statistics["steps"] < 5000


def test_a_clip_beyond_the_range_of_exponentials_is_refused():
    with pytest.raises(InputError, match=r"C_B = 20 is not allowed at d = 1e\+13: it must be at most 17.37"):
        SYSTEM.setup(C_B=20.0, d=1e13)
