"""The limit's observables measured at finite width, on the inner products (G, c, VV, S, KK, QQ).

Irrelevant words are averaged over their occurrences in a type, outputs and attention over the samples of a type.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.model import ops
from flowsys.systems.cooccurrence.closure import Small, small_field
from flowsys.systems.cooccurrence.data import SPECIAL_WORDS
from flowsys.systems.cooccurrence.model import data_loss, data_outputs
from flowsys.systems.cooccurrence.network import FiniteArguments, Structure, random_positions
from flowsys.systems.cooccurrence.vocabulary import OBSERVABLES

MEASURED = tuple(OBSERVABLES)
_TYPES = ("1", "2", "3", "4")
_VALUES = ("G_mu1", "G_mu2", "G_mu3", "G_r1", "G_r2", "G_r3", "G_r4")


def observations(structure: Structure, y: Small, clocks, arguments: FiniteArguments) -> dict[str, Any]:
    """Everything in `MEASURED`."""
    words, labels, weights, score_scale, _ = arguments.train
    rate = small_field(0.0, y, arguments.train)
    F, dF = jax.jvp(lambda G, S: data_outputs(G, S, words, score_scale, ops), (y.G, y.S), (rate.G, rate.S))
    found: dict[str, Any] = {"tau": clocks[0], "clock": clocks[1], "c": y.c, "c_growth": y.c / arguments.beta}
    means = word_class_means(structure, words)
    found |= _entries(structure, y, means, words)
    found |= _by_type(structure, F, dF, labels, weights)
    test = arguments.test
    found["test_loss"] = data_loss(y.G, y.S, test.words, test.labels, test.sample_weights, score_scale, ops)
    found |= _attention(structure, score_scale * y.S[words[:, None, :], words[:, :, None]])
    found |= {f"d_{name}": value for name, value in zip(_VALUES, means @ rate.G)}
    found |= {f"d_S_{p}{q}": rate.S[int(p) - 1, int(q) - 1] for p, q in ("12", "21", "31", "32")}
    return found | _monitors(found, labels * F)


def word_class_means(structure: Structure, words):
    """(7, d): the special words, and the mean over the occurrences of irrelevant words in each type."""
    means = jnp.zeros((7, structure.d)).at[np.arange(3), np.arange(3)].set(1.0)
    for T, rows in enumerate(structure.slices):
        random = words[rows, random_positions(T, structure.L)].reshape(-1)
        means = means.at[3 + T, random].add(1 / random.shape[0])
    return means


def _entries(structure: Structure, y: Small, means, words) -> dict[str, Any]:
    G, S = means @ y.G, means @ y.S @ means.T
    found: dict[str, Any] = dict(zip(_VALUES, G))
    for i in range(3):
        found |= {f"S_{i + 1}{j + 1}": S[i, j] for j in range(3)}
        for T in range(4):
            found |= {f"S_{i + 1}_r{T + 1}": S[i, 3 + T], f"S_r{T + 1}_{i + 1}": S[3 + T, i]}
        for name in ("VV", "KK", "QQ"):
            found |= {f"{name}_{i + 1}{j + 1}": getattr(y, name)[i, j] for j in range(i, 3)}
    within = y.S[words[:, :, None], words[:, None, :]]
    for T, rows in enumerate(structure.slices):
        positions = np.arange(structure.L)[random_positions(T, structure.L)]
        mean = within[rows].mean(axis=0)[positions][:, positions]
        slots, itself = len(positions), jnp.trace(mean)
        found[f"S_r{T + 1}_same_word"] = itself / slots
        found[f"S_r{T + 1}_same_sample"] = (mean.sum() - itself) / max(slots * (slots - 1), 1)
    return found


def _by_type(structure: Structure, F, dF, labels, weights) -> dict[str, Any]:
    losses, g = ops.softplus(-labels * F), ops.sigmoid(-labels * F)
    found: dict[str, Any] = {"loss": (weights * losses).sum()}
    for T, rows in zip(_TYPES, structure.slices):
        found |= {
            f"F_type{T}": F[rows].mean(),
            f"d_F_type{T}": dF[rows].mean(),
            f"loss_type{T}": losses[rows].mean(),
            f"g_type{T}": (weights * g)[rows].sum(),
        }
    return found


def _attention(structure: Structure, scores) -> dict[str, Any]:
    """From scaled scores [sample, query, key]."""
    p = ops.softmax(scores, axis=-1)
    L = structure.L
    found: dict[str, Any] = {"attention_deviation": L**2 * jnp.abs(p - 1 / L).max()}
    for T, rows in enumerate(structure.slices):
        special, here = SPECIAL_WORDS[T], p[rows].mean(axis=0)
        kinds = [*(str(word + 1) for word in special), "r"]
        # rows of `summed` are the special positions and the sum over the irrelevant ones
        summed = np.eye(len(kinds), L)
        summed[-1, len(special) :] = 1.0
        by_kind = summed @ here @ summed.T / np.append(np.ones(len(special)), L - len(special))[:, None]
        itself = jnp.trace(here[len(special) :, len(special) :]) / (L - len(special))
        for q, query in enumerate(kinds):
            found |= {f"p_type{T + 1}_{query}_{key}": by_kind[q, k] for k, key in enumerate(kinds)}
        found |= {f"p_type{T + 1}_r_self": itself, f"p_type{T + 1}_r_r": by_kind[-1, -1] - itself}
    return found


def _monitors(found, margins) -> dict[str, Any]:
    g_1, g_2, g_3, g_4 = (found[f"g_type{T}"] for T in _TYPES)
    d_1, d_2, d_3 = (found[f"d_G_mu{i}"] for i in (1, 2, 3))
    total = g_1 + g_2 + g_3 + g_4
    return {
        "R": -d_3 / d_1,
        "overtaking": -d_3 - ops.largest([d_1, d_2]),
        "least_margin": margins.min(),
        "least_value": ops.smallest([found["G_mu1"], found["G_mu2"], -found["G_mu3"]]),
        "balance_negative": (g_2 + g_3 + g_4 - g_1) / total,
        "balance_positive": (g_1 - g_2) / total,
        "gradient_order": ops.smallest([g_2 - g_4, g_3 - g_4, g_1 - g_2, g_1 - g_3, g_2 + g_3 + g_4 - g_1]),
        "target_imbalance": jnp.abs(g_2 - g_3) / ops.smallest([g_2, g_3]),
        "score_signs": ops.smallest([found["d_S_12"], found["d_S_21"], -found["d_S_31"], -found["d_S_32"]]),
    }
