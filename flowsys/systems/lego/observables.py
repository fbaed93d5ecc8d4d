"""What is observed of both stages, each formula once: for weights, for inner products and for the stated limits.

At finite width each combination (j, y) has a winner, the neuron of class j with the largest feature V(Fib_{j,y}, y);
a, b', c, e are the winners' features averaged over combinations, F_c and F_w, not clipped, averages over inputs. Scores
are the averages of the two kinds of entries of Q_43 and of Q_44.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import flowsys as fs
from flowsys.systems.lego import groups, model
from flowsys.systems.lego.groups import GroupAction
from flowsys.systems.lego.isotropic import Isotropic
from flowsys.systems.lego.stage_2 import Scores, attention, eps_attention, gap
from flowsys.systems.lego.vocabulary import BOTH_STAGES, LAYER, RATES, SCORES

LEARNED = 1.0  # a neuron carries a combination if its feature exceeds this (Eq. 16)


# -- the formulas -----------------------------------------------------------------------------------------------------


def of_layer(ops, y: Isotropic, bias, F_c, F_w, loss, miss, delta_2, log_miss_target) -> dict[str, Any]:
    """Everything that stage 1 reports."""
    a, b_prime, c, e = y
    confounder = ops.largest([(a + e) / 2, (b_prime + c) / 2])
    return {
        **y._asdict(),
        "V_psi": (a + c) / 2, "x": (a + c) / 2 + bias,
        "confounder_ae": (a + e) / 2, "confounder_bc": (b_prime + c) / 2, "a_over_c": a / c,
        "F_c": F_c, "F_w": F_w, "F_gap": F_c - F_w,
        "miss": miss, "log_miss": ops.log(miss),
        "unsettled": ops.largest([confounder - delta_2, ops.log(miss) - log_miss_target]),
        "loss": loss, "log_loss": ops.log(loss),
    }  # fmt: skip


def of_scores(ops, scores: Scores, L, log_eps_target, gap_target) -> dict[str, Any]:
    """Where the scores stand; ε and Δ are those of step 2 at the length L, and at length 2."""
    eps, apart = eps_attention(ops, scores, L, 2), gap(ops, scores, L, 2)
    return {
        **scores._asdict(), "alpha_minus_gamma": scores.alpha - scores.gamma,
        "eps_attention": eps, "gap": apart, "log_eps": ops.log(eps),
        "eps_22": eps_attention(ops, scores, 2, 2), "gap_22": gap(ops, scores, 2, 2),
        "unsettled": ops.largest([ops.log(eps) - log_eps_target, apart - gap_target, -apart - gap_target]),
    }  # fmt: skip


def of_velocity(ops, scores: Scores, velocity: Scores, L) -> dict[str, Any]:
    """How they move."""
    p, counts = attention(ops, scores, L, 2), Scores(1, L - 1, 1, 1)
    mean = sum(n * x * v for n, x, v in zip(counts, p, velocity))
    rates = Scores(*[x * (v - mean) for x, v in zip(p, velocity)])
    gap_rate, eps_rate = rates.alpha - rates.gamma, (L - 1) * rates.beta + rates.delta
    return {
        "alpha_rate": velocity.alpha, "gamma_rate": velocity.gamma, "gap_rate": gap_rate, "eps_rate": eps_rate,
        "gap_growth": gap(ops, scores, L, 2) * gap_rate, "log_eps_rate": eps_rate / eps_attention(ops, scores, L, 2),
    }  # fmt: skip


# -- of weights -------------------------------------------------------------------------------------------------------


def winners(ops, V_g, V_y, group: GroupAction) -> tuple[Isotropic, dict[str, Any]]:
    """The winners' features, averaged, and what only many neurons have; arrays are (class j, neuron, y)."""
    on = (V_g[:, :, :, None] * np.swapaxes(group.matrices, 0, 1)[:, None]).sum(axis=2) / group.fibre_size
    off = (V_g.sum(axis=2)[:, :, None] - group.fibre_size * on) / (group.n_g - group.fibre_size)
    others = (V_y.sum(axis=2)[:, :, None] - V_y) / (group.n_y - 1)
    feature = (on + V_y) / 2  # V_{j,r}(Fib_{j,y}, y)
    top = ops.largest([feature[:, r] for r in range(feature.shape[1])])
    is_winner = 1 - ops.is_positive(top[:, None] - feature)
    won = [(is_winner * table).sum(axis=1) / is_winner.sum(axis=1) for table in (on, off, V_y, others)]
    n_carry = ops.is_positive(feature - LEARNED).sum(axis=1)
    carried_by_one = ops.is_positive(n_carry) - ops.is_positive(n_carry - 1)
    size = group.n_y**2
    return Isotropic(*(table.sum() / size for table in won)), {
        "V_psi_min": ops.smallest(top.reshape(-1)), "one_neuron": carried_by_one.sum() / size
    }  # fmt: skip


