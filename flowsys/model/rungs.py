"""The ladder of a model: the same for every declaration, measured at a time when about half of the loss is learned."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.ladder import Rung
from flowsys.model.definition import Model
from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.system import Setup

WIDTHS = (100.0, 316.0, 1000.0, 3162.0, 10000.0)
SEEDS = 16
_LOOKS = 60
_NEIGHBOURS = (1.0, 1.06, 1.13, 1.21, 1.3)


def rungs(model: Model, setup: Setup) -> list[Rung]:
    """Descent to flow, weights to inner products, finite to infinite width; those that the model has."""
    mode, t = model.mode(setup.mode), half_time(model, setup)
    concrete = model.concrete(setup, "L2", mode)
    steps = max(20, int(np.ceil(t / setup["learning_rate"])))
    rates = tuple(t / (steps * 2**i) for i in range(4))
    found = [
        Rung("L0", "L1", f"descent at t = {t:.4g} against the flow, all weights",
             partial(descent_error, model, setup, t), "learning_rate", rates, 1.0, 0.1),
    ]  # fmt: skip
    if any(block.has_closure for block in concrete.blocks.values()):
        found.append(Rung("L1", "L2", f"what the loss sees at t = {t:.4g}, relative, rtol 1e-10",
                          partial(closure_error, model, setup, t), tolerance=1e-8))  # fmt: skip
    is_random = any(block.is_pair and block.is_random for block in concrete.blocks.values())
    if is_random and model.default_level == "L3":
        found.append(Rung("L2", "L3", f"rms over {SEEDS} seeds of the deviation at t = {t:.4g}",
                          partial(width_error, model, setup, t), "width", WIDTHS, -0.5, 0.1))  # fmt: skip
    return found


def half_time(model: Model, setup: Setup) -> float:
    """When about half of what the loss falls by (until the last event, or t_max) has been learned."""
    level = model.default_level
    times = np.geomspace(1e-3, min(setup["t_max"], 1e4), _LOOKS)
    small = _with(model, setup, width=min(setup["width"], 50))
    losses = solve(model, small, level=level, mode=setup.mode, at=times, observe=["loss"])
    first = solve(model, small, level=level, mode=setup.mode, at=[0.0], observe=["loss"])["loss"][0]
    if not len(losses["loss"]):
        raise InputError(f"the ladder of {model.name} cannot be measured: {losses.outcome.sentence}")
    goal = (first + losses["loss"].min()) / 2
    below = np.flatnonzero(losses["loss"] <= goal)
    return float(losses.t[below[0]] if len(below) else losses.t[-1])


def _with(model: Model, setup: Setup, **changes: Any) -> Setup:
    return model.setup(setup.mode, **(dict(setup) | changes))


def _distance(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> float:
    return max(float(np.abs(a[name] - b[name]).max()) for name in a)


def descent_error(model: Model, setup: Setup, t: float, learning_rate: float) -> float:
    """|L0 - L1| of the weights at the time t: rms over neighbouring rates, as a kink falls between other steps."""
    small = _with(model, setup, width=min(setup["width"], 50))
    flow = solve(model, small, level="L1", mode=setup.mode, at=[t], observe=["loss"], rtol=1e-10).blocks(t)
    errors = []
    for share in _NEIGHBOURS:
        n = round(share * t / learning_rate)
        there = _with(model, small, learning_rate=t / n)
        trained = train(model, there, variant=model.named("L0", "weights"), mode=setup.mode, steps=n, at=[t],
                        records=1, observe=["loss"])  # fmt: skip
        errors.append(_distance(trained.blocks(t), flow) * n * learning_rate / t)
    return float(np.sqrt(np.mean(np.square(errors))))


def closure_error(model: Model, setup: Setup, t: float, _) -> float:
    """Weights against what is seen of them, relative."""
    small = _with(model, setup, width=min(setup["width"], 6))
    run = partial(solve, model, small, mode=setup.mode, at=[t], rtol=1e-10)
    names = model.concrete(small, "L2", model.mode(setup.mode)).coordinates.names
    a, b = (run(level=level, observe=names) for level in ("L1", "L2"))
    return max(abs(a[name][0] - b[name][0]) / max(1.0, abs(b[name][0])) for name in names)


def difference(model: Model, names: Sequence[str], one: Mapping, other: Mapping, **how: Any) -> float:
    """The largest difference of observables between two runs, told apart by keywords of `solve`: level, setup, …"""
    a, b = (solve(model, observe=names, **how, **form) for form in (one, other))
    return max(float(np.abs(a[name] - b[name]).max()) for name in names)


def surrogate_error(
    model: Model, setup: Setup, at: float | str, variant: str | None = None, of: str = "", since: float = 0, **how: Any
) -> float:
    """Relative error of L4 against L3: of when an event comes, counted from `since`, or `of` an observable there."""
    exact, rough = (
        solve(model, setup, level=level, variant=chosen, at=[at], observe=[of] if of else [], **how)
        for level, chosen in (("L3", None), ("L4", variant))
    )
    seen = lambda run: float(run[of][0] if of else run.t[0] - since)
    return abs(seen(rough) / seen(exact) - 1)


def width_error(model: Model, setup: Setup, t: float | str, width: float) -> float:
    """`limit_error` at a width."""
    return limit_error(model, _with(model, setup, width=int(width)), t)


def limit_error(model: Model, setup: Setup, t: float | str, seeds: int = SEEDS, **how: Any) -> float:
    """rms over seeds of the largest deviation of an entry from the limit, at a time or each at its own event."""
    how |= {"mode": setup.mode, "at": [t], "observe": ["loss"]}
    limit = solve(model, setup, level="L3", variant="found", **how).blocks(t)
    finite = (solve(model, _with(model, setup, seed=seed), level="L2", **how).blocks(t) for seed in range(seeds))
    return float(np.sqrt(np.mean([_distance(limit, blocks) ** 2 for blocks in finite])))
