"""The other layer that matters, W_4 (Appendix A): it learns to copy the variable of the predicate's first slot.

Gradient descent on Loss_4¹ (Definition 3.7 at place 4) in the coordinates that it sees, one table a slot: C3, m = 4
neurons a class, b = σ_0 log d, no clip. d is small, so σ_0 is a quarter of d^(-1/2).
"""

from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.claims import Claim, Inequality, Kit, Order, Path, Sides
from flowsys.systems.lego.claims.gradients import one_step_tokens
from flowsys.systems.lego.groups import named, sizes

NEURONS, STEPS, SEEDS = 4, 2000, (0, 1)


class Copier(NamedTuple):
    """W_4 of the classes in X on tokens by slot after training, (n_x, m, 5, d - 1)."""

    W: np.ndarray
    losses: np.ndarray
    d: int
    sigma_0: float


@partial(jax.jit, static_argnames=("q",))
def _descended(W, tokens, rate, bias, rho, q):
    """The weights after all steps, and the losses on the way."""

    def loss(W):
        Λ = jnp.moveaxis(sum(W[:, :, slot][:, :, tokens[:, slot]] for slot in range(5)), -1, 0) / 2 + bias
        inner = jnp.where(Λ > 0, Λ, 0.0)
        F = jnp.where(rho < Λ, Λ - rho * (1 - 1 / q), inner**q / (q * rho ** (q - 1))).sum(axis=2)
        return (jax.nn.logsumexp(F, axis=1) - jnp.take_along_axis(F, tokens[:, :1], axis=1)[:, 0]).mean()

    def step(W, _):
        value, slope = jax.value_and_grad(loss)(W)
        return W - rate * slope, value

    return jax.lax.scan(step, W, None, length=STEPS)


@lru_cache(maxsize=16)
def copier(group: str, n_x: int, seed: int, rho: float, q: int) -> Copier:
    """One model trained, at a rate ∝ n_x: a variable is asked for 1/n_x of the time."""
    d = n_x + sum(sizes(group)) + 1
    sigma_0 = d**-0.5 / 4
    tokens, _ = one_step_tokens(named(group), n_x)
    W = sigma_0 * np.random.default_rng(seed).normal(size=(d, NEURONS, 5, d - 1))
    with jax.enable_x64(True):
        end, losses = _descended(jnp.asarray(W), jnp.asarray(tokens), n_x / 3, sigma_0 * np.log(d), rho, q)
        return Copier(np.asarray(end)[:n_x], np.asarray(losses), d, sigma_0)


def copiers(run: Kit) -> list[Copier]:
    return [copier(run.p.group, int(run.p.n_x), seed, run.p.rho, run.p.q) for seed in SEEDS]


def diagonal(found: Copier, slot: int = 0) -> np.ndarray:
    """⟨W_{4,j,r,1}, e_j⟩: (n_x, m)."""
    j = np.arange(len(found.W))
    return found.W[j, :, slot, j]


def active_mass(run: Kit, slot: int = 0) -> float:
    """A.12 (b): Σ over active neurons of ⟨W_{4,j,r,1}, e_j⟩ over log d, of the weakest variable and seed."""
    mass = lambda found: float(np.maximum(diagonal(found, slot), 0).sum(axis=1).min())
    return min(mass(found) / np.log(found.d) for found in copiers(run))


def losses(run: Kit, scale: float = 1.0) -> Sides:
    """A.12 (a): the loss after training against 1/d."""
    found = copiers(run)
    return Sides([scale * c.losses[-1] for c in found], [1 / c.d for c in found])


def other_features(run: Kit, scale: float = 1.0) -> dict[str, Sides]:
    """Induction A.1 (b, c): the largest |feature| on actions and values against σ_0 + diagonal/|G|, diagonal/|Y|."""
    (n_g, n_y), n_x = sizes(run.p.group), int(run.p.n_x)
    found = {}
    for name, slot, part, n in (("actions", 1, slice(n_x, n_x + n_g), n_g), ("values", 4, slice(n_x + n_g, None), n_y)):
        sizes_of = [float(np.abs(c.W[:, :, slot, part]).max()) for c in copiers(run)]
        bounds = [scale * (c.sigma_0 * np.log(c.d) + diagonal(c).max(axis=1).min() / n) for c in copiers(run)]
        found[name] = Sides(sizes_of, bounds)
    return found


MORE_VARIABLES = Path("n_x", (4, 6, 9, 13))
TRAINED: dict[str, Any] = {
    "at": {"group": "C3"},
    "path": MORE_VARIABLES,
    "mode": "stage_1",
    "takes": "rho q",
    "is_cheap": False,
}
CLAIMS = [
    Claim("A.12", "Lemma A.12, Lemma A.3, Lemma A.4", "(b) Φ_{4,j} ≥ Ω(log d) for every variable: W_4 copies it",
          Order("Ω"), active_mass, **TRAINED, control={"slot": 2}),
    Claim("A.12_loss", "Lemma A.12", "(a) Loss_4¹ ≤ 1/poly(d)", Inequality("<="), losses, **TRAINED,
          control={"scale": 1e4}),
    Claim("A.1_induction", "Induction A.1, Lemma A.6, Lemma A.7",
          "(b, c) features on actions and values are O(1/|G|), O(1/|Y|) of the diagonal", Inequality("<=", None),
          other_features, **TRAINED, control={"kind": Inequality("<=", 0.1)}),
]  # fmt: skip
