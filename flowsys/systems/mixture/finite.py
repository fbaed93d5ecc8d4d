"""Finite width: gradient flow on the weights (L1) and on their inner products (L2).

The loss sees the weights only through w_± and S_± = W_Kᵀ W_Q, so with M = [W_K | W_Q]ᵀ[W_K | W_Q] per head the reduced
flow closes exactly at every width (Appendix B.2). Both levels read one loss, `flowsys.systems.mixture.model`, and both
report the class averages of the limit's entries under the limit's names.
"""

from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from flowsys import ops
from flowsys.gram import SymmetricLayout, gram_flow, pair_rate, pair_spectrum
from flowsys.problem import FunctionField, Problem
from flowsys.system import Setup
from flowsys.systems.mixture.margin import max_margin
from flowsys.systems.mixture.model import attention_scores, head_output, logistic_loss
from flowsys.systems.mixture.population import Samples, all_samples
from flowsys.systems.mixture.stages import default_events, events_of, marks_of, stages_of
from flowsys.systems.mixture.vocabulary import OBSERVABLES

HEAD_SIGNS = np.array([1.0, -1.0])


class Weights(NamedTuple):
    """Trainable weights of both heads (first axis +, -): neurons (2, 2K), keys and queries (2, m, 2K)."""

    neurons: Any
    keys: Any
    queries: Any


class FiniteArguments(NamedTuple):
    """A stage's data: sample weights, the bias, what trains, and the gates (sample × head, flattened)."""

    weight: Any
    b: Any
    train_neurons: Any
    train_attention: Any
    gates: Any
    kink_width: Any


def initial_weights(key, K: int, width: int, ω: float, neuron_scale: float = 0.0) -> Weights:
    """w = 0 (or Gaussian of the given scale), W_K and W_Q with entries N(0, ω²/m)."""
    of_keys, of_queries, of_neurons = jax.random.split(key, 3)
    shape, scale = (2, width, 2 * K), ω / np.sqrt(width)
    return Weights(
        neuron_scale * jax.random.normal(of_neurons, (2, 2 * K), dtype=jnp.float64),
        scale * jax.random.normal(of_keys, shape, dtype=jnp.float64),
        scale * jax.random.normal(of_queries, shape, dtype=jnp.float64),
    )


def gram_matrices(weights: Weights):
    """M = [W_K | W_Q]ᵀ[W_K | W_Q] of both heads."""
    F = jnp.concatenate([weights.keys, weights.queries], axis=-1)
    return jnp.swapaxes(F, -1, -2) @ F


def preactivations(samples: Samples, neurons, scores, b):
    """H_h(X) + b for every sample and head."""
    H = [head_output(ops, neurons[h], scores[h], samples.sequence) for h in (0, 1)]
    return jnp.stack(H, axis=-1) + b


def activated(h, arguments: FiniteArguments, kinks: str):
    """σ(H + b) with frozen, smoothed or exact kinks."""
    if kinks == "frozen":
        return arguments.gates.reshape(h.shape) * h
    return ops.smooth_relu(h, arguments.kink_width) if kinks == "smooth" else ops.relu(h)


def loss(samples: Samples, neurons, scores, arguments: FiniteArguments, kinks: str):
    """The population loss in the coordinates it reads: neurons and scores."""
    active = activated(preactivations(samples, neurons, scores, arguments.b), arguments, kinks)
    return (arguments.weight * logistic_loss(ops, samples.label, active[..., 0] - active[..., 1])).sum()


class ReducedLayout:
    """The reduced coordinates of both heads as a flat vector: w, then the distinct entries of M, per head."""

    def __init__(self, K: int):
        self.K, self.symmetric = K, SymmetricLayout(4 * K)

    @property
    def names(self) -> tuple[str, ...]:
        tokens = [f"c{k + 1}" for k in range(self.K)] + [f"v{k + 1}" for k in range(self.K)]
        sides = [("K", t) for t in tokens] + [("Q", t) for t in tokens]
        found = []
        for head in ("plus", "minus"):
            found += [f"w_{head}_{t}" for t in tokens]
            for i, j in zip(self.symmetric.rows, self.symmetric.columns):
                (side_i, a), (side_j, c) = sides[i], sides[j]
                found.append(f"{ {'KK': 'KK', 'QQ': 'QQ', 'KQ': 'S'}[side_i + side_j] }_{head}_{a}_{c}")
        return tuple(found)

    def split(self, y):
        """(neurons (2, 2K), M (2, 4K, 4K))."""
        per_head = y.reshape(2, -1)
        return per_head[:, : 2 * self.K], self.symmetric.matrix(per_head[:, 2 * self.K :])

    def join(self, neurons, M):
        return jnp.concatenate([neurons, self.symmetric.vector(M)], axis=-1).reshape(-1)


