"""Inference with trained weights on noisy, erroneous examples: chain of thought (Algorithm 2) and in one step (Eq. 8).

Every pattern of an example is μ'_j + δ with δ ⊥ span(M') of a given norm, the same vector where it is an output and
where it is the next step's input. Decoding is argmax_j F·μ'_j (Eq. 5), which noise does not enter; answers are
appended to the prompt without noise, as (v_{k-1}; v_k) + c_k (Eq. 6). In ICL an example is (x_i; y_iK) + c_1 and K
- 1 zero columns with c_2..c_K. A column's score is read from tables of μ'_jᵀ W (μ'_i; 0) and from its noise alone,
so prompts cost a few operations a column.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from flowsys.systems.prompt.examples import Examples, ReasoningErrors, tallied

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
    """One attention step: the decoded patterns (n,), and the attention (n, 4) on columns of (same, same) = S_k*,
    (same, other), (other, same), (other, other) (pattern, step)."""

    answer: np.ndarray
    masses: np.ndarray


def scorer(S: np.ndarray, test_patterns: np.ndarray) -> Scorer:
    """Tables of the model with frame entries S for test patterns (M', M) in the frame of the training patterns."""
    M = test_patterns.shape[1]
    of_query = S[None, :, :M] @ test_patterns.T[None] + S[:, M:].T[:, :, None]  # (K, 2M + K, M')
    of_query = of_query.transpose(0, 2, 1)
    on_input, on_label, on_step = of_query[..., :M], of_query[..., M : 2 * M], of_query[..., 2 * M :]
    noise = np.linalg.svd(test_patterns)[2][len(test_patterns) :].T  # what the test patterns leave of the span
    return Scorer(on_input @ test_patterns.T, on_label @ test_patterns.T, on_input @ noise, on_label @ noise, on_step)


def noise_vectors(
    rng: np.random.Generator, shape: tuple, tables: Scorer, n_directions: int, level: float
) -> np.ndarray | None:
    """δ for every pattern of every example, isotropic of norm `level` in `n_directions`, as scores see it; or None."""
    n_felt = tables.input_noise.shape[-1]
    if level == 0 or n_felt == 0:
        return None
    noise = rng.standard_normal((*shape, n_directions))
    noise *= (level / np.sqrt(np.einsum("...d,...d->...", noise, noise)))[..., None]
    return noise[..., :n_felt]


def errors_on(
    blocks: Iterable[Examples], rng: np.random.Generator, tables: Scorer, noise_of: Callable, targets: np.ndarray
) -> tuple[ReasoningErrors, np.ndarray, np.ndarray]:
    """Errors, attention on S_k* and on the four kinds of columns by step; `noise_of(shape)` draws patterns' noise."""
    masses = []

    def answers():
        for prompts in blocks:
            noises = noise_of(prompts.chains.shape)
            steps = chain_of_thought(rng, tables, prompts, noises)
            masses.append(np.stack([step.masses for step in steps], axis=1))
            one_step = in_context(rng, tables, prompts, noises)
            yield prompts.query, np.stack([step.answer for step in steps], axis=1), one_step.answer

    errors = tallied(answers(), targets)
    found = np.concatenate(masses).mean(axis=0)
    return errors, found[:, 0], found


def chain_of_thought(rng: np.random.Generator, tables: Scorer, prompts: Examples, noises: Any) -> list[Reading]:
    """Algorithm 2: the K readings of every prompt."""
    K = tables.steps.shape[0]
    chains, answers, readings = prompts.chains, [prompts.query], []
    for k in range(K):
        asked = answers[-1]
        scores = _column_scores(tables, k, asked, chains[:, :, :-1], chains[:, :, 1:])
        scores += tables.steps[k][asked][:, None, :]
        if noises is not None:
            scores += _noise_scores(tables, k, asked, noises[:, :, :-1], noises[:, :, 1:])
        kind = 2 * (chains[:, :, :-1] != asked[:, None, None]) + (np.arange(K) != k)
        columns = [(scores, chains[:, :, 1:], kind)]
        for earlier in range(k):
            own, label = answers[earlier][:, None], answers[earlier + 1][:, None]
            scores = _column_scores(tables, k, asked, own, label) + tables.steps[k][asked, earlier][:, None]
            columns.append((scores, label, 2 * (own != asked[:, None]) + 1))
        flat = (np.concatenate([part.reshape(len(asked), -1) for part in parts], axis=1) for parts in zip(*columns))
        readings.append(_read(rng, *flat, tables))
        answers.append(readings[-1].answer)
    return readings


def in_context(rng: np.random.Generator, tables: Scorer, prompts: Examples, noises: Any) -> Reading:
    """One-step inference (Eq. 8)."""
    asked, n_examples = prompts.query, prompts.chains.shape[1]
    inputs, outputs = prompts.chains[:, :, 0], prompts.chains[:, :, -1]
    steps = tables.steps[0][asked]
    scores = _column_scores(tables, 0, asked, inputs, outputs) + steps[:, :1]
    if noises is not None:
        scores += _noise_scores(tables, 0, asked, noises[:, :, 0], noises[:, :, -1])
    # The zero columns of one step are alike: n_examples of them weigh as one with log n_examples added.
    scores = np.concatenate([scores, steps[:, 1:] + np.log(n_examples)], axis=1)
    return _read(rng, scores, outputs, 2 * (inputs != asked[:, None]), tables)


def _column_scores(tables, k, asked, inputs, labels):
    row = asked.reshape((-1,) + (1,) * (inputs.ndim - 1))
    return tables.inputs[k][row, inputs] + tables.labels[k][row, labels]


def _noise_scores(tables, k, asked, input_noises, label_noises):
    n, d = len(asked), input_noises.shape[-1]
    on_inputs = input_noises.reshape(n, -1, d) @ tables.input_noise[k][asked][:, :, None]
    on_labels = label_noises.reshape(n, -1, d) @ tables.label_noise[k][asked][:, :, None]
    return (on_inputs + on_labels).reshape(input_noises.shape[:-1])


def _read(rng, scores, labels, kinds, tables) -> Reading:
    """Softmax over the columns; those beyond `labels` have value 0. `kinds` tells whose attention counts as which."""
    n, M_test = len(scores), tables.steps.shape[1]
    attention = np.exp(scores - scores.max(axis=1, keepdims=True))
    attention /= attention.sum(axis=1, keepdims=True)
    on_columns = attention[:, : labels.shape[1]].ravel()
    row = np.arange(n)[:, None]
    output = np.bincount((row * M_test + labels).ravel(), on_columns, minlength=n * M_test).reshape(n, M_test)
    masses = np.bincount((row * 4 + kinds).ravel(), on_columns, minlength=n * 4).reshape(n, 4)
    return Reading((output + TIE * rng.random(output.shape)).argmax(axis=1), masses)
