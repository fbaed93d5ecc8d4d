"""Stage 1 of the LEGO system: the declared model against the literal transformer, the oracle, and closed forms."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flowsys.model import ops
from flowsys.model.concrete import View
from flowsys.model.flows import flow_of_weights
from flowsys.systems import load
from flowsys.systems.lego import closed_forms, data, groups, isotropic, model
from flowsys.systems.lego.exchangeable import EXCHANGEABLE
from flowsys.systems.lego.feedforward import FeedForward
from tests.systems import lego_oracle as oracle

SYSTEM = load("lego")
RHO, Q, BIAS, NEURONS = 0.5, 4, 0.3, 3
NUMBERS = {"bias": BIAS, "rho": RHO, "q": Q, "clip": "none", "width": NEURONS}


def declared(mode, system=SYSTEM, **given):
    setup = SYSTEM.setup(mode, **NUMBERS | given)
    form = ("L3", "many_variables") if system is EXCHANGEABLE else ("L1", "weights")
    return system.concrete(SYSTEM.settled(setup, *form, mode), "L2", mode)


def rates(concrete, weights):
    with jax.enable_x64(True):
        flow = jax.jit(lambda w: flow_of_weights(concrete, w, concrete.arguments(0), "exact"))
        return {name: np.asarray(rate) for name, rate in flow(weights).items()}


@cache
def random_head(name, n_x):
    """W_5 over slots and tokens, and the same by what it reads."""
    vocabulary = data.Vocabulary(n_x, groups.named(name))
    d = vocabulary.d
    W = 0.5 * np.random.default_rng(1).normal(size=(d, NEURONS, 5, d - 1))
    x, g, y = slice(vocabulary.n_x), vocabulary.actions, vocabulary.values
    return vocabulary, W, {"V_g": W[:, :, 1, g], "V_y": W[:, :, 4, y], "X": W[:, :, 0, x], "U": W[:, :, 2:4, x]}


@pytest.mark.parametrize("name", ["C3", "S3"])
def test_the_declared_model_is_the_transformer_of_definition_3_5(name):
    vocabulary, W, blocks = random_head(name, 4)
    sentences = data.sample(np.random.default_rng(0), vocabulary.group, 4, 3, 40)
    Q_43, Q_44 = np.random.default_rng(1).normal(size=(2, vocabulary.d - 1, vocabulary.d - 1))
    here = declared("algorithm_1", group=name, n_x=4)
    with jax.enable_x64(True):
        w = View(blocks | {"Q_43": Q_43[:4, :4], "Q_44": Q_44[:4, :4]})
        ours = np.asarray(model.step_logits(ops, w, sentences, here.p(here.reals()), 2))
    theirs = oracle.transformer_logits(np, W, Q_43, Q_44, data.clauses(vocabulary, sentences), 2, RHO, Q, BIAS)
    np.testing.assert_allclose(ours.T, theirs, atol=1e-12)


def test_weights_move_by_the_gradient_of_the_literal_transformer_and_no_others_do():
    vocabulary, W, blocks = random_head("C3", 4)
    sentences = data.population(vocabulary.group, 4, 1, variables_read=2)
    tokens, at, zero = data.clauses(vocabulary, sentences), np.arange(len(sentences.actions)), np.zeros((10, 10))
    target = sentences.values[:, 1] + vocabulary.values.start

    def loss(W):
        F = oracle.transformer_logits(jnp, W, zero, zero, tokens, 1, RHO, Q, BIAS)
        return (jax.nn.logsumexp(F, axis=1) - F[at, target]).mean()

    with jax.enable_x64(True):
        slope = -np.array(jax.jit(jax.grad(loss))(W))
    ours = rates(declared("stage_1", group="C3", n_x=4), blocks)
    x, g, y = slice(vocabulary.n_x), vocabulary.actions, vocabulary.values
    for slot, (read, mine) in enumerate(((x, ours["X"]), (g, ours["V_g"]), (x, ours["U"][:, :, 0]),
                                         (x, ours["U"][:, :, 1]), (y, ours["V_y"]))):  # fmt: skip
        np.testing.assert_allclose(mine, slope[:, :, slot, read], atol=1e-15)
        slope[:, :, slot, read] = 0
    assert np.all(slope == 0)


@pytest.mark.parametrize("kind", [{}, {"activation": "B2"}, {"clip": "smooth", "C_B": 0.5}])
def test_action_sum_minus_value_sum_is_conserved(kind):
    dy = rates(declared("stage_1", group="C3", n_x=4, **kind), random_head("C3", 4)[2])
    assert np.abs(dy["V_g"].sum(axis=-1) - dy["V_y"].sum(axis=-1)).max() < 1e-15 < np.abs(dy["V_g"]).max()


@pytest.mark.parametrize(("name", "n_x"), [("S3", np.inf), ("C3", 20)])
def test_lumped_classes_and_slots_agree_with_the_oracle(name, n_x):
    here = declared("stage_1", EXCHANGEABLE, group=name, n_x=n_x, d=1e8, sigma_0=0.5)
    chi = np.random.default_rng(2).normal(size=(3, NEURONS)) * 0.1
    start = {name: np.asarray(here.blocks[name].block.start) for name in ("V_g", "V_y")}
    ours = rates(here, start | {"chi": chi})
    theirs = oracle.many_variables_field(start["V_g"], start["V_y"], name, 1e8, RHO, Q, BIAS, chi, n_x)
    for mine, their in zip((ours["V_g"], ours["V_y"], ours["chi"]), theirs):
        np.testing.assert_allclose(mine, their, atol=1e-15)


@pytest.mark.parametrize(("name", "ratio"), [("C5", 1.0), ("S3", 1.25), ("S4", 2.1111), ("S5", 3.4643), ("S6", 4.808)])
def test_final_feature_ratio(name, ratio):
    assert closed_forms.C_alpha(*groups.sizes(name)) == pytest.approx(ratio, abs=5e-5)


def test_final_features_keep_the_conserved_quantity_at_zero():
    features = closed_forms.final_features(120, 5, 20.0)
    assert isotropic.conserved(features, 120, 5) == pytest.approx(0, abs=1e-12)
    assert features.a / 20 == pytest.approx(1.552, abs=5e-4)


def test_the_loss_is_accurate_when_it_is_tiny():
    y = isotropic.Isotropic(150.0, -150.0, 150.0, -150.0)
    with jax.enable_x64(True):
        log_odds = isotropic.one_step_log_odds(
            ops, y, 3, 1e3, FeedForward(bias=BIAS, rho=RHO, q=Q, F_0=closed_forms.outside_logit(3, BIAS, RHO, Q))
        )
        assert np.log(ops.softplus(log_odds)) == pytest.approx(np.log(997) - 150, abs=0.5)
