"""The numbers of the spec through `solve`: tables of stage 2, of self-training and of stage 1.

Numbers in the tables are ours. Where the spec's differ in the last digit given, it read them off at the first output
time after the crossing; where they differ by more, a comment says so.
"""

from functools import cache

import jax
import numpy as np
import pytest

from flowsys.model import ops
from flowsys.runs.solving import solve
from flowsys.systems import load
from flowsys.systems.lego import closed_forms, groups, stage_2
from flowsys.systems.lego.limits import limit_problem
from tests.systems.lego_rounds import rounds

SYSTEM = load("lego")


def rows(at, observe, mode="stage_2", **parameters):
    found = solve(SYSTEM, SYSTEM.setup(**parameters), mode=mode, at=list(at), observe=list(observe))
    assert not found.outcome.is_failure, found.outcome.sentence
    return found.rows


def values(at, observe, mode="stage_2", **parameters):
    return [row["values"] for row in rows(at, observe, mode, **parameters)]


# -- stage 2 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("d", "C_B", "alpha", "gamma"),
    [(100, 2, 1.86, 1.19), (100, 3, 3.24, 0.88), (1e3, 2, 2.64, 2.09), (1e3, 3, 4.86, 1.33), (1e4, 2, 3.40, 3.03),
     (1e4, 3, 6.48, 1.78)],
)  # fmt: skip
def test_initial_drive_of_the_first_step(d, C_B, alpha, gamma):
    # Spec: 3.25 in the second row, where ours is 3.244.
    (found,) = values([0.0], ["alpha_rate", "gamma_rate"], d=d, C_B=C_B, trained_steps="first")
    assert list(found.values()) == pytest.approx([alpha, gamma], abs=5.1e-3)


TABLE_5A = [
    (100, 2, 0.03916, 0.12237, 0.0787, 3.684, 8.13e-10),
    (100, 3, 0.07118, 0.15177, 0.0797, 23.43, 5.36e-8),
    (1000, 2, 0.01421, 0.06256, 0.1072, 97.08, 5.31e-9),
    (1000, 3, 0.04596, 0.12794, 0.1405, 3276, 3.53e-6),
    (10000, 2, 0.00537, 0.02785, 0.1421, 5757, 3.97e-8),
    (10000, 3, 0.03383, 0.10268, 0.1825, 4.093e5, 2.51e-4),
]


@pytest.mark.parametrize(("d", "C_B", "first", "second", "peak", "tau_peak", "end"), TABLE_5A)
def test_table_5a_cyclic_group_of_five(d, C_B, first, second, peak, tau_peak, end):
    # Spec: .040 .125, .073 .153, .015 .064, .046 .129, .0055 .028, .035 .103: 0 to 5 % later in the same growth.
    at = ["stage_2_1", "stage_2_2", "gap_peak", 1e10]
    one, two, top, last = rows(at, ["alpha_minus_gamma", "gap", "eps_attention"], d=d, C_B=C_B, t_max=1e10)
    gaps = [r["values"]["alpha_minus_gamma"] for r in (one, two)]
    assert gaps == pytest.approx([first, second], abs=6e-6)
    assert top["values"]["gap"] == pytest.approx(peak, abs=6e-5)
    assert top["t"] == pytest.approx(tau_peak, rel=1e-3)
    assert last["values"]["eps_attention"] == pytest.approx(end, rel=5e-3)


def test_late_attention_error_falls_like_one_over_time():
    (found,) = values([1e10], ["log_eps_rate"], C_B=2, t_max=1e10)
    assert 1e10 * found["log_eps_rate"] == pytest.approx(-1, abs=1e-3)


@pytest.mark.parametrize(
    ("n_x", "tau", "alpha"),
    [(5, 698, 1.647), (10, 786, 1.869), (20, 831, 1.981), (40, 853, 2.038), (80, 864, 2.066), (np.inf, 875, 2.0946)],
)
def test_four_variables_tend_to_two(n_x, tau, alpha):
    (row,) = rows(["loss_threshold"], ["alpha", "eps_attention"], group="C3", n_x=n_x)
    assert row["t"] == pytest.approx(tau, rel=2e-3)
    assert row["values"]["alpha"] == pytest.approx(alpha, abs=1.1e-3)
    assert 0.1224 <= row["values"]["eps_attention"] <= 0.1228


def test_second_step_alone_opens_no_gap_for_a_transitive_group():
    (found,) = values(["loss_threshold"], ["alpha_minus_gamma"], trained_steps="second")
    assert abs(found["alpha_minus_gamma"]) < 1e-8


