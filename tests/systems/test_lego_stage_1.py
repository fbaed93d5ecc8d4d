"""Stage 1 of the LEGO system: reduced fields against autodiff on the weights, the oracle, and closed forms."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flowsys.model import ops
from flowsys.symbolic import primitives
from flowsys.systems.lego import closed_forms, data, groups, isotropic, stage_1, transformer
from flowsys.systems.lego.feedforward import FeedForward
from tests.systems import lego_oracle as oracle

RHO, Q, BIAS = 0.5, 4, 0.3
FEEDFORWARDS = {
    "azl": FeedForward(bias=BIAS, rho=RHO, q=Q),
    "even": FeedForward(bias=BIAS, rho=RHO, q=Q, activation="even"),
    "B2": FeedForward(bias=BIAS, rho=RHO, q=Q, activation="B2", varpi=0.01, B=6.0),
    "azl, hard clip": FeedForward(bias=BIAS, rho=RHO, q=Q, clip="hard", B=1.2),
    "azl, smooth clip": FeedForward(bias=BIAS, rho=RHO, q=Q, clip="smooth", B=1.2),
}

OTHER_KINDS = ("even", "azl, hard clip", "azl, smooth clip")


def compiled(function, *arguments):
    """One compiled call in double precision, NumPy out."""
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, jax.jit(function)(*arguments))


def at_rest(field, y):
    return compiled(lambda y: field(0.0, y, None), y)


@cache
def finite(name, n_x):
    vocabulary = data.Vocabulary(n_x, groups.named(name))
    weights = transformer.weights(jax.random.key(1), vocabulary, m=3, sigma_0=0.5)
    return vocabulary, weights, data.population(vocabulary.group, n_x, 1)


@pytest.mark.parametrize(("name", "head"), [("C3", "W_4"), ("S3", "W_5")])
def test_model_in_coordinates_is_the_transformer_of_definition_3_5(name, head):
    vocabulary, weights, _ = finite(name, 4)
    sentences = data.sample(np.random.default_rng(0), vocabulary.group, 4, 3, 40)
    rng = np.random.default_rng(1)
    Q_43, Q_44 = rng.normal(size=(2, vocabulary.d - 1, vocabulary.d - 1))
    moved = {**weights, "Q_43": Q_43, "Q_44": Q_44}
    ours = compiled(
        lambda w: transformer.log_probabilities(w, vocabulary, sentences, 2, head, FEEDFORWARDS["azl"]), moved
    )
    F = oracle.transformer_logits(
        np, np.asarray(weights[head]), Q_43, Q_44, data.clauses(vocabulary, sentences), 2, RHO, Q, BIAS
    )
    np.testing.assert_allclose(ours.T, F - oracle.logsumexp(F, axis=1, keepdims=True), atol=1e-12)


@cache
def full_field(kind, head="W_5", metric=stage_1.METRIC):
    vocabulary, weights, sentences = finite("C3", 4)
    target = transformer.targets(vocabulary, sentences, 1)[head]
    y = stage_1.slots(transformer.features(np.asarray(weights[head]), vocabulary))
    return at_rest(stage_1.full_field(sentences, target, FEEDFORWARDS[kind], metric), y)


@pytest.mark.parametrize(
    ("kind", "head"), [("azl", "W_4"), ("azl", "W_5"), ("B2", "W_5"),
                       *(pytest.param(kind, "W_5", marks=pytest.mark.slow) for kind in OTHER_KINDS)],
)  # fmt: skip
def test_full_field_is_the_gradient_on_weights_pushed_to_coordinates(kind, head):
    vocabulary, weights, sentences = finite("C3", 4)
    push = lambda W: stage_1.slots(transformer.features(W, vocabulary))
    loss = lambda W: transformer.step_loss({**weights, head: W}, vocabulary, sentences, 1, head, FEEDFORWARDS[kind])
    on_weights = compiled(lambda W: push(-jax.grad(loss)(W)), weights[head])
    for ours, theirs in zip(full_field(kind, head), on_weights):
        np.testing.assert_allclose(ours, theirs, atol=1e-14)


def test_gradient_of_the_literal_transformer_is_zero_off_the_coordinates():
    vocabulary, weights, sentences = finite("C3", 4)
    tokens, at = data.clauses(vocabulary, sentences), np.arange(len(sentences.actions))
    target = transformer.targets(vocabulary, sentences, 1)["W_5"]

    def loss(W):
        F = oracle.transformer_logits(jnp, W, weights["Q_43"], weights["Q_44"], tokens, 1, RHO, Q, BIAS)
        return (jax.nn.logsumexp(F, axis=1) - F[at, target]).mean()

    slope = np.array(compiled(jax.grad(loss), weights["W_5"]))
    x, g, y = vocabulary.variables, vocabulary.actions, vocabulary.values
    for slot, tokens_read in enumerate((x, g, x, x, y)):
        slope[:, :, slot, tokens_read] = 0
    assert np.all(slope == 0)


@pytest.mark.parametrize("kind", ["azl", "B2"])
def test_action_sum_minus_value_sum_is_conserved(kind):
    dy = full_field(kind)
    assert np.abs(stage_1.conserved(dy.V_g, dy.V_y)).max() < 1e-15 < np.abs(dy.V_g).max()


def test_frozen_variable_slots_do_not_move():
    full, frozen = full_field("azl"), full_field("azl", metric=stage_1.METRIC_FROZEN_X)
    assert np.all(frozen.X == 0) and np.all(frozen.U == 0)
    np.testing.assert_array_equal(frozen.V_g, full.V_g)


@cache
def exchangeable_start(name):
    return stage_1.initial_exchangeable(np.random.default_rng(0), groups.named(name), 3, 0.5)


def test_exchangeable_field_is_the_full_one_for_slots_constant_in_the_variable():
    group, n_x = groups.cyclic(3), 5
    vocabulary, sentences = data.Vocabulary(n_x, group), data.population(group, n_x, 1)
    V_g, V_y, _ = exchangeable_start("C3")
    X, U = np.random.default_rng(1).normal(size=(2, 3, 3)) * 0.4
    # Features of classes outside Y are 0, where the lumping of those classes is exact.
    lift = lambda table: np.concatenate([np.zeros((n_x + 3, *table.shape[1:])), table, np.zeros((1, *table.shape[1:]))])
    spread = lambda x: lift(np.repeat(x[:, :, None], n_x, axis=2))
    y = stage_1.Slots(lift(V_g), lift(V_y), spread(X), spread(U))
    target = transformer.targets(vocabulary, sentences, 1)["W_5"]
    full = at_rest(stage_1.full_field(sentences, target, FEEDFORWARDS["azl"]), y)
    exchangeable = stage_1.exchangeable_field(group, vocabulary.d, n_x, FEEDFORWARDS["azl"])
    reduced = at_rest(exchangeable, stage_1.Exchangeable(V_g, V_y, (X + U) / 2))
    inside = vocabulary.values
    np.testing.assert_allclose(reduced.V_g, full.V_g[inside], atol=1e-15)
    np.testing.assert_allclose(reduced.V_y, full.V_y[inside], atol=1e-15)
    chi = (full.X + full.U)[inside] / 2
    np.testing.assert_allclose(np.broadcast_to(reduced.chi[:, :, None], chi.shape), chi, atol=1e-15)


@pytest.mark.parametrize(("name", "n_x"), [("S3", np.inf), ("C3", 20.0)])
def test_many_variables_field_agrees_with_the_oracle(name, n_x):
    y = exchangeable_start(name)
    chi = np.random.default_rng(2).normal(size=y.chi.shape) * 0.1
    ours = at_rest(stage_1.exchangeable_field(groups.named(name), 1e8, n_x, FEEDFORWARDS["azl"]), y._replace(chi=chi))
    for mine, theirs in zip(ours, oracle.many_variables_field(y.V_g, y.V_y, name, 1e8, RHO, Q, BIAS, chi, n_x)):
        np.testing.assert_allclose(mine, theirs, atol=1e-15)


POINT = isotropic.Isotropic(2.1, -0.4, 1.3, -0.7)


@pytest.mark.parametrize("B", [None, 1.5])
@pytest.mark.parametrize("name", ["C3", "C5", "S4"])
def test_isotropic_field_agrees_with_the_four_equations(name, B):
    n_g, n_y = groups.sizes(name)
    feedforward = FeedForward(bias=BIAS, rho=RHO, q=Q, clip="none" if B is None else "smooth", B=B)
    ours = at_rest(isotropic.field(n_g, n_y, 1e3, feedforward), POINT)
    np.testing.assert_allclose(ours, oracle.isotropic_field(POINT, n_g, n_y, 1e3, RHO, Q, BIAS, B), rtol=1e-12)


@pytest.mark.parametrize("name", ["C4", "S3"])
def test_isotropic_features_stay_isotropic_under_the_field_of_all_neurons(name):
    group = groups.named(name)
    in_fibre = np.moveaxis(group.matrices, 0, -1).astype(bool)
    own = np.broadcast_to(np.eye(group.n_y, dtype=bool), (group.n_y,) * 3)
    V_g, V_y = np.where(in_fibre, POINT.a, POINT.b_prime), np.where(own, POINT.c, POINT.e)
    y = stage_1.Exchangeable(V_g, V_y, np.zeros(V_g.shape[:2]))
    dy = at_rest(stage_1.exchangeable_field(group, 1e3, np.inf, FEEDFORWARDS["azl"]), y)
    four = at_rest(isotropic.field(group.n_g, group.n_y, 1e3, FEEDFORWARDS["azl"]), POINT)
    np.testing.assert_allclose(dy.V_g, np.where(in_fibre, four.a, four.b_prime), atol=1e-16)
    np.testing.assert_allclose(dy.V_y, np.where(own, four.c, four.e), atol=1e-16)


def test_isotropic_conservation_law_is_exact():
    dy = at_rest(isotropic.field(24, 4, 1e3, FEEDFORWARDS["azl, smooth clip"]), POINT)
    assert abs(isotropic.conserved(dy, 24, 4)) < 1e-17 < max(map(abs, dy))


def test_isotropic_loss_has_a_symbolic_reading_in_the_sizes():
    import sympy as sp

    symbols = dict(zip(("a", "b_prime", "c", "e"), sp.symbols("a b_prime c e", real=True)))
    n_y, d = sp.symbols("n_y d", positive=True)
    loss = isotropic.one_step_loss(primitives, isotropic.Isotropic(**symbols), n_y, d, FEEDFORWARDS["azl, smooth clip"])
    assert {*symbols.values(), n_y, d} == loss.free_symbols


def test_phase_one_path_ends_on_the_linear_branch():
    t_1 = closed_forms.phase_1_time(0.02, 6, 3, 4, 0.3)
    assert closed_forms.phase_1_path(t_1, 0.02, 6, 3, 4, 0.3) == pytest.approx(0.3, rel=1e-9)


@pytest.mark.parametrize(("name", "ratio"), [("C5", 1.0), ("S3", 1.25), ("S4", 2.1111), ("S5", 3.4643), ("S6", 4.808)])
def test_final_feature_ratio(name, ratio):
    assert closed_forms.C_alpha(*groups.sizes(name)) == pytest.approx(ratio, abs=5e-5)


def test_final_features_keep_the_conserved_quantity_at_zero():
    features = closed_forms.final_features(120, 5, 20.0)
    assert isotropic.conserved(features, 120, 5) == pytest.approx(0, abs=1e-12)
    assert features.a / 20 == pytest.approx(1.552, abs=5e-4)


def test_learned_combinations_recognise_an_isotropic_layer():
    group = groups.symmetric(3)
    vocabulary = data.Vocabulary(4, group)
    features = closed_forms.final_features(6, 3, 10.0)
    table = transformer.features(transformer.isotropic_head(vocabulary, *features), vocabulary)
    found = stage_1.learned_combinations(table.action[vocabulary.values], table.value[vocabulary.values], group)
    assert (found["neurons"] == 1).all() and found["distinct"] == 1.0


def test_wrong_numbers_of_neurons_and_heads_are_refused():
    vocabulary, weights, sentences = finite("C3", 4)
    with pytest.raises(ValueError, match="m = 0, but"):
        transformer.weights(jax.random.key(0), vocabulary, m=0)
    with pytest.raises(ValueError, match="head = 'W_1', but"):
        transformer.step_loss(weights, vocabulary, sentences, 1, "W_1", FEEDFORWARDS["azl"])


def test_the_stored_loss_is_accurate_when_it_is_tiny():
    y = isotropic.Isotropic(150.0, -150.0, 150.0, -150.0)
    loss = compiled(lambda y: isotropic.one_step_loss(ops, y, 3, 1e3, FEEDFORWARDS["azl"]), y)
    assert np.log(loss) == pytest.approx(np.log(997) - 150, abs=0.5)
