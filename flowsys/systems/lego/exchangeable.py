"""Stage 1 with slots that are constant in the variable: χ = ½ (X + U) of a neuron is one number, and n_x a parameter.

    exchangeable     dχ/dt = 3/(2 n_x) E[ω], ω = ½ ξ s'(Λ)      (∂L/∂χ = -2 E[ω]: the rate of χ is 3/(4 n_x))
    many_variables   n_x = ∞: χ stays at 0

The classes outside Y, never a target, are one class of multiplicity d - n_y with the constant logit F_0 = m s(b), or
what is given; d is a free number. Inputs are the n_g n_y pairs (g, y).
"""

import numpy as np

import flowsys as fs
from flowsys.errors import InputError
from flowsys.systems.lego import SYSTEM, groups
from flowsys.systems.lego.data import population
from flowsys.systems.lego.feedforward import value_losses
from flowsys.systems.lego.model import logits, nonlinearity
from flowsys.systems.lego.observables import layer_observables
from flowsys.systems.lego.vocabulary import BOTH_STAGES, LAYER

LARGEST_FLOW = 20_000  # variables of a flow that may be stiff: beyond, a run takes minutes


def blocks(p) -> dict[str, fs.Direct]:
    """V(g), V(y) ~ N(0, σ_0²) of the classes in Y, and χ = 0."""
    group, m = groups.named(p.group), p.width
    rng, n_y = np.random.default_rng(p.seed), group.n_y
    if m * (of_one := n_y * (group.n_g + n_y + 1)) > LARGEST_FLOW:
        raise InputError(
            f"width = {m} is not allowed with group {p.group} where classes are lumped: it must be at most "
            f"{LARGEST_FLOW // of_one}, because the flow has {of_one} variables a neuron, and at most {LARGEST_FLOW}."
        )
    V_g, V_y = (p.sigma_0 * rng.standard_normal((n_y, m, size)) for size in (group.n_g, n_y))
    moves = np.isfinite(p.n_x)
    return {
        "V_g": fs.Direct(*V_g.shape, start=V_g),
        "V_y": fs.Direct(*V_y.shape, start=V_y),
        "chi": fs.Direct(n_y, m, trains=bool(moves), rate=0.75 / p.n_x if moves else 1.0),
    }


def samples(p) -> fs.Samples:
    """Every (g, y), equally likely."""
    return population(groups.named(p.group), n_x=2, L=1, variables_read=0)


def _logits(ops, w, X, p, layer):
    read = w.V_g[:, :, X.actions[:, 0]] + w.V_y[:, :, X.values[:, 0]]
    return logits(ops, read / 2 + w.chi[:, :, None] + layer.bias, layer)


def input_loss(ops, w, X, p):
    """Loss_5¹ of every input."""
    F = _logits(ops, w, X, p, nonlinearity(ops, p))
    return value_losses(ops, F, X.values[:, 1], p.d, p.F_0, axis=0)


def _observed(ops, w, X, p):
    F = _logits(ops, w, X, p, nonlinearity(ops, p, clips=False))
    return layer_observables(ops, X, p, w.V_g, w.V_y, F, input_loss(ops, w, X, p))


# X and U as they start (Assumption B.1)
FROZEN_X = SYSTEM.alone("stage_1", stages={"stage_1": [fs.Stage("stage_1", trains=("V_g", "V_y"))]})
EXCHANGEABLE = SYSTEM.alone("stage_1", blocks=blocks, samples=samples, loss=input_loss,
                             observe=fs.together(_observed, LAYER | BOTH_STAGES))  # fmt: skip
