"""Both stages of the isotropic layer, stated for the derivation engine with every size a symbol but the power q.

Stage 1: a, b', c, e stand for n_g n_y, n_g n_y (n_y - 1), n_y², n_y² (n_y - 1) equal weights, and the loss needs no
table. Stage 2: α, β, γ, δ with the metric (1, 1/(n_x - 1), 1, 1/(n_x - 1)) in τ = t / n_x, and three tables, each
summed into the next:

    neurons         what a neuron sees of the clauses: one row for each combination of counts that occurs
    classes         F_j = Σ_y s(Λ_{j,y}) of a value in a configuration, clipped
    configurations  softplus(log[Σ_{j ≠ target} e^(F_j) + (d - n_y) e^(F_0)] - F_target), weighted

Sums of e^F need no top subtracted: F stays within a few B = C_B log d, far below the largest exponent.
"""

import sympy as sp

from flowsys.symbolic import primitives as ops
from flowsys.symbolic.assemble import Level, Statement, symbol
from flowsys.symbolic.flow import Direct
from flowsys.systems.lego import isotropic, stage_2
from flowsys.systems.lego.feedforward import NUMBERS, FeedForward
from flowsys.systems.lego.isotropic import Isotropic
from flowsys.systems.lego.observables import of_layer, of_scores, of_velocity
from flowsys.systems.lego.stage_2 import Scores

n_g, n_y, d, L, B = map(symbol, "n_g n_y d L B".split())
delta_2, log_miss_target, gap_target, log_eps_target = map(
    symbol, "delta_2 log_miss_target gap_target log_eps_target".split()
)
inverse_others = symbol("inverse_others")  # 1 / (n_x - 1), 0 at n_x = inf
FEATURES = Isotropic(*map(symbol, Isotropic._fields))
SCORES = Scores(*map(symbol, Scores._fields))
FEEDFORWARD_PARAMETERS = tuple(map(symbol, NUMBERS))


def structure(q: int = 4, activation: str = "azl", clip: str = "none") -> FeedForward:
    """The nonlinearity with symbols for its numbers: what is fixed in a program's text is how it is made."""
    return FeedForward(q=q, activation=activation, clip=clip, **dict(zip(NUMBERS, FEEDFORWARD_PARAMETERS)))


def stage_1_statement(feedforward: FeedForward) -> Statement:
    """The four-variable flow of Loss_5¹."""
    log_odds = isotropic.one_step_log_odds(ops, FEATURES, n_y, d, feedforward)
    loss = ops.softplus(log_odds)
    correct, wrong = isotropic.one_step_logits(ops, FEATURES, n_y, feedforward)
    totals = {"total_loss": loss, "total_F_c": correct, "total_F_w": wrong, "total_miss": ops.sigmoid(log_odds)}
    F_c, F_w, mean_loss, miss = (symbol(name) for name in ("total_F_c", "total_F_w", "total_loss", "total_miss"))
    found = of_layer(ops, FEATURES, feedforward.bias, F_c, F_w, mean_loss, miss, delta_2, log_miss_target)
    return Statement(
        blocks=[Direct(tuple(FEATURES), tuple(isotropic.multiplicities(n_g, n_y)))],
        parameters=(n_g, n_y, d, *FEEDFORWARD_PARAMETERS, delta_2, log_miss_target),
        loss=loss,
        totals=totals,
        observables=_plain(found | {"conserved": isotropic.conserved(FEATURES, n_g, n_y)}),
    )


def _plain(observables: dict) -> dict[str, sp.Expr]:
    """Expressions, of which some come as arrays of one entry."""
    return {name: sp.sympify(value.item() if hasattr(value, "item") else value) for name, value in observables.items()}


def neurons_level(feedforward: FeedForward) -> Level:
    """s(Λ) of a neuron that sees these counts; `earlier` = ℓ - 1 answers came before the query's."""
    hit, distractors, current, past, earlier = map(symbol, "hit distractors current past earlier".split())
    columns = hit, distractors, current, past, earlier
    Λ = stage_2.preactivation(ops, SCORES, FEATURES, hit, distractors, current, past, L, earlier + 1, feedforward.bias)
    return Level("neurons", columns, {"activation": feedforward.activate(ops, ops.name("preactivation", Λ))})


def classes_level(feedforward: FeedForward) -> Level:
    """A class's logit, if it is the target; what it adds to the rivals' sum, if not."""
    is_target, active = symbol("is_target"), symbol("active_neurons")
    F = ops.name("logit", feedforward.clip_logits(ops, active))
    outputs = {"target_logit": is_target * F, "rival": (1 - is_target) * sp.exp(F)}
    return Level("classes", (is_target,), outputs, {active: "activation"})


def configurations_level(feedforward: FeedForward) -> Level:
    """-log p(target) of a configuration, accurate down to the smallest float."""
    columns = tuple(map(symbol, "weight share weight_1 weight_2".split()))
    correct, rivals = symbol("correct"), symbol("rivals")
    outside = (d - n_y) * sp.exp(feedforward.F_0)
    log_odds = ops.name("log_odds", sp.log(rivals + outside) - correct)
    outputs = {"configuration_loss": ops.softplus(log_odds)}
    return Level("configurations", columns, outputs, {correct: "target_logit", rivals: "rival"})


def stage_2_statement(feedforward: FeedForward) -> Statement:
    """The four-variable flow of Σ_ℓ Loss_5^{L,ℓ} over an isotropic layer, in τ = t / n_x."""
    loss = symbol("configuration_loss")
    totals = {f"sum_loss{part}": symbol(f"weight{part}") * loss for part in ("", "_1", "_2")}
    totals["sum_probability"] = symbol("share") * sp.exp(-loss)
    return Statement(
        blocks=[Direct(tuple(SCORES), sp.diag(1, inverse_others, 1, inverse_others))],
        parameters=(n_y, d, L, inverse_others, *FEATURES, *FEEDFORWARD_PARAMETERS, log_eps_target, gap_target),
        levels=(neurons_level(feedforward), classes_level(feedforward), configurations_level(feedforward)),
        loss=symbol("weight") * loss,
        totals=totals,
        observables=stage_2_observables(),
    )


def stage_2_observables() -> dict[str, sp.Expr]:
    """Everything stage 2 reports."""
    velocity = Scores(*[-g * symbol(f"gradient_{x}") for x, g in zip(SCORES, (1, inverse_others, 1, inverse_others))])
    found = of_scores(ops, SCORES, L, log_eps_target, gap_target) | of_velocity(ops, SCORES, velocity, L)
    loss = symbol("sum_loss")
    found |= {"loss": loss, "log_loss": sp.log(loss), "p_correct": symbol("sum_probability")}
    return _plain(found | {"loss_1": symbol("sum_loss_1"), "loss_2": symbol("sum_loss_2")})
