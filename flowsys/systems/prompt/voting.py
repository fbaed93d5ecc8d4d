"""The concentrated-attention limit of inference: step k answers with the plurality label among its matching examples.

Trained long enough, a query at step k attends only to step-k columns whose input pattern is v_{k-1} (Proposition
1); greedy decoding then is a vote among their labels, ties broken uniformly, a uniform guess where no example
matches. One-step inference (ICL) votes among the final outputs of the examples that start at the query.
"""

import numpy as np

from .examples import ReasoningErrors, sampled_prompts, tallied
from .transitions import trajectories


def voting_errors(
    rng: np.random.Generator,
    transitions,
    task,
    n_prompts: int,
    n_examples: int,
    alpha_test: float,
    queries=None,
) -> ReasoningErrors:
    """CoT and ICL errors of the limit on the same random prompts."""

    def answers():
        for prompts in sampled_prompts(rng, transitions, n_prompts, n_examples, alpha_test, queries):
            yield prompts.query, chain_of_votes(rng, *prompts, M_test), one_step_votes(rng, *prompts, M_test)

    M_test = transitions.shape[-1]
    return tallied(answers(), trajectories(task))


def chain_of_votes(rng, query, chains, M_test: int) -> np.ndarray:
    """v_1..v_K (n, K)."""
    steps = []
    for k in range(1, chains.shape[2]):
        asked = steps[-1] if steps else query
        steps.append(plurality(rng, votes(chains[:, :, k - 1] == asked[:, None], chains[:, :, k], M_test)))
    return np.stack(steps, axis=1)


def one_step_votes(rng, query, chains, M_test: int) -> np.ndarray:
    """The ICL answer (n,)."""
    return plurality(rng, votes(chains[:, :, 0] == query[:, None], chains[:, :, -1], M_test))


def votes(is_counted, labels, M_test: int) -> np.ndarray:
    """How often each label occurs among the counted examples: (n, M')."""
    n = len(labels)
    ballot = np.arange(n)[:, None] * M_test + labels
    return np.bincount(ballot[is_counted], minlength=n * M_test).reshape(n, M_test)


def plurality(rng, votes) -> np.ndarray:
    """The label with most votes, ties broken uniformly."""
    return (votes + rng.random(votes.shape)).argmax(axis=1)
