"""Algorithms 1 and 2: what a stage hands to the next, in reduced coordinates (L3) and for weights (L0).

Algorithm 1 needs the layer that stage 1 leaves. Round k of Algorithm 2 has length L = 2^k, its sentences carry the
greedy answers of the model that round k - 1 left (Definition 5.1; true ones at L = 2), and it ends where its loss falls
to loss_target. The last round is the one that is posed; it starts at the time that its predecessors took.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np

import flowsys as fs
from flowsys.errors import InputError
from flowsys.integrate.outcome import Ending
from flowsys.integrate.record import Record, Tolerances
from flowsys.model import ops
from flowsys.model.concrete import View
from flowsys.model.finite import training
from flowsys.model.starts import seen_by_numpy, weights_from
from flowsys.model.stated import started_from
from flowsys.runs.automatic import integrate
from flowsys.runs.solving import observe_states
from flowsys.runs.training import Training, train
from flowsys.system import Setup
from flowsys.system.lazy import first_of
from flowsys.system.problem import Problem
from flowsys.systems.lego import SYSTEM, configurations, groups, model
from flowsys.systems.lego.isotropic import Isotropic, Layer
from flowsys.systems.lego.lengths import greedy_answers
from flowsys.systems.lego.limits import feedforward, ideal_layer, stage_1_problem, stage_2_problem, weighted
from flowsys.systems.lego.model import trained_steps
from flowsys.systems.lego.stage_2 import Scores

RTOL = 1e-9
STAGE_1_STEPS = 20_000
TRAPPED = 1e-6  # F_c - F_w below this: an additive layer, exactly so but for rounding
ROUND_STEPS = 2_000  # a round that ends takes about 100; one whose loss cannot fall that far is stiff and never ends
MOST_STEPS = 100_000  # of descent in a round before the last


AT_REST = Scores(0.0, 0.0, 0.0, 0.0)


class Round(NamedTuple):
    """One stage: its length, the scores before and after, τ spent, the share of self-labels that are right."""

    L: int
    start: Scores
    end: Scores
    tau: float
    label_accuracy: float


def check_power_of_2(L: int) -> None:
    if L & (L - 1):
        raise InputError(f"L = {L} is not allowed in algorithm_2: it must be a power of 2.")


def steps_of(setup: Setup, L: int) -> tuple[int, ...]:
    return trained_steps(setup["trained_steps"], "algorithm_2", L)


# -- in reduced coordinates -------------------------------------------------------------------------------------------


def run_to(problem: Problem, event: str, most_steps: int) -> tuple[float, np.ndarray]:
    """When a problem reaches an event, and where."""
    with jax.enable_x64(True):
        run = integrate(problem, (), (event,), Tolerances(RTOL, 1e-4 * RTOL * problem.scale, most_steps))
    found = [record for record in run.records if record.label == event]
    if not found and run.outcome.ending is Ending.STEP_BUDGET:
        raise InputError(f"an earlier stage does not reach {event} within {most_steps} steps.")
    if not found:
        raise InputError(f"an earlier stage does not reach {event}: {run.outcome.sentence}")
    return found[0].t, found[0].y


def lowest_loss(problem: Problem) -> float | None:
    """The loss at which a problem's flow comes to rest; None if it still falls after a few hundred steps."""
    times = [t for t in 10.0 ** np.arange(16) if t <= problem.t_max]
    with jax.enable_x64(True):
        run = integrate(problem, times, (), Tolerances(RTOL, 1e-4 * RTOL * problem.scale, ROUND_STEPS // 4))
    losses = observe_states(problem, run.records, ("loss",))["loss"]
    is_at_rest = len(losses) > 1 and losses[-1] > 0.999 * losses[-2]
    return float(losses[-1]) if is_at_rest else None


@lru_cache(maxsize=64)
def _trained_layer(items: tuple) -> Layer:
    setup = Setup("lego", dict(items))
    problem = stage_1_problem(setup)
    t, y = run_to(problem, "stage_1_end", STAGE_1_STEPS)
    F_gap = observe_states(problem, [Record("stage_1_end", t, y, 0)], ("F_gap",))["F_gap"][0]
    if abs(F_gap) < TRAPPED:
        raise InputError(
            f"bias = {setup['bias']:g} and V_0 = {setup['V_0']:g} leave stage 1 in the additive trap: its layer gives "
            "right and wrong values the same logit (F_c = F_w), so that attention has nothing to read; choose a "
            "smaller bias or a larger V_0."
        )
    return ideal_layer(setup)._replace(
        features=Isotropic(*map(float, y)), feedforward=feedforward(setup, setup["clip"])
    )


def layer_of(setup: Setup, mode: str = "algorithm_2") -> Layer:
    """The layer that attention is trained over: what stage 1 leaves (always so in Algorithm 1), or the ideal one."""
    is_trained = mode == "algorithm_1" or setup["features"] == "trained"
    return _trained_layer(tuple(setup.items())) if is_trained else ideal_layer(setup)


def round_tables(layer: Layer, scores: Scores, L: int, steps, size: int, seed: int) -> tuple[list, float]:
    """What a round trains on, and the share of right labels: true ones, exactly, at L = 2; self-labels beyond."""
    if L == 2:
        return [configurations.exact(layer.group, L, ell) for ell in steps], 1.0
    configurations.check_sample(layer.group, len(steps), size)
    actions, truth = configurations.sequences(layer.group, L, size, seed)
    answers = np.column_stack([truth[:, 0], greedy_answers(scores, layer, actions, truth[:, 0], max(steps))[0]])
    tables = [
        configurations.from_sequences(layer.group, actions, answers[:, :ell], ell, labels=answers[:, ell])
        for ell in steps
    ]
    return tables, float(np.mean(answers[:, 1:] == truth[:, 1 : max(steps) + 1]))


def _round_problem(setup: Setup, L: int, start: Scores, tau: float = 0.0) -> tuple[Problem, float]:
    layer = layer_of(setup)
    tables, right = round_tables(layer, start, L, steps_of(setup, L), setup["n_samples"], setup["seed"])
    return stage_2_problem(setup, layer, weighted(setup, tables), start, tau), right


@lru_cache(maxsize=256)
def _round(items: tuple, L: int, first: Scores) -> Round:
    """The round at length L, after all shorter ones, integrated until its loss falls to loss_target."""
    setup = Setup("lego", dict(items))
    start = _round(items, L // 2, first).end if L > 2 else first
    problem, label_accuracy = _round_problem(setup, L, start)
    try:
        tau, y = run_to(problem, "loss_threshold", ROUND_STEPS)
    except InputError as error:
        raise InputError(_not_ended(setup, L, problem, label_accuracy, error)) from None
    return Round(L, start, Scores(*map(float, y)), tau, label_accuracy)


def _not_ended(setup: Setup, L: int, problem: Problem, label_accuracy: float, error: InputError) -> str:
    """Why a round does not end, in a sentence: wrong labels put a floor under the loss."""
    n_labels = setup["n_samples"] * max(steps_of(setup, L))
    n_wrong = round((1 - label_accuracy) * n_labels)
    floor = lowest_loss(problem) if n_wrong else None
    if floor is None:
        labels = f"{100 * label_accuracy:.4g} % of its self-labels are right"
        return f"the round at L = {L} of algorithm_2 does not end ({labels}): {error}"
    return (
        f"the round at L = {L} of algorithm_2 does not end: {n_wrong} of its {n_labels} self-labels are wrong, and "
        f"with them the loss cannot fall below {floor:.3g}, above loss_target = {setup['loss_target']:g}; a smaller "
        "loss_target lets the round before it label better, and another seed or a smaller n_samples draws other chains."
    )


def rounds(setup: Setup, L: int | None = None, first: Scores = AT_REST) -> tuple[Round, ...]:
    """Every round of Algorithm 2 up to length L, the setup's by default."""
    L = setup["L"] if L is None else L
    check_power_of_2(L)
    # neither the last length nor what is tested afterwards matters to a round: one run serves them all
    items = tuple({**setup.values, "L": 2, "L_test": 2, "ell_test": 2}.items())
    return tuple(_round(items, 2**k, first) for k in range(1, L.bit_length()))


def last_round(setup: Setup, start: Mapping[str, Any] | None = None) -> Problem:
    """The round at length L as a problem; it starts at the τ of the rounds before it, the first at given scores."""
    L = setup["L"]
    check_power_of_2(L)
    zero = stage_2_problem(setup, ideal_layer(setup), [configurations.exact(groups.named("C2"), 2, 2)])
    first = Scores(*map(float, started_from(zero, start, "L3 (isotropic) in mode algorithm_2").initial))
    before = rounds(setup, L // 2, first) if L > 2 else ()
    problem, right = _round_problem(setup, L, before[-1].end if before else first, sum(r.tau for r in before))
    return replace(problem, derived={**problem.derived, "label_accuracy": lambda y: right})


# -- gradient descent -------------------------------------------------------------------------------------------------


def descent(setup: Setup, mode: str, seeds: int | None, start: Mapping[str, Any] | None = None) -> Training:
    """Gradient descent from the weights of `seed` (or of `seeds` seeds side by side), or from given weights."""
    if mode == "algorithm_2":
        return _last_descended(setup, seeds, start)
    return training(SYSTEM.concrete(setup, "L0", mode), "weights", seeds, start, SYSTEM.steps)


def _labelled(setup: Setup, weights: Mapping[str, np.ndarray]) -> tuple[fs.Samples, float]:
    """The sentences of the round at the setup's length with the weights' greedy answers, and the share of right ones.

    The likeliest token is taken among the values: a label outside them could not be written as an answer.
    """
    concrete, last = SYSTEM.concrete(setup, "L0", "algorithm_2"), max(steps_of(setup, setup["L"]))
    true = concrete.populations[0].samples
    assert true is not None
    if setup["L"] == 2:
        return true, 1.0
    w, p = View(seen_by_numpy(concrete, weights)), concrete.p(concrete.reals())
    inside = model.vocabulary(p).values if model.has_trained_layer(p) else slice(None)
    arrays = dict(true.arrays)
    with jax.enable_x64(True):
        for ell in range(1, last + 1):
            F = np.asarray(model.step_logits(ops, w, fs.Samples(**arrays), p, ell))[inside]
            values = arrays["values"].copy()
            values[:, ell] = F.argmax(axis=0)
            arrays["values"] = values
    return fs.Samples(**arrays), float((arrays["values"] == true.values)[:, 1 : last + 1].mean())


def _model_of_round(samples: fs.Samples) -> fs.Model:
    """Self-training at one length: the model with the labels that its predecessor wrote."""
    alone = {"stages": {"algorithm_2": SYSTEM.declaration.stages["algorithm_2"]}, "modes": None, "looks": None,
             "variants": None, "mode_defaults": {}, "clocks": {}, "events": {
                 name: replace(event, modes=None) for name, event in SYSTEM.declaration.events_in("algorithm_2").items()
             }}  # fmt: skip
    return fs.Model("lego", **SYSTEM.given[1] | alone | {"samples": lambda p: samples, "validate": lambda values: None,
                                                          "fixes": lambda *form: {}})  # fmt: skip


def _last_descended(setup: Setup, seeds: int | None, start: Mapping[str, Any] | None) -> Training:
    """The last round of Algorithm 2, from the weights that stage 1 and the earlier rounds leave."""
    L, η = setup["L"], setup["learning_rate"]
    if seeds is not None:
        raise InputError(f"seeds = {seeds} is not allowed in algorithm_2: every seed labels its own sentences.")
    check_power_of_2(L)
    weights = weights_from(SYSTEM.concrete(setup, "L0", "algorithm_2"), start)
    if setup["features"] == "trained":
        layer = {name: weights[name] for name in model.LAYER}
        run = train(SYSTEM, setup, mode="stage_1", steps=round(setup["T_1"] / η), records=1, observe=(), start=layer)
        weights |= run.blocks(run.t[-1])
    time = 0.0
    for k in range(1, L.bit_length()):
        of_round = replace(setup, values={**setup, "L": 2**k})
        samples, right = _labelled(of_round, weights)
        made = _model_of_round(samples)
        if 2**k == L:
            break
        run = train(made, of_round, at=["loss_threshold"], steps=MOST_STEPS, records=1, observe=(), start=weights,
                    stop_when_done=True)  # fmt: skip
        if "loss_threshold" not in run.labels:
            floor = setup["d"] ** (1 - setup["C_B"])
            raise InputError(
                f"loss_target = {setup['loss_target']:g} is not reached by the round at L = {2**k} of algorithm_2 in "
                f"{MOST_STEPS} steps ({100 * right:.1f} % of its self-labels are right; the clip leaves a loss of "
                f"about d^(1 - C_B) = {floor:.2g})."
            )
        end = run.at("loss_threshold")["t"]
        weights, time = run.blocks(end), time + end
    last = training(made.concrete(setup, "L0", "algorithm_2"), "weights", None, weights, SYSTEM.steps)
    derived = first_of({"label_accuracy": lambda state, arguments: right}, last.descent.derived)
    return replace(last, descent=replace(last.descent, derived=derived), start=time)
