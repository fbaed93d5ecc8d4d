"""Stage 2 of the LEGO system: tables against brute force, the four-variable field against full attention, numbers."""

from dataclasses import replace
from functools import cache

import jax
import numpy as np
import pytest

from flowsys.errors import InputError
from flowsys.model import ops
from flowsys.model.flows import flow_of_weights
from flowsys.runs.asking import field
from flowsys.systems import load
from flowsys.systems.lego import closed_forms, configurations, groups, isotropic, stage_2
from flowsys.systems.lego.feedforward import FeedForward, value_losses
from flowsys.systems.lego.stage_2 import Scores
from tests.systems import lego_oracle as oracle

RHO, Q, BIAS = 0.3, 4, 0.1
FEEDFORWARD = FeedForward(bias=BIAS, rho=RHO, q=Q)
POINT = Scores(1.1, 0.2, 0.7, -0.3)
ZERO = Scores(0.0, 0.0, 0.0, 0.0)


def ideal(name, C_B=3, d=1e3):
    return closed_forms.final_features(*groups.sizes(name), closed_forms.clip_level(C_B, d))


def loss(y, features, tables, d):
    """Σ over the tables of the weighted mean loss."""
    F = lambda table: stage_2.logits(ops, y, features, table, FEEDFORWARD)
    F_0 = closed_forms.outside_logit(tables[0].target.shape[1], BIAS, RHO, Q)
    return sum((table.weight * value_losses(ops, F(table), table.target.argmax(1), d, F_0)).sum() for table in tables)


@cache
def value_and_slope(name, L, steps, C_B, d):
    """Compiled value and gradient of Σ_ℓ Loss^{L,ℓ}, with exact tables."""
    tables = [configurations.exact(groups.named(name), L, ell) for ell in steps]
    return jax.jit(jax.value_and_grad(lambda y: loss(y, ideal(name, C_B, d), tables, d)))


def loss_and_slope(name, L, steps, y, C_B=3, d=1e3):
    with jax.enable_x64(True):
        value, slope = value_and_slope(name, L, tuple(steps), C_B, d)(Scores(*map(float, y)))
    return float(value), np.array(slope)


@pytest.mark.parametrize(("name", "L", "ell"), [("S3", 2, 1), ("S3", 2, 2), ("C3", 4, 2), ("C4", 3, 1)])
def test_exact_tables_give_the_loss_and_gradient_of_the_full_sum(name, L, ell):
    ours = loss_and_slope(name, L, (ell,), POINT)
    rows = oracle.brute_force(name, L, ell)
    theirs, slope = oracle.attention_loss_and_gradient(POINT, ideal(name), rows, L, ell, 1e3, RHO, Q, BIAS)
    assert ours[0] == pytest.approx(theirs, rel=1e-13)
    np.testing.assert_allclose(ours[1], slope, rtol=1e-12, atol=1e-15)


def test_weights_of_every_table_sum_to_one():
    sampled = configurations.expectation(groups.named("C4"), 9, (1, 5), 50, 0)
    for table in (configurations.exact(groups.named("S3"), 7, 2), *sampled):
        assert table.weight.sum() == pytest.approx(1, abs=1e-12)


def test_distractor_counts_of_a_cyclic_group_are_multisets():
    rows, _ = configurations.distractor_counts(groups.named("C4"), 6)
    assert len(rows) == 84  # C(6 + 3, 3)


def test_equal_rows_are_merged_to_few_orbits():
    """No more than there are orbits under relabellings of classes and values together, which keep the label and 0."""
    tables = [configurations.program_tables([configurations.exact(groups.named(name), 2, 2)])[0]
              for name in ("C5", "S3", "S4")]  # fmt: skip
    sizes = [len(table["configurations"]["weight"]) for table in tables]
    assert all(size <= orbits for size, orbits in zip(sizes, (7, 10, 21)))
    assert [table["configurations"]["weight"].sum() for table in tables] == pytest.approx([1, 1, 1], abs=1e-12)


def test_sequences_become_rows_with_the_loss_of_the_unrelabelled_configuration():
    group, L, ell = groups.named("S3"), 5, 4
    actions, values = configurations.sequences(group, L, 40, seed=3)
    (table,) = configurations.from_sequences(group, actions, values, [ell])
    P = group.matrices
    hit = P[actions[:, ell - 1]]
    past = np.array([np.bincount(row[: ell - 1], minlength=3) for row in values])
    rows = (hit, P[actions].sum(axis=1) - hit, np.eye(3)[values[:, ell - 1]], past, values[:, ell])
    expected, _ = oracle.attention_loss_and_gradient(POINT, ideal("S3"), rows, L, ell, 1e3, RHO, Q, BIAS)
    with jax.enable_x64(True):
        ours = jax.jit(lambda y: loss(y, ideal("S3"), [table], 1e3))(POINT)
    assert float(ours) == pytest.approx(expected, rel=1e-13)


def test_wrong_self_labels_change_the_target_only():
    group = groups.named("C3")
    actions, values = configurations.sequences(group, 3, 30, seed=0)
    wrong = np.column_stack([values[:, :2], (values[:, 2] + 1) % 3])
    (table,) = configurations.from_sequences(group, actions, wrong, [2])
    (right,) = configurations.from_sequences(group, actions, values, [2])
    np.testing.assert_array_equal(table.target.argmax(axis=1), wrong[:, 2])
    assert (table.target != right.target).any(axis=1).all()
    for seen in ("hit", "distractors", "current", "past"):
        np.testing.assert_array_equal(getattr(table, seen), getattr(right, seen))


