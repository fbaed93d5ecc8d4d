"""The gradients the proofs start from, and what follows from them exactly: closures and the conserved sum."""

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.claims import Verdict, judged
from flowsys.claims.conditions import current
from flowsys.systems.lego import data, finite_attention, groups, stage_1, transformer
from flowsys.systems.lego.claims.runs import LAYER, by_name, claim, layer, run
from flowsys.systems.lego.feedforward import FeedForward
from flowsys.systems.lego.isotropic import Isotropic
from flowsys.systems.lego.layer_observed import Nonlinearity

FINITE = {"bias": 0.3, "rho": 0.5, "sigma_0": 0.15, "clip": "none"}
SCORES = ("alpha", "beta", "gamma", "delta")


def _slope(Λ: np.ndarray, rho: float, q: int) -> np.ndarray:
    """s'(Λ) of the reference activation."""
    return np.clip(Λ / rho, 0, 1) ** (q - 1)


def _probabilities(F: np.ndarray) -> np.ndarray:
    """softmax over classes, the first axis."""
    weights = np.exp(F - F.max(axis=0))
    return weights / weights.sum(axis=0)


def _error_in_V(group_name: str, factor_of_U: float) -> float:
    """Largest difference of dV/dt, dX/dt, dU/dt between autodiff on the weights and the printed expectations."""
    n_x, rho, q, bias = 4, 0.5, 4, 0.3
    vocabulary = data.Vocabulary(n_x, groups.named(group_name))
    feedforward, sentences = FeedForward(bias, rho, q), data.population(vocabulary.group, n_x, 1)
    size = vocabulary.d - 1
    W = 0.5 * np.random.default_rng(1).normal(size=(vocabulary.d, 3, 5, size))
    blocks = {name: np.zeros((size, size)) for name in ("Q_43", "Q_44")}
    loss = lambda W: transformer.step_loss({**blocks, "W_5": W}, vocabulary, sentences, 1, "W_5", feedforward)
    push = lambda W: stage_1.slots(transformer.features(W, vocabulary))
    with jax.enable_x64(True):
        pushed = push(-np.asarray(jax.jit(jax.grad(loss))(W)))
    y = push(W)
    x_1, x_0 = sentences.variables[:, 1], sentences.variables[:, 0]
    g, y_0 = sentences.actions[:, 0], sentences.values[:, 0]
    Λ = (y.V_g[:, :, g] + y.V_y[:, :, y_0] + y.X[:, :, x_1] + y.U[:, :, x_0]) / 2 + bias
    ξ = -_probabilities(_activated(Λ, rho, q).sum(axis=1))
    ξ[transformer.targets(vocabulary, sentences, 1)["W_5"], np.arange(len(g))] += 1
    ω = ξ[:, None, :] * _slope(Λ, rho, q) / 2
    printed = stage_1.Slots(_mean_by(ω, g, y.V_g), _mean_by(ω, y_0, y.V_y), _mean_by(ω, x_1, y.X),
                            factor_of_U * _mean_by(ω, x_0, y.U))  # fmt: skip
    return max(float(np.abs(a - b).max()) for a, b in zip(pushed, printed))


def _activated(Λ: np.ndarray, rho: float, q: int) -> np.ndarray:
    return np.where(rho < Λ, Λ - rho * (1 - 1 / q), np.clip(Λ, 0, rho) ** q / (q * rho ** (q - 1)))


def _mean_by(ω: np.ndarray, token: np.ndarray, like: np.ndarray) -> np.ndarray:
    """E[ω 1{token = ·}] over the sentences."""
    return np.stack([(ω * (token == k)).mean(axis=2) for k in range(like.shape[2])], axis=2)


def feature_gradients_are_the_printed_expectations(factor_of_U: float = 2.0) -> Verdict:
    """Facts B.1, C.2: dV(g)/dt = E[ω 1{g_1 = g}] and so on, ω = ½ ξ s'(Λ); U counts two slots."""
    errors = {name: _error_in_V(name, factor_of_U) for name in ("C3", "S3")}
    return judged(max(errors.values()) < 1e-15, "exact", f"largest difference from autodiff {by_name(errors, '.1e')}",
                  tolerance=1e-15, parameters={"n_x": 4, "m": 3, "sigma_0": 0.5},
                  values={"errors": errors})  # fmt: skip