@pytest.mark.parametrize(
    ("group", "C_B", "times", "gaps"),
    [("C3", 3, [8e3, 1e6, 1e8], [0.1372, 0.0105, 2.923e-7]), ("C3", 8, [1e8], [0.0282]),
     ("S4", 3, [1e4, 1e6, 1e8], [0.1776, 0.1785, 0.1746]), ("S4", 8, [1e8], [-0.0637])],
)  # fmt: skip
def test_gap_closes_for_transitive_groups_and_stays_for_symmetric_ones(group, C_B, times, gaps):
    found = [v["gap"] for v in values(times, ["gap"], group=group, C_B=C_B)]
    assert found == pytest.approx(gaps, rel=0.01)


TABLE_5B = [
    ("S3", 4, 14.0, 0.2593, -0.815, 3, 0.727), ("S3", 6, 1.037e7, 0.1733, -0.716, 6, 0.9974),
    ("S3", 8, 8.95e12, 0.1308, -0.398, 8, 1 - 6.5e-8), ("S4", 4, 11.75, 0.2572, -0.027, 2, 0.708),
    ("S4", 6, 8.84e6, 0.1717, 0.040, 4, 0.9963), ("S4", 8, 7.86e12, 0.1288, 0.060, 8, 1 - 7.5e-8),
]  # fmt: skip


@pytest.mark.parametrize(("group", "C_B", "tau", "eps", "gap", "longest", "accuracy_4"), TABLE_5B)
def test_table_5b_symmetry_groups_at_the_appendix_threshold(group, C_B, tau, eps, gap, longest, accuracy_4):
    target = float(np.exp(closed_forms.log_loss_threshold(C_B, 1e3)))
    names = ["eps_attention", "gap", "L_star", "accuracy"]
    (row,) = rows(["loss_threshold"], names, group=group, C_B=C_B, trained_steps="second", loss_target=target)
    found = row["values"]
    assert row["t"] == pytest.approx(tau, rel=5e-3)
    assert found["eps_attention"] == pytest.approx(eps, abs=1e-4)
    assert found["gap"] / closed_forms.c_1(C_B) == pytest.approx(gap, abs=5e-3)
    assert found["eps_attention"] / (2.52 * closed_forms.c_1(C_B)) == pytest.approx(0.82, abs=0.01)
    assert found["L_star"] == longest
    assert 1 - found["accuracy"] == pytest.approx(1 - accuracy_4, rel=0.25)


@pytest.mark.parametrize(
    ("group", "at_loss", "at_time", "second_step"),
    [("C3", 14, 1968, 1239), ("C5", 11, 1562, 1239), ("S3", 11, 1562, 983), ("S4", 8, 619, 491)],
)
def test_solvable_lengths_of_both_families_differ_by_a_factor_of_three_at_most(group, at_loss, at_time, second_step):
    first, late = values(["loss_threshold", 1e8], ["L_star", "eps_22"], group=group, loss_target=1e-5)
    (alone,) = values([1e8], ["L_star"], group=group, trained_steps="second")
    assert [first["L_star"], late["L_star"], alone["L_star"]] == [at_loss, at_time, second_step]
    # Spec: L* ε = .62 to .79; at S4 .645 by ours.
    assert 0.5 <= late["L_star"] * late["eps_22"] <= 0.9


# -- self-training --------------------------------------------------------------------------------------------------


@cache
def self_trained(group):
    return rounds(group=group, L=64)


TABLE_5C = {
    "S3": ([0.131, 0.148, 0.163, 0.176, 0.182, 0.186], [4, 8, 18, 29, 60, 121]),
    "S4": ([0.141, 0.168, 0.191, 0.209, 0.223, 0.230], [4, 8, 14, 23, 47, 76]),
    "C4": ([0.121, 0.127, 0.133, 0.138, 0.141, 0.143], [4, 8, 18, 29, 60, 121]),  # spec: 14 at the third
}


@pytest.mark.parametrize("group", TABLE_5C)
def test_table_5c_self_training_doubles_the_solvable_length(group):
    setup, (ends, lengths) = SYSTEM.setup(group=group), TABLE_5C[group]
    measure = limit_problem(setup, "stage_2").derived["L_star"]
    found = self_trained(group)
    with jax.enable_x64(True):
        eps = [float(stage_2.eps_attention(ops, r.end, r.L, 2)) for r in found]
    assert eps == pytest.approx(ends, abs=1e-3)
    assert [measure(np.array(r.end)) for r in found] == lengths
    assert [r.label_accuracy for r in found] == [1.0] * 6  # spec: .998 and more
    assert all(500 < r.tau < 1100 for r in found)


def test_doubling_at_most_doubles_the_attention_error():
    with jax.enable_x64(True):
        error = lambda scores, L: float(stage_2.eps_attention(ops, scores, L, 2))
        for before, after in zip(self_trained("S4"), self_trained("S4")[1:]):
            assert error(after.end, after.L) < error(after.start, after.L) <= 2 * error(before.end, before.L)