def class_averages(K: int, neurons, M) -> dict[str, Any]:
    """The limit's entries as averages over groups and heads; the negative head enters with its v-signs flipped."""
    found: dict[str, Any] = {}
    signs = {"c": np.ones(2), "v": HEAD_SIGNS}
    part = {"c": slice(0, K), "v": slice(K, 2 * K)}
    for x in "cv":
        found[f"w_{x}"] = (signs[x] * neurons[:, part[x]].mean(axis=-1)).mean()
    offset = {"S": (0, 2 * K), "KK": (0, 0), "QQ": (2 * K, 2 * K)}
    for name, (i, j) in offset.items():
        block = M[:, i : i + 2 * K, j : j + 2 * K]
        for x in "cv":
            for y in "cv":
                if name != "S" and x + y == "vc":
                    continue
                entries = (signs[x] * signs[y])[:, None, None] * block[:, part[x], part[y]]
                diagonal = jnp.trace(entries, axis1=-2, axis2=-1)
                found[f"{name}_{x}{y}_same"] = (diagonal / K).mean()
                found[f"{name}_{x}{y}_diff"] = ((entries.sum(axis=(-2, -1)) - diagonal) / (K * (K - 1))).mean()
    return found


def observations(samples: Samples, K: int, neurons, M, arguments: FiniteArguments, kinks: str) -> dict[str, Any]:
    """Everything the limit reports, measured on a finite-width state."""
    scores = M[:, : 2 * K, 2 * K :]
    h = preactivations(samples, neurons, scores, arguments.b)
    exact = "smooth" if kinks == "smooth" else "exact"
    active = activated(h, arguments, exact)
    f = samples.label * (active[..., 0] - active[..., 1])
    losses = logistic_loss(ops, 1.0, f)
    found = class_averages(K, neurons, M)
    found["loss"] = (samples.weight * losses).sum()
    found["accuracy"] = (samples.weight * (f > 1e-3)).sum()
    right = (1 - samples.label).astype(int) // 2
    sides = {"plus": right, "minus": 1 - right}
    for kind, member in (("consistent", samples.is_consistent), ("conflicting", samples.is_hard)):
        share = samples.weight * member / (samples.weight * member).sum()
        found[f"loss_{kind}"] = (share * losses).sum()
        found[f"f_{kind}"] = (share * f).sum()
        for side, head in sides.items():
            found[f"preactivation_{side}_{kind}"] = (share * h[np.arange(len(head)), head]).sum()
    share = samples.weight * samples.is_hard / (samples.weight * samples.is_hard).sum()
    attention = jnp.stack([ops.softmax(attention_scores(scores[k], samples.sequence), axis=-2) for k in (0, 1)], axis=1)
    for side, head in sides.items():
        p = attention[np.arange(len(head)), head]
        by_key = jnp.stack([p[:, 0], p[:, 1], p[:, 2:].sum(axis=1)], axis=1)
        by_both = jnp.stack([by_key[..., 0], by_key[..., 1], by_key[..., 2:].mean(axis=-1)], axis=2)
        mean = jnp.einsum("n,nkq->kq", share, by_both)
        for q, query in enumerate("cvd"):
            for k, key in enumerate("cvd"):
                found[f"p_{side}_{query}_{key}"] = mean[k, q]
    return found


@lru_cache(maxsize=16)
def reduced_field(K: int, L: int, kinks: str = "frozen") -> FunctionField:
    """L2: the inner products move by themselves."""
    samples, layout = all_samples(K, L), ReducedLayout(K)

    def rhs(y, arguments):
        neurons, M = layout.split(y)
        gradient = jax.grad(partial(loss, samples), argnums=(0, 1))
        d_neurons, G = gradient(neurons, M[:, : 2 * K, 2 * K :], arguments, kinks)
        dM = arguments.train_attention * gram_flow(M, pair_rate(G))
        return layout.join(-arguments.train_neurons * d_neurons, dM)

    return _field(K, L, layout.names, rhs, layout.split, kinks, partial(reduced_field, K, L, "smooth"))


