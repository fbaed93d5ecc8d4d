"""What the claims measure: courses of the flow, and three gradient steps, kept for the life of the process.

A claim that names no level is measured where `flowsys.claims.conditions` says. Courses of the flow are the limit (L3),
its finite width with frozen gates (L2) or gradient descent on the weights (L0). Three steps are those of infinite width
(L3), of sampled neurons with live gates on the population (L2), or of the same neurons on fresh batches (L0).
"""

from functools import partial
from typing import Any

import jax
import numpy as np

from flowsys import claims
from flowsys.claims.conditions import chosen_level, current, remembered
from flowsys.errors import InputError
from flowsys.runs.solving import solve
from flowsys.system import Setup
from flowsys.systems.parity import SYSTEM, closure, sgd
from flowsys.systems.parity.data import ascending
from flowsys.systems.parity.levels import check_size_of
from flowsys.systems.parity.model import FrozenCoordinates
from flowsys.systems.parity.three_step import Rates, usable_rates
from flowsys.systems.parity.weights import output_weights

N, K, M = 20, 5, 4000
BATCH = 4096  # fresh sequences of a step at L0, unless others are asked for
TRAINED = "L0 L2 L3"
FLOWS = "L2 L3"
VARIANTS = {"L0": "symmetric", "L2": "frozen", "L3": "limit"}

claim = claims.claim


def chosen(**own: Any) -> Setup:
    """The parameters of a measurement: what was asked for, else the claim's own, else the system's."""
    return SYSTEM.setup(**(own | dict(current().parameters)))


@remembered(256)
def course(*at: str | float, observe: tuple[str, ...] | None = None, mode: str | None = None, level: str | None = None,
           **own: Any):  # fmt: skip
    """A solved (at L0: trained) trajectory of the flow; `level` is the claim's, if it insists on one."""
    level = chosen_level(level, "L3")
    return solve(SYSTEM, chosen(**own), level=level, variant=VARIANTS.get(level), mode=mode, at=at, observe=observe)


def reached(event: str, **options: Any) -> tuple[float, dict[str, float]]:
    """Time and observables of an event."""
    found = course(event, **options).at(event)
    if not found["reached"]:
        raise InputError(f"{event} is never reached with these parameters.")
    return found["t"], found["values"]


def scatter(place: Setup) -> float:
    """What sampling adds to a relative deviation: 3 m^(-1/2) at finite width, and 12 B^(-1/2) more on batches of B.

    The share of neurons that are active on a token, and so every rate of the limit, scatters by about m^(-1/2); a
    signal is the mean of ±1 with mean 1/4, so a batch adds 4 B^(-1/2); three times both.
    """
    if not current().is_finite:
        return 0.0
    batch = 12 * batch_of(place) ** -0.5 if current().level == "L0" else 0.0
    return 3 * place["width"] ** -0.5 + batch


def batch_of(place: Setup) -> int:
    return int(place["batch"]) if np.isfinite(place["batch"]) else BATCH


def lemma_rates(n: int, m: float, rho: float = 0.3) -> Rates:
    """Usable rates of the first two steps at ε = 1, and the third of Lemma 25."""
    return usable_rates(n, m, 1.0, rho, eta_2=4 * m / 3)


def three_steps_at(**own: Any) -> Setup:
    """n, k, m, rho and the finite-width parameters of three steps; a single secret has no position after n+1."""
    place = chosen(**({"n": N, "k": K, "m": float(M)} | own))
    if place["k"] < 2:
        raise InputError(f"k = {place['k']} is not allowed here: positions after n+1 are compared, so k >= 2.")
    return place


def sampled_at(**own: Any) -> dict[str, Any]:
    """The parameters of three steps, for a verdict."""
    place = three_steps_at(**own)
    return {name: place[name] for name in ("n", "k", "m", "rho", "seed")} | {"epsilon": 1.0}


@remembered(64)
def three_steps(default: str, common: float = 1.0, **own: Any) -> sgd.Steps:
    """Three steps at ε = 1 at the level asked for, or else the claim's `default`.

    `common` scales what the gates of different query tokens share, at infinite width.
    """
    level, place = chosen_level(None, default), three_steps_at(**own)
    n, k, m, width = place["n"], place["k"], place["m"], place["width"]
    key, rates = jax.random.key(place["seed"]), lemma_rates(n, m, place["rho"])
    if level != "L0" and np.isfinite(place["batch"]):
        raise InputError(f"batch = {place['batch']} is not allowed at level {level}: batches are for L0.")
    if level == "L0":
        return sgd.batch_steps(key, ascending(n, k), width, 1.0, batch_of(place), rates, gates="live",
                               mobility=width / m)  # fmt: skip
    check_size_of(place, "L2", "collapsed")
    if level == "L2":
        return sgd.population_steps(key, n, k, m, 1.0, rates, width=width)
    return sgd.limit_steps(n, k, m, rates, common=common)


sampled = partial(three_steps, "L2")
"""Three steps with 2m sampled neurons, unless another level is asked for."""
limit = partial(three_steps, "L3")
"""Three steps at infinite width, unless another level is asked for."""


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
