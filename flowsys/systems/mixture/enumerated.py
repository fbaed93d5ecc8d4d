"""The mixture model written out for one (K, L): every sample, every coordinate of both heads.

What the automatic lumping works on: 16K² + 8K coordinates under the simultaneous flow from the infinite-width start.
"""

from collections.abc import Callable

import jax
import numpy as np
import sympy as sp

from flowsys.symbolic import primitives as ops
from flowsys.symbolic.assemble import symbol
from flowsys.symbolic.found import Enumerated
from flowsys.systems.mixture.finite import reduced_field
from flowsys.systems.mixture.model import Sequence, head_output, logistic_loss, network_output
from flowsys.systems.mixture.network import FiniteArguments, ReducedLayout
from flowsys.systems.mixture.population import all_samples


def enumerated(K: int, L: int) -> Enumerated:
    """Coordinates, Gram matrices and the symbolic loss, sample by sample."""
    layout, samples = ReducedLayout(K), all_samples(K, L)
    positions = np.arange(len(layout.names))
    neurons, M = layout.split(positions)
    weights = [sp.nsimplify(w, rational=True) for w in samples.weight]
    labels = samples.label.astype(int)

    def loss(flat: np.ndarray) -> list[sp.Expr]:
        sequence = Sequence(
            keys=samples.sequence.keys,
            key_signs=samples.sequence.key_signs.astype(int).astype(object),
            queries=samples.sequence.queries,
            query_signs=samples.sequence.query_signs.astype(int).astype(object),
        )
        H = [head_output(ops, flat[neurons[h]], flat[M[h][: 2 * K, 2 * K :]], sequence) for h in (0, 1)]
        f = network_output(ops, H[0] + symbol("b"), H[1] + symbol("b"))
        return [w * logistic_loss(ops, y, output) for w, y, output in zip(weights, labels, f)]

    return Enumerated(layout.names, neurons.ravel(), tuple(M), loss)


def infinite_width_start(K: int, ω: float, neurons: tuple[float, float] = (0.0, 0.0)) -> np.ndarray:
    """Lemma C.1 in the coordinates of both heads; `neurons` sets (w_c, w_v) of a later stage."""
    w = np.repeat(np.array([neurons, (neurons[0], -neurons[1])]), K, axis=1)
    M = np.broadcast_to(ω**2 * np.eye(4 * K), (2, 4 * K, 4 * K))
    with jax.enable_x64(True):
        return np.asarray(ReducedLayout(K).join(w, M))


def unlumped_field(K: int, L: int, b: float, mode: str = "simultaneous") -> Callable[[np.ndarray], np.ndarray]:
    """The unlumped flow at fixed parameters, as a NumPy function; mode "stage 2" trains attention on hard samples."""
    samples = all_samples(K, L)
    weight = np.where(samples.is_hard, samples.weight, 0.0) if mode == "stage 2" else samples.weight
    arguments = FiniteArguments(
        weight / weight.sum(), np.float64(b), np.float64(mode != "stage 2"), np.float64(1.0), np.ones(2 * len(weight)),
        np.float64(0.0),
    )  # fmt: skip
    rhs = jax.jit(reduced_field(K, L, "exact").rhs)

    def evaluate(y: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(rhs(np.asarray(y, dtype=float), arguments))

    return evaluate
