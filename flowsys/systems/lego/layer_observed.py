"""What stage 1 reports at finite width, under the names of the isotropic limit.

Each combination (j, y) has a winner, the neuron of class j with the largest feature V_{j,r}(Fib_{j,y}, y). a, b', c, e
are the winners' features averaged over combinations; F_c and F_w, not clipped, are averaged over inputs.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from flowsys.systems.lego.feedforward import FeedForward
from flowsys.systems.lego.groups import GroupAction

OBSERVED = (
    "a", "b_prime", "c", "e", "V_psi", "x", "confounder_ae", "confounder_bc", "a_over_c", "F_c", "F_w", "F_gap", "miss",
    "log_miss", "unsettled", "loss", "log_loss", "V_psi_min", "one_neuron",
)  # fmt: skip
LEARNED = 1.0  # a neuron carries a combination if its feature exceeds this (Eq. 16)


class Numbers(NamedTuple):
    """The numbers of a finite layer, as data."""

    bias: np.ndarray
    rho: np.ndarray
    varpi: np.ndarray
    B: np.ndarray
    clip_width: np.ndarray
    d: np.ndarray
    n_x: np.ndarray
    delta_2: np.ndarray
    log_miss_target: np.ndarray


class Nonlinearity(NamedTuple):
    """What of the feed-forward layer is fixed when a field is compiled."""

    q: int
    activation: str
    clip: str

    @property
    def unclipped(self) -> "Nonlinearity":
        return self._replace(clip="none")

    def with_numbers(self, numbers) -> FeedForward:
        return FeedForward(
            numbers.bias, numbers.rho, self.q, self.activation, numbers.varpi, self.clip, numbers.B, numbers.clip_width
        )


def observations(V_g, V_y, F, losses, target, group: GroupAction, numbers: Numbers) -> dict:
    """From features (n_y, m, ·), logits of the values (n_y, N), losses (N,) and targets among the values (N,)."""
    n_g, n_y = group.n_g, group.n_y
    in_fibre = jnp.asarray(group.matrices)  # (g, j, y)
    on = jnp.einsum("jrg,gjy->jry", V_g, in_fibre) / group.fibre_size
    off = (V_g.sum(axis=2)[:, :, None] - group.fibre_size * on) / (n_g - group.fibre_size)
    other = (V_y.sum(axis=2)[:, :, None] - V_y) / (n_y - 1)
    feature = (on + V_y) / 2
    winner = feature.argmax(axis=1)[:, None, :]
    won = lambda table: jnp.take_along_axis(table, winner, axis=1)[:, 0]
    a, b_prime, c, e = (won(table).mean() for table in (on, off, V_y, other))
    correct = F[target, jnp.arange(F.shape[1])]
    F_c, F_w = correct.mean(), (F.sum(axis=0) - correct).mean() / (n_y - 1)
    loss, miss = losses.mean(), -jnp.expm1(-losses).mean()
    confounder = jnp.maximum((a + e) / 2, (b_prime + c) / 2)
    return {
        "a": a, "b_prime": b_prime, "c": c, "e": e,
        "V_psi": (a + c) / 2,
        "x": (a + c) / 2 + numbers.bias,
        "confounder_ae": (a + e) / 2,
        "confounder_bc": (b_prime + c) / 2,
        "a_over_c": a / c,
        "F_c": F_c, "F_w": F_w, "F_gap": F_c - F_w,
        "miss": miss,
        "log_miss": jnp.log(miss),
        "unsettled": jnp.maximum(confounder - numbers.delta_2, jnp.log(miss) - numbers.log_miss_target),
        "loss": loss,
        "log_loss": jnp.log(loss),
        "V_psi_min": won(feature).min(),
        "one_neuron": ((feature > LEARNED).sum(axis=1) == 1).mean(dtype=feature.dtype),
    }  # fmt: skip
