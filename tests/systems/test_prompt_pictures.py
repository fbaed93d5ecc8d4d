"""The prompt system's ladder, phase diagrams and figures, made small."""

import numpy as np
import pytest

from flowsys import load
from flowsys.ladder import compare
from flowsys.sweeps import make_sweep, parse_axis, run
from flowsys.systems.prompt import figures
from flowsys.systems.prompt.examples import attractor_law, attractor_of, shifting_task

SYSTEM = load("prompt")


def swept(name, axes, **fixed):
    """The values of a named diagram's quantities over other axes."""
    named = SYSTEM.diagrams[name]
    sweep = make_sweep(SYSTEM, [parse_axis(a) for a in axes], named.observables, fixed=dict(named.fixed) | fixed)
    return np.concatenate([chunk.values for chunk in run(sweep)], axis=1).reshape(-1, *sweep.shape)


@pytest.mark.parametrize("name", SYSTEM.diagrams)
def test_every_diagram_is_a_sweep_with_lines_inside_it(name):
    named = SYSTEM.diagrams[name]
    axes = [parse_axis(a) for a in named.axes]
    sweep = make_sweep(SYSTEM, axes, named.observables, named.level, fixed=dict(named.fixed))
    assert named.boundary is not None
    for line in named.lines(SYSTEM.setup(named.mode, **named.fixed), *sweep.axes):
        assert np.isfinite(line.x * line.y).any()
        for found, (low, high) in zip((line.x, line.y), (axis.edges[[0, -1]] for axis in sweep.axes)):
            assert np.nanmin(found) >= low * 0.999 and np.nanmax(found) <= high * 1.001


@pytest.mark.parametrize(
    "name, changed",
    [
        ("cot_icl", {"K": 4}),
        ("training_time", {"M": 50}),
        ("training_time", {"T_3_rule": "missed"}),
        ("blind", {"M_test": 5}),
        ("tasks", {"M": 12}),
    ],
)
def test_a_boundary_moves_with_what_is_fixed(name, changed):
    named = SYSTEM.diagrams[name]
    axes = [parse_axis(a) for a in named.axes]
    own, other = (named.lines(SYSTEM.setup(**(dict(named.fixed) | more)), *axes)[0] for more in ({}, changed))
    assert len(own.x) and len(other.x)
    same_shape = own.x.shape == other.x.shape and own.y.shape == other.y.shape
    assert not (same_shape and np.allclose(own.x, other.x) and np.allclose(own.y, other.y))


def test_one_step_fails_and_the_chain_succeeds_left_of_condition_1():
    gap, icl, cot = swept("cot_icl", ["tau=0.25,0.7", "beta=0.9"])[:, :, 0]
    assert gap[0] > 0.6 and gap[1] < 0.05
    assert gap == pytest.approx(icl - cot, abs=1e-12)


def test_too_small_a_fraction_of_matching_examples_is_never_learnt_from():
    loss, a = swept("least_fraction", ["M=20", "alpha=0.02,0.06"])[:, 0]
    assert loss[0] > 0.4 and a[0] < 0
    assert loss[1] < 1e-3 and a[1] > 0


def test_a_longer_prompt_needs_fewer_matching_examples_by_exact_counting():
    needed = swept("examples_needed", ["alpha_test=0.2,0.4,0.8", "tau=0.5"])[0, :, 0]
    assert needed.tolist() == [48, 27, 14]


@pytest.mark.slow
def test_training_on_more_tasks_generalises_better_at_every_time():
    named = SYSTEM.diagrams["tasks"]
    axes = [parse_axis("t_given=100,1000"), parse_axis("n_tasks=1,8")]
    sweep = make_sweep(SYSTEM, axes, named.observables, named.level, fixed=dict(named.fixed))
    loss, ratio = np.concatenate([chunk.values for chunk in run(sweep)], axis=1).reshape(2, 2, 2)
    assert (loss[:, 1] < loss[:, 0]).all() and (loss[1] < loss[0]).all()
    assert (ratio[:, 0] > ratio[:, 1]).all() and (ratio > 1).all()


@pytest.mark.parametrize("holds", [True, False])
def test_attractors_of_figure_4_have_the_stated_primacy(holds):
    law = attractor_law(shifting_task(10, 3), *attractor_of(0.4, 0.1, holds))
    assert law.composed[0].max() == pytest.approx(0.4, abs=1e-6)
    assert law.satisfies_condition_1 is holds
    assert law.output_primacy <= 0.1 + 1e-6


@pytest.mark.parametrize("error", ["cot", "icl"])
def test_figures_2_and_3_fall_with_the_number_of_examples(error, tmp_path):
    drawing = figures.errors_over_examples(SYSTEM.setup(n_prompts=40), error)
    theory = [line.get_ydata() for ax in drawing.figure.axes for line in ax.lines if len(line.get_xdata()) == 5
              and line.get_linestyle() == "-"]  # fmt: skip
    assert len(theory) == 12 and all(y[-1] < y[0] for y in theory)
    assert len(drawing.save(tmp_path / "2.png")) == 5, "the picture, its numbers, and the sweep of every panel"
    labels = [text.get_text() for ax in drawing.figure.axes for text in ax.get_legend().get_texts()]
    assert any("tau_o = 0.51" in label for label in labels) == (error == "icl")


def test_gradients_lie_between_the_bounds_of_lemma_F5_within_the_window_that_is_shaded():
    """The windows end between a quarter and all of α^-2 K³ log(K/ε): there, or at the next look, a bound breaks."""
    drawing = figures.gradients_in_bounds(SYSTEM.setup())
    for ax in drawing.figure.axes:
        *bounds, gamma, unit = ax.lines
        t, end = gamma.get_xdata(), ax.patches[0].get_extents().transformed(ax.transData.inverted()).x1
        lower, upper = [-np.inf, *(line.get_ydata() for line in bounds)][-2:]
        is_kept = (lower <= gamma.get_ydata()) & (gamma.get_ydata() <= upper)
        assert is_kept[t <= end * 1.001].all() and not is_kept[t > end * 1.001][0]
        assert 0.25 < end / unit.get_xdata()[0] < 1


@pytest.mark.slow
def test_every_rung_of_the_ladder_closes_at_its_rate():
    ladder = compare(SYSTEM)
    assert [m.rung.name for m in ladder.rungs if m.holds is False] == []
