"""What is observed of frame entries S that need not be symmetric: the limit's names, measured on given prompts.

Losses and attention masses are means over the training prompts; a, b, H and entries of W are means over orbits of
relabelling; gradients are those of the training loss.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.model import ops

from .lemmas import EntryGradients, mean_column_gradients
from .model import MASSES, Prompts, score_loss, score_losses, score_masses
from .scores import orbits
from .vocabulary import finite_observables


class FiniteArguments(NamedTuple):
    """The prompts trained on, prompts of unseen tasks, and the patterns (which only the weights need)."""

    prompts: Prompts
    test_prompts: Prompts
    patterns: Any = None


def observations(S, arguments: FiniteArguments, K: int) -> dict[str, Any]:
    """All of `finite_observables(K)`."""
    prompts, M = arguments.prompts, S.shape[1] - K
    steps = range(1, K + 1)
    at_step = jax.nn.one_hot(prompts.step, K, dtype=S.dtype, axis=0)
    at_step = at_step / at_step.sum(axis=1, keepdims=True)
    gradient = jax.grad(lambda S: score_loss(ops, S, prompts))(S)
    masses, mass_rates = jax.jvp(lambda S: at_step @ score_masses(ops, S, prompts), (S,), (-gradient,))
    losses = at_step @ score_losses(ops, S, prompts)
    mean = orbits(S, K)
    H = mean.C.reshape(K, 1) + mean.G
    found = {"a": mean.A_s - mean.A_d, "b": mean.B_s - mean.B_d, "loss": losses.mean()}
    found |= {f"H_{i}{k}": H[i - 1, k - 1] for i in steps for k in steps}
    found["g"] = (H.trace() - (H.sum() - H.trace()) / (K - 1)) / K
    found |= {f"loss_{k}": losses[k - 1] for k in steps}
    for column, kind in enumerate(MASSES):
        found[f"mass_{kind}"] = masses[:, column].mean()
        found |= {f"mass_{kind}_{k}": masses[k - 1, column] for k in steps}
    other_step, missed = masses[:, 1] + masses[:, 3], masses[:, 1:].sum(axis=1)
    found |= {
        "mass_other_step": other_step.mean(),
        "mass_other_step_max": other_step.max(),
        "log_other_step_max": jnp.log(other_step.max()),
        "p_min": masses[:, 0].min(),
        "log_missed_max": jnp.log(missed.max()),
        "purity": found["mass_same_same"] / (found["mass_same_same"] + found["mass_other_same"]),
        "rate_mass_other_same": mass_rates[:, 2].mean(),
    }
    found |= {name: getattr(mean, name) for name in ("A_s", "A_d", "B_s", "B_d")}
    found |= {f"C_{k}": mean.C[k - 1] for k in steps}
    found |= {f"G_{i}{k}": mean.G[i - 1, k - 1] for i in steps for k in steps}
    entry = orbits(gradient, K)
    entry = EntryGradients(entry.A_s, entry.A_d, entry.B_s, entry.B_d, entry.C, entry.G)
    found |= {f"gamma_{name}": getattr(entry, name) for name in ("A_s", "A_d", "B_s", "B_d")}
    found |= {f"Gamma_{kind}": Γ for kind, Γ in zip(MASSES, mean_column_gradients(entry))}
    found["loss_test"] = score_loss(ops, S, arguments.test_prompts)
    found["mass_same_same_test"] = score_masses(ops, S, arguments.test_prompts)[:, 0].mean()
    found["sd_A_s"] = jnp.diagonal(S[:M, :M]).std()
    return {name: found[name] for name in finite_observables(K)}


def score_names(M: int, K: int) -> tuple[str, ...]:
    """S_key_query of every frame entry, row by row."""
    steps = [f"c{k + 1}" for k in range(K)]
    inputs, outputs = ([f"{kind}{i + 1}" for i in range(M)] for kind in "ab")
    return tuple(f"S_{key}_{query}" for key in (*inputs, *outputs, *steps) for query in (*inputs, *steps))


def token_sums(S, M: int) -> np.ndarray:
    """The 3 (M + K) conserved sums of states (n, 2M + K, M + K): over inputs, over outputs and over steps."""
    parts = [S[:, :M], S[:, M : 2 * M], S[:, 2 * M :]]
    return np.concatenate([np.asarray(part).sum(axis=1) for part in parts], axis=-1)
