"""Erroneous test examples: step-wise transition matrices, their primacy, and when one step suffices on average.

Row i of A_k is the law of an example's k-th pattern given that its (k-1)-th is μ'_i (Eq. 15); B = A_1 ... A_K is the
K-step law. A step of a task f is right with probability p_k; errors prefer one wrong pattern and share the rest:
runner-up errors have one of probability (1 - ρ) p_k, uniform errors none, and attractor errors lead to a common wrong
chain w_k = f_k(w_{k-1}) that right steps then follow: they add up over the steps and can make B prefer w_K.
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.optimize import brentq, fsolve

from flowsys.errors import InputError
from flowsys.systems.prompt.tasks import chains


@dataclass(frozen=True, eq=False)
class Law:
    """What test prompts are drawn from: examples' steps, the right ones, and the patterns asked about (None: all)."""

    transitions: np.ndarray  # (K, M', M'): A_k, rows sum to 1
    task: np.ndarray  # (K, M'): f_k as a table
    queries: np.ndarray | None = None

    @property
    def targets(self) -> np.ndarray:
        """Correct patterns (K + 1, M') after 0..K steps from every input."""
        return trajectories(self.task)

    @property
    def asked(self) -> np.ndarray:
        """The patterns asked about."""
        return np.arange(self.task.shape[1]) if self.queries is None else np.atleast_1d(self.queries)

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
    """f_k(i) = i + k mod M' as a table (K, M'): patterns have no order, so it stands for all of App. E's tasks."""
    return (np.arange(M_test)[None, :] + np.arange(1, K + 1)[:, None]) % M_test


def trajectories(task: np.ndarray) -> np.ndarray:
    """Correct patterns (K + 1, M') after 0..K steps from every input."""
    return chains(task[None])[0]


def _erring(task: np.ndarray, right, preferred: np.ndarray, second) -> np.ndarray:
    """A_k (K, M', M'): probability `right` of f_k(i), `second` of the preferred error, others share the rest."""
    K, M_test = task.shape
    step, row = np.arange(K)[:, None], np.arange(M_test)[None, :]
    rest = np.maximum(0.0, 1 - right - second) / max(M_test - 2, 1)  # rounding may leave -1e-17
    found = np.array(np.broadcast_to(np.broadcast_to(rest, task.shape)[..., None], (K, M_test, M_test)))
    found[step, row, preferred] = second
    found[step, row, task] = right
    return found


def runner_up_transitions(task: np.ndarray, tau: float, rho: float, noisy_step: int | None = None) -> np.ndarray:
    """A_k with min trajectory probability τ and primacy ρ (or the nearest that such steps can have), runner-up next.

    Every step is right with τ^(1/K), or `noisy_step` with τ and the others always. The largest primacy there is has
    uniform errors.
    """
    K, M_test = task.shape
    is_noisy = np.array([noisy_step in (None, k) for k in range(1, K + 1)])[:, None]
    p = tau ** (1 / is_noisy.sum())
    rho = min(max(rho, 1 - (1 - p) / p), 1 - (1 - p) / ((M_test - 1) * p))
    return _erring(task, np.where(is_noisy, p, 1.0), (task + 1) % M_test, np.where(is_noisy, (1 - rho) * p, 0.0))


def attractor_transitions(task: np.ndarray, p_correct: float, beta: float) -> np.ndarray:
    """A_k whose errors go with fraction β to the wrong chain w_k, w_0 = M' - 1, and else uniformly."""
    M_test = task.shape[1]
    attractor = trajectories(task)[:, M_test - 1]
    is_there = np.arange(M_test) == attractor[:-1, None]
    preferred = np.where(is_there, (task + 1) % M_test, attractor[1:, None])
    return _erring(task, p_correct, preferred, (1 - p_correct) * np.where(is_there, 1 / (M_test - 1), beta))


def attractor_masses(p_correct: float, beta: float, K: int, M_test: float) -> tuple[float, float]:
    """r_K and x_K: how often an example that starts off the wrong chain ends on the right one, and on the wrong one.

    It is right, on the wrong chain or elsewhere at every step; M' = inf neglects returns to the right chain.
    """
    error = 1 - p_correct
    step = np.array([[p_correct, error * beta], [error / (M_test - 1), p_correct],
                     [error * (1 - beta) / (M_test - 2), error * beta]])  # fmt: skip
    whole = np.column_stack([step, 1 - step.sum(axis=1)])
    right, wrong, _ = np.linalg.matrix_power(whole, K)[0]
    return float(right), float(wrong)


def attractor_boundary(beta: float, K: int, M_test: float = 10) -> float:
    """The p_correct at which Condition 1 changes, r_K = x_K; nan if none does (β near 1/M': no pattern favoured)."""

    def gap(p: float) -> float:
        right, wrong = attractor_masses(p, beta, K, M_test)
        return right - wrong

    return brentq(gap, 1e-6, 1 - 1e-12, xtol=1e-14) if gap(1e-6) < 0 else np.nan


def attractor_of(tau_o: float, rho_o: float, is_satisfied: bool, M_test: int = 10) -> tuple[float, float]:
    """(p, β) of attractor errors for K = 3 whose most probable output has probability τ_o and primacy ρ_o."""
    wanted = (tau_o, (1 - rho_o) * tau_o) if is_satisfied else ((1 - rho_o) * tau_o, tau_o)
    inside = lambda x: np.clip(x, 1e-6, 1 - 1e-6)
    missed = lambda x: np.subtract(attractor_masses(inside(x)[0], inside(x)[1], 3, M_test), wanted)
    p, beta = map(float, fsolve(missed, (0.72, 0.8)))
    return p, beta


def composed(transitions: np.ndarray) -> np.ndarray:
    """B = A_1 A_2 ... A_K."""
    return reduce(np.matmul, transitions)


def input_label_probability(transitions: np.ndarray) -> float:
    """τ_o = min_i max_j B_ij (Eq. 21)."""
    return float(composed(transitions).max(axis=1).min())


def input_label_primacy(transitions: np.ndarray) -> float:
    """ρ_o: primacy of B's most probable outputs (Eq. 16)."""
    B = composed(transitions)
    return _primacy(B, B.argmax(axis=1))


def satisfies_condition_1(transitions: np.ndarray, task: np.ndarray) -> bool:
    """Condition 1 (Eq. 24): for every input the correct output is B's most probable one."""
    return _primacy(composed(transitions), trajectories(task)[-1]) > 0


def _primacy(A: np.ndarray, target: np.ndarray) -> float:
    row = np.arange(len(A))
    wrong = A.copy()
    wrong[row, target] = 0.0
    return float((1 - wrong.max(axis=1) / A[row, target]).min())
