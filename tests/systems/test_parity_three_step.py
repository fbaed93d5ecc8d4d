"""Three steps of gradient descent on parity: closed forms, sampled neurons, batches, and the paper's lemmas."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flowsys.systems.parity import closure, collapsed, data, frozen_batch, model, observables, sgd, three_step


@pytest.fixture(scope="module")
def limit_map():
    """Formulas and iterated states of the limit map at n = 12, k = 4, scores of order 1."""
    n, k, m = 12, 4, 50.0
    rates = three_step.usable_rates(n, m, epsilon=1.0, rho=0.3)
    with jax.enable_x64(True):
        flow = closure.FrozenFlow(
            collapsed.collapsed_table(n, k), closure.limit_overlaps(2 * k, m), collapsed.collapsed_metric(n, k)
        )
        field = jax.jit(closure.frozen_field)
        states = [model.FrozenCoordinates(jnp.zeros(8), jnp.zeros((8, 17)), jnp.zeros((17, 8)))]
        for rate in rates:
            states.append(closure.euler_step(states[-1], field(0.0, states[-1], flow), rate))
    return three_step.three_step(n, k, m, rates), jax.tree.map(np.asarray, states)


def signal(state, position):
    """g from K on the tokens (S[i], 0) and (S[i], 1) of query (i, 0)."""
    return (state.K[2 * position, 2 * position + 1] - state.K[2 * position, 2 * position]) / 2


def test_signals_after_each_step_are_the_closed_forms(limit_map):
    formula, states = limit_map
    for position in (0, 1, 2, 3):
        assert np.isclose(signal(states[1], position), formula.g_1[position], rtol=1e-13, atol=0)
        assert np.isclose(signal(states[2], position), formula.g_2[position], rtol=1e-13, atol=0)
    for position in (2, 3):
        assert np.isclose(signal(states[3], position), formula.g_3[position], rtol=1e-13, atol=0)


def test_the_third_step_at_n_plus_1_is_the_closed_form_up_to_the_common_mode_of_n_plus_2(limit_map):
    formula, states = limit_map
    assert 0 < signal(states[3], 0) / formula.g_3[0] - 1 < 1e-3


def test_scores_after_the_second_step_are_the_closed_forms(limit_map):
    formula, states = limit_map
    for position in (0, 2, 3):
        measured = states[2].a[[2 * position, 2 * position + 1, 8, 9], 2 * position]
        u, v, w = formula.u[position], formula.v[position], formula.w[position]
        assert np.allclose(measured, [u, u, v, w], rtol=1e-12, atol=0)
    split = formula.u[1] + formula.split, formula.u[1] - formula.split
    assert np.allclose(states[2].a[[2, 3], 2], split, rtol=1e-12, atol=0)
    assert abs(formula.split / formula.u[1]) > 0.1


def test_attention_does_not_move_in_the_first_step(limit_map):
    assert np.abs(limit_map[1][1].a).max() == 0


def test_the_common_mode_of_lemma_18_is_twice_the_signal_off_target(limit_map):
    formula, states = limit_map
    for query in range(4, 8):
        assert np.allclose(states[1].K[query, :2], [-formula.common_mode, formula.common_mode], rtol=1e-12, atol=0)
    assert 1.9 < formula.common_mode / formula.g_1[2] < 2.5


@pytest.fixture(scope="module")
def sampled():
    n, k, m = 20, 5, 4000
    rates = three_step.usable_rates(n, m, 1.0, rho=0.3, eta_2=4 * m / 3)
    return three_step.three_step(n, k, m, rates), sgd.population_steps(jax.random.key(0), n, k, m, 1.0, rates)


def test_three_steps_reach_one_hot_attention_and_full_accuracy_without_a_gate_flip(sampled):
    _, steps = sampled
    last = steps.readings[-1]
    assert last.sequence_accuracy == 1.0 and steps.flipped == 0
    assert 1 - last.s_target.min() < 20.0**-8


def test_margins_are_the_closed_form_and_not_a_third_of_epsilon(sampled):
    formula, steps = sampled
    margin = steps.readings[-1].margin
    assert np.allclose(margin.mean(axis=0), formula.g_3, rtol=0.05)
    assert margin[:, 1:].max() < 0.12 and abs(margin[:, 0].mean() - 0.452) < 0.02


def test_lemma_21_off_target_bound_fails_below_n_62_as_predicted(sampled):
    formula, steps = sampled
    n, m = 20, 4000
    rates = three_step.usable_rates(n, m, 1.0)
    bound = rates.eta_0 * rates.eta_1 / (512 * m * n**2)
    own = abs(float(steps.states[2].a[11, 0]))
    assert abs(own / bound / (64 / (n + 1) * (n / (n + 1)) ** 2) - 1) < 0.05
    assert own > bound and formula.u.min() > 2 * bound


def test_width_2k_is_too_narrow_for_one_hot_attention():
    n, k, m = 20, 8, 16
    steps = sgd.population_steps(jax.random.key(1), n, k, m, 1.0, three_step.usable_rates(n, m, 1.0, eta_2=4 * m / 3))
    assert steps.readings[-1].s_target.min() < 0.1 and steps.readings[-1].accuracy < 0.75


def test_batches_large_enough_succeed_and_small_ones_fail():
    problem, m = data.Parity(8, (5, 2)), 1600
    course = [
        sgd.batch_steps(jax.random.key(2), problem, m, 1.0, batch, three_step.batch_rates(m, 1.0, batch, c=0.08))
        for batch in (128, 1024)
    ]
    small, large = (steps.readings[-1].sequence_accuracy for steps in course)
    assert small < 0.9 and large > 0.95


@pytest.mark.parametrize("d", [None, 64])
def test_frozen_and_live_batches_agree_when_no_gate_flips(d):
    problem, m, batch = data.Parity(8, (5, 2)), 40, 600
    rates = three_step.batch_rates(m, 20.0, batch, c=0.01)
    frozen, live = (
        sgd.batch_steps(jax.random.key(3), problem, m, 20.0, batch, rates, d=d, gates=gates)
        for gates in ("frozen", "live")
    )
    assert live.flipped == 0
    assert np.abs(frozen.states[-1].a - np.asarray(live.states[-1].a)).max() < 1e-11
    assert np.allclose(frozen.readings[-1].margin, live.readings[-1].margin, rtol=0, atol=1e-11)


def test_a_padded_batch_of_the_whole_population_is_the_population_step():
    problem, m = data.Parity(8, (5, 2)), 40
    with jax.enable_x64(True):
        start, h, metric = sgd._start(jax.random.key(0), jax.random.key(1), problem, m, 1.0, None)
        whole = jax.jit(closure.field)(0.0, start, closure.Flow(data.population(problem), h, metric))
        bits, weight = np.zeros((sgd.CHUNK, 8), dtype=int), np.zeros(sgd.CHUNK)
        bits[:256], weight[:256] = data.all_bits(8), 1 / 256
        padded = sgd._chunk_velocity(start, bits, weight, h, metric, problem, "linear")
    assert np.abs(np.asarray(whole.q) - np.asarray(padded.q)).max() < 1e-16
    assert np.abs(np.asarray(whole.q)).max() > 1e-4


def random_state(problem):
    rng, q, t = np.random.default_rng(5), 2 * problem.n_queries, problem.n_tokens
    return model.FrozenCoordinates(rng.normal(size=q), 2 * rng.normal(size=(q, t)), rng.normal(size=(t, q)))


@pytest.mark.parametrize("kind", ["linear", "hinge"])
@pytest.mark.parametrize("chain", [True, False])
def test_the_slope_of_a_batch_in_matrix_products_is_autodiff(chain, kind, monkeypatch):
    monkeypatch.setattr(frozen_batch, "CHUNK", 70)  # the batch is taken in parts
    problem = data.Parity(7, (5, 2, 3), chain)
    y, bits = random_state(problem), np.random.default_rng(6).integers(0, 2, (200, 7))
    with jax.enable_x64(True):
        table = data.table_of_bits(problem, bits)
        slope = jax.jit(jax.grad(model.loss), static_argnums=3)(jax.tree.map(jnp.asarray, y), None, table, kind)
    ours = frozen_batch.batch_slope(y, problem, bits, kind)
    assert all(np.abs(a - np.asarray(b)).max() < 1e-15 < np.abs(a).max() for a, b in zip(ours, slope))


def test_margins_in_matrix_products_are_the_readings():
    problem = data.Parity(7, (5, 2, 3))
    y, bits = random_state(problem), data.all_bits(7)
    reading = observables.read(y, None, data.table_of_bits(problem, bits), 3)
    assert np.abs(frozen_batch.batch_margins(y, problem, bits) - reading.margin).max() < 1e-14


def test_three_steps_at_n_40_are_the_specifications():
    # specification, section 6: n = 40, k = 6, m = 8000, ρ = 0.3: one-hot error 0 in double precision, accuracy 1,
    # Lemma 21.1 with room (1.45 with sampled neurons), Lemma 21.2 violated (1.48 with sampled neurons)
    n, k, m = 40, 6, 8000.0
    rates = three_step.usable_rates(n, m, 1.0, rho=0.3, eta_2=4 * m / 3)
    steps, formula = sgd.limit_steps(n, k, m, rates), three_step.three_step(n, k, m, rates)
    last, bound = steps.readings[-1], rates.eta_0 * rates.eta_1 / (256 * m * n**2)
    assert 1 - last.s_target.min() < 1e-15 and last.sequence_accuracy == 1
    assert np.allclose(last.margin.mean(axis=0), formula.g_3, rtol=1e-3)
    scores = np.asarray(steps.states[2].a)
    least = min(scores[[2 * j, 2 * j + 1], q].min() for j in range(k) for q in ([0] if j == 0 else [2 * j, 2 * j + 1]))
    assert abs(least / bound - 1.46) < 0.02
    assert abs(abs(scores[2 * k + 1, 0]) / (bound / 2) - 1.49) < 0.01


def test_uniform_attention_reads_entropy_one():
    with jax.enable_x64(True):
        y = model.FrozenCoordinates(jnp.zeros(4), jnp.zeros((4, 9)), jnp.zeros((9, 4)))
    assert abs(observables.read(y, None, collapsed.collapsed_table(10, 2), 2).entropy - 1) < 1e-14


def test_bad_choices_are_refused_by_name():
    with pytest.raises(ValueError, match="gates = open"):
        sgd.batch_steps(jax.random.key(0), data.ascending(4, 2), 4, 1.0, 8, three_step.Rates(1, 1, 1), gates="open")
    with pytest.raises(ValueError, match="delta = 2"):
        three_step.assumption_2_rates(20, 5, 10, 1.0, 100, 2)
