"""Length generalisation and self-training of the LEGO system, reduced and finite."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from flowsys.errors import InputError
from flowsys.model import ops
from flowsys.runs.solving import solve
from flowsys.systems import load
from flowsys.systems.lego import closed_forms, configurations, groups, lengths, stage_2
from flowsys.systems.lego.feedforward import FeedForward, value_losses
from flowsys.systems.lego.isotropic import Layer
from flowsys.systems.lego.rounds import round_tables
from flowsys.systems.lego.stage_2 import Scores

SYSTEM = load("lego")
FEEDFORWARD = FeedForward(bias=0.1, rho=0.3, q=4)
D = 1e3


def layer(name, C_B=3):
    features = closed_forms.final_features(*groups.sizes(name), closed_forms.clip_level(C_B, D))
    F_0 = closed_forms.outside_logit(groups.sizes(name)[1], 0.1, 0.3, 4)
    return Layer(groups.named(name), features, D, replace(FEEDFORWARD, F_0=F_0))


def accuracy(name, scores, L, **options):
    l = layer(name)
    return lengths.accuracy(scores, l, L, **options)


def test_length_grid_grows_by_a_third_of_an_octave():
    looked_at = []
    assert lengths.L_star(lambda L: looked_at.append(L) or 1.0, L_max=130) == 121
    assert looked_at == [2, 3, 4, 6, 8, 11, 14, 18, 23, 29, 37, 47, 60, 76, 96, 121]


def test_longest_length_is_the_last_before_the_first_failure():
    assert lengths.L_star(lambda L: 1.0 if L <= 20 else 0.0) == 18
    assert lengths.L_star(lambda L: 0.0) == 1
    assert lengths.L_star(lambda L: 1.0, L_max=100) == 96


def test_steps_are_spread_with_both_ends():
    assert lengths.steps(100, 6).tolist() == [1, 21, 41, 60, 80, 100]
    assert lengths.steps(4, 6).tolist() == [1, 2, 3, 4]


def test_sampled_accuracy_at_length_two_is_the_exact_expectation():
    scores, l = Scores(1.6, 0.0, 1.4, 0.0), layer("C3")
    exact = 0.0
    with jax.enable_x64(True):
        logits = lambda table: stage_2.logits(ops, scores, l.features, table, FEEDFORWARD)
        losses = jax.jit(lambda table: value_losses(ops, logits(table), table.target.argmax(1), D, l.feedforward.F_0))
        for table in (configurations.exact(l.group, 2, ell) for ell in (1, 2)):
            exact += float((table.weight * np.exp(-np.asarray(losses(table)))).sum()) / 2
    assert accuracy("C3", scores, 2, size=4096) == pytest.approx(exact, abs=3e-3)


def test_all_readings_agree_when_attention_is_concentrated():
    scores = Scores(12.0, 0.0, 12.0, 0.0)
    readings = [accuracy("S3", scores, 30, reading=reading, size=64) for reading in ("sampled", "greedy", "rollout")]
    assert readings == pytest.approx([1, 1, 1], abs=2 * D ** (1 - 3))  # the loss floor is d^(1 - C_B)


def test_rollout_is_right_throughout_exactly_where_every_greedy_step_is():
    scores, l, L = Scores(1.3, 0.0, 1.1, 0.0), layer("S3"), 4
    right = lengths.rollout(scores, l, L, size=200)
    actions, values = configurations.sequences(l.group, L, 200, seed=0)
    every_step = np.ones(200, bool)
    with jax.enable_x64(True):
        logits = jax.jit(lambda table: stage_2.logits(ops, scores, l.features, table, FEEDFORWARD))
        for ell in range(1, L + 1):
            F = np.asarray(logits(configurations.from_sequences(l.group, actions, values, [ell])[0]))
            every_step &= F.argmax(axis=1) == values[:, ell]
    np.testing.assert_array_equal(right.all(axis=1), every_step)
    assert 0 < every_step.mean() < 1


def test_rollout_accuracy_falls_along_the_chain():
    scores, l = Scores(1.4, 0.0, 1.2, 0.0), layer("C4")
    right = lengths.rollout(scores, l, 10, size=300)
    assert right.mean(axis=0)[-1] < right.mean(axis=0)[0]


def test_solvable_length_times_attention_error_is_near_constant():
    products = []
    for scores in (Scores(2.941, 0.0, 2.679, 0.0), Scores(4.5, 0.0, 4.4, 0.0), Scores(6.5, 0.0, 6.5, 0.0)):
        with jax.enable_x64(True):
            error = float(stage_2.eps_attention(ops, scores, 2, 2))
        products.append(error * lengths.L_star(lambda L, s=scores: accuracy("C3", s, L, size=128)))
    assert all(0.6 <= p <= 0.85 for p in products)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"L_test": 6, "ell_test": 7}, "ell_test = 7 is not allowed: it must be at most L_test = 6."),
        ({"L_test": 200, "n_x": 100}, "L_test = 200 is not allowed: a chain needs .* but n_x = 100."),
    ],
)
def test_a_test_that_no_chain_allows_is_refused(parameters, sentence):
    with pytest.raises(InputError, match=sentence):
        SYSTEM.problem(SYSTEM.setup(**parameters))


def test_tested_lengths_stop_where_the_variables_end():
    long = Scores(9.0, 0.0, 9.0, 0.0)
    few, many = (SYSTEM.setup(group="C3", L=8, n_x=n_x, L_max=40) for n_x in (12, np.inf))
    assert [(s["L_test"], s["ell_test"]) for s in (few, many)] == [(11, 11), (16, 16)]
    assert [SYSTEM.problem(s).derived["L_star"](np.array(long)) for s in (few, many)] == [11, 37]
    settled = SYSTEM.settled(SYSTEM.setup(n_x_finite=4), "L2", "full", "stage_2")
    assert (settled["L_test"], settled["ell_test"]) == (3, 3)


def test_training_on_all_steps_uses_a_table_for_each():
    tables, _ = round_tables(layer("S3"), Scores(3.0, 0.0, 3.0, 0.0), 8, range(1, 9), 64, 0)
    assert [t.ell for t in tables] == list(range(1, 9))


def test_a_poor_model_gives_wrong_labels_which_become_the_targets():
    l, scores = layer("S3"), Scores(0.2, 0.0, 0.2, 0.0)
    tables, share = round_tables(l, scores, 8, (2,), 256, 0)
    with jax.enable_x64(True):
        F = np.asarray(stage_2.logits(ops, scores, l.features, tables[0], FEEDFORWARD))
    assert share < 0.9
    assert ((tables[0].target * F).sum(axis=1) >= F.max(axis=1) - 1e-12).all()


def test_a_round_that_wrong_labels_hold_up_says_so_and_what_to_change():
    choices = {"group": "S4", "trained_steps": "all", "n_samples": 256, "L": 8}
    last = lambda **change: SYSTEM.problem(SYSTEM.setup("algorithm_2", **choices, **change), mode="algorithm_2")
    sentence = "the round at L = 4 .* does not end: .* 1 of its 1024 self-labels are wrong; a wrong one puts a floor"
    with pytest.raises(InputError, match=sentence):
        last()
    for change in ({"loss_target": 2e-5}, {"seed": 1}):
        assert last(**change).start > 0


def test_a_time_before_the_last_round_is_refused_with_where_that_starts():
    setup = SYSTEM.setup("algorithm_2", group="S3", L=4, n_samples=64)
    start = SYSTEM.problem(setup, mode="algorithm_2").start
    with pytest.raises(InputError, match=rf"t = 0 .* must lie between {start:g}, where the run starts, and t_max"):
        solve(SYSTEM, setup, mode="algorithm_2", at=[0.0], observe=["loss"])
