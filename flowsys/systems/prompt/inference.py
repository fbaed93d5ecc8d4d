"""Inference with trained weights on noisy, erroneous examples: chain of thought (Algorithm 2) and in one step (Eq. 8).

Every pattern of an example is μ'_j + δ with δ ⊥ span(M') of a given norm, the same vector where it is an output and
where it is the next step's input. Decoding is argmax_j F·μ'_j (Eq. 5), which noise does not enter; answers are
appended to the prompt without noise, as (v_{k-1}; v_k) + c_k (Eq. 6). In ICL an example is (x_i; y_iK) + c_1 and K
- 1 zero columns with c_2..c_K. A column's score is read from tables of μ'_jᵀ W (μ'_i; 0) and from its noise alone,
so prompts cost a few operations a column.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from flowsys.errors import InputError

from .checks import check_at_least
from .examples import Examples, ReasoningErrors, sampled_prompts, tallied
from .shifted_patterns import complement
from .transitions import trajectories

N_HELD = 1 << 15  # examples in memory at a time: each has K + 1 noise vectors
TIE = 1e-12  # attention closer than this is a tie, broken uniformly


class Scorer(NamedTuple):
    """W q for every query q = (μ'_v; 0) + c_k, read on test patterns, on noise directions and on steps."""

    inputs: np.ndarray  # (K, M', M'): query step, query pattern, column's input pattern
    labels: np.ndarray  # (K, M', M')
    input_noise: np.ndarray  # (K, M', d_X - M')
    label_noise: np.ndarray  # (K, M', d_X - M')
    steps: np.ndarray  # (K, M', K)


class Reading(NamedTuple):
    """One attention step: the decoded patterns and the attention on the matching columns S_k*."""

    answer: np.ndarray
    matching: np.ndarray


def scorer(W, test_patterns) -> Scorer:
    """Tables of the model with weights W for the given test patterns."""
    W, test_patterns = np.asarray(W), np.asarray(test_patterns)
    d_X = test_patterns.shape[1]
    queries = W[None, :, :d_X] @ test_patterns.T[None] + W[:, 2 * d_X :].T[:, :, None]  # (K, D, M')
    queries = queries.transpose(0, 2, 1)
    on_input, on_label, on_step = queries[..., :d_X], queries[..., d_X : 2 * d_X], queries[..., 2 * d_X :]
    noise = complement(test_patterns).T
    return Scorer(on_input @ test_patterns.T, on_label @ test_patterns.T, on_input @ noise, on_label @ noise, on_step)


def inference_errors(
    rng: np.random.Generator,
    W,
    test_patterns,
    transitions,
    task,
    n_prompts: int,
    n_examples: int,
    alpha_test: float,
    noise: float = 0.2,
    queries=None,
) -> tuple[ReasoningErrors, np.ndarray]:
    """CoT and ICL errors on the same prompts, and the mean attention on S_k* at every step of CoT (Proposition 1)."""
    tables = scorer(W, test_patterns)
    blocks = sampled_prompts(rng, transitions, n_prompts, n_examples, alpha_test, queries, N_HELD)
    return errors_on(blocks, rng, tables, lambda shape: noise_vectors(rng, shape, tables, noise), task)


def errors_on(
    blocks: Iterable[Examples], rng: np.random.Generator, tables: Scorer, noise_of: Callable, task
) -> tuple[ReasoningErrors, np.ndarray]:
    """Errors and attention on given prompts; `noise_of(shape)` draws the noise of as many patterns."""
    matching = []

    def answers():
        for prompts in blocks:
            noises = noise_of(prompts.chains.shape)
            steps = chain_of_thought(rng, tables, prompts, noises)
            matching.append(np.stack([step.matching for step in steps], axis=1))
            one_step = in_context(rng, tables, prompts, noises)
            yield prompts.query, np.stack([step.answer for step in steps], axis=1), one_step.answer

    errors = tallied(answers(), trajectories(task))
    return errors, np.concatenate(matching).mean(axis=0)


def noise_vectors(rng, shape, tables: Scorer, level: float):
    """δ for every pattern of every example, isotropic of norm `level` and orthogonal to the test patterns; or None."""
    d = tables.input_noise.shape[-1]
    if check_at_least("noise", level, 0.0) == 0:
        return None
    if d == 0:
        raise InputError(f"noise = {level!r}, but with d_X = M_test there is no direction for it: noise must be 0.")
    noise = rng.standard_normal((*shape, d))
    return noise * (level / np.sqrt(np.einsum("...d,...d->...", noise, noise)))[..., None]


def chain_of_thought(rng, tables: Scorer, prompts: Examples, noises) -> list[Reading]:
    """Algorithm 2: the K readings of every prompt."""
    K = tables.steps.shape[0]
    chains, answers, readings = prompts.chains, [prompts.query], []
    for k in range(K):
        asked = answers[-1]
        scores = _column_scores(tables, k, asked, chains[:, :, :-1], chains[:, :, 1:])
        scores += tables.steps[k][asked][:, None, :]
        if noises is not None:
            scores += _noise_scores(tables, k, asked, noises[:, :, :-1], noises[:, :, 1:])
        labels = [chains[:, :, 1:].reshape(len(asked), -1)]
        scores = [scores.reshape(len(asked), -1)]
        is_matching = np.zeros(chains[:, :, 1:].shape, dtype=bool)
        is_matching[:, :, k] = chains[:, :, k] == asked[:, None]
        for earlier in range(k):
            own = _column_scores(tables, k, asked, answers[earlier][:, None], answers[earlier + 1][:, None])
            scores.append(own + tables.steps[k][asked, earlier][:, None])
            labels.append(answers[earlier + 1][:, None])
        readings.append(_read(rng, np.concatenate(scores, axis=1), np.concatenate(labels, axis=1), is_matching, tables))
        answers.append(readings[-1].answer)
    return readings


def in_context(rng, tables: Scorer, prompts: Examples, noises) -> Reading:
    """One-step inference (Eq. 8)."""
    asked, n_examples = prompts.query, prompts.chains.shape[1]
    inputs, outputs = prompts.chains[:, :, 0], prompts.chains[:, :, -1]
    steps = tables.steps[0][asked]
    scores = _column_scores(tables, 0, asked, inputs, outputs) + steps[:, :1]
    if noises is not None:
        scores += _noise_scores(tables, 0, asked, noises[:, :, 0], noises[:, :, -1])
    # The zero columns of one step are alike: n_examples of them weigh as one with log n_examples added.
    scores = np.concatenate([scores, steps[:, 1:] + np.log(n_examples)], axis=1)
    return _read(rng, scores, outputs, inputs == asked[:, None], tables)


def _column_scores(tables, k, asked, inputs, labels):
    row = asked.reshape((-1,) + (1,) * (inputs.ndim - 1))
    return tables.inputs[k][row, inputs] + tables.labels[k][row, labels]


def _noise_scores(tables, k, asked, input_noises, label_noises):
    n, d = len(asked), input_noises.shape[-1]
    on_inputs = input_noises.reshape(n, -1, d) @ tables.input_noise[k][asked][:, :, None]
    on_labels = label_noises.reshape(n, -1, d) @ tables.label_noise[k][asked][:, :, None]
    return (on_inputs + on_labels).reshape(input_noises.shape[:-1])


def _read(rng, scores, labels, is_matching, tables) -> Reading:
    """Softmax over the columns; those beyond `labels` have value 0. `is_matching` marks the first columns."""
    n, M_test = len(scores), tables.steps.shape[1]
    attention = np.exp(scores - scores.max(axis=1, keepdims=True))
    attention /= attention.sum(axis=1, keepdims=True)
    cell = np.arange(n)[:, None] * M_test + labels
    output = np.bincount(cell.ravel(), attention[:, : labels.shape[1]].ravel(), minlength=n * M_test).reshape(n, M_test)
    flat = is_matching.reshape(n, -1)
    matching = (attention[:, : flat.shape[1]] * flat).sum(axis=1)
    return Reading((output + TIE * rng.random(output.shape)).argmax(axis=1), matching)
