"""Stage 2 at finitely many variables: attention blocks as matrices over an isotropic layer.

    L1 weights    Q_43 and Q_44 on all d - 1 tokens, by autodiff through the transformer, all d classes
    L2 full       Q_43 and Q_44 on pairs of variables (all other entries have zero gradient), outside classes lumped

Time is τ = t / n_x, as in the limit: rates are n_x times those of gradient flow.
"""

from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.errors import InputError
from flowsys.model import ops
from flowsys.system import Setup
from flowsys.system.problem import FunctionField, Problem, Stage
from flowsys.systems.lego import data, groups, model, stage_2, transformer
from flowsys.systems.lego.closed_forms import clip_level, final_features
from flowsys.systems.lego.events import stage_2_events
from flowsys.systems.lego.finite_layer import check_work, nonlinearity_of, vocabulary_of
from flowsys.systems.lego.isotropic import Isotropic
from flowsys.systems.lego.layer_observed import Nonlinearity
from flowsys.systems.lego.limits import check_length, trained_steps
from flowsys.systems.lego.stage_1 import outside_logit
from flowsys.systems.lego.stage_2 import Scores

MEASURED = (
    "alpha", "beta", "gamma", "delta", "alpha_minus_gamma", "eps_attention", "gap", "log_eps", "eps_22", "gap_22",
    "unsettled", "loss", "log_loss", "loss_1", "loss_2", "spread",
)  # fmt: skip
RATES = ("gap_rate", "eps_rate", "log_eps_rate")


class Numbers(NamedTuple):
    """The numbers of attention over an isotropic layer, as data."""

    bias: np.ndarray
    rho: np.ndarray
    varpi: np.ndarray
    B: np.ndarray
    clip_width: np.ndarray
    features: Isotropic
    trains: np.ndarray  # which of steps 1 and 2 count
    log_eps_target: np.ndarray
    gap_target: np.ndarray


def numbers_of(setup: Setup, steps: tuple[int, ...]) -> Numbers:
    B = clip_level(setup["C_B"], setup["d"])
    features = Isotropic(*map(np.float64, final_features(*groups.sizes(setup["group"]), B)))
    first = map(np.float64, (setup["bias"], setup["rho"], setup["varpi"], B, setup["clip_width"]))
    trains = np.array([float(ell in steps) for ell in (1, 2)])
    return Numbers(*first, features, trains, np.float64(np.log(setup["eps_target"])), np.float64(setup["gap_target"]))


def isotropic_tables(features: Isotropic, group: groups.GroupAction) -> model.Features:
    """The five tables of the classes in Y: one neuron per fibre, nothing on variables."""
    a, b_prime, c, e = features
    n_y = group.n_y
    action = b_prime + (a - b_prime) * jnp.moveaxis(jnp.asarray(group.matrices), 0, -1)
    value = jnp.broadcast_to(e + (c - e) * jnp.eye(n_y), (n_y, n_y, n_y))
    return model.Features(variable=None, action=action, source=None, holder=None, value=value)


@lru_cache(maxsize=16)
def step_losses(variant: str, group_name: str, n_x: int, kind: Nonlinearity):
    """(Q_43, Q_44, numbers) -> (Loss^{2,1}, Loss^{2,2}), on all tokens (weights) or on pairs of variables (full)."""
    vocabulary = data.Vocabulary(n_x, groups.named(group_name))
    group, d = vocabulary.group, vocabulary.d
    sentences = data.population(group, n_x, 2, variables_read=2)

    def on_all_tokens(Q_43, Q_44, numbers: Numbers):
        weights = {"Q_43": Q_43, "Q_44": Q_44, "W_5": transformer.isotropic_head(vocabulary, *numbers.features)}
        feedforward = kind.with_numbers(numbers)
        return [transformer.step_loss(weights, vocabulary, sentences, ell, "W_5", feedforward) for ell in (1, 2)]

    def on_variables(Q_43, Q_44, numbers: Numbers):
        tables, feedforward = isotropic_tables(numbers.features, group), kind.with_numbers(numbers)
        blank = jnp.zeros((group.n_y, group.n_y, n_x))
        tables = tables._replace(variable=blank, source=blank, holder=blank)
        outside = (float(d - group.n_y), outside_logit(ops, group.n_y, feedforward))
        logits = lambda ell: model.step_logits(ops, tables, Q_43, Q_44, sentences, ell, feedforward)
        return [model.cross_entropy(ops, logits(ell), sentences.values[:, ell], outside).mean() for ell in (1, 2)]

    return on_all_tokens if variant == "weights" else on_variables


