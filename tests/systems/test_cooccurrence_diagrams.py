"""The co-occurrence system's ladder, and its phase diagrams on small grids: what changes at the theory's lines."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.stats import spearmanr

from flowsys.ladder import compare
from flowsys.plot import phase as draw
from flowsys.sweeps import make_sweep, parse_axis
from flowsys.sweeps.memory import run_in_memory, sweep_of
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence.diagrams import DIAGRAMS, TEST_EXPONENT
from flowsys.systems.cooccurrence.max_margin import max_margin


def swept(name, axes, **given):
    """A named diagram on a small grid."""
    named = DIAGRAMS[name]
    return run_in_memory(make_sweep(SYSTEM, [parse_axis(text) for text in axes], list(named.observables), named.level,
                                    named.variant, named.mode, dict(named.fixed) | given))  # fmt: skip


def chunk_of(name, axes):
    """{quantity: values in the order of the axes}."""
    return swept(name, axes).quantities


def lines_of(name, x, y, **given):
    named = DIAGRAMS[name]
    setup = SYSTEM.setup(named.mode, **(dict(named.fixed) | given))
    return {line.label: line for line in named.boundary(setup, np.asanyarray(x, float), np.asanyarray(y, float))}


def test_the_surrogate_closes_with_the_square_of_the_paper_s_width():
    (rung,) = compare(SYSTEM, rungs=["L3-L4"]).rungs
    assert rung.holds and rung.fit.slope == pytest.approx(-2, abs=0.02)


@pytest.mark.slow
def test_every_rung_of_the_ladder_holds():
    rungs = compare(SYSTEM).rungs
    assert [m.holds for m in rungs] == [True] * 4
    slopes = [m.fit.slope for m in rungs if m.fit is not None]
    np.testing.assert_allclose(slopes, [1.0, -0.5, -2.0], atol=0.1)
    assert slopes[0] == pytest.approx(1.0, abs=0.05)


def test_the_loss_of_one_target_rises_on_one_side_of_the_predicted_line_only():
    rises = chunk_of("rise", ["n=30,60", "L=4,11,13,21,23"])["loss_type2@loss_peak-loss_type2@t=0"] > 1e-9
    np.testing.assert_array_equal(rises, [[True, True, False, False, False], [True, True, True, True, False]])
    line = lines_of("rise", [30, 60], [4, 23])["theory: $n = 3(L - 2)$"]
    np.testing.assert_allclose(line.x, 3 * (line.y - 2))


def test_with_other_shares_the_rise_ends_where_the_line_for_them_says():
    shares = {"share_1": 0.6, "share_4": 0.2}  # 2 p_1 - 2 p_2 - p_3 - p_4 = 0.7
    line = lines_of("rise", [30, 50], [4, 40], **shares)["theory: $n = 1.43(L - 2)$"]
    np.testing.assert_allclose(line.y, 2 + 0.7 * line.x)
    rises = swept("rise", ["n=30", "L=22.9,23.1"], **shares).quantities["loss_type2@loss_peak-loss_type2@t=0"] > 1e-12
    np.testing.assert_array_equal(rises, [[True, False]])


def test_lines_follow_what_is_set_for_a_diagram():
    shares = [0.1, 0.8], [0.05, 0.8]
    few, many = (next(iter(lines_of("proportions_rise", *shares, n=n).values())) for n in (60, 6e6))
    assert np.interp(0.4, few.x, few.y) - np.interp(0.4, many.x, many.y) == pytest.approx(2 * 3 / 60, abs=1e-3)
    scales = [0.01, 3], [1, 300]
    narrow, wide = (lines_of("initial_output", *scales, width=m)["theory: rms $F(0)$ = 1"] for m in (64, 128))
    assert np.interp(1.0, wide.x, wide.y) == pytest.approx(2 * np.interp(1.0, narrow.x, narrow.y), rel=1e-3)


def test_the_lines_of_the_test_exponent_are_those_of_the_max_margin_direction():
    lines = lines_of("test_exponent", parse_axis("n=12:3000:2:log").places, [4, 40])
    for kappa in (0.0, 0.25, 0.5, 0.75):
        line = lines[rf"theory: $\kappa$ = {kappa:g}"]
        found = [max_margin(n, L).test_exponent for n, L in zip(line.x, line.y)]
        assert len(found) > 10
        np.testing.assert_allclose(found, kappa, atol=1e-9)


def test_the_test_loss_falls_with_the_exponent_of_the_max_margin_direction():
    ns, lengths = (30, 60, 120, 300, 600, 3000), (4, 8, 14, 20, 40)
    axes = [f"{name}={','.join(map(str, values))}" for name, values in (("n", ns), ("L", lengths))]
    found = chunk_of("test_exponent", axes)
    kappas = np.array([[max_margin(n, L).test_exponent for L in lengths] for n in ns])
    exponents, falls = found[TEST_EXPONENT], kappas > 0
    np.testing.assert_allclose(exponents[falls], -kappas[falls], atol=0.04)
    # wrong on some unseen sentences, whose loss is the size of their output: it grows like log time
    assert np.all((exponents[~falls] > 0) & (exponents[~falls] < 0.04))
    assert spearmanr(found["test_loss@T_star"].ravel(), kappas.ravel()).statistic < -0.99


@pytest.mark.parametrize("delta", [1e-3, 0.1, 1.0])
def test_attention_leaves_the_lazy_regime_where_first_order_in_lambda_says(delta):
    (line,) = lines_of("attention", [1e-4, 1e2], [1e-3, 10]).values()
    predicted = float(np.exp(np.interp(np.log(delta), np.log(line.y), np.log(line.x))))
    # 20 %: at the line itself attention has begun to answer faster or slower than in proportion
    found = chunk_of("attention", [f"lambda_={predicted / 1.2},{predicted * 1.2}", f"delta={delta}"])
    below, above = found["attention_deviation@T_star"][:, 0]
    assert below < 1 < above


def test_the_first_order_line_has_the_value_of_the_spec():
    (line,) = lines_of("attention", [1e-4, 1e2], [1e-3, 10]).values()
    at_one = np.exp(np.interp(0.0, np.log(line.y), np.log(line.x)))
    assert at_one == pytest.approx(0.06, rel=0.15)  # spec: near .06 for rho = delta = 1, n = 600


def test_attention_is_learned_and_the_common_score_turns_at_large_lambda():
    found = chunk_of("attention", ["lambda_=1e-3,0.25,4,100", "delta=1"])
    np.testing.assert_array_equal(np.sign(found["d_S_31@T_star"][:, 0]), [-1, -1, 1, 1])  # spec: between .25 and 4
    assert found["p_type1_1_2@T_star"][0, 0] < 0.21 and found["p_type1_1_2@T_star"][3, 0] > 0.9


def test_the_late_gradient_ratio_hardly_depends_on_the_shares_of_types():
    ratios = chunk_of("proportions", ["share_1=0.3,0.6", "share_4=0.1,0.3"])["R@T_star"]
    np.testing.assert_allclose(ratios, 1.5, atol=0.02)


def test_by_proportions_the_loss_of_one_target_rises_right_of_the_predicted_line():
    # share_4 = 0.2: the line is at share_1 = 0.4
    rise = chunk_of("proportions_rise", ["share_1=0.39,0.399,0.401,0.41", "share_4=0.2"])
    rises = rise["loss_type2@loss_peak-loss_type2@t=0"][:, 0] > 1e-12
    np.testing.assert_array_equal(rises, [False, False, True, True])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["initial_output", "order_of_phases"])
def test_random_starts_with_a_large_output_need_not_have_the_phases(name):
    # rms F(0) = √(4 α β/128): 0.03 and 2.3
    calm, wild = (
        swept(name, [f"alpha={alpha}", f"beta={beta}", "seed=0,1,2,3,4,5"]).quantities
        for alpha, beta in ((0.01, 3.0), (1.0, 170.0))
    )
    share = lambda found: np.mean(np.nan_to_num(next(iter(found.values()))) > 0)
    assert share(calm) == 1 and share(wild) <= 2 / 3


def test_every_diagram_is_drawn_with_its_lines_and_contours():
    small = ("n=12:3000:6:log", "L=4:40:6", "lambda_=1e-4:1e2:8:log", "delta=1e-3:10:6:log", "share_1=0.1:0.8:5",
             "share_4=0.05:0.8:5")  # fmt: skip
    small = {text.partition("=")[0]: text for text in small}
    for name, named in DIAGRAMS.items():
        if named.level == "L2":
            continue
        axes = [small[text.partition("=")[0]] for text in named.axes]
        result = swept(name, axes)
        over = named.overlay(result, SYSTEM)
        ax = draw(result, Figure().subplots(), None, named.logarithmic, **over)
        labels = set(ax.get_legend_handles_labels()[1])
        assert {x.label for x in (*over["boundary"], *over["contours"])} <= labels
        assert over["boundary"] or over["contours"]


def test_the_dimensionless_mode_is_the_limit_in_units_of_tau():
    from flowsys.errors import InputError
    from flowsys.runs.solving import solve

    setup = SYSTEM.setup(rho=0.5, delta=0.125, lambda_=1 / 32)
    one = solve(SYSTEM, setup, mode="dimensionless", at=["T_1", "T_star"], rtol=1e-10)
    two = solve(SYSTEM, SYSTEM.setup(), at=["T_1", "T_star"], rtol=1e-10)  # α = 1, β = 8, m1 = 4, s = 1/2
    np.testing.assert_allclose(one.t, 8 * two.t, rtol=1e-8)
    for name in ("tau", "G_mu1", "loss", "test_loss", "p_type1_1_2", "R", "c_growth"):
        np.testing.assert_allclose(one[name], two[name], rtol=1e-7, err_msg=name)
    with pytest.raises(InputError, match="mode = dimensionless is not allowed at level L"):
        solve(SYSTEM, setup, level="L2", mode="dimensionless", at=[1.0])


def test_a_picture_names_no_parameter_that_its_mode_sets_by_itself():
    shown = sweep_of(SYSTEM, DIAGRAMS["attention"]).origin["usual"]
    assert "L" in shown and not {"alpha", "beta", "m1", "score_scale"} & set(shown)
