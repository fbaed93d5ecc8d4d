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

from flowsys.systems.prompt.examples import Examples, ReasoningErrors, tallied

N_HELD = 1 << 15  # examples in memory at a time: each has K + 1 noise vectors
TIE = 1e-12  # attention closer than this is a tie, broken uniformly


class Tested(NamedTuple):
    """A model tested on random prompts."""

    errors: ReasoningErrors
    masses: np.ndarray  # (K, 4): mean attention on the four kinds of columns (Fig. 5), of those S_k* first

    @property
    def attention(self) -> np.ndarray:
        """(K,): mean attention on matching examples S_k* (Proposition 1)."""
        return self.masses[:, 0]


class Reading(NamedTuple):
    """One attention step: the decoded patterns (n,), and the attention (n, 4) on columns of (same, same) = S_k*,
    (same, other), (other, same), (other, other) (pattern, step)."""

    answer: np.ndarray
    masses: np.ndarray


class Scorer(NamedTuple):
    """W q for every query q = (μ'_v; 0) + c_k, read on test patterns, on noise directions and on steps."""

    inputs: np.ndarray  # (K, M', M'): query step, query pattern, column's input pattern
    labels: np.ndarray  # (K, M', M')
    input_noise: np.ndarray  # (K, M', directions that are felt)
    label_noise: np.ndarray
    steps: np.ndarray  # (K, M', K)

    @property
    def n_felt(self) -> int:
        """Of how many directions of noise the scores know."""
        return self.input_noise.shape[-1]

    @classmethod
    def of(cls, S: np.ndarray, patterns: np.ndarray) -> "Scorer":
        """Tables of the model with frame entries S for test patterns (M', M) in the frame of the training patterns."""
        M = patterns.shape[1]
        of_query = (S[None, :, :M] @ patterns.T[None] + S[:, M:].T[:, :, None]).transpose(0, 2, 1)  # (K, M', 2M + K)
        on_input, on_label, on_step = of_query[..., :M], of_query[..., M : 2 * M], of_query[..., 2 * M :]
        noise = np.linalg.svd(patterns)[2][len(patterns) :].T  # what the test patterns leave of the span
        return cls(on_input @ patterns.T, on_label @ patterns.T, on_input @ noise, on_label @ noise, on_step)

    def scores(self, k: int, asked: np.ndarray, inputs: np.ndarray, labels: np.ndarray, noises=None) -> np.ndarray:
        """Scores of columns of these inputs and labels (n, …), without that of their step; noises of both, or None."""
        row = asked.reshape((-1,) + (1,) * (inputs.ndim - 1))
        found = self.inputs[k][row, inputs] + self.labels[k][row, labels]
        if noises is not None:
            tables = self.input_noise[k][asked], self.label_noise[k][asked]
            flat = [noise.reshape(len(asked), -1, self.n_felt) for noise in noises]
            felt = sum(noise @ table[:, :, None] for noise, table in zip(flat, tables))
            found += felt.reshape(found.shape)
        return found


def tested(blocks: Iterable[Examples], rng: np.random.Generator, tables: Scorer, noise_of: Callable, targets) -> Tested:
    """The model with these tables on blocks of prompts; `noise_of(shape)` draws the noise of patterns, or None."""
    masses = []

    def answers():
        for prompts in blocks:
            noises = noise_of(prompts.chains.shape)
            steps = chain_of_thought(rng, tables, prompts, noises)
            masses.append(np.stack([step.masses for step in steps], axis=1))
            one_step = in_context(rng, tables, prompts, noises)
            yield prompts.query, np.stack([step.answer for step in steps], axis=1), one_step.answer

    errors = tallied(answers(), targets)
    return Tested(errors, np.concatenate(masses).mean(axis=0))


def chain_of_thought(rng: np.random.Generator, tables: Scorer, prompts: Examples, noises) -> list[Reading]:
    """Algorithm 2: the K readings of every prompt."""
    K, readings, answers = tables.steps.shape[0], [], [prompts.query]
    inputs, labels = prompts.chains[:, :, :-1], prompts.chains[:, :, 1:]
    noisy = None if noises is None else (noises[:, :, :-1], noises[:, :, 1:])
    for k in range(K):
        asked = answers[-1]
        scores = tables.scores(k, asked, inputs, labels, noisy) + tables.steps[k][asked][:, None, :]
        columns = [(scores, labels, 2 * (inputs != asked[:, None, None]) + (np.arange(K) != k))]
        for earlier in range(k):
            own, label = answers[earlier][:, None], answers[earlier + 1][:, None]
            scores = tables.scores(k, asked, own, label) + tables.steps[k][asked, earlier][:, None]
            columns.append((scores, label, 2 * (own != asked[:, None]) + 1))
        flat = [np.concatenate([part.reshape(len(asked), -1) for part in parts], axis=1) for parts in zip(*columns)]
        readings.append(_read(rng, flat[0], flat[1], flat[2], tables))
        answers.append(readings[-1].answer)
    return readings


def in_context(rng: np.random.Generator, tables: Scorer, prompts: Examples, noises) -> Reading:
    """One-step inference (Eq. 8)."""
    asked, inputs, outputs = prompts.query, prompts.chains[:, :, 0], prompts.chains[:, :, -1]
    steps = tables.steps[0][asked]
    noisy = None if noises is None else (noises[:, :, 0], noises[:, :, -1])
    scores = tables.scores(0, asked, inputs, outputs, noisy) + steps[:, :1]
    # The zero columns of one step are alike: as many as there are examples weigh as one with their logarithm added.
    scores = np.concatenate([scores, steps[:, 1:] + np.log(inputs.shape[1])], axis=1)
    return _read(rng, scores, outputs, 2 * (inputs != asked[:, None]), tables)


def _read(rng, scores, labels, kinds, tables) -> Reading:
    """Softmax over the columns; those beyond `labels` have value 0. `kinds` tells whose attention counts as which."""
    n, M_test = len(scores), tables.steps.shape[1]
    attention = np.exp(scores - scores.max(axis=1, keepdims=True))
    attention /= attention.sum(axis=1, keepdims=True)
    on_columns = attention[:, : labels.shape[1]].ravel()
    tally = lambda index, m: np.bincount((np.arange(n)[:, None] * m + index).ravel(), on_columns, minlength=n * m)
    output, masses = tally(labels, M_test).reshape(n, M_test), tally(kinds, 4).reshape(n, 4)
    return Reading((output + TIE * rng.random(output.shape)).argmax(axis=1), masses)
