"""The lines over the mixture's phase diagrams, against what they are lines of."""

import numpy as np
import pytest

from flowsys.runs.solving import solve
from flowsys.systems.mixture import SYSTEM
from flowsys.systems.mixture.diagrams import DIAGRAMS
from flowsys.systems.mixture.limits import stage_1_group_signal, stage_1_neurons

BIASES = np.linspace(0.05, 2, 40)
OMEGAS = np.geomspace(0.003, 0.3, 40)


@pytest.mark.parametrize(("t", "K", "b"), [(1.0, 2, 0.5), (100.0, 2, 0.5), (300.0, 4, 1.0)])
def test_the_group_signal_gathered_in_stage_1_is_the_integral_of_w_c(t, K, b):
    fine = np.linspace(0, t, 20_001)
    w_c = [stage_1_neurons(s, K, b)[0] for s in fine]
    assert stage_1_group_signal(t, K, b) == pytest.approx(np.trapezoid(w_c, fine), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("K", [2, 3])
def test_frozen_attention_predicts_the_onset_at_small_bias(K):
    # at b = 1/4 attention changes w_c little before it sets in; the prediction is late by more at larger b
    setup = SYSTEM.setup(K=K)
    for line, contour in zip(DIAGRAMS["onset"].boundary(setup, OMEGAS, BIASES), DIAGRAMS["onset"].contours(setup)):
        line = line.within(OMEGAS, BIASES)
        if not len(line.y) or line.y.min() > 0.25:
            continue
        omega = float(np.interp(0.25, line.y, line.x))
        there = solve(SYSTEM, SYSTEM.setup(K=K, b=0.25, omega=omega), mode="simultaneous", at=["T_2"])
        assert there.t[0] == pytest.approx(contour.level, rel=0.04)


def sliding(setup, scores, omegas):
    """The line of stage 3's diagram where gates begin to slide."""
    lines = DIAGRAMS["stage_3"].boundary(setup, scores, omegas)
    return [line for line in lines if "slide" in line.label]


def test_the_lines_move_with_what_is_fixed():
    onset = DIAGRAMS["onset"].boundary
    scores = np.linspace(0.25, 5, 20)
    for boundary, x, y, change in (
        (onset, OMEGAS, BIASES, {"s_star": 0.5}),
        (sliding, scores, OMEGAS, {"T_1": 40.0}),
    ):
        before, after = (boundary(SYSTEM.setup(**given), x, y)[0] for given in ({}, change))
        assert not np.allclose(before.x[-3:], after.x[-3:], rtol=1e-3, equal_nan=True)


@pytest.mark.parametrize(("omega", "score"), [(0.1, 4.51), (0.01, 5.34)])
def test_gates_begin_to_slide_where_the_specification_says(omega, score):
    (line,) = sliding(SYSTEM.setup(), np.array([0.25, 6.0]), np.array([omega / 2, omega]))
    assert line.x[-1] == pytest.approx(score, abs=5e-3)


def test_the_predicted_length_of_stage_3_is_the_one_of_the_margin():
    lines = DIAGRAMS["stage_3"].boundary(SYSTEM.setup(), np.linspace(0.25, 5, 20), np.array([0.05, 0.1]))
    line = next(line for line in lines if line.label.endswith("= 300"))
    there = solve(SYSTEM, SYSTEM.setup(s_star=float(line.x[-1])), at=["T_3"], observe=["max_margin"])
    assert 1 / (there["max_margin"][0] ** 2 * 0.01) == pytest.approx(300, rel=0.02)


def test_exact_and_smoothed_kinks_stand_side_by_side():
    for name in ("stuck", "stuck_groups"):
        smoothed, exact = DIAGRAMS[name], DIAGRAMS[f"{name}_exact"]
        assert (smoothed.axes, smoothed.fixed) == (exact.axes, exact.fixed)
        assert smoothed.kink_width == 1e-3 and exact.kink_width is None
        assert "exact kinks" in exact.title and "kinks" not in smoothed.title  # the subtitle says what is smoothed
