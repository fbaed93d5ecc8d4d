"""The co-occurrence system's ladder, phase diagrams and figure, made small."""

import numpy as np
import pytest

from flowsys.compare import compare
from flowsys.phase import make_sweep, parse_axis
from flowsys.phase.points import evaluate_chunk
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence.figures import scores_and_losses


def chunk_of(name, axes):
    """A named diagram's quantities on a small grid, {quantity: values in the order of the axes}."""
    named = SYSTEM.diagrams[name]
    sweep = make_sweep(SYSTEM, [parse_axis(text) for text in axes], list(named.observables), named.level,
                       named.variant, named.mode, named.fixed)  # fmt: skip
    values = evaluate_chunk(sweep, 0).values
    return {quantity: row.reshape(sweep.shape) for quantity, row in zip(named.observables, values)}


def test_the_surrogate_closes_with_the_square_of_the_paper_s_width():
    (rung,) = compare(SYSTEM, rungs=["L3-L4"]).rungs
    assert rung.holds and rung.fit.slope == pytest.approx(-2, abs=0.02)


@pytest.mark.slow
def test_every_rung_of_the_ladder_holds():
    assert [m.holds for m in compare(SYSTEM).rungs] == [True] * 6


def test_the_loss_of_one_target_rises_on_one_side_of_the_predicted_line_only():
    peaks = chunk_of("rise", ["n=30,60", "L=4,11,13,21,23"])["loss_type2@loss_peak"]
    rises = peaks > np.log(2) + 1e-9
    np.testing.assert_array_equal(rises, [[True, True, False, False, False], [True, True, True, True, False]])


def test_attention_is_lazy_left_of_the_lines_and_learned_right_of_them():
    found = chunk_of("attention", ["score_scale=0.02,10", "beta=1,30"])
    assert np.all(found["attention_deviation@T_star"][0] < 1) and np.all(found["p_type1_1_2@T_star"][1] > 0.9)
    assert np.all(found["d_S_31@T_star"][0] < 0)


def test_the_late_gradient_ratio_hardly_depends_on_the_shares_of_types():
    ratios = chunk_of("proportions", ["share_1=0.3,0.6", "share_4=0.1,0.3"])["R@T_star"]
    np.testing.assert_allclose(ratios, 1.5, atol=0.02)


@pytest.mark.slow
def test_figure_1_draws_descent_on_the_lines_of_the_flow(tmp_path):
    drawing = scores_and_losses(SYSTEM.setup(seed=7), epochs=900, records=8)
    flow, trained = drawing.data["theory"], drawing.data["training"]
    for name in ("loss_type2", "S_21"):
        assert trained[name][-1] == pytest.approx(flow[name][-1], abs=5e-3)
    assert trained["loss_type2"].max() > trained["loss_type2"][0] + 0.02
    files = drawing.save(tmp_path / "figure.png")
    assert len(files) == 3 and all(path.exists() for path in files)
