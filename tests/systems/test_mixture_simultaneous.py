"""Simultaneous training in the limit: the specification's numbers, the stuck phase, kinks that cross and that slide.

K = 2, L = 3, b = 1/2, ω = 0.1 unless a case says otherwise; the section stands in the test's name.
"""

from functools import cache

import numpy as np
import pytest
from mixture_oracle import agrees
from scipy.integrate import solve_ivp

from flowsys.program.arrays import observed, vector_field
from flowsys.runs.solving import solve
from flowsys.systems import load

S = load("mixture")


@cache
def run(at: tuple, rtol: float = 1e-10, kink_width=None, **parameters):
    return solve(S, S.setup(**parameters), mode="simultaneous", at=at, rtol=rtol, kink_width=kink_width)


def values(at: str | float, **parameters) -> dict[str, float]:
    return run((at,), **parameters).at(at)["values"]


def time(event: str, **parameters) -> float:
    return run((event,), **parameters).at(event)["t"]


# -- sections 6 and 7: the course of training -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("t", "printed"),
    [(1, "0"), (5, "6e-5"), (20, "1.1e-3"), (60, ".0132"), (80, ".0465"), (100, ".211"), (120, ".631"), (150, ".759"),
     (200, ".810"), (300, ".842")],
)  # fmt: skip
def test_section_6_max_margin_over_time(t, printed):
    assert agrees(values(float(t))["max_margin"], printed)


@pytest.mark.parametrize(
    ("name", "printed"),
    [("w_c", "2.46366"), ("w_v", "1.76242"), ("S_cc_same", ".20744"), ("S_cv_same", "3.08668"),
     ("S_vc_same", "-.23865"), ("S_vv_same", "-.63411"), ("S_cc_diff", "-.20932"), ("S_cv_diff", "-3.08900"),
     ("S_vc_diff", ".23663"), ("S_vv_diff", ".63790")],
)  # fmt: skip
def test_section_7_state_at_time_300(name, printed):
    assert agrees(values(300.0)[name], printed)


def test_section_7_the_leading_score_is_negative_at_first():
    assert agrees(values(5.0)["S_cv_same"], "-2.6e-5")


@pytest.mark.parametrize(("step", "printed"), [(600, "0.69"), (800, "0.66"), (1000, "0.51")])
def test_section_7_conflicting_loss_by_step(step, printed):
    assert agrees(values(step / 10)["loss_conflicting"], printed)


def test_section_7_losses_fall_below_three_tenths():
    assert values(5.0)["loss_consistent"] < 0.3 and values(110.0)["loss_conflicting"] > 0.3
    assert values(115.0)["loss_conflicting"] < 0.3


def test_section_6_D6_the_gate_reopens():
    course = run(tuple(np.linspace(146, 147, 21)))
    assert agrees(np.interp(0, course["preactivation_minus_consistent"], course.t), "146.56")


def test_section_6_onset():
    assert agrees(time("T_2"), "110.5")


# printed 101, 181, 262, 576 and 209, 350, 519, 1230: the first times on a grid whose step grows with K
@pytest.mark.parametrize(
    ("K", "onset", "learnt"), [(2, "101.03", "208.05"), (3, "180.34", "348.92"), (4, "258.34", "512.36"),
                               (8, "567.69", "1218.9")]
)  # fmt: skip
def test_section_6_observation_1_times_for_more_groups(K, onset, learnt):
    assert agrees(time("T_2", K=K, s_star=0.5), onset) and agrees(time("T_3", K=K), learnt)


# "end of run" is t = 3000, 6000, 20000
@pytest.mark.parametrize(
    ("K", "end", "mean", "difference"),
    [(3, 3e3, "-.013", "6.93"), (4, 6e3, "-.033", "6.91"), (8, 2e4, "-.230", "6.31")],
)
def test_section_6_observation_1_the_mean_sector_stays_small(K, end, mean, difference):
    same, diff = (values(end, K=K)[f"S_cv_{part}"] for part in ("same", "diff"))
    assert agrees(same + (K - 1) * diff, mean) and agrees(same - diff, difference)


@pytest.mark.parametrize(
    ("b", "printed"),
    [(0.05, "91.5"), (0.1, "93.3"), (0.25, "99.2"), (0.5, "110.5"), (1, "141.3"), (1.5, "188.5"), (2, "263.7")],
)
def test_section_8_onset_over_the_bias(b, printed):
    assert agrees(time("T_2", b=b), printed)


