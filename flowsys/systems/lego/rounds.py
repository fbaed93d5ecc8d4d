"""Algorithms 1 and 2 in reduced coordinates, each stage integrated to its end by the engine.

Algorithm 1 needs the layer that stage 1 leaves; round k of Algorithm 2 needs the scores that round k - 1 leaves, for
it labels its data with them. Both are found here and handed on as an ordinary problem: the last round, which starts at
the τ its predecessors took.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from flowsys.errors import InputError
from flowsys.integrate.outcome import Ending
from flowsys.integrate.record import Record, Tolerances
from flowsys.runs.automatic import integrate
from flowsys.runs.solving import observe_states
from flowsys.system import Setup
from flowsys.system.problem import Problem
from flowsys.systems.lego import groups
from flowsys.systems.lego.isotropic import Isotropic
from flowsys.systems.lego.limits import ideal_features, stage_1_problem, stage_2_problem, trained_steps
from flowsys.systems.lego.measured import layer_nonlinearity
from flowsys.systems.lego.self_training import Layer, Round, round_tables
from flowsys.systems.lego.stage_2 import Scores

RTOL = 1e-9
STAGE_1_STEPS = 20_000
TRAPPED = 1e-6  # F_c - F_w below this: an additive layer, exactly so but for rounding
ROUND_STEPS = 2_000  # a round that ends takes about 100; one whose loss cannot fall that far is stiff and never ends


def run_to(problem: Problem, event: str, most_steps: int) -> tuple[float, np.ndarray]:
    """When a problem reaches an event, and where."""
    import jax

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
    import jax

    times = [t for t in 10.0 ** np.arange(16) if t <= problem.t_max]
    with jax.enable_x64(True):
        run = integrate(problem, times, (), Tolerances(RTOL, 1e-4 * RTOL * problem.scale, ROUND_STEPS // 4))
    losses = observe_states(problem, run.records, ("loss",))["loss"]
    is_at_rest = len(losses) > 1 and losses[-1] > 0.999 * losses[-2]
    return float(losses[-1]) if is_at_rest else None


@lru_cache(maxsize=64)
def _trained_features(items: tuple) -> Isotropic:
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
    return Isotropic(*map(float, y))


def trained_features(setup: Setup) -> Isotropic:
    """a, b', c, e where stage 1 ends."""
    return _trained_features(tuple(setup.items()))


def layer_of(setup: Setup) -> tuple[Layer, str]:
    """The fixed feed-forward layer of Algorithm 2, and how its logits are clipped."""
    is_trained = setup["features"] == "trained"
    clip = setup["clip"] if is_trained else "none"
    features = trained_features(setup) if is_trained else ideal_features(setup)
    return Layer(groups.named(setup["group"]), features, setup["d"], layer_nonlinearity(setup, clip)), clip


@lru_cache(maxsize=256)
def _round(items: tuple, L: int) -> Round:
    """The round at length L, after all shorter ones, integrated until its loss falls to loss_target."""
    setup = Setup("lego", dict(items))
    start = _round(items, L // 2).end if L > 2 else Scores(0.0, 0.0, 0.0, 0.0)
    problem, label_accuracy = _round_problem(setup, L, start)
    try:
        tau, y = run_to(problem, "loss_threshold", ROUND_STEPS)
    except InputError as error:
        raise InputError(_not_ended(setup, L, problem, label_accuracy, error)) from None
    return Round(L, start, Scores(*map(float, y)), tau, label_accuracy)


def _not_ended(setup: Setup, L: int, problem: Problem, label_accuracy: float, error: InputError) -> str:
    """Why a round does not end, in a sentence: wrong labels put a floor under the loss."""
    n_labels = setup["n_samples"] * max(trained_steps(setup, "algorithm_2", L))
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


def _round_problem(setup: Setup, L: int, start: Scores, tau: float = 0.0) -> tuple[Problem, float]:
    layer, clip = layer_of(setup)
    steps = trained_steps(setup, "algorithm_2", L)
    tables, label_accuracy = round_tables(layer, start, L, steps, setup["n_samples"], setup["seed"])
    divisor = len(steps) if setup["trained_steps"] == "all" else 1
    tables = [table._replace(weight=table.weight / divisor) for table in tables]
    return stage_2_problem(setup, layer.features, clip, tables, start, tau), label_accuracy


def rounds(setup: Setup, L: int | None = None) -> tuple[Round, ...]:
    """Every round of Algorithm 2 up to length L, the setup's by default."""
    L = setup["L"] if L is None else L
    if L & (L - 1):
        raise InputError(f"L = {L} is not allowed in algorithm_2: it must be a power of 2.")
    # neither the last length nor what is tested afterwards matters to a round: one run serves them all
    items = tuple((setup.values | {"L": 2, "L_test": 2, "ell_test": 2}).items())
    return tuple(_round(items, 2**k) for k in range(1, L.bit_length()))


def last_round(setup: Setup) -> Problem:
    """The round at length L as a problem; it starts at the τ of the rounds before it."""
    L = setup["L"]
    before = rounds(setup, L // 2) if L > 2 and not L & (L - 1) else rounds(setup, L)[:0]
    start = before[-1].end if before else Scores(0.0, 0.0, 0.0, 0.0)
    problem, label_accuracy = _round_problem(setup, L, start, sum(r.tau for r in before))
    derived = {**problem.derived, "label_accuracy": lambda y: label_accuracy}
    return replace(problem, derived=derived)
