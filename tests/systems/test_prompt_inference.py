"""Inference by the trained model: Algorithm 2 column by column, concentration, noise, and the blind direction.

Weights come from the population flow of the oracle; errors along training from `solve`.
"""

from dataclasses import replace

import numpy as np
import pytest
from prompt_oracle import Population
from test_prompt_model import entries_of

from flowsys import load, solve
from flowsys.systems.prompt import examples, inference, testing
from flowsys.systems.prompt.symmetric import SymmetricScores, orbits_from_zero

SYSTEM = load("prompt")
DEFAULT = examples.law_of(SYSTEM.setup())
N = 4000


def rng(seed=0):
    return np.random.default_rng(seed)


def deviation(error, n_prompts=N):
    """Three standard errors of an error rate, of ours and of the measured one together."""
    return 3 * np.sqrt(2 * max(error, 1e-3) * (1 - error) / n_prompts)


def blind_overlap(mu):
    """λ of every test pattern, given in the frame of the training patterns."""
    return mu.sum(axis=1) / np.sqrt(mu.shape[1])


def frame_patterns(seed=1, overlap=None):
    return testing.test_patterns({"seed": seed, "M": 20, "M_test": 10}, overlap)


@pytest.fixture(scope="module")
def trained():
    """Frame entries of the population flow at Appendix E's sizes."""
    course = Population(20, 3, 0.4).solve(2e5, rtol=1e-8, atol=1e-10)
    return {t: entries_of(orbits_from_zero(SymmetricScores.of(course(t)), 20), 20) for t in (0.0, 1e4, 2e5)}


def asked(S, overlap=None, **parameters):
    return testing.tested(SYSTEM.setup(**parameters), S, overlap)


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
    S = trained[1e4] + 0.1 * rng(5).standard_normal((43, 23))
    W = np.zeros((43, 43))
    W[:, :20], W[:, 40:] = S[:, :20], S[:, 20:]
    mu = frame_patterns()
    tables = inference.Scorer.of(S, mu)
    prompts = next(iter(DEFAULT.prompts(rng(4), {"n_prompts": 30, "l_ts": 6, "alpha_test": 0.5}, 1 << 15)))
    noises = testing.noise(rng(6), prompts.chains.shape, tables.n_felt, 10, 0.5)
    vectors = mu[prompts.chains] + noises @ np.linalg.svd(mu)[2][10:]
    ours, masses = inference.chain_of_thought(rng(), tables, prompts, noises)
    assert masses.sum(axis=2) == pytest.approx(1)
    zeros, c = np.zeros((6, 40)), np.eye(3)
    one_step = inference.in_context(rng(), tables, prompts, noises)
    for i in range(30):
        steps = [
            np.concatenate([vectors[i, :, k], vectors[i, :, k + 1], np.tile(c[k], (6, 1))], axis=1) for k in range(3)
        ]
        assert literal_chain(W, mu, np.concatenate(steps), prompts.query[i], 3, 20) == ours[i].tolist()
        padded = [np.concatenate([vectors[i, :, 0], vectors[i, :, 3], np.tile(c[0], (6, 1))], axis=1)]
        padded += [np.concatenate([zeros, np.tile(c[k], (6, 1))], axis=1) for k in (1, 2)]
        assert literal_chain(W, mu, np.concatenate(padded), prompts.query[i], 3, 20)[0] == one_step[i]


def test_noise_is_of_the_given_norm_and_orthogonal_to_the_test_patterns(trained):
    mu = frame_patterns()
    tables = inference.Scorer.of(trained[1e4], mu)
    noise = testing.noise(rng(), (5, 4, 4), tables.n_felt, 10, 0.2) @ np.linalg.svd(mu)[2][10:]
    assert np.linalg.norm(noise, axis=-1) == pytest.approx(0.2)
    assert np.abs(noise @ mu.T).max() < 1e-14
    felt = testing.noise(rng(), (4000,), tables.n_felt, 20, 0.2)  # ten directions outside of the span are not felt
    assert felt.shape == (4000, 10) and (felt**2).sum(axis=1).mean() == pytest.approx(0.02, rel=0.05)


def test_attention_concentrates_on_matching_examples(trained):
    found = asked(trained[2e5], n_prompts=2000)
    assert found.attention == pytest.approx([0.998, 0.997, 0.995], abs=0.004)
    assert found.cot == pytest.approx(0.0075, abs=deviation(0.0075, 2000))
    assert found.icl == pytest.approx(0.179, abs=deviation(0.179, 2000))


