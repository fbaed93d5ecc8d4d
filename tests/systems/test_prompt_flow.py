"""Along the flow: score flow against population system, descent against flow, and the measured course of training."""

from functools import partial

import jax
import numpy as np
import pytest
from prompt_oracle import Population, crossing
from scipy.integrate import solve_ivp

from flowsys import ops
from flowsys.systems.prompt import model, prompts, scores, symmetric, tasks, training, transformer
from flowsys.systems.prompt.scores import SymmetricScores

APPENDIX_E = Population(20, 3, 0.4)
APPENDIX_E_TRAINING = {"alpha": 0.4, "batch_size": 240, "learning_rate": 2.0, "n_iterations": 100}


@pytest.fixture(scope="module")
def course():
    return APPENDIX_E.solve(1e4)


compiled_field = jax.jit(scores.field)


def score_flow(start, sample, t_max, rtol=1e-10):
    """Final S of the score flow from `start`."""
    with jax.enable_x64(True):
        sample = jax.tree.map(jax.numpy.asarray, sample)
        step = lambda t, y: np.asarray(compiled_field(t, y.reshape(start.shape), sample)).ravel()
        solution = solve_ivp(step, (0, t_max), start.ravel(), method="DOP853", rtol=rtol, atol=1e-12)
    return solution.y[:, -1].reshape(start.shape)


def symmetric_of(S, K):
    with jax.enable_x64(True):
        a, b, H = jax.jit(scores.symmetric_part, static_argnums=1)(S, K)
        return np.concatenate([[a, b], np.ravel(H)])


@pytest.fixture(scope="module")
def score_flow_4_2():
    """Final S of the exhaustive score flow at M = 4, K = 2, alpha = 0.4, t = 200, from any start."""
    sample = prompts.population(tasks.all_cycle_tasks(4, 2), 0.4)
    return lambda start: score_flow(start, sample, 200.0)


def test_score_flow_from_zero_follows_the_symmetric_system(score_flow_4_2):
    oracle = Population(4, 2, 0.4)
    end = symmetric_of(score_flow_4_2(np.zeros((10, 6))), 2)
    assert np.abs(end - oracle.solve(200)(200)).max() < 1e-9


def test_conserved_sums_do_not_drift_along_the_score_flow(score_flow_4_2):
    start = 0.1 * np.random.default_rng(0).normal(size=(10, 6))
    end = score_flow_4_2(start)
    rows = np.repeat(np.eye(3), [4, 4, 2], axis=0).T
    assert np.abs(rows @ (end - start)).max() < 3e-14 < np.abs(end - start).max()


def test_distance_to_the_symmetric_system_is_proportional_to_the_initial_scale(score_flow_4_2):
    direction = np.random.default_rng(1).normal(size=(10, 6))
    limit = Population(4, 2, 0.4).solve(200)(200)
    errors = [np.abs(symmetric_of(score_flow_4_2(xi * direction), 2) - limit).max() for xi in (1e-3, 1e-2)]
    assert errors[1] / errors[0] == pytest.approx(10, rel=0.15)


@pytest.mark.parametrize(
    "t, masses",
    [(0, (0.133, 0.200, 0.667)), (30, (0.296, 0.361, 0.343)), (100, (0.528, 0.384, 0.088)),
     (1000, (0.880, 0.113, 0.0071)), (1e4, (0.967, 0.031, 0.0017))],
)  # fmt: skip
def test_attention_masses_of_figure_5(course, t, masses):
    same, same_other, other, other_other = APPENDIX_E.masses(course(t)).mean(axis=0)
    assert (same, other) == pytest.approx(masses[:2], abs=5.1e-4)
    assert same_other + other_other == pytest.approx(masses[2], abs=6e-4 if t < 1000 else 6e-5)


def test_attention_on_other_patterns_of_the_same_step_peaks(course):
    ts = np.linspace(55, 70, 1501)
    curve = [APPENDIX_E.masses(course(t)).mean(axis=0)[2] for t in ts]
    assert max(curve) == pytest.approx(0.4081, abs=5e-5)
    assert ts[np.argmax(curve)] == pytest.approx(61.6, abs=0.05)


def test_the_two_stages_of_appendix_E_overlap(course):
    end_of_stage_1 = crossing(course, lambda y: APPENDIX_E.other_step_mass(y).max() - 0.1, 1, 1e4)
    half_attention = crossing(course, lambda y: APPENDIX_E.same_mass(y).min() - 0.5, 1, 1e4)
    assert (end_of_stage_1, half_attention) == pytest.approx((90.5, 87.4), abs=0.05)


