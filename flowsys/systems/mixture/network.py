"""The finite-width network: its weights, its loss over all samples, and what is observed of it.

The loss sees the weights only through w_± and S_± = W_Kᵀ W_Q; with M = [W_K | W_Q]ᵀ[W_K | W_Q] per head, everything
that is observed is a function of (w, M), reported as class averages under the limit's names.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.model import ops
from flowsys.model.gram import SymmetricLayout
from flowsys.systems.mixture.model import attention_scores, head_output, logistic_loss
from flowsys.systems.mixture.population import Samples

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


def score_spread(K: int, averages: dict[str, Any], scores):
    """The root mean square distance of single scores (heads × 2K × 2K) from the average of their class."""
    same = jnp.eye(K)
    signs = {"c": np.ones(2), "v": HEAD_SIGNS}
    block = lambda x, y: (
        (signs[x] * signs[y])[:, None, None]
        * (averages[f"S_{x}{y}_same"] * same + averages[f"S_{x}{y}_diff"] * (1 - same))
    )
    symmetric = jnp.block([[block(x, y) for y in "cv"] for x in "cv"])
    return jnp.sqrt(jnp.mean((scores - symmetric) ** 2))


def observations(samples: Samples, K: int, neurons, M, arguments: FiniteArguments, kinks: str) -> dict[str, Any]:
    """Everything the limit reports, measured on a finite-width state."""
    scores = M[:, : 2 * K, 2 * K :]
    h = preactivations(samples, neurons, scores, arguments.b)
    exact = "smooth" if kinks == "smooth" else "exact"
    active = activated(h, arguments, exact)
    f = samples.label * (active[..., 0] - active[..., 1])
    losses = logistic_loss(ops, 1.0, f)
    found = class_averages(K, neurons, M)
    found["score_spread"] = score_spread(K, found, scores)
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


def attention_features(samples: Samples, neurons, scores, b):
    """y F(X) of every sample (Eq. (2)): gated mean tokens of both heads, and the gated bias."""
    signs = HEAD_SIGNS * (preactivations(samples, neurons, scores, b) > 0)
    tokens = [jax.jacobian(lambda w, h=h: head_output(ops, w, scores[h], samples.sequence))(neurons[h]) for h in (0, 1)]
    features = [signs[:, h, None] * tokens[h] for h in (0, 1)]
    return samples.label[:, None] * jnp.hstack([*features, b * signs.sum(axis=1, keepdims=True)])