def layer_observables(ops, X, p, V_g, V_y, F, losses) -> dict[str, Any]:
    """Stage 1 at finite width, from features and logits of the values (n_y, N)."""
    y, more = winners(ops, V_g, V_y, groups.named(p.group))
    n_y, size = F.shape
    miss = (ops.tanh(losses / 2) * (1 + ops.exp(-losses))).sum() / size  # 1 - e^-loss with all its digits
    F_c = F[X.values[:, 1], np.arange(size)].sum() / size
    F_w = (F.sum() / size - F_c) / (n_y - 1)
    bias, loss = model.nonlinearity(ops, p).bias, losses.sum() / size
    return of_layer(ops, y, bias, F_c, F_w, loss, miss, p.delta_2, ops.log(p.miss_target)) | more


def _of_layer(ops, w, X, p) -> dict[str, Any]:
    inside = model.vocabulary(p).values
    F = model.one_step_logits(ops, w, X, p, model.nonlinearity(ops, p, clips=False))[inside]
    return layer_observables(ops, X, p, w.V_g[inside], w.V_y[inside], F, model.one_step_loss(ops, w, X, p))


def scores_of(Q_43, Q_44) -> Scores:
    """The mean of each kind of entry on the variables."""
    n = Q_43.shape[0]
    traces = [(np.eye(n) * Q).sum() for Q in (Q_43, Q_44)]
    means = [(trace / n, (Q.sum() - trace) / (n * (n - 1))) for Q, trace in zip((Q_43, Q_44), traces)]
    return Scores(*means[0], *means[1])


def score_spread(ops, w, X, p):
    """How far any entry of Q is from the mean of its kind."""
    y, n = scores_of(w.Q_43, w.Q_44), w.Q_43.shape[0]
    expected = [diagonal * np.eye(n) + off * (1 - np.eye(n)) for diagonal, off in (y[:2], y[2:])]
    apart = [ops.abs(Q - mean).reshape(-1) for Q, mean in zip((w.Q_43, w.Q_44), expected)]
    return ops.largest(ops.concatenate(apart))


def _of_scores(ops, w, X, p) -> dict[str, Any]:
    return of_scores(ops, scores_of(w.Q_43, w.Q_44), X.actions.shape[1], ops.log(p.eps_target), p.gap_target)


def _of_velocity(ops, w, X, p) -> dict[str, Any]:
    velocity = scores_of(w.rates.Q_43, w.rates.Q_44)
    return of_velocity(ops, scores_of(w.Q_43, w.Q_44), velocity, X.actions.shape[1])


def _step(ell: int) -> Callable:
    def loss(ops, w, X, p):
        steps = model.trained_steps(p, p.mode, X.actions.shape[1])
        return model.step_loss(ops, w, X, p, ell) / model.divisor(p, steps) if ell in steps else 0.0 * w.Q_43.sum()

    return loss


def log_loss(ops, w, X, p):
    return ops.log((X.weight * model.sentence_loss(ops, w, X, p)).sum())


def observe(p) -> Mapping[str, Callable]:
    """The observables of a mode."""
    layer = fs.together(_of_layer, LAYER | BOTH_STAGES)
    if p.mode == "stage_1":
        return layer
    scores = fs.together(_of_scores, SCORES | BOTH_STAGES) | fs.together(_of_velocity, RATES)
    scores |= {"loss_1": _step(1), "loss_2": _step(2), "log_loss": log_loss, "score_spread": score_spread}
    return scores if p.mode != "algorithm_1" else layer | scores
