"""Exact identities of the flow at every width: the six families close (App. C), G and c move with the mean margin."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from flowsys.claims import Claim, Erratum, Identity, Kit, Sides
from flowsys.model import ops
from flowsys.model.concrete import View
from flowsys.model.flows import flow_of_weights, rates_of, seen_of, slopes_of
from flowsys.model.starts import own_weights
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence.model import read, sentence_outputs
from flowsys.systems.cooccurrence.scales import output_weights

SMALL = {"n": 6, "L": 4, "width": 7, "m1": 5, "alpha": 1.0, "beta": 2.0, "score_scale": 0.6}
SEEDS = 4


def pushed(run: Kit, factor: float = 1.0) -> tuple[Any, Any, Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]:
    """Six families at random weights, their rates by autodiff on the weights, and by their own flow.

    The reduced flow is told `factor` times the score scale.
    """
    concrete = SYSTEM.concrete(SYSTEM.setup("limit", **run.given), "L2", "limit", unread=True)
    weights, arguments = own_weights(concrete), concrete.arguments(0)
    told = arguments._replace(reals={**arguments.reals, "score_scale": factor * arguments.reals["score_scale"]})
    with jax.enable_x64(True):
        flow = flow_of_weights(concrete, weights, arguments, "exact")
        seen, moving = jax.jvp(lambda w: seen_of(concrete, w), (weights,), (flow,))
        closed = rates_of(concrete, seen, slopes_of(concrete, seen, told, "exact"), told)
    return concrete, arguments, seen, moving, closed


def families_move_by_themselves(run: Kit, factor: float = 1.0) -> dict[str, Sides]:
    """Eqs. 6, 7: the rates of A (named G here), B (UU), VV, S, KK, QQ from these alone, and by autodiff on weights."""
    found: dict[str, list] = {}
    for there in run.over_seeds(SEEDS):
        *_, moving, closed = pushed(there, factor)
        for name in moving:
            found.setdefault(name, []).append((np.ravel(closed[name]), np.ravel(moving[name])))
    both = {name: [np.concatenate(side) for side in zip(*pairs)] for name, pairs in found.items()}
    return {name: Sides(ours, theirs) for name, (ours, theirs) in both.items()}


def mean_margin_moves_c(run: Kit, factor: float = 1.0) -> Sides:
    """Eq. 5: dc/dt by autodiff on the weights, against (2 m1/n) Σ g_i y_i F_i."""
    left, right = [], []
    for there in run.over_seeds(SEEDS):
        concrete, arguments, seen, moving, _ = pushed(there)
        p = concrete.p(arguments.reals)
        a, X = output_weights(p), concrete.populations[0].rows(arguments.data[0], arguments.share)
        with jax.enable_x64(True):
            w = View(concrete.told(seen))
            margins = X.y * np.asarray(sentence_outputs(ops, w, read(X), p))
        left.append(float(a @ np.asarray(moving["UU"]) @ a))
        right.append(factor * 2 * len(a) * float(np.mean(margins / (1 + np.exp(margins)))))
    return Sides(left, right)


def sum_over_neurons(run: Kit, stray: bool = False) -> Sides:
    """Eq. 4: dG/dt by autodiff on the weights, against c r + m1 VV r; printed, with the sign a_j of any one neuron.

    Signs of the output weights are put into the neurons, so what stays of a_j is drawn beside them.
    """
    left, right = [], []
    for there in run.over_seeds(SEEDS):
        concrete, arguments, seen, moving, _ = pushed(there)
        with jax.enable_x64(True):
            r = -np.asarray(slopes_of(concrete, seen, arguments, "exact")["G"])[0]  # ∂L/∂A = -a rᵀ, a = 1
        neurons = len(seen["UU"])
        signs = np.random.default_rng([there.p.seed, neurons]).choice([-1, 1], neurons) if stray else np.ones(1)
        own, other = np.asarray(seen["UU"]).sum() * r, neurons * np.asarray(seen["VV"]) @ r
        left += [np.asarray(moving["G"]).sum(axis=0)] * len(signs)
        right += [own + sign * other for sign in signs]
    return Sides(np.concatenate(left), np.concatenate(right))


CLAIMS = (
    Claim("the_six_families_close", "Eq. 6, Eq. 7, Lemmas C.1–C.4",
          "the rates of neuron, value, key and query correlations depend on these alone", Identity(1e-12),
          families_move_by_themselves, at=SMALL, levels="L2", control={"factor": 1.01}),
    Claim("Eq. 4-printed", "Eq. 4", "dG(μ)/dt = c r(μ) + a_j m1 (VV r)(μ), with an a_j that no sum runs over",
          Identity(1e-12), lambda run, stray=True: sum_over_neurons(run, stray), at=SMALL, levels="L2",
          control={"stray": False},
          erratum=Erratum("a_{j_1} in the second term of Eq. (4)", "no a_{j_1} there", "harmless", "Eq. 4-corrected")),
    Claim("Eq. 4-corrected", "Eq. 4 [ours]", "dG(μ)/dt = c r(μ) + m1 (VV r)(μ)", Identity(1e-12), sum_over_neurons,
          at=SMALL, levels="L2", control={"stray": True}),
    Claim("c_moves_with_the_mean_margin", "Eq. 5, Lemma F.4", "dc/dt = (2 m1/n) Σ g_i y_i F_i", Identity(1e-12),
          mean_margin_moves_c, at=SMALL, levels="L2", control={"factor": 1.01}),
)  # fmt: skip