def test_a_sample_is_within_its_error_of_the_exact_loss():
    group = groups.named("C3")
    losses = []
    with jax.enable_x64(True):
        of = jax.jit(lambda table: loss(POINT, ideal("C3"), [table], 1e3))
        for seed in range(8):
            drawn = configurations.sequences(group, 6, 1024, seed)
            losses.append(float(of(configurations.from_sequences(group, *drawn, [2])[0])))
    exact, _ = loss_and_slope("C3", 6, (2,), POINT)
    assert abs(np.mean(losses) - exact) < 4 * np.std(losses, ddof=1) / np.sqrt(8)


@pytest.mark.parametrize(("name", "n_x"), [("C3", 6), ("S3", 4)])
def test_four_variables_move_as_the_full_attention_blocks_do_and_other_entries_rest(name, n_x):
    system = load("lego")
    setup = system.settled(system.setup(group=name, n_x=n_x), "L1", "weights", "stage_2")
    here, size = system.concrete(setup, "L1", "stage_2"), int(setup["d"]) - 1
    on = np.eye(size, dtype=bool)
    blocks = {"Q_43": np.where(on, POINT.alpha, POINT.beta), "Q_44": np.where(on, POINT.gamma, POINT.delta)}
    with jax.enable_x64(True):
        full = jax.jit(lambda w: flow_of_weights(here, w, here.arguments(0), "exact"))(blocks)
    rates = Scores(*field(system, setup, level="L3")(np.array(POINT)))
    expected = np.stack([np.where(on, rates.alpha, rates.beta), np.where(on, rates.gamma, rates.delta)])
    expected[:, n_x:], expected[:, :, n_x:] = 0, 0
    np.testing.assert_allclose(np.stack([full["Q_43"], full["Q_44"]]), expected, atol=1e-12)


def test_four_variable_field_agrees_with_the_oracle():
    slope = loss_and_slope("C5", 2, (1, 2), POINT)[1]
    rows = {ell: oracle.brute_force("C5", 2, ell) for ell in (1, 2)}
    theirs = oracle.attention_field(POINT, ideal("C5"), rows, 2, 1e3, 9.0, RHO, Q, BIAS)
    np.testing.assert_allclose(-np.array([1, 1 / 8, 1, 1 / 8]) * slope, theirs, rtol=1e-12)


def test_one_step_without_distractors_is_the_stage_one_loss():
    table = configurations.exact(groups.named("C4"), 1, 1)
    y = isotropic.Isotropic(2.0, -0.3, 1.4, 0.2)
    with jax.enable_x64(True):
        two = float(jax.jit(lambda y: loss(ZERO, y, [table], 1e3))(y))
        layer = replace(FEEDFORWARD, F_0=closed_forms.outside_logit(4, BIAS, RHO, Q))
        one = float(jax.jit(lambda y: ops.softplus(isotropic.one_step_log_odds(ops, y, 4, 1e3, layer)))(y))
    assert two == pytest.approx(one, rel=1e-14)


def test_correct_and_spurious_logit_are_a_third_of_the_clip_level_at_the_start():
    table = configurations.exact(groups.named("C5"), 2, 1)
    B = closed_forms.clip_level(3, 1e3)
    bare = FeedForward(bias=0.0, rho=1e-6, q=4)
    with jax.enable_x64(True):
        F = np.asarray(stage_2.logits(ops, ZERO, ideal("C5"), table, bare))
    spurious = F[table.distractors[:, 0, 0] == 0]
    np.testing.assert_allclose(np.sort(spurious, axis=1)[:, -2:], B / 3, rtol=1e-6)


@pytest.mark.parametrize(
    ("mode", "features"), [("algorithm_1", "ideal"), ("stage_2", "trained"), ("algorithm_2", "trained")]
)
def test_a_layer_that_stage_1_leaves_in_the_additive_trap_is_refused_at_once(mode, features):
    system = load("lego")
    sentence = r"bias = 0.1 and V_0 = 0.005 leave stage 1 in the additive trap: .* choose a smaller bias"
    with pytest.raises(InputError, match=sentence):
        system.problem(system.setup(mode, group="C5", bias=0.1, features=features), mode=mode)
    assert system.problem(system.setup(mode, group="C5", bias=0.01, features=features), mode=mode).initial.size == 4


def test_attention_adds_up_and_the_gap_is_signed():
    with jax.enable_x64(True):
        p = stage_2.attention(ops, POINT, 7.0, 3.0)
        total = p.alpha + 6 * p.beta + p.gamma + 2 * p.delta
        assert float(total) == pytest.approx(1, abs=1e-14)
        gap = lambda scores: float(stage_2.gap(ops, scores, 7.0, 3.0))
        assert gap(POINT._replace(gamma=1.4)) < 0 < gap(POINT)


def test_appendix_threshold_is_the_power_of_d_of_the_text():
    assert closed_forms.log_loss_threshold(6, 1e3) == pytest.approx((3.025 - 6) * np.log(1e3), rel=1e-4)


def test_steps_without_an_exact_table_are_sampled():
    group, long = groups.named("C3"), groups.named("S5")
    assert [configurations.is_exact(group, 4, ell) for ell in (1, 2, 3)] == [True, True, False]
    assert not configurations.is_exact(long, 12, 2)
