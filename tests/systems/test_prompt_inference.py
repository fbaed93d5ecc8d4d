"""Inference by the trained model: Algorithm 2 column by column, concentration, noise, and the blind direction.

Weights come from the population flow of the oracle; errors along training from `solve`.
"""

import jax
import numpy as np
import pytest
from prompt_oracle import Population

from flowsys import load, solve
from flowsys.systems.prompt import (
    inference,
    scores,
    shifted_patterns,
    testing,
    transformer,
    transitions,
)
from flowsys.systems.prompt.orbits import SymmetricScores, orbits_from_zero

TASK = transitions.shifting_task(10, 3)
DEFAULT = transitions.runner_up_transitions(10, 3, 0.5, 0.8)
N = 4000


def rng(seed=0):
    return np.random.default_rng(seed)


def deviation(error, n_prompts=N):
    """Three standard errors of an error rate, of ours and of the measured one together."""
    return 3 * np.sqrt(2 * max(error, 1e-3) * (1 - error) / n_prompts)


def blind_overlap(mu, patterns):
    """λ of every test pattern."""
    return mu @ patterns.sum(axis=0) / np.sqrt(len(patterns))


@pytest.fixture(scope="module")
def trained():
    """Weights of the population flow at Appendix E's sizes, as a function of time, with the training patterns."""
    course = Population(20, 3, 0.4).solve(2e5, rtol=1e-8, atol=1e-10)
    patterns = np.asarray(transformer.orthonormal_patterns(jax.random.key(0), 20, 30))

    def weights(t):
        a, b, *H = course(t)
        with jax.enable_x64(True):
            S = scores.scores_from_orbits(orbits_from_zero(SymmetricScores(a, b, np.array(H).reshape(3, 3)), 20), 20)
            return np.asarray(transformer.weights_with(S, patterns))

    return {t: weights(t) for t in (0.0, 1e4, 2e5)}, patterns


def literal_chain(W, mu, columns, query, K, K_X):
    """Algorithm 2 on explicit column vectors (K of them an example), without tables."""
    columns, answers = list(columns), [query]
    for k in range(K):
        asked = np.concatenate([mu[answers[-1]], np.zeros(K_X), np.eye(K)[k]])
        P = np.array(columns)
        scores = P @ W @ asked
        attention = np.exp(scores - scores.max())
        F = attention @ P[:, K_X : 2 * K_X] / attention.sum()
        answers.append(int((mu @ F).argmax()))
        columns.append(np.concatenate([mu[answers[-2]], mu[answers[-1]], np.eye(K)[k]]))
    return answers[1:]


def test_tabulated_inference_is_algorithm_2_on_explicit_columns(trained):
    patterns = trained[1]
    W = trained[0][1e4] + 0.1 * rng(5).standard_normal((63, 63))
    mu = shifted_patterns.rotated_patterns(rng(3), patterns, 10)
    tables = inference.scorer(W, mu)
    prompts = next(iter(inference.sampled_prompts(rng(4), DEFAULT, 30, 6, 0.5)))
    noises = inference.noise_vectors(rng(6), prompts.chains.shape, tables, 0.5)
    vectors = mu[prompts.chains] + noises @ shifted_patterns.complement(mu)
    ours = np.stack([r.answer for r in inference.chain_of_thought(rng(), tables, prompts, noises)], axis=1)
    zeros, c = np.zeros((6, 60)), np.eye(3)
    one_step = inference.in_context(rng(), tables, prompts, noises).answer
    for i in range(30):
        steps = [
            np.concatenate([vectors[i, :, k], vectors[i, :, k + 1], np.tile(c[k], (6, 1))], axis=1) for k in range(3)
        ]
        assert literal_chain(W, mu, np.concatenate(steps), prompts.query[i], 3, 30) == ours[i].tolist()
        padded = [np.concatenate([vectors[i, :, 0], vectors[i, :, 3], np.tile(c[0], (6, 1))], axis=1)]
        padded += [np.concatenate([zeros, np.tile(c[k], (6, 1))], axis=1) for k in (1, 2)]
        assert literal_chain(W, mu, np.concatenate(padded), prompts.query[i], 3, 30)[0] == one_step[i]


def test_noise_is_of_the_given_norm_and_orthogonal_to_the_test_patterns(trained):
    mu = shifted_patterns.rotated_patterns(rng(1), trained[1], 10)
    tables = inference.scorer(trained[0][1e4], mu)
    noise = inference.noise_vectors(rng(), (5, 4, 4), tables, 0.2) @ shifted_patterns.complement(mu)
    assert np.linalg.norm(noise, axis=-1) == pytest.approx(0.2)
    assert np.abs(noise @ mu.T).max() < 1e-14


def test_attention_concentrates_on_matching_examples(trained):
    weights, patterns = trained
    mu = shifted_patterns.rotated_patterns(rng(1), patterns, 10)
    ours, matching = inference.inference_errors(rng(), weights[2e5], mu, DEFAULT, TASK, 2000, 20, 0.8)
    assert matching == pytest.approx([0.998, 0.997, 0.995], abs=0.004)
    assert ours.cot == pytest.approx(0.0075, abs=deviation(0.0075, 2000))
    assert ours.icl == pytest.approx(0.179, abs=deviation(0.179, 2000))


