"""Erroneous test examples: step-wise transition matrices, their primacy, and when one step suffices on average.

Row i of A_k is the law of an example's k-th pattern given that its (k-1)-th is μ'_i (Eq. 15); B = A_1 ... A_K is
the K-step law. Test patterns have no order of their own, so the task may be taken as f_k(i) = i + k mod M' (App.
E). Families of errors: runner-up (one wrong pattern has probability (1 - ρ) p_k, the others share the rest),
uniform, and attractor errors, which lead to a common wrong chain w_k = f_k(w_{k-1}) that correct steps then follow:
they add up over the steps and can make B prefer w_K.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from flowsys.errors import InputError


class Law(NamedTuple):
    """What test prompts are drawn from: examples' steps, the right ones, and the patterns asked about (None: all)."""

    transitions: np.ndarray  # (K, M', M'): A_k, rows sum to 1
    task: np.ndarray  # (K, M'): f_k as a table
    queries: np.ndarray | None = None

    @property
    def targets(self) -> np.ndarray:
        """Correct patterns (K + 1, M') after 0..K steps from every input."""
        return trajectories(self.task)

    def checked(self, K: int, M_test: int) -> "Law":
        """The law, if its tables have these sizes and hold probabilities and pattern indices."""
        A, task = np.asarray(self.transitions, dtype=float), np.asarray(self.task)
        if A.shape != (K, M_test, M_test) or (A < 0).any() or not np.allclose(A.sum(axis=2), 1):
            raise InputError(f"transitions of shape {A.shape} must be (K, M_test, M_test) = {(K, M_test, M_test)}, "
                             "every row probabilities that sum to 1.")  # fmt: skip
        if task.shape != (K, M_test) or not np.isin(task, np.arange(M_test)).all():
            raise InputError(f"task of shape {task.shape} must be (K, M_test) = {(K, M_test)} of pattern indices.")
        if self.queries is not None and not np.isin(self.queries, np.arange(M_test)).all():
            raise InputError(f"queries = {self.queries}, but they must be pattern indices from 0 to {M_test - 1}.")
        return Law(A, task, self.queries)


def shifting_task(M_test: int, K: int) -> np.ndarray:
    """f_k(i) = i + k mod M' as a table (K, M')."""
    return (np.arange(M_test)[None, :] + np.arange(1, K + 1)[:, None]) % M_test


def trajectories(task: np.ndarray) -> np.ndarray:
    """Correct patterns (K + 1, M') after 0..K steps from every input."""
    reached = [np.arange(task.shape[1])]
    for step in task:
        reached.append(step[reached[-1]])
    return np.array(reached)


def runner_up_transitions(
    M_test: int, K: int, tau: float, rho: float, style: str = "equal", noisy_step: int = 1, is_exact: bool = True
):
    """A_k (K, M', M') with min trajectory probability τ and primacy ρ, runner-up f_k(i) + 1.

    style "equal": p_k = τ^(1/K) at every step; style "one": p = τ at `noisy_step`, the other steps exact.
    With `is_exact` False a primacy that such steps cannot have is replaced by the nearest one that they can.
    """
    if style not in ("equal", "one"):
        raise InputError(f'style = {style!r}, but style must be "equal" or "one".')
    noisy_steps = range(K) if style == "equal" else [noisy_step - 1]
    p = tau ** (1 / len(noisy_steps))
    least, most = 1 - (1 - p) / p, 1 - (1 - p) / ((M_test - 1) * p)
    if not is_exact:
        rho = min(max(rho, least), most)
    runner_up = (1 - rho) * p
    if not least - 1e-12 <= rho <= most + 1e-12:
        raise InputError(
            f"rho = {rho!r}, but steps that are right with probability {p:.4g} "
            f"allow rho in [{max(least, 0):.4g}, {most:.4g}]."
        )
    task = shifting_task(M_test, K)
    row = np.arange(M_test)
    transitions = np.zeros((K, M_test, M_test))
    transitions[np.arange(K)[:, None], row[None, :], task] = 1.0
    for k in noisy_steps:
        transitions[k] = max(0.0, 1 - p - runner_up) / (M_test - 2)  # rounding may leave -1e-17
        transitions[k, row, task[k]] = p
        transitions[k, row, (task[k] + 1) % M_test] = runner_up
    return transitions


