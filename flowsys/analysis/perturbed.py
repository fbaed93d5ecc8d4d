"""The full flow of a finite width (L2) started at the limit's own start, plus a perturbation that breaks its symmetry.

The lumped limit sits in a symmetric subspace of the full flow. Perturbations are ε·N(0, 1) on every coordinate, or what
a width m does to the start: F has rows N(0, Σ/m), so √m (FᵀF - Σ) tends to a symmetric Gaussian G with
G_ij = s_i s_j N(0, 1) above the diagonal and √2 s_i² N(0, 1) on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from flowsys.errors import InputError
from flowsys.integrate.record import Finished, Tolerances
from flowsys.model.definition import Model
from flowsys.runs.automatic import integrate
from flowsys.runs.flow import Flow, spoken
from flowsys.runs.solving import observe_states, solve
from flowsys.system.problem import Problem

MAX_STEPS = 200_000


@dataclass(frozen=True)
class Seen:
    """What a run shows at the place that is compared: its time, its observables, its state."""

    t: float
    values: dict[str, float]
    state: np.ndarray


@dataclass(frozen=True)
class Perturbed:
    """The limit of a model and the full flow around it, compared at one event or time."""

    flow: Flow
    at: str | float
    rtol: float = 1e-10

    def __post_init__(self) -> None:
        if not isinstance(self.flow.system, Model) or "L2" not in self.flow.system.levels:
            raise InputError(f"robust: {self.flow.system.name} does not declare its blocks, so it has no full flow.")

    @cached_property
    def problem(self) -> Problem:
        """The full flow from the limit's start."""
        model, mode = self.flow.system, self.flow.mode
        setup = model.setup(mode, **{name: self.flow.setup[name] for name in self.flow.setup.given})
        start = model.start(setup, "L3", mode)
        variant = model.variant("L2", None)
        return model.started(model.settled(setup, "L2", variant, mode), "L2", variant, mode, start)

    @cached_property
    def observables(self) -> tuple[str, ...]:
        """What both levels show unasked."""
        system, full = self.flow.system, self.problem
        own = system.unasked("L3", self.flow.problem)
        return tuple(name for name in own if name in full.observable_names and name not in system.dear)

    @cached_property
    def limit(self) -> Seen:
        """The limit itself."""
        flow = self.flow
        run = solve(
            flow.system, flow.setup, level=flow.level, variant=flow.variant, mode=flow.mode, at=[self.at],
            observe=self.observables, rtol=self.rtol,
        )  # fmt: skip
        row = run.at(self.at)
        if not row["reached"]:
            raise InputError(f"robust: the limit does not reach {spoken(self.at)}: {run.outcome.sentence}")
        return Seen(row["t"], {k: float(v) for k, v in row["values"].items()}, run.states[0])

    def path(self, perturbation: np.ndarray, times: Sequence[float]) -> np.ndarray:
        """The states of the full flow from a perturbed start, as far as it comes (times × coordinates)."""
        done = self._integrated(replace(self.problem, initial=self.problem.initial + perturbation), (), times)
        return np.array([record.y for record in done.records]).reshape(-1, len(perturbation))

    def switches(self) -> list[float]:
        """When the full flow from the limit's own start meets switching surfaces."""
        return self._integrated(self.problem, (), [self.limit.t]).statistics.switch_times

    def run(self, perturbation: np.ndarray) -> Seen | None:
        """The full flow from a perturbed start; None if it does not come to the place that is compared."""
        problem = replace(self.problem, initial=self.problem.initial + perturbation)
        events, times = ([self.at], []) if isinstance(self.at, str) else ([], [float(self.at)])
        done = self._integrated(problem, events, times)
        if not done.records:
            return None
        values = {k: float(v[0]) for k, v in self._observed(problem, done).items()}
        return Seen(done.records[0].t, values, np.asarray(done.records[0].y))

    def _observed(self, problem: Problem, done: Finished) -> dict[str, np.ndarray]:
        import jax

        with jax.enable_x64(True):
            return observe_states(problem, done.records[:1], self.observables)

    def _integrated(self, problem: Problem, events: Sequence[str], times: Sequence[float]) -> Finished:
        import jax

        with jax.enable_x64(True):
            tolerances = Tolerances(self.rtol, 1e-4 * self.rtol * problem.scale, MAX_STEPS)
            return integrate(problem, list(times), list(events), tolerances, "auto")

    def of_width(self, rng: np.random.Generator) -> np.ndarray:
        """√m times what a large width m does to the start, drawn from its Gaussian limit."""
        assert isinstance(self.flow.system, Model)
        concrete = self.flow.system.concrete(self.flow.setup, "L2", self.flow.mode)
        found = np.zeros(len(self.problem.initial))
        for block, places in concrete.coordinates.grams():
            if not block.is_random:
                continue
            s = np.sqrt(np.diag(self.problem.initial[places]))
            G = rng.standard_normal(places.shape)
            G = np.triu(G, 1) + np.triu(G, 1).T + np.diag(np.sqrt(2) * np.diag(G))
            found[places] = np.outer(s, s) * G
        return found
