"""Runs that several claims read, kept for the life of the process."""

from functools import lru_cache, partial

import jax
import numpy as np

from flowsys import claims
from flowsys.systems.parity import closure, sgd
from flowsys.systems.parity.model import FrozenCoordinates
from flowsys.systems.parity.three_step import Rates, usable_rates
from flowsys.systems.parity.weights import output_weights

N, K, M = 20, 5, 4000

claim = partial(claims.claim, "parity")


def lemma_rates(n: int, m: float, rho: float = 0.3) -> Rates:
    """Usable rates of the first two steps at ε = 1, and the third of Lemma 25."""
    return usable_rates(n, m, 1.0, rho, eta_2=4 * m / 3)


@lru_cache(maxsize=16)
def sampled(n: int = N, k: int = K, m: int = M, seed: int = 0, rho: float = 0.3) -> sgd.Steps:
    """Three population steps with 2m sampled neurons, live gates, ε = 1."""
    return sgd.population_steps(jax.random.key(seed), n, k, m, 1.0, lemma_rates(n, m, rho))


@lru_cache(maxsize=32)
def limit(n: int = N, k: int = K, m: float = M, rho: float = 0.3, common: float = 1.0) -> sgd.Steps:
    """The same at infinite width; `common` scales what the gates of different query tokens share."""
    return sgd.limit_steps(n, k, m, lemma_rates(n, m, rho), common=common)


def frozen(steps: sgd.Steps, number: int) -> FrozenCoordinates:
    """(P, K, a) after step `number`, with the gates of the start."""
    state = steps.states[number]
    if not isinstance(state, FrozenCoordinates):
        with jax.enable_x64(True):
            gates = (steps.states[0].p > 0) * 1.0
            state = closure.freeze(state, gates, output_weights(len(gates) // 2))
    return jax.tree.map(np.asarray, state)


def queries(j: int) -> tuple[int, ...]:
    """Query tokens of position n+1+j that occur."""
    return (0,) if j == 0 else (2 * j, 2 * j + 1)


def signals(steps: sgd.Steps, number: int) -> np.ndarray:
    """-(-1)^(b+b') K on the tokens of S[i], averaged over b and b', at every position."""
    K_ = frozen(steps, number).K
    k = K_.shape[0] // 2
    return np.array(
        [np.mean([-((-1) ** (q + b)) * K_[q, 2 * j + b] for q in queries(j) for b in (0, 1)]) for j in range(k)]
    )


def off_target(steps: sgd.Steps, number: int) -> tuple[np.ndarray, float]:
    """(-1)^b' K on the tokens of S[n+1] at every later position, and the largest |K| on any other token off target."""
    K_ = frozen(steps, number).K
    k = K_.shape[0] // 2
    common, largest = [], 0.0
    for j in range(k):
        for q in queries(j):
            others = np.setdiff1d(np.arange(K_.shape[1]), [0, 1, 2 * j, 2 * j + 1])
            largest = max(largest, float(np.abs(K_[q, others]).max()))
        if j > 0:
            common.append(np.mean([(-1) ** b * K_[q, b] for q in queries(j) for b in (0, 1)]))
    return np.array(common), largest


def target_scores(steps: sgd.Steps, number: int) -> tuple[float, float]:
    """The least score of S[i], and the largest |score| of any other token that occurs, over all positions."""
    a = frozen(steps, number).a
    k = a.shape[1] // 2
    least, largest = np.inf, 0.0
    for j in range(k):
        for q in queries(j):
            others = np.setdiff1d(np.arange(a.shape[0]), [2 * j, 2 * j + 1])
            least = min(least, float(a[[2 * j, 2 * j + 1], q].min()))
            largest = max(largest, float(np.abs(a[others, q]).max()))
    return least, largest