def test_an_untrained_model_cannot_reason(trained):
    found = asked(trained[0.0])
    assert found.cot == pytest.approx(0.68, abs=0.04)
    # uniform attention at step 1: α'/K on S_1*, (1 - α')/K on other patterns of the step
    assert found.masses[0, [0, 2]] == pytest.approx([0.8 / 3, 0.2 / 3]) and found.masses[0].sum() == pytest.approx(1)


def test_noise_orthogonal_to_the_test_patterns_is_nearly_harmless(trained):
    cot = [asked(trained[1e4], n_prompts=2000, noise=level).cot for level in (0.0, 0.7)]
    assert abs(cot[0] - cot[1]) < deviation(0.01, 2000)


@pytest.mark.parametrize("overlap", [0.0, 0.8, 1.0])
def test_score_of_a_pattern_for_itself_falls_with_its_overlap_with_the_blind_direction(trained, overlap):
    mu = frame_patterns(overlap=overlap)
    assert np.abs(mu @ mu.T - np.eye(10)).max() < 1e-14
    assert blind_overlap(mu)[0] == pytest.approx(overlap, abs=1e-14)
    a = trained[1e4][0, 0] - trained[1e4][0, 1]
    assert inference.Scorer.of(trained[1e4], mu).inputs[0, 0, 0] == pytest.approx(a * (1 - overlap**2), abs=1e-5)


def test_score_tables_of_symmetric_variables_are_those_of_the_weights(trained):
    y = Population(20, 3, 0.4).solve(1e4, rtol=1e-8, atol=1e-10)(1e4)
    mu = frame_patterns()
    λ = blind_overlap(mu)
    entries = testing.frame_entries(y, 20, np.append(λ, np.sqrt(1 - λ @ λ)))
    built, ours = inference.Scorer.of(trained[1e4], mu), inference.Scorer.of(entries, np.eye(10, 11))
    for name in ("inputs", "labels", "steps"):
        assert np.abs(getattr(ours, name) - getattr(built, name)).max() < 1e-5
    for name in ("input_noise", "label_noise"):  # of all directions noise may take, one is felt
        felt = np.linalg.norm(getattr(built, name), axis=-1)
        assert np.abs(np.abs(getattr(ours, name)[..., 0]) - felt).max() < 1e-5


def test_the_felt_coordinate_of_noise_is_that_of_isotropic_noise():
    felt = testing.noise(rng(), (20000,), 1, 20, 0.2)[:, 0]
    assert felt.mean() == pytest.approx(0, abs=4 * 0.2 / np.sqrt(20 * 20000))
    assert (felt**2).mean() == pytest.approx(0.2**2 / 20, rel=0.05)
    assert testing.noise(rng(), (3,), 1, 0, 0.2) is None


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
    for l_ts in (20, 100):
        found = asked(trained[2e5], 1.0, n_prompts=100, l_ts=l_ts, alpha_test=alpha_test)
        assert found.attention[0] == pytest.approx(attention, abs=1.1e-3)


def test_a_longer_prompt_repairs_blindness_above_one_over_the_number_of_patterns_only(trained):
    error = lambda alpha: asked(trained[2e5], 1.0, n_prompts=200, l_ts=500, alpha_test=alpha).cot
    assert error(0.05) > 0.95 and error(0.2) < 0.02


def test_the_model_errs_less_where_the_attractor_ends_at_the_querys_own_pattern():
    """Fig. 4: b < 0 takes attention from such labels; the attractor of shifts, 9 → 0 → 2 → 5, does so for query 5."""
    setup = SYSTEM.setup(style="attractor", tau=0.7**3, beta=0.8, l_ts=160, n_prompts=150)
    law = examples.law_of(setup)
    y = solve(SYSTEM, setup, at=[2e5], observe=["b"]).states[0]
    error = lambda query, y: testing.tested(setup, y, None, replace(law, queries=np.array([query]))).icl
    assert law.targets[-1, 9] == 5 and y[1] < -0.2
    without = np.concatenate([y[:1], [0.0], y[2:]])
    assert error(5, y) < 0.45 < 0.55 < min(error(0, y), error(5, without))
