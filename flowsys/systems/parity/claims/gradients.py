"""Gradients of the loss at chosen points, by autodiff: on the population or on a batch.

Theorem 2's mechanism: without a chain of thought the label is uncorrelated with every k-1 of the bits, so at
Assumption 1 the population gradient is exactly 0 for k ≥ 2, and at coordinates (q, a) of size σ it is of order
σ^(k-1). (The theorem itself bounds memory and samples and cannot be simulated.)
"""

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.model.concrete import Rows, View
from flowsys.model.gates import GatedOps
from flowsys.model.starts import own_weights, seen_by_numpy
from flowsys.system import Setup
from flowsys.systems.parity import SYSTEM
from flowsys.systems.parity.data import rows
from flowsys.systems.parity.model import parity_of
from flowsys.systems.parity.observables import view

TRAINED = ("W_own", "W_att", "A")


def gradient(
    setup: Setup, mode: str = "position", *, bits: np.ndarray | None = None, sigma: float = 0.0, on_target: float = 0.0
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Slopes in p, q and a at Assumption 1, and the point itself; of the mean over `bits`, or over the population.

    Gaussian q, a of size `sigma` are added, and `on_target` to the scores of S[i].
    """
    concrete, rng = SYSTEM.concrete(setup, "L2", mode), np.random.default_rng(setup["seed"])
    seen = seen_by_numpy(concrete, own_weights(concrete))
    for name in ("W_att", "A"):
        seen[name] = seen[name] + sigma * rng.standard_normal(seen[name].shape)
    p, samples = concrete.p(concrete.reals()), concrete.populations[0].samples
    assert samples is not None
    seen["A"][view(p).is_target] += on_target
    X = samples.arrays if bits is None else rows(parity_of(p), bits)
    weight = np.full(len(X["sign"]), 1 / len(X["sign"]))

    def loss(arrays):
        found = concrete.populations[0].loss(GatedOps("exact"), View(arrays), Rows(X, weight), p)
        return (weight * found).sum()

    with jax.enable_x64(True):
        slopes = jax.jit(jax.grad(loss))({name: jnp.asarray(array) for name, array in seen.items()})
        return {name: np.asarray(slopes[name]) for name in TRAINED}, seen


def largest_entry(slopes: dict[str, np.ndarray]) -> float:
    return float(max(np.abs(part).max() for part in slopes.values()))


def order_of_vanishing(setup: Setup, mode: str, sigmas: tuple[float, float]) -> float:
    """Log-slope of the gradient's norm between two sizes of (q, a); without a chain of thought k-1 as σ → 0."""
    norm = lambda slopes: np.sqrt(sum(np.sum(part**2) for part in slopes.values()))
    low, high = (norm(gradient(setup, mode, sigma=sigma)[0]) for sigma in sigmas)
    return float(np.log(high / low) / np.log(sigmas[1] / sigmas[0]))
