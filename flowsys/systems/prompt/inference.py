"""Inference on noisy, erroneous examples: chain of thought (Algorithm 2) and in one step (Eq. 8), and its limit.

Every pattern of an example is μ'_j + δ with δ ⊥ span(M') of a given norm, the same vector where it is an output and
where it is the next step's input. Decoding is argmax_j F·μ'_j (Eq. 5), which noise does not enter; answers are
appended to the prompt without noise, as (v_{k-1}; v_k) + c_k (Eq. 6). In ICL an example is (x_i; y_iK) + c_1 and K
- 1 zero columns with c_2..c_K. A column's score is read from tables of μ'_jᵀ W (μ'_i; 0) and from its noise alone,
so prompts cost a few operations a column.

Trained long enough, a query at step k attends only to step-k columns whose input pattern is v_{k-1} (Proposition 1);
greedy decoding then is a vote among their labels, a uniform guess where no example matches. ICL votes among the final
outputs of the examples that start at the query.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from flowsys.systems.prompt.examples import Prompts

TIE = 1e-12  # attention closer than this is a tie, broken uniformly


class Tested(NamedTuple):
    """Inference tested on random prompts."""

    is_wrong: np.ndarray  # (n, K): v_k ≠ z_k along the chain of thought
    is_wrong_at_once: np.ndarray  # (n,): the answer in one step is not z_K
    masses: np.ndarray  # (K, 4): mean attention on the four kinds of columns (Fig. 5), of those S_k* first

    @classmethod
    def on(cls, blocks: Iterable[Prompts], targets: np.ndarray, answers: Callable[[Prompts], tuple]) -> "Tested":
        """Blocks of prompts with correct patterns (K + 1, M'); answers are v_1..v_K, the one in one step, attention."""
        parts = [(prompts.query, *answers(prompts)) for prompts in blocks]
        query, steps, at_once, masses = map(np.concatenate, zip(*parts))
        return cls(steps != targets[1:, query].T, at_once != targets[-1, query], masses.mean(axis=0))

    @property
    def cot(self) -> float:
        """The error of chain of thought, mean over steps (Eq. 7)."""
        return float(self.is_wrong.mean())

    @property
    def icl(self) -> float:
        """The error in one step (Eq. 9)."""
        return float(self.is_wrong_at_once.mean())

    @property
    def attention(self) -> np.ndarray:
        """(K,): mean attention on matching examples S_k* (Proposition 1)."""
        return self.masses[:, 0]


def tallied(weights: np.ndarray, index: np.ndarray, m: int) -> np.ndarray:
    """Weights (n, c) summed by an index below m: (n, m)."""
    flat = np.arange(len(index))[:, None] * m + index
    return np.bincount(flat.ravel(), weights.ravel(), minlength=len(index) * m).reshape(-1, m)


def decoded(rng: np.random.Generator, output: np.ndarray, tie: float) -> np.ndarray:
    """The label of most weight (n,) in an output (n, M'); weights closer than `tie` are a tie, broken uniformly."""
    return (output + tie * rng.random(output.shape)).argmax(axis=1)


def voted(rng: np.random.Generator, prompts: Prompts, M_test: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All attention on matching examples: v_1..v_K (n, K), the answer in one step (n,), attention (n, K, 4)."""
    query, chains = prompts

    def vote(asked: np.ndarray, start: int, end: int) -> np.ndarray:
        return decoded(rng, tallied(chains[:, :, start] == asked[:, None], chains[:, :, end], M_test), 1.0)

    answers = [query]
    for k in range(1, chains.shape[2]):
        answers.append(vote(answers[-1], k - 1, k))
    steps = np.stack(answers[1:], axis=1)
    return steps, vote(query, 0, -1), np.broadcast_to(np.eye(4)[0], (*steps.shape, 4))


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

    def scores(self, k: int, asked: np.ndarray, steps: np.ndarray, inputs: np.ndarray, labels: np.ndarray,
               noises: tuple | None = None) -> np.ndarray:  # fmt: skip
        """Scores of columns of these inputs and labels (n, …), steps along a last axis; noises of both, or None."""
        row = beside(asked, inputs)
        found = self.inputs[k][row, inputs] + self.labels[k][row, labels] + self.steps[k][row, steps]
        if noises is not None:
            tables = self.input_noise[k][asked], self.label_noise[k][asked]
            flat = [noise.reshape(len(asked), -1, self.n_felt) for noise in noises]
            found += sum(noise @ table[:, :, None] for noise, table in zip(flat, tables)).reshape(found.shape)
        return found

    def answer(self, rng: np.random.Generator, scores: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Attention on the labelled columns (n, c), and the label with most of it; columns beyond them have value 0."""
        attention = np.exp(scores - scores.max(axis=1, keepdims=True))
        attention = (attention / attention.sum(axis=1, keepdims=True))[:, : labels.shape[1]]
        return attention, decoded(rng, tallied(attention, labels, self.steps.shape[1]), TIE)


def beside(asked: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """What prompts ask, shaped to stand beside their columns (n, …)."""
    return asked.reshape((-1,) + (1,) * (columns.ndim - 1))


def chain_of_thought(
    rng: np.random.Generator, tables: Scorer, prompts: Prompts, noises: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Algorithm 2: v_1..v_K (n, K), and attention (n, K, 4) on the kinds of columns (`model.MASSES`)."""
    K, masses, answers = tables.steps.shape[0], [], [prompts.query]
    noisy = None if noises is None else (noises[:, :, :-1], noises[:, :, 1:])
    shown = (np.arange(K), prompts.chains[:, :, :-1], prompts.chains[:, :, 1:], noisy)
    flat = lambda parts: np.concatenate([part.reshape(len(prompts.query), -1) for part in parts], axis=1)
    for k in range(K):
        asked, own = answers[-1], np.stack(answers, axis=1)
        columns = [shown, (np.arange(k), own[:, :-1], own[:, 1:], None)]
        scores = flat(tables.scores(k, asked, *each) for each in columns)
        attention, answer = tables.answer(rng, scores, flat(labels for _, _, labels, _ in columns))
        kinds = flat(2 * (inputs != beside(asked, inputs)) + (steps != k) for steps, inputs, _, _ in columns)
        answers.append(answer)
        masses.append(tallied(attention, kinds, 4))
    return np.stack(answers[1:], axis=1), np.stack(masses, axis=1)


def in_context(rng: np.random.Generator, tables: Scorer, prompts: Prompts, noises: np.ndarray | None) -> np.ndarray:
    """The answers in one step (Eq. 8)."""
    asked, inputs, outputs = prompts.query, prompts.chains[:, :, 0], prompts.chains[:, :, -1]
    noisy = None if noises is None else (noises[:, :, 0], noises[:, :, -1])
    scores = tables.scores(0, asked, np.zeros(1, dtype=int), inputs, outputs, noisy)
    # The zero columns of one step are alike: as many as there are examples weigh as one with their logarithm added.
    zeros = tables.steps[0][asked, 1:] + np.log(inputs.shape[1])
    return tables.answer(rng, np.concatenate([scores, zeros], axis=1), outputs)[1]