def _error_in_Q(group_name: str, n_x: int, subtracts_mean: bool) -> float:
    """Largest difference of n_x ∇_Q Loss^{2,1} + Loss^{2,2} between autodiff and Fact D.1, at a random Q."""
    vocabulary, rho, q, bias = data.Vocabulary(n_x, groups.named(group_name)), 0.3, 4, 0.1
    group, size = vocabulary.group, vocabulary.d - 1
    features = Isotropic(6.0, -4.0, 5.0, -5.5)
    sentences = data.population(group, n_x, 2, variables_read=2)
    Q = np.random.default_rng(0).normal(size=(2, size, size))
    numbers = finite_attention.Numbers(*map(np.float64, (bias, rho, 1e-3, 10.0, 0.1)), features, np.ones(2),
                                       np.float64(-1), np.float64(0.1))  # fmt: skip
    field = finite_attention.field("weights", group_name, n_x, Nonlinearity(q, "azl", "none"))
    with jax.enable_x64(True):
        rates = np.asarray(jax.jit(field.rhs)(jnp.asarray(Q.ravel()), numbers)).reshape(Q.shape)
        W = np.asarray(transformer.isotropic_head(vocabulary, *features))
    on_action, on_value = W[:, :, 1, vocabulary.actions], W[:, :, 4, vocabulary.values]
    printed, at = np.zeros_like(Q), np.arange(len(sentences.actions))
    for ell in (1, 2):
        query = sentences.variables[:, ell - 1]
        keys = np.concatenate([sentences.variables[:, :2], sentences.variables[:, :ell]], axis=1)
        block = np.array([0, 0, 1, 1])[: 2 + ell]
        scores = Q[block[None], query[:, None], keys]
        attention = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        held = [on_action[:, :, sentences.actions[:, k]] for k in (0, 1)]
        held += [on_value[:, :, sentences.values[:, k]] for k in range(ell)]
        read = sum(a * v for a, v in zip(attention.T, held))
        ξ = -_probabilities(_activated(read + bias, rho, q).sum(axis=1))
        ξ[transformer.targets(vocabulary, sentences, ell)["W_5"], at] += 1
        ω = ξ[:, None, :] * _slope(read + bias, rho, q)
        for k, v in enumerate(held):
            rate = attention[:, k] * (ω * (v - read * subtracts_mean)).sum(axis=(0, 1))
            np.add.at(printed[block[k]], (query, keys[:, k]), n_x * rate / len(at))
    return float(np.abs(rates - printed).max() / np.abs(printed).max())


def attention_gradients_are_the_printed_expectations(subtracts_mean: bool = True) -> Verdict:
    """Facts D.1, E.1: -∂Loss/∂Q = E Σ_k Attn_k Σ_j ξ_j Σ_r s'(Λ) (⟨W, Z_k⟩ - Λ + b), all other entries 0."""
    error = _error_in_Q("S3", 4, subtracts_mean)
    return judged(error < 1e-13, "exact, and 0 off the variables", f"relative difference from autodiff {error:.1e}",
                  tolerance=1e-13, note="at a random Q over an isotropic layer, all d classes, both steps",
                  parameters={"group": "S3", "n_x": 4}, values={"error": error})  # fmt: skip


def features_follow_the_weights(seed: int = 0) -> Verdict:
    """[ours] Integrated: gradient flow on W_5 (L1) and on its inner products (L2) are one trajectory."""
    errors = {}
    for group, n_x, width, time in (("C3", 3, 2, 25.0), ("S3", 3, 2, 40.0)):
        choices = {"group": group, "n_x": n_x, "width": width, "rtol": 1e-9, "solver": "tsit5", **FINITE}
        on_weights = layer(time, level="L1", observe=LAYER, **choices)
        reduced = layer(time, level="L2", observe=LAYER, seed=seed, **choices)
        errors[f"{group} at t = {time:g}"] = max(float(abs(on_weights[n][-1] - reduced[n][-1])) for n in LAYER)
    return judged(max(errors.values()) < 1e-6, "exact", f"largest difference {by_name(errors, '.1e')} (rtol 1e-9)",
                  tolerance=1e-6, parameters=FINITE, values={"errors": errors})  # fmt: skip