def uniform_transitions(M_test: int, K: int, p_correct) -> np.ndarray:
    """A_k with probability p_correct (a number, or one a step) of the right pattern and equal ones of all others."""
    task = shifting_task(M_test, K)
    p = np.broadcast_to(np.asarray(p_correct, dtype=float), (K,))
    transitions = np.repeat(((1 - p) / (M_test - 1))[:, None, None], M_test, axis=1).repeat(M_test, axis=2)
    transitions[np.arange(K)[:, None], np.arange(M_test)[None, :], task] = p[:, None]
    return transitions


def attractor_transitions(M_test: int, K: int, p_correct: float, beta: float) -> np.ndarray:
    """A_k whose errors go with fraction β to the wrong chain w_k, w_0 = M' - 1, and else uniformly."""
    task = shifting_task(M_test, K)
    attractor = trajectories(task)[:, M_test - 1]
    row = np.arange(M_test)
    transitions = np.empty((K, M_test, M_test))
    for k in range(K):
        transitions[k] = (1 - p_correct) * (1 - beta) / (M_test - 2)
        transitions[k, :, attractor[k + 1]] = (1 - p_correct) * beta
        transitions[k, attractor[k]] = (1 - p_correct) / (M_test - 1)
        transitions[k, row, task[k]] = p_correct
    return transitions


def attractor_mass(p_correct: float, beta: float, K: int) -> float:
    """x_K: probability of having fallen on the wrong chain, x_k = x_{k-1} p + (1 - x_{k-1})(1 - p) β, x_0 = 0."""
    x = 0.0
    for _ in range(K):
        x = x * p_correct + (1 - x) * (1 - p_correct) * beta
    return x


def right_mass(p_correct: float, beta: float, K: int, M_test: int) -> float:
    """B(i, f(i)) for i off the wrong chain: p^K and the returns to the right chain, from the wrong one and elsewhere.

    An example is right (r), on the wrong chain (x) or elsewhere; an error leads back to the one right pattern with
    probability (1 - p)/(M' - 1) from the wrong chain and (1 - p)(1 - β)/(M' - 2) from elsewhere.
    """
    right, wrong = 1.0, 0.0
    for _ in range(K):
        elsewhere = 1 - right - wrong
        back = wrong / (M_test - 1) + elsewhere * (1 - beta) / (M_test - 2)
        right, wrong = (
            right * p_correct + (1 - p_correct) * back,
            wrong * p_correct + (1 - wrong) * (1 - p_correct) * beta,
        )
    return right


def attractor_boundary(beta: float, K: int, M_test: int = 10) -> float:
    """The p_correct at which Condition 1 changes: where right and wrong chain end equally often.

    M' = inf neglects returns to the right chain: p^K = x_K(p, β). nan if no p does, for β of about 1/M' and
    less: errors then favour no pattern.
    """
    gap = lambda p: right_mass(p, beta, K, M_test) - attractor_mass(p, beta, K)
    return brentq(gap, 1e-6, 1 - 1e-12, xtol=1e-14) if gap(1e-6) < 0 else np.nan


def composed(transitions) -> np.ndarray:
    """B = A_1 A_2 ... A_K."""
    B = np.eye(transitions.shape[-1])
    for step in transitions:
        B = B @ step
    return B


def input_label_probability(transitions) -> float:
    """τ_o = min_i max_j B_ij (Eq. 21)."""
    return float(composed(transitions).max(axis=1).min())


def input_label_primacy(transitions) -> float:
    """ρ_o: primacy of B's most probable outputs (Eq. 16)."""
    B = composed(transitions)
    return _primacy(B, B.argmax(axis=1))


def satisfies_condition_1(transitions, task) -> bool:
    """Condition 1 (Eq. 24): for every input the correct output is B's most probable one."""
    return _primacy(composed(transitions), trajectories(task)[-1]) > 0


def _primacy(A, target) -> float:
    row = np.arange(len(A))
    right = A[row, target]
    wrong = A.copy()
    wrong[row, target] = 0.0
    return float((1 - wrong.max(axis=1) / right).min())