def scores_of(blocks, n_x: int):
    """The mean of each kind of entry on the variables, and how far any entry is from its mean."""
    diagonal = jnp.eye(n_x, dtype=bool)
    means = []
    for block in blocks[:, :n_x, :n_x]:
        means += [jnp.diag(block).mean(), (block.sum() - jnp.trace(block)) / (n_x * (n_x - 1))]
    expected = jnp.stack([jnp.where(diagonal, means[0], means[1]), jnp.where(diagonal, means[2], means[3])])
    return Scores(*means), jnp.abs(blocks[:, :n_x, :n_x] - expected).max()


@lru_cache(maxsize=16)
def field(variant: str, group_name: str, n_x: int, kind: Nonlinearity) -> FunctionField:
    """The flow of both blocks in τ = t / n_x."""
    losses = step_losses(variant, group_name, n_x, kind)
    size = data.Vocabulary(n_x, groups.named(group_name)).d - 1 if variant == "weights" else n_x

    def blocks_of(y):
        return y.reshape(2, size, size)

    def rhs(y, numbers):
        loss = lambda y: numbers.trains @ jnp.stack(losses(*blocks_of(y), numbers))
        return -n_x * jax.grad(loss)(y)

    def observed(y, numbers):
        scores, _ = scores_of(blocks_of(y), n_x)
        velocity, _ = scores_of(blocks_of(rhs(y, numbers)), n_x)
        steps = numbers.trains * jnp.stack(losses(*blocks_of(y), numbers))
        return observations(blocks_of(y), n_x, steps, numbers) | rates(scores, velocity)

    names = tuple(f"Q_4{slot}_{i}_{j}" for slot in (3, 4) for i in range(size) for j in range(size))
    return FunctionField(names, rhs, observed, (*MEASURED, *RATES))


def observations(blocks, n_x: int, losses, numbers: Numbers) -> dict:
    """The limit's observables at L = 2, from both blocks and the losses of both steps."""
    scores, spread = scores_of(blocks, n_x)
    eps, gap = stage_2.eps_attention(ops, scores, 2, 2), stage_2.gap(ops, scores, 2, 2)
    settled = [jnp.log(eps) - numbers.log_eps_target, gap - numbers.gap_target, -gap - numbers.gap_target]
    loss = losses.sum()
    return scores._asdict() | {
        "alpha_minus_gamma": scores.alpha - scores.gamma,
        "eps_attention": eps, "gap": gap, "log_eps": jnp.log(eps), "eps_22": eps, "gap_22": gap,
        "unsettled": jnp.stack(settled).max(),
        "loss": loss, "log_loss": jnp.log(loss), "loss_1": losses[0], "loss_2": losses[1],
        "spread": spread,
    }  # fmt: skip


def rates(scores: Scores, velocity: Scores) -> dict:
    """How fast ε and Δ change."""
    measure = lambda function: lambda s: function(ops, s, 2, 2)
    eps, eps_rate = jax.jvp(measure(stage_2.eps_attention), (scores,), (velocity,))
    _, gap_rate = jax.jvp(measure(stage_2.gap), (scores,), (velocity,))
    return {"gap_rate": gap_rate, "eps_rate": eps_rate, "log_eps_rate": eps_rate / eps}


def attention_problem(setup: Setup, level: str) -> Problem:
    """Stage 2 over the ideal layer from Q = 0."""
    steps = trained_steps(setup, "stage_2", 2)
    if setup["L"] != 2:
        raise InputError(f"L = {setup['L']} is not allowed at {level}: the full population is listed for L = 2 only.")
    check_length(setup)
    vocabulary = vocabulary_of(setup)
    variant = "weights" if level == "L1" else "full"
    n_x, group, d = vocabulary.n_x, vocabulary.group, vocabulary.d
    n_classes = d if level == "L1" else group.n_y
    check_work(n_x * (n_x - 1) * group.n_g**2 * group.n_y * n_classes * group.n_y)
    size = d - 1 if level == "L1" else n_x
    return Problem(
        field=field(variant, setup["group"], n_x, nonlinearity_of(setup, clip="none")),
        initial=np.zeros(2 * size * size),
        stages=(Stage("stage_2", numbers_of(setup, steps)),),
        # the peak of the gap is watched by its rate, which would double the cost of every step here
        events=tuple(event for event in stage_2_events(setup) if event.name != "gap_peak"),
        t_max=setup["t_max"],
        default_at=("stage_2_1", "stage_2_2"),  # the few words leave a loss of d^(1 - C_B)
    )