def actions_minus_values_is_conserved(weight: float = 1.0) -> Verdict:
    """[ours] Σ_g V(g) - Σ_y V(y) of every neuron is constant, with every activation and clip."""
    rng, drifts = np.random.default_rng(0), {}
    group = groups.symmetric(3)
    y = stage_1.Exchangeable(rng.normal(size=(3, 4, 6)), rng.normal(size=(3, 4, 3)), rng.normal(size=(3, 4)))
    for activation, clip in (("azl", "smooth"), ("even", "hard"), ("B2", "none")):
        feedforward = FeedForward(0.3, 0.5, 4, activation, 0.01, clip, 2.0)
        with jax.enable_x64(True):
            field = stage_1.exchangeable_field(group, 50.0, 7.0, feedforward)
            dy = jax.tree.map(np.asarray, jax.jit(lambda y, field=field: field(0.0, y, None))(y))
        drifts[f"{activation}/{clip}"] = float(np.abs(dy.V_g.sum(axis=-1) - weight * dy.V_y.sum(axis=-1)).max())
    at, choices = (40.0, FINITE) if current().is_finite else (1e6, {})
    along = layer(at, group="S3", **choices).statistics["conserved_drift"]
    return judged(max(drifts.values()) < 1e-14 and along < 1e-12, "constant",
                  f"rate at a random point {by_name(drifts, '.0e')}; drift along the S3 flow to t = {at:g} {along:.0e}",
                  tolerance=1e-12, values={"rates": drifts, "drift": along})  # fmt: skip


def full_attention_keeps_four_values(level: str = "L2", n_x: int = 6) -> Verdict:
    """[ours] Q_43 and Q_44 started at 0 keep one diagonal and one off-diagonal value each, and follow the four."""
    sizes = {"group": "C3", "d": 13.0}
    finite = run(33.0, level=level, observe=(*SCORES, "loss", "spread"), n_x=6, rtol=1e-9, group="C3")
    limit = run(33.0, observe=(*SCORES, "loss"), n_x=n_x, rtol=1e-9, **sizes)
    error = max(float(abs(finite[name][-1] - limit[name][-1])) for name in (*SCORES, "loss"))
    spread = float(finite["spread"][-1])
    return judged(error < 1e-6 and spread < 1e-13, "exact: 2 n_x² entries, 4 values",
                  f"difference {error:.1e} at τ = 33, entries of a kind differ by {spread:.0e}", tolerance=1e-6,
                  parameters={"n_x": n_x, **sizes}, values={"error": error, "spread": spread})  # fmt: skip


CLAIMS = [
    claim("B.1_C.2", "Facts B.1, C.2", "the gradient of every feature is E[ω 1{token}]",
          feature_gradients_are_the_printed_expectations, control={"factor_of_U": 1.0}, regime="any weights"),
    claim("D.1_E.1", "Facts D.1, E.1", "the gradient of Q is the printed expectation, and 0 off the variables",
          attention_gradients_are_the_printed_expectations, control={"subtracts_mean": False}, regime="any Q"),
    claim("closure_1", "Facts B.1, C.2 [ours]", "inner products with tokens follow the weights",
          features_follow_the_weights, control={"seed": 1}, regime="random weights, n_x = 3", is_cheap=False),
    claim("conserved", "Theorem C.1 (C) [ours]", "Σ_g V(g) - Σ_y V(y) of a neuron never moves",
          actions_minus_values_is_conserved, control={"weight": 0.5}, regime="any weights, activation, clip",
          levels="L2 L3"),
    claim("closure_2", "Section 6.2 [ours]", "attention blocks keep four values, which close",
          full_attention_keeps_four_values, control={"n_x": 5}, regime="C3, n_x = 6, ideal layer", is_cheap=False),
]  # fmt: skip