def test_algorithm_2_shows_its_last_round_from_where_the_others_end():
    setup = SYSTEM.setup(group="S3", L=8)
    found = solve(SYSTEM, setup, mode="algorithm_2", at=["loss_threshold"], observe=["eps_attention", "label_accuracy"])
    before = self_trained("S3")[:3]
    assert found.t[0] == pytest.approx(sum(r.tau for r in before), rel=1e-5)
    assert found["eps_attention"][0] == pytest.approx(0.163, abs=1e-3) and found["label_accuracy"][0] == 1


def test_training_on_all_steps_solves_longer_chains():
    choices = {"group": "S4", "L": 8, "n_samples": 256, "seed": 1}
    (every,) = values(["loss_threshold"], ["L_star"], trained_steps="all", **choices)
    assert every["L_star"] == 18 > TABLE_5C["S4"][1][2]


def test_algorithm_1_continues_from_the_layer_stage_1_leaves():
    setup = SYSTEM.setup(group="C3", bias=0.01)
    problem = limit_problem(setup, "algorithm_1")
    arguments = dict(zip(problem.field.program.parameters, problem.stages[0].arguments.parameters))
    (end,) = values(["stage_1_end"], ["a", "b_prime"], "stage_1", group="C3", bias=0.01)
    assert [arguments["a"], arguments["b_prime"]] == pytest.approx([end["a"], end["b_prime"]], rel=1e-6)


# -- stage 1 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", ["C3", "C5", "S3"])
@pytest.mark.parametrize("q", [4, 6])
def test_phase_one_time_is_within_half_a_percent_of_its_closed_form(group, q):
    (row,) = rows(["phase_1"], ["x"], "stage_1", group=group, q=q, bias=0.01, V_0=0.01)
    closed = closed_forms.phase_1_time(0.02, *groups.sizes(group), q, 0.3)
    assert 1.0 < row["t"] / closed < 1.005


def test_phase_one_as_a_flow_ends_at_its_closed_form():
    setup = SYSTEM.setup(group="S3", bias=0.01)
    found = solve(SYSTEM, setup, level="L4", mode="stage_1", at=["phase_1"])
    assert found.t[0] == pytest.approx(found["t_1"][0], rel=1e-7)


@pytest.mark.parametrize(("group", "ratio"), [("S3", 1.25), ("S4", 2.1111)])
def test_feature_ratio_tends_to_its_closed_form_only_with_the_clip(group, ratio):
    # The rounded clip's end state passes C_α slowly (bias and clip width enter): it is near at b = 1e-3, C_B = 2.
    choices = {"group": group, "bias": 1e-3, "V_0": 1.1e-3, "C_B": 2}
    for time in (1e12, 1e13):
        (clipped,) = values([time], ["a_over_c"], "stage_1", **choices)
        assert clipped["a_over_c"] == pytest.approx(ratio, rel=1e-3)
    (free,) = values([1e12], ["a_over_c"], "stage_1", clip="none", **choices)
    assert free["a_over_c"] < 0.8 * ratio


def test_confounders_cancel_only_with_the_clip():
    # Spec: 1.1, .058, .0095, .0006 at parameters it does not name.
    names, times = ["confounder_ae", "confounder_bc"], [6e5, 6e7, 6e9, 6e11]
    clipped = [v["confounder_ae"] for v in values(times, names, "stage_1", group="C3", bias=0.01)]
    assert clipped == pytest.approx([3.667, 3.064, 0.810, 0.0394], rel=2e-3)
    free = values(times[-1:], names, "stage_1", group="C3", bias=0.01, clip="none")[0]
    assert free["confounder_ae"] > 3


@pytest.mark.parametrize(("bias", "ratio", "is_free"), [(0.1, 0.8, False), (0.1, 0.05, False), (0.03, 0.1, False),
                                                        (0.03, 0.2, True), (0.01, 0.05, True)])  # fmt: skip
def test_additive_trap(bias, ratio, is_free):
    (found,) = values([1e6], ["F_gap", "loss"], "stage_1", group="C3", bias=bias, V_0=bias * ratio, clip="none")
    if is_free:
        assert found["F_gap"] > 9
    else:
        assert abs(found["F_gap"]) < 1e-6 and found["loss"] == pytest.approx(np.log(3), abs=1e-4)


@pytest.mark.parametrize("clip", ["none", "smooth", "hard"])
def test_stage_1_conserves_its_sum_to_rounding(clip):
    setup = SYSTEM.setup(group="S3", bias=0.01, clip=clip)
    found = solve(SYSTEM, setup, mode="stage_1", at=["phase_2_2", 1e6], observe=["loss"])
    assert found.statistics["conserved_drift"] < 1e-12


def test_phases_come_in_order():
    at = ["phase_1", "phase_2_1", "phase_2_2", "stage_1_end", "phase_2_3"]
    times = [row["t"] for row in rows(at, ["loss"], "stage_1", group="C3", bias=0.01)]
    assert times == sorted(times)
