"""Erroneous test examples: their step-wise transition matrices, prompts of them, and when one step suffices on average.

Row i of A_k is the law of an example's k-th pattern given that its (k-1)-th is μ'_i (Eq. 15); B = A_1 ... A_K is the
K-step law. A step of a task f is right with probability p_k; errors prefer one wrong pattern and share the rest:
runner-up errors have one of probability (1 - ρ) p_k, uniform errors none, and attractor errors lead to a common wrong
chain w_k = f_k(w_{k-1}) that right steps then follow: they add up over the steps and can make B prefer w_K.

round(α' l) examples of a prompt, at least one, start at the query's pattern, the others uniformly at the M' - 1 others.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, fsolve

from flowsys.errors import InputError
from flowsys.model.values import Named
from flowsys.systems.prompt.tasks import chains, cycle_powers, stream


class Prompts(NamedTuple):
    """Prompts of n_examples chains of pattern indices."""

    query: np.ndarray  # (n,): of x_query
    chains: np.ndarray  # (n, n_examples, K + 1): of x_i, y_i1, ..., y_iK


def n_matching_examples(alpha: float, n_examples: int) -> int:
    """round(α' l): how many examples start at the query's pattern, at least one."""
    return max(1, round(alpha * n_examples))


@dataclass(frozen=True, eq=False)
class Law:
    """What test prompts are drawn from: examples' steps, the right ones, and the patterns asked about (None: all)."""

    transitions: np.ndarray  # (K, M', M'): A_k, rows sum to 1
    task: np.ndarray  # (K, M'): f_k as a table
    queries: np.ndarray | None = None

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

    @property
    def asked(self) -> np.ndarray:
        """The patterns asked about."""
        return np.arange(self.task.shape[1]) if self.queries is None else np.atleast_1d(self.queries)

    @cached_property
    def targets(self) -> np.ndarray:
        """Correct patterns (K + 1, M') after 0..K steps from every input."""
        return chains(self.task[None])[0]

    @cached_property
    def composed(self) -> np.ndarray:
        """B = A_1 A_2 ... A_K."""
        return reduce(np.matmul, self.transitions)

    @property
    def output_probability(self) -> float:
        """τ_o = min_i max_j B_ij (Eq. 21)."""
        return float(self.composed.max(axis=1).min())

    @property
    def output_primacy(self) -> float:
        """ρ_o: primacy of B's most probable outputs (Eq. 16)."""
        return self._primacy_of(self.composed.argmax(axis=1))

    @property
    def satisfies_condition_1(self) -> bool:
        """Condition 1 (Eq. 24): for every input the correct output is B's most probable one."""
        return self._primacy_of(self.targets[-1]) > 0

    def _primacy_of(self, outputs: np.ndarray) -> float:
        row, others = np.arange(len(outputs)), self.composed.copy()
        others[row, outputs] = 0.0
        return float((1 - others.max(axis=1) / self.composed[row, outputs]).min())

    def prompts(self, rng: np.random.Generator, setup: Named, n_held: int) -> Iterator[Prompts]:
        """Prompts in blocks of at most `n_held` examples; the query is uniform on those asked about."""
        (K, M_test), n_examples = self.task.shape, setup["l_ts"]
        n_matching, per_block = n_matching_examples(setup["alpha_test"], n_examples), max(1, n_held // n_examples)
        for first in range(0, setup["n_prompts"], per_block):
            n = min(per_block, setup["n_prompts"] - first)
            query = self.asked[rng.integers(len(self.asked), size=n)]
            found = np.empty((n, n_examples, K + 1), dtype=np.intp)
            others = rng.integers(M_test - 1, size=(n, n_examples))
            found[:, :, 0] = others + (others >= query[:, None])
            found[:, :n_matching, 0] = query[:, None]
            for k, (threshold, alias) in enumerate(self._aliases):
                draw = rng.random((n, n_examples)) * M_test
                label = draw.astype(np.intp)
                cell = found[:, :, k] * M_test + label
                found[:, :, k + 1] = np.where(draw - label < threshold[cell], label, alias[cell])
            yield Prompts(query, found)

    @cached_property
    def _aliases(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Walker's alias tables of the rows of every step: label j is kept with `threshold`, else becomes `alias`."""
        M_test, found = self.task.shape[1], []
        for step in self.transitions:
            threshold, alias = np.ones((M_test, M_test)), np.tile(np.arange(M_test), (M_test, 1))
            for i, mass in enumerate(step * M_test):
                small, large = ([*np.flatnonzero(at)] for at in (mass < 1, mass >= 1))
                while small and large:
                    j, donor = small.pop(), large[-1]
                    threshold[i, j], alias[i, j] = mass[j], donor
                    mass[donor] -= 1 - mass[j]
                    if mass[donor] < 1:
                        small.append(large.pop())
            found.append((threshold.ravel(), alias.ravel()))
        return found


# -- kinds of errors --------------------------------------------------------------------------------------------------


def shifting_task(M_test: int, K: int) -> np.ndarray:
    """f_k(i) = i + k mod M' as a table (K, M'): a vote knows no order of patterns, so it stands for all of App. E's."""
    return (np.arange(M_test)[None, :] + np.arange(1, K + 1)[:, None]) % M_test


def law_of(setup: Named) -> Law:
    """The errors asked for; a primacy that such steps cannot have becomes the nearest one."""
    M_test, K, tau, style = (setup[name] for name in ("M_test", "K", "tau", "style"))
    task = shifting_task(M_test, K)
    if setup["test_task"] == "cycle":
        task = cycle_powers(stream(setup, 6).permutation(M_test)[None], K)[0]
    if style == "attractor":
        return attractor_law(task, tau ** (1 / K), setup["beta"])
    return runner_up_law(task, tau, 1.0 if style == "uniform" else setup["rho"], 1 if style == "one" else None)


def runner_up_law(task: np.ndarray, tau: float, rho: float, noisy_step: int | None = None) -> Law:
    """Min trajectory probability τ and primacy ρ (or the nearest that such steps can have), runner-up f_k(i) + 1.

    Every step is right with τ^(1/K), or `noisy_step` with τ and the others always. The largest primacy there is has
    uniform errors.
    """
    K, M_test = task.shape
    is_noisy = np.array([noisy_step in (None, k) for k in range(1, K + 1)])[:, None]
    p = tau ** (1 / is_noisy.sum())
    rho = min(max(rho, 1 - (1 - p) / p), 1 - (1 - p) / ((M_test - 1) * p))
    return _erring(task, np.where(is_noisy, p, 1.0), (task + 1) % M_test, np.where(is_noisy, (1 - rho) * p, 0.0))


def attractor_law(task: np.ndarray, p_correct: float, beta: float) -> Law:
    """Errors go with fraction β to the wrong chain w_k, w_0 = M' - 1, and else uniformly; others than w_0 are asked."""
    M_test = task.shape[1]
    attractor = chains(task[None])[0, :, -1]
    is_there = np.arange(M_test) == attractor[:-1, None]
    preferred = np.where(is_there, (task + 1) % M_test, attractor[1:, None])
    second = (1 - p_correct) * np.where(is_there, 1 / (M_test - 1), beta)
    return _erring(task, p_correct, preferred, second, np.arange(M_test - 1))


def _erring(task: np.ndarray, right, preferred: np.ndarray, second, queries: np.ndarray | None = None) -> Law:
    """A_k with probability `right` of f_k(i) and `second` of the preferred error, others share the rest."""
    K, M_test = task.shape
    step, row = np.arange(K)[:, None], np.arange(M_test)[None, :]
    rest = np.maximum(0.0, 1 - right - second) / max(M_test - 2, 1)  # rounding may leave -1e-17
    A = np.array(np.broadcast_to(np.broadcast_to(rest, task.shape)[..., None], (K, M_test, M_test)))
    A[step, row, preferred] = second
    A[step, row, task] = right
    return Law(A, task, queries)


def attractor_masses(p_correct: float, beta: float, K: int, M_test: int) -> np.ndarray:
    """r_K and x_K: how often an example that starts off the wrong chain ends on the right one, and on the wrong one."""
    law = attractor_law(shifting_task(M_test, K), p_correct, beta)
    return law.composed[0, law.targets[-1, [0, M_test - 1]]]


def attractor_boundary(beta: float, K: int, M_test: int = 10) -> float:
    """The p_correct at which Condition 1 changes, r_K = x_K; nan if none does (β near 1/M': no pattern favoured)."""
    gap = lambda p: np.subtract(*attractor_masses(p, beta, K, M_test))
    return brentq(gap, 1e-6, 1 - 1e-12, xtol=1e-14) if gap(1e-6) < 0 else np.nan


def attractor_of(tau_o: float, rho_o: float, is_satisfied: bool) -> tuple[float, float]:
    """(p, β) of attractor errors, K = 3 and M' = 10, whose most probable output has probability τ_o and primacy ρ_o."""
    wanted = (tau_o, (1 - rho_o) * tau_o) if is_satisfied else ((1 - rho_o) * tau_o, tau_o)
    inside = lambda x: np.clip(x, 1e-6, 1 - 1e-6)
    p, beta = fsolve(lambda x: attractor_masses(inside(x)[0], inside(x)[1], 3, 10) - wanted, (0.72, 0.8))
    return float(p), float(beta)