# printed 30.8 to 24.7 and 1.65 to 1.93; the first of each comes out as 30.9 (at S_cv = 0.5) and 1.75
def test_section_7_onset_slope_and_mean_sector_exponent():
    omegas = (0.3, 0.1, 0.03, 0.01, 0.003)
    onset = [time("T_2", omega=ω, s_star=0.5) for ω in omegas]
    slopes = -np.diff(onset) / np.diff(np.log(omegas))
    ends = [values("T_2", omega=ω) for ω in omegas]
    mean = [max(abs(v[f"S_{x}_same"] + v[f"S_{x}_diff"]) for x in ("cc", "cv", "vc", "vv")) for v in ends]
    exponents = np.diff(np.log(mean)) / np.diff(np.log(omegas))
    assert agrees(slopes[0], "30.9") and agrees(slopes[-1], "24.8") and (np.diff(slopes) < 0).all()
    assert agrees(exponents[0], "1.75") and agrees(exponents[-1], "1.93")


# -- section 8.2: the stuck phase -------------------------------------------------------------------------------------


def final(K: int, L: int, b: float, horizon: float = 800) -> dict[str, float]:
    """The state at t = horizon · K, ReLU smoothed over 1e-3."""
    return values(horizon * K, K=K, L=L, b=b, kink_width=1e-3, rtol=1e-8)


@pytest.mark.parametrize("b", [0.5])
@pytest.mark.parametrize("L", [3, 4, 6, 7])
@pytest.mark.parametrize("K", [3, 4, 6, 8])
def test_section_8_2_correct_phase(K, L, b):
    v = final(K, L, b)
    assert v["w_c"] > 0 and v["S_cv_same"] > 0 and v["accuracy"] == pytest.approx(1)


@pytest.mark.parametrize(("L", "b"), [(3, 0.5), (4, 0.5), (5, 1.0), (6, 1.0)])
def test_section_8_2_correct_phase_of_two_groups(L, b):
    v = final(2, L, b)
    assert v["w_c"] > 0 and v["S_cv_same"] > 0 and v["accuracy"] == pytest.approx(1)


@pytest.mark.parametrize(("K", "L", "b"), [(3, 5, 1.0), (4, 5, 1.0), (3, 6, 1.0), (3, 6, 0.25)])
def test_section_8_2_a_larger_bias_is_correct(K, L, b):
    assert final(K, L, b)["w_c"] > 0 and final(K, L, b)["accuracy"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("K", "L", "b", "accuracy", "loss"),
    [(2, 5, 0.5, "0.875", "0.087"), (3, 5, 0.5, "0.875", "0.088"), (4, 5, 0.5, "0.889", "0.079"),
     (2, 6, 0.5, "0.9375", None), (2, 7, 0.5, "0.9688", None), (3, 6, 0.1, "0.9375", None),
     (2, 6, 0.25, "0.9375", None),
     *((K, 4, b, "0.75", "0.174") for K in (2, 3, 4, 8) for b in (0.1, 0.25)),
     *((K, 5, b, "0.875", None) for K in (2, 3, 4) for b in (0.1, 0.25)),
     *((K, 7, b, "0.969", None) for K in (3, 4) for b in (0.1, 0.25))],
)  # fmt: skip
def test_section_8_2_stuck_phase(K, L, b, accuracy, loss):
    v = final(K, L, b)
    assert v["w_c"] < 0 and v["S_cv_same"] < 0 and agrees(v["accuracy"], accuracy)
    assert loss is None or agrees(v["loss"], loss)


@pytest.mark.parametrize("K", [6, 8])
def test_section_8_2_many_groups_of_five_tokens_learn_with_a_negative_neuron(K):
    v = final(K, 5, 0.5)
    assert agrees(v["w_c"], "-2.75") and v["accuracy"] == pytest.approx(1)


@pytest.mark.parametrize(("K", "horizon"), [(3, 2000), (4, 3000)])
def test_section_8_2_stuck_runs_stay_stuck(K, horizon):
    assert final(K, 5, 0.5, horizon)["w_c"] < 0 and final(K, 5, 0.5, horizon)["accuracy"] < 0.9


@pytest.mark.parametrize(("b", "negative"), [(0.1, [4, 5, 6, 7, 8, 9]), (0.25, [4, 5, 7, 9]), (0.5, [5]), (1.0, [])])
def test_section_8_2_predictor_of_the_phase_by_stage_1_alone(b, negative):
    def w_c(L):
        return solve(S, S.setup(L=L, b=b, T_1=300.0), at=["T_1"], observe=["w_c"])["w_c"][0]

    assert [L for L in range(3, 10) if w_c(L) < 0] == negative