def test_labels_that_are_the_query_pattern_are_suppressed(course):
    assert course(200.0)[1] == pytest.approx(-0.11, abs=0.005)
    assert course(1e4)[1] == pytest.approx(-0.24, abs=0.005)
    assert APPENDIX_E.loss(course(1e4)) == pytest.approx(5.6e-4, abs=5e-6)


@pytest.mark.parametrize(
    "M, K, purity",
    [(11, 2, 0.543), (11, 3, 0.665), (11, 4, 0.747), (11, 5, 0.803),
     (50, 2, 0.431), (50, 3, 0.470), (50, 4, 0.509), (50, 5, 0.545), (200, 2, 0.408), (200, 5, 0.440)],
)  # fmt: skip
def test_pattern_purity_at_the_end_of_stage_1(M, K, purity):
    population = Population(M, K, 0.4)
    solution = population.solve(1000, rtol=1e-8, atol=1e-10)
    end = solution(crossing(solution, lambda y: population.other_step_mass(y).max() - 0.1, 1, 1000))
    same, _, other, _ = population.masses(end).mean(axis=0)
    assert same / (same + other) == pytest.approx(purity, abs=1.1e-3)


def test_descent_on_symmetric_variables_is_first_order_in_the_learning_rate(course):
    with jax.enable_x64(True):
        kinds = symmetric.kinds(ops, 20, 3, 0.4)

        @partial(jax.jit, static_argnums=1)
        def descended(rate, n):
            step = lambda _, y: jax.tree.map(lambda x, dx: x + rate * dx, y, symmetric.field(0.0, y, (kinds, 20)))
            return jax.lax.fori_loop(0, n, step, SymmetricScores(*map(jax.numpy.asarray, symmetric.initial(3))))

        ends = [descended(rate, int(200 / rate)) for rate in (2.5, 10.0)]
        errors = [np.abs(np.concatenate([[a, b], np.ravel(H)]) - course(200.0)).max() for a, b, H in ends]
    assert errors == pytest.approx([0.011, 0.046], abs=6e-4)


def test_training_weights_and_training_frame_entries_are_the_same_descent():
    patterns = transformer.orthonormal_patterns(jax.random.key(0), 20, 22)
    W = transformer.weights(jax.random.key(1), 22, 3, 0.1)
    with jax.enable_x64(True):
        scores_of = jax.jit(transformer.scores_of)
        S = np.asarray(scores_of(W, patterns))
        trained = training.train_weights(jax.random.key(2), W, patterns, n_examples=20, **APPENDIX_E_TRAINING)[-1]
        from_weights = np.asarray(scores_of(trained, patterns))
    from_scores = np.asarray(training.train_scores(jax.random.key(2), S, 3, n_examples=20, **APPENDIX_E_TRAINING)[-1])
    assert np.abs(from_weights - from_scores).max() < 1e-12
    assert np.abs(from_scores - S).max() > 0.1


def test_finite_prompts_bias_training_like_one_over_their_length(course):
    errors = []
    for n_examples in (5, 20):
        trained = training.train_scores(
            jax.random.key(1), np.zeros((43, 23)), 3, n_examples=n_examples, **APPENDIX_E_TRAINING
        )
        errors.append(symmetric_of(np.asarray(trained[-1]), 3)[0] - course(200.0)[0])
    assert errors == pytest.approx([0.145, 0.040], abs=0.006)  # the measured 0.145 and 0.040 are of one seed each


def test_one_training_task_already_generalises_but_more_generalise_better():
    """M = 10, K = 2, t = 200: attention p on unseen cycles against 0.7985 of the population."""
    cycles = np.asarray(jax.jit(tasks.random_cycle_tasks, static_argnums=(1, 2, 3))(jax.random.key(9), 37, 10, 2))
    unseen = prompts.population(cycles[:20], 0.4)
    masses_of = jax.jit(partial(model.score_masses, ops))
    deficits = []
    for seen in (cycles[20:21].repeat(16, axis=0), cycles[21:]):
        S = score_flow(np.zeros((22, 12)), prompts.population(seen, 0.4), 200.0, rtol=1e-6)
        with jax.enable_x64(True):
            deficits.append(0.7985 - np.asarray(masses_of(S, unseen))[:, 0].mean())
    assert 0.04 < deficits[0] < 0.12
    assert 0.001 < deficits[1] < 0.012


def test_population_of_ten_patterns_and_two_steps_reaches_the_reference_attention():
    population = Population(10, 2, 0.4)
    assert population.same_mass(population.solve(200)(200.0)).mean() == pytest.approx(0.7985, abs=5e-5)