@lru_cache(maxsize=16)
def weights_field(K: int, L: int, width: int, kinks: str = "frozen") -> FunctionField:
    """L1: gradient flow of every weight, by autodiff."""
    samples, unravel = all_samples(K, L), weights_unraveller(K, width)

    def of_weights(weights, arguments):
        scores = jnp.swapaxes(weights.keys, -1, -2) @ weights.queries
        return loss(samples, weights.neurons, scores, arguments, kinks)

    def rhs(y, arguments):
        gradient = jax.grad(of_weights)(unravel(y), arguments)
        rates = Weights(
            -arguments.train_neurons * gradient.neurons,
            -arguments.train_attention * gradient.keys,
            -arguments.train_attention * gradient.queries,
        )
        return ravel_pytree(rates)[0]

    names = tuple(f"weight_{i}" for i in range(4 * K + 8 * K * width))
    return _field(K, L, names, rhs, weights_split(K, width), kinks, partial(weights_field, K, L, width, "smooth"))


@lru_cache(maxsize=64)
def weights_unraveller(K: int, width: int):
    shape = Weights(np.zeros((2, 2 * K)), np.zeros((2, width, 2 * K)), np.zeros((2, width, 2 * K)))
    return ravel_pytree(shape)[1]


def weights_split(K: int, width: int):
    """Flat weights -> (neurons, M), what the reduced level carries."""
    unravel = weights_unraveller(K, width)

    def split(y):
        weights = unravel(y)
        return weights.neurons, gram_matrices(weights)

    return split


def _field(K: int, L: int, names, rhs, split, kinks: str, smooth) -> FunctionField:
    samples = all_samples(K, L)

    def observed(y, arguments):
        return observations(samples, K, *split(y), arguments, kinks)

    def switching(y, arguments):
        neurons, M = split(y)
        return preactivations(samples, neurons, M[:, : 2 * K, 2 * K :], arguments.b).reshape(-1)

    observables = tuple(name for name in OBSERVABLES if name != "max_margin")
    if kinks == "smooth":
        return FunctionField(names, rhs, observed, observables)
    return FunctionField(names, rhs, observed, observables, switching, smooth)


def attention_features(samples: Samples, neurons, scores, b: float) -> np.ndarray:
    """y F(X) of every sample (Eq. (2)): gated mean tokens of both heads, and the gated bias."""
    is_open = np.asarray(preactivations(samples, neurons, scores, b) > 0, dtype=float)
    tokens = [
        np.asarray(jax.jacobian(lambda w, h=h: head_output(ops, w, scores[h], samples.sequence))(neurons[h]))
        for h in (0, 1)
    ]
    signs = is_open * HEAD_SIGNS
    features = [signs[:, h, None] * tokens[h] for h in (0, 1)]
    return samples.label[:, None] * np.hstack([*features, b * signs.sum(axis=1, keepdims=True)])


def finite_problem(setup: Setup, level: str, mode: str) -> Problem:
    """Gradient flow at finite width from the random weights of `seed`, on the weights (L1) or reduced (L2)."""
    K, L, width = setup["K"], setup["L"], setup["width"]
    samples = all_samples(K, L)

    def stage_arguments(trains_neurons: bool, trains_attention: bool, hard_only: bool) -> FiniteArguments:
        weight = np.where(samples.is_hard, samples.weight, 0.0) if hard_only else samples.weight
        return FiniteArguments(
            weight / weight.sum(),
            np.float64(setup["b"]),
            np.float64(trains_neurons),
            np.float64(trains_attention),
            np.ones(2 * len(weight)),
            np.float64(0.0),
        )

    with jax.enable_x64(True):
        scale = setup["sigma_w"] if mode == "attention_only" else 0.0
        weights = initial_weights(jax.random.key(setup["seed"]), K, width, setup["omega"], scale)
        if level == "L1":
            initial, field, split = ravel_pytree(weights)[0], weights_field(K, L, width), weights_split(K, width)
        else:
            layout = ReducedLayout(K)
            initial, field, split = (
                layout.join(weights.neurons, gram_matrices(weights)),
                reduced_field(K, L),
                layout.split,
            )

    def margin(y: np.ndarray) -> float:
        neurons, M = split(jnp.asarray(y))
        return max_margin(attention_features(samples, neurons, M[:, : 2 * K, 2 * K :], setup["b"]))

    def spectra(states: np.ndarray) -> np.ndarray:
        M = np.array([np.asarray(split(jnp.asarray(y))[1]) for y in states])
        return pair_spectrum(M, 2 * K).reshape(len(states), -1)

    return Problem(
        field=field,
        initial=np.asarray(initial),
        stages=stages_of(mode, setup, stage_arguments),
        events=events_of(setup),
        marks=marks_of(setup),
        derived={"max_margin": margin},
        conserved=spectra,
        scale=setup["omega"] ** 2,
        t_max=setup["t_max"],
        default_at=default_events(mode),
    )
