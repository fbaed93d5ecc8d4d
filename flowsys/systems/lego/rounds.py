"""Algorithm 2: rounds of self-training, in reduced coordinates (L3) and by descent on weights (L0).

Round k has length L = 2^k, its sentences carry the greedy answers of the model that round k - 1 left (Definition 5.1;
true ones at L = 2), and it ends where its loss falls to loss_target. The last round is the one that is posed; it starts
at the time that its predecessors took.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

import flowsys as fs
from flowsys.errors import InputError
from flowsys.model import numeric
from flowsys.model.concrete import View
from flowsys.model.finite import training
from flowsys.model.starts import given_arrays, one_number, seen_by_numpy, weights_from
from flowsys.model.stated import started_from
from flowsys.runs.solving import solve
from flowsys.runs.training import Training, train
from flowsys.system import Setup
from flowsys.system.lazy import first_of
from flowsys.system.problem import Problem
from flowsys.systems.lego import SYSTEM, configurations, model
from flowsys.systems.lego.isotropic import Layer
from flowsys.systems.lego.lengths import greedy_answers
from flowsys.systems.lego.limits import RTOL, layer_of, stage_2_problem
from flowsys.systems.lego.model import trained_steps
from flowsys.systems.lego.stage_2 import AT_REST, Scores

ROUND_STEPS = 2_000  # a round that ends takes about 100; one whose loss cannot fall that far is stiff and never ends
MOST_STEPS = 100_000  # of descent in a round before the last


# -- in reduced coordinates -------------------------------------------------------------------------------------------


def round_tables(layer: Layer, scores: Scores, L: int, steps, size: int, seed: int) -> tuple[list, float]:
    """What a round trains on, and the share of right labels: true ones, exactly, at L = 2; self-labels beyond."""
    if L == 2:
        return [configurations.exact(layer.group, L, ell) for ell in steps], 1.0
    configurations.check_sample(layer.group, len(steps), size)
    actions, truth = configurations.sequences(layer.group, L, size, seed)
    answers = np.column_stack([truth[:, 0], greedy_answers(scores, layer, actions, truth[:, 0], max(steps))[0]])
    tables = configurations.from_sequences(layer.group, actions, answers, steps)
    return tables, float(np.mean(answers[:, 1:] == truth[:, 1 : max(steps) + 1]))


def last_round(setup: Setup, start: Mapping[str, Any] | None = None) -> Problem:
    """The round at length L with the labels, and from the end, of the one before it; the first from given scores."""
    layer, L, steps = layer_of(setup), setup["L"], trained_steps(setup, "algorithm_2", setup["L"])
    given = tuple((name, one_number(score, f"start: {name}")) for name, score in given_arrays(start).items())
    tau, scores = _end(tuple(shorter(setup).items()), given) if L > 2 else (0.0, AT_REST)
    tables, right = round_tables(layer, scores, L, steps, setup["n_samples"], setup["seed"])
    problem = stage_2_problem(setup, layer, tables, scores, tau)
    problem = replace(problem, derived={**problem.derived, "label_accuracy": lambda y: right})
    return problem if L > 2 else started_from(problem, start, "L3 (isotropic) in mode algorithm_2")


def shorter(setup: Setup) -> Setup:
    """The round before; what is tested afterwards does not matter to it: one run serves all tests."""
    return replace(setup, values={**setup, "L": setup["L"] // 2, "L_test": 2, "ell_test": 2})


@lru_cache(maxsize=256)
def _end(items: tuple, given: tuple) -> tuple[float, Scores]:
    """When the loss of a round falls to loss_target, and where."""
    setup, start = Setup("lego", dict(items)), dict(given) or None
    run = solve(SYSTEM, setup, mode="algorithm_2", at=["loss_threshold"], observe=(), rtol=RTOL, start=start,
                max_steps=ROUND_STEPS)  # fmt: skip
    if not run.labels:
        raise _unending(setup, last_round(setup, start).derived["label_accuracy"](run.states), run.outcome.sentence)
    return float(run.t[-1]), Scores(*map(float, run.states[-1]))


def _unending(setup: Setup, right: float, told: str) -> InputError:
    """The refusal of a round whose loss does not fall to loss_target."""
    n_labels = setup["n_samples"] * max(trained_steps(setup, "algorithm_2", setup["L"]))
    return InputError(
        f"the round at L = {setup['L']} of algorithm_2 does not end: {told} {round((1 - right) * n_labels)} of its "
        f"{n_labels} self-labels are wrong; a wrong one puts a floor under the loss, and so does the clip, about "
        f"d^(1 - C_B) = {setup['d'] ** (1 - setup['C_B']):.2g}. A smaller loss_target lets the round before it label "
        "better, and another seed or a smaller n_samples draws other chains."
    )


# -- gradient descent -------------------------------------------------------------------------------------------------


def descent(setup: Setup, mode: str, seeds: int | None, start: Mapping[str, Any] | None = None) -> Training:
    """Gradient descent from the weights of `seed` (or of `seeds` seeds side by side), or from given weights."""
    if mode != "algorithm_2":
        return training(SYSTEM.concrete(setup, "L0", mode), "weights", seeds, start, SYSTEM.steps)
    if seeds is not None:
        raise InputError(f"seeds = {seeds} is not allowed in algorithm_2: every seed labels its own sentences.")
    time, weights = _descended(shorter(setup), start) if setup["L"] > 2 else (0.0, _first_weights(setup, start))
    samples, right = _labelled(setup, weights)
    # the model with the labels that its predecessor wrote; the setup has been checked
    free = {"validate": lambda values: None, "fixes": lambda *form: {}}
    model_of_round = SYSTEM.alone("algorithm_2", samples=lambda p: samples, **free)
    last = training(model_of_round.concrete(setup, "L0", "algorithm_2"), "weights", None, weights, SYSTEM.steps)
    derived = first_of({"label_accuracy": lambda state, arguments: right}, last.descent.derived)
    return replace(last, descent=replace(last.descent, derived=derived), start=time)


def _descended(setup: Setup, start: Mapping[str, Any] | None) -> tuple[float, dict[str, np.ndarray]]:
    """When the loss of a round falls to loss_target, and the weights there."""
    run = train(SYSTEM, setup, mode="algorithm_2", at=["loss_threshold"], steps=MOST_STEPS, records=1,
                observe=("label_accuracy",), start=start, stop_when_done=True)  # fmt: skip
    if "loss_threshold" not in run.labels:
        raise _unending(setup, run["label_accuracy"][-1], f"{MOST_STEPS} steps do not reach loss_target.")
    time = run.at("loss_threshold")["t"]
    return time, run.blocks(time)


def _labelled(setup: Setup, weights: Mapping[str, np.ndarray]) -> tuple[fs.Samples, float]:
    """The sentences of the round at the setup's length with the weights' greedy answers, and the share of right ones.

    The likeliest token is taken among the values: a label outside them could not be written as an answer.
    """
    concrete, last = SYSTEM.concrete(setup, "L0", "algorithm_2"), max(trained_steps(setup, "algorithm_2", setup["L"]))
    true = concrete.populations[0].samples
    assert true is not None
    if setup["L"] == 2:
        return true, 1.0
    w, p = View(seen_by_numpy(concrete, weights)), concrete.p(concrete.reals())
    inside = model.vocabulary(p).values if model.has_trained_layer(p) else slice(None)
    arrays = {**true.arrays, "values": true.values.copy()}
    for ell in range(1, last + 1):
        F = model.step_logits(numeric, w, fs.Samples(**arrays), p, ell)[inside]
        arrays["values"][:, ell] = F.argmax(axis=0)
    return fs.Samples(**arrays), float((arrays["values"] == true.values)[:, 1 : last + 1].mean())


def _first_weights(setup: Setup, start: Mapping[str, Any] | None) -> dict[str, np.ndarray]:
    """What the first round starts from: the given weights, their layer trained to the end of stage 1 if asked for."""
    weights = weights_from(SYSTEM.concrete(setup, "L0", "algorithm_2"), start)
    if setup["features"] == "ideal":
        return weights
    layer, steps = {name: weights[name] for name in model.LAYER}, round(setup["T_1"] / setup["learning_rate"])
    run = train(SYSTEM, setup, mode="stage_1", steps=steps, records=1, observe=(), start=layer)
    return weights | run.blocks(run.t[-1])