def test_an_untrained_model_cannot_reason(trained):
    mu = shifted_patterns.rotated_patterns(rng(1), trained[1], 10)
    ours, _ = inference.inference_errors(rng(), trained[0][0.0], mu, DEFAULT, TASK, 1000, 20, 0.8)
    assert ours.cot == pytest.approx(0.68, abs=0.04)


def test_noise_orthogonal_to_the_test_patterns_is_nearly_harmless(trained):
    mu = shifted_patterns.rotated_patterns(rng(1), trained[1], 10)
    cot = [
        inference.inference_errors(rng(2), trained[0][1e4], mu, DEFAULT, TASK, 2000, 20, 0.8, noise=level)[0].cot
        for level in (0.0, 0.7)
    ]
    assert abs(cot[0] - cot[1]) < deviation(0.01, 2000)


@pytest.mark.parametrize("overlap", [0.0, 0.8, 1.0])
def test_score_of_a_pattern_for_itself_falls_with_its_overlap_with_the_blind_direction(trained, overlap):
    weights, patterns = trained
    mu = shifted_patterns.overlapping_patterns(rng(1), patterns, 10, overlap)
    assert np.abs(mu @ mu.T - np.eye(10)).max() < 1e-14
    assert blind_overlap(mu, patterns)[0] == pytest.approx(overlap, abs=1e-14)
    scores_of_query = inference.scorer(weights[1e4], mu).inputs[0, 0]
    a = Population(20, 3, 0.4).solve(1e4, rtol=1e-8, atol=1e-10)(1e4)[0]
    assert scores_of_query[0] == pytest.approx(a * (1 - overlap**2), abs=1e-5)


def test_score_tables_of_symmetric_variables_are_those_of_the_weights(trained):
    weights, patterns = trained
    y = Population(20, 3, 0.4).solve(1e4, rtol=1e-8, atol=1e-10)(1e4)
    mu = shifted_patterns.rotated_patterns(rng(1), patterns, 10)
    built = inference.scorer(weights[1e4], mu)
    ours = testing.symmetric_scorer(y, 20, blind_overlap(mu, patterns))
    for name in ("inputs", "labels", "steps"):
        assert np.abs(getattr(ours, name) - getattr(built, name)).max() < 1e-5
    for name in ("input_noise", "label_noise"):  # of all directions noise may take, one is felt
        felt = np.linalg.norm(getattr(built, name), axis=-1)
        assert np.abs(np.abs(getattr(ours, name)[..., 0]) - felt).max() < 1e-5


def test_the_felt_coordinate_of_noise_is_that_of_isotropic_noise():
    felt = testing.blind_noise(rng(), (20000,), 20, 0.2)[:, 0]
    assert felt.mean() == pytest.approx(0, abs=4 * 0.2 / np.sqrt(20 * 20000))
    assert (felt**2).mean() == pytest.approx(0.2**2 / 20, rel=0.05)
    assert testing.blind_noise(rng(), (3,), 0, 0.2) is None


def test_errors_along_training_are_observables_of_the_flow():
    """The specification: CoT 0.67-0.70 untrained, 0.0123 (ICL 0.195) at 1e4, 0.0078 at 2e5, of 2000 prompts."""
    names = ("cot_error", "icl_error", "attention_matching", "cot_error_limit", "icl_error_limit")
    run = solve(load("prompt"), load("prompt").setup(n_prompts=4000), at=[0.0, 1e4, 2e5], observe=names)
    assert run["cot_error"] == pytest.approx([0.685, 0.0123, 0.0078], abs=0.02)
    assert run["cot_error"][1:] == pytest.approx([0.0123, 0.0078], abs=deviation(0.01, 2000))
    assert run["icl_error"][1:] == pytest.approx([0.195, 0.179], abs=deviation(0.19, 2000))
    assert (run["cot_error_limit"][0], run["icl_error_limit"][0]) == pytest.approx((0.0072, 0.180), abs=deviation(0.18))
    assert run["attention_matching"][2] == pytest.approx(0.997, abs=0.004)


def test_one_step_inference_fails_where_the_chain_succeeds_on_the_same_prompts_of_the_trained_model():
    setup = load("prompt").setup(style="attractor", tau=0.6**3, l_ts=80, n_prompts=1000)
    run = solve(load("prompt"), setup, at=[2e5], observe=("cot_error", "icl_error"))
    assert run["icl_error"][0] > 0.9 > 0.2 > run["cot_error"][0]


@pytest.mark.parametrize("alpha_test, attention", [(0.05, 0.050), (0.1, 0.099), (0.2, 0.199)])
def test_attention_on_the_blind_pattern_is_its_share_of_examples_at_every_length(trained, alpha_test, attention):
    weights, patterns = trained
    mu = shifted_patterns.overlapping_patterns(rng(1), patterns, 10, 1.0)
    for n_examples in (20, 100):
        _, matching = inference.inference_errors(
            rng(), weights[2e5], mu, DEFAULT, TASK, 100, n_examples, alpha_test, queries=0
        )
        assert matching[0] == pytest.approx(attention, abs=1.1e-3)


def test_a_longer_prompt_repairs_blindness_above_one_over_the_number_of_patterns_only(trained):
    weights, patterns = trained
    mu = shifted_patterns.overlapping_patterns(rng(1), patterns, 10, 1.0)
    error = lambda alpha: (
        inference.inference_errors(rng(), weights[2e5], mu, DEFAULT, TASK, 200, 500, alpha, queries=0)[0].cot
    )
    assert error(0.05) > 0.95 and error(0.2) < 0.02