@pytest.mark.parametrize("L", [4, 5, 9])
def test_section_8_2_stage_1_is_the_same_for_every_K_up_to_its_clock(L):
    ends = [solve(S, S.setup(K=K, L=L, T_1=50.0 * K), at=["T_1"], rtol=1e-11, observe=["w_c", "w_v"]) for K in (2, 5)]
    assert ends[0]["w_c"][0] == pytest.approx(ends[1]["w_c"][0], abs=1e-9)
    assert ends[0]["w_v"][0] == pytest.approx(ends[1]["w_v"][0], abs=1e-9)


# -- section 10: kinks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [2, 3, 4, 8])
def test_section_10_with_one_distractor_there_are_two_kinks_and_no_sliding(K):
    statistics = run((3000.0,), K=K).statistics
    assert statistics["kinks"] == 2 and statistics["slides"] == 0


@pytest.mark.parametrize(("K", "L", "printed"), [(3, 4, "157.38"), (4, 5, "6.23"), (8, 5, "12.46")])
def test_section_10_sliding_starts(K, L, printed):
    remark = run((300.0,), K=K, L=L).outcome.remarks[0]
    assert remark.startswith("slid along a switching surface")
    assert agrees(float(remark.split("from t = ")[1].split()[0]), printed)


@pytest.mark.parametrize(("width", "printed"), [(1e-2, "9.2e-4"), (1e-3, "9.1e-5"), (1e-4, "9.1e-6"), (1e-5, "9.1e-7")])
def test_section_10_smoothing_error_is_proportional_to_its_width(width, printed):
    exact, smooth = run((300.0,), rtol=1e-11), run((300.0,), rtol=1e-11, kink_width=width)
    assert agrees(np.abs(smooth.states - exact.states).max(), printed)  # printed 9.1e-4 for the first


def test_the_smoothed_flow_tends_to_the_sliding_one():
    exact = run((300.0,), K=3, L=4, rtol=1e-11)
    widths = np.array([1e-3, 1e-4, 1e-5])
    errors = [np.abs(run((300.0,), K=3, L=4, rtol=1e-11, kink_width=d).states - exact.states).max() for d in widths]
    orders = np.diff(np.log(errors)) / np.diff(np.log(widths))
    assert exact.statistics["slides"] == 2 and (orders > 0.85).all() and (orders < 1.1).all()
    assert errors[-1] < 5e-6


def test_the_smoothed_flow_tends_to_the_sliding_one_late_in_stage_2():
    def end(width):
        setup = S.setup(s_star=20.0)
        return solve(S, setup, at=[400.0], rtol=1e-11, kink_width=width).states[-1]

    errors = [np.abs(end(d) - end(None)).max() for d in (1e-3, 1e-4, 1e-5)]
    orders = np.diff(np.log(errors)) / np.log(0.1)
    assert (np.abs(orders - 1) < 0.15).all() and errors[-1] < 2e-4


def test_a_sliding_run_says_so_and_stays_on_its_surface():
    course = solve(S, S.setup(s_star=20.0), at=[260.0, 300.0, 400.0], rtol=1e-10)
    assert any("Filippov" in remark for remark in course.outcome.remarks)
    assert np.abs(course["preactivation_minus_conflicting"]).max() < 1e-8


def test_section_10_long_horizons_take_implicit_steps():
    setup, width = S.setup(t_max=1e13), 1e-4
    found = solve(S, setup, mode="simultaneous", at=[1e13], kink_width=width, observe=["w_c", "loss"])
    assert found.statistics["solvers"] == ["native", "radau"] and found.statistics["steps"] < 1000
    problem = S.problem(setup, mode="simultaneous")
    arguments = problem.stages[0].arguments._replace(kink_width=np.float64(width))
    field = vector_field(problem.field.program, "smooth", np)
    slope = lambda t, y: field(y, arguments)
    end = solve_ivp(slope, (0, 1e13), problem.initial, "Radau", rtol=1e-6, atol=1e-11).y[:, -1]
    w_c, loss = observed(problem.field.program, ("w_c", "loss"), "smooth", np)(end, arguments)
    assert found["w_c"][0] == pytest.approx(w_c, rel=1e-5) and found["loss"][0] == pytest.approx(loss, rel=1e-3)
