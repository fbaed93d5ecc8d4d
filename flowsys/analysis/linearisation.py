"""Linearisation along a flow: the Jacobian at events and times, its eigenpairs in named coordinates, time scales.

At a state y the flow of a small deviation is dδ/dt = J δ, J = ∂f/∂y with the gates as they stand (on a switching
surface, of the field that slides). Its eigenvalues with positive real part are the directions that leave, and the
logarithmic norm, the largest eigenvalue of (J + Jᵀ)/2, bounds every growth. Where one rate λ leads, the part of the
velocity along its eigenvector, ℓ·f with the left eigenvector ℓ, grows like e^(λt): a plateau from A to B lasts about
log(|ℓ·f(B)| / |ℓ·f(A)|) / λ, and since its start depends on a parameter p like p^n, its length changes with log(1/p) by
n/λ, whatever ends it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from flowsys.analysis.result import Analysis
from flowsys.errors import InputError
from flowsys.runs.flow import Flow, State, flow_of, jacobian, sliding_jacobian
from flowsys.system import Setup, System

SAME = 1e-6  # eigenvalues that differ by less of the largest are one
LEADING = 0.05  # coordinates with a smaller part of an eigenvector are not named
AT_LEAST = 1e-9  # of the largest rate: below it a direction neither leaves nor returns
STEP = 1e-3  # of log p, for the power with which a start depends on p
LEAST_POWER = 0.01


@dataclass(frozen=True)
class Eigenpair:
    """A rate with its direction: right eigenvector by coordinate, the largest entry 1."""

    value: complex
    direction: dict[str, float]


@dataclass(frozen=True)
class Point:
    """The linearisation at a state in a stage."""

    at: str
    stage: str
    t: float
    eigenvalues: np.ndarray
    leading: Eigenpair
    logarithmic_norm: float
    speed: float
    jacobian: np.ndarray

    @property
    def n_unstable(self) -> int:
        return int((self.eigenvalues.real > AT_LEAST * np.abs(self.eigenvalues).max()).sum())


@dataclass(frozen=True)
class Plateau:
    """What the leading rate at its start says of the stretch between two states.

    `slopes` are the changes of its length with log(1/p), predicted by the rate alone.
    """

    start: str
    end: str
    rate: float
    length: float
    predicted: float
    slopes: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Linearisation(Analysis):
    """Linearisations at the states asked for, and the plateaus between them."""

    points: tuple[Point, ...]
    plateaus: tuple[Plateau, ...]

    @property
    def title(self) -> str:
        return f"{self.origin.system}: rates and directions at {', '.join(dict.fromkeys(p.at for p in self.points))}"

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "at": point.at,
                "stage": point.stage,
                "t": point.t,
                "rate": point.leading.value if point.leading.value.imag else point.leading.value.real,
                "unstable": point.n_unstable,
                "time_scale": 1 / abs(point.leading.value.real) if point.leading.value.real else np.inf,
                "logarithmic_norm": point.logarithmic_norm,
                "speed": point.speed,
                "direction": point.leading.direction,
            }
            for point in self.points
        ]

    def details(self) -> dict[str, Any]:
        return {
            "plateaus": [vars(plateau) for plateau in self.plateaus],
            "eigenvalues": [{"at": p.at, "stage": p.stage, "values": list(p.eigenvalues)} for p in self.points],
        }

    def figure(self) -> Any:
        from flowsys.analysis.pictures.linearisation import linearisation

        return linearisation(self)


def linearise(
    system: System,
    setup: Setup | None,
    at: Sequence[str | float] | None = None,
    *,
    level: str | None = None,
    variant: str | None = None,
    mode: str | None = None,
    rtol: float = 1e-10,
    command: str = "",
) -> Linearisation:
    """Jacobians at events and times; between neighbouring ones, what the unstable direction predicts."""
    flow = flow_of(system, setup, level, variant, mode)
    states, missing = flow.states(at, rtol)
    sides = [(state, stage) for state in states for stage in flow.stages_at(state)]
    points = tuple(_point(flow, state, stage) for state, stage in sides)
    plateaus, remarks = [], list(missing)
    for a, b in pairwise(states):
        found = _plateau(flow, a, b, rtol)
        if found is not None:
            plateaus.append(found)
            remarks.append(_said(found))
    names = {*flow.problem.field.names, *(p.at for p in points), *flow.setup}
    return Linearisation(
        origin=flow.origin(command),
        symbols=system.names.symbols(names, mode),
        remarks=tuple(remarks),
        points=points,
        plateaus=tuple(plateaus),
    )


def matrix_at(flow: Flow, y: np.ndarray, stage: int) -> tuple[np.ndarray, np.ndarray]:
    """(dy/dt, Jacobian) at a state in a stage, gates as they stand, sliding where the flow slides."""
    import jax

    from flowsys.integrate import sliding
    from flowsys.integrate.kinks import Gates
    from flowsys.integrate.stepper import right_hand_side

    field, arguments = flow.problem.field, flow.problem.stages[stage].arguments
    with jax.enable_x64(True):
        if not field.has_kinks:
            return np.asarray(right_hand_side(field)(y, arguments)), np.asarray(jacobian(field)(y, arguments))
        gates = Gates(field, arguments, y)
        if gates.slide is None:
            given = y, gates.arguments
            return np.asarray(right_hand_side(field)(*given)), np.asarray(jacobian(field)(*given))
        moving = sliding.rhs(field, y, gates.arguments, gates.slide)
        return np.asarray(moving), np.asarray(sliding_jacobian(field)(y, gates.arguments, gates.slide))


def eigenpair(names: Sequence[str], value: complex, vector: np.ndarray) -> Eigenpair:
    """An eigenvalue with its eigenvector in named coordinates."""
    largest = vector[np.abs(vector).argmax()]
    scaled = (vector / largest).real
    order = np.argsort(-np.abs(scaled))
    named = {names[k]: float(scaled[k]) for k in order if abs(scaled[k]) >= LEADING}
    return Eigenpair(complex(value), named)


def _point(flow: Flow, state: State, stage: int) -> Point:
    f, J = matrix_at(flow, state.y, stage)
    values, vectors = np.linalg.eig(J)
    order = np.argsort(-values.real)
    leading = eigenpair(flow.problem.field.names, values[order[0]], vectors[:, order[0]])
    norm = float(np.linalg.eigvalsh((J + J.T) / 2)[-1])
    name = flow.problem.stages[stage].name
    return Point(state.at, name, state.t, values[order], leading, norm, float(np.linalg.norm(f)), J)


def _leading_part(flow: Flow, y: np.ndarray, stage: int) -> tuple[float, float, np.ndarray]:
    """(rate, |ℓ·f|, projector) of the leading rate: the part of the velocity in its eigenspace."""
    f, J = matrix_at(flow, y, stage)
    values, vectors = np.linalg.eig(J)
    rate = values.real.max()
    leads = np.abs(values - rate) <= SAME * max(np.abs(values).max(), 1e-300)
    inverse = np.linalg.pinv(vectors)
    projector = (vectors[:, leads] @ inverse[leads]).real
    return float(rate), float(np.linalg.norm(projector @ f)), projector


def _plateau(flow: Flow, a: State, b: State, rtol: float) -> Plateau | None:
    """The leading rate at a and what it says of the way to b; None where nothing leaves there."""
    stage = flow.stages_at(a)[-1]
    rate, size, projector = _leading_part(flow, a.y, stage)
    scale = np.abs(np.linalg.eigvals(matrix_at(flow, a.y, stage)[1])).max()
    if not rate > AT_LEAST * scale or size == 0:
        return None
    at_end = float(np.linalg.norm(projector @ matrix_at(flow, b.y, flow.stages_at(b)[0])[0]))
    slopes = {}
    for parameter in flow.system.parameters:
        if parameter.log and flow.level in parameter.levels and flow.setup[parameter.name] > 0:
            power = _power(flow, parameter.name, a, stage, rtol)
            if power is not None and abs(power) > LEAST_POWER:
                slopes[parameter.name] = power / rate
    return Plateau(a.at, b.at, rate, b.t - a.t, float(np.log(at_end / size) / rate), slopes)


def _power(flow: Flow, name: str, a: State, stage: int, rtol: float) -> float | None:
    """n in |ℓ·f| ∝ p^n at the plateau's start, by a central difference; None beyond the parameter's range."""
    sizes = []
    request: str | float = a.at if a.at in flow.problem.event_names else a.t
    for factor in (np.exp(-STEP), np.exp(STEP)):
        try:
            there = flow.at(**{name: flow.setup[name] * factor})
        except InputError:
            return None
        states, _ = there.states([request], rtol)
        if not states:
            return None
        sizes.append(_leading_part(there, states[0].y, stage)[1])
    return float(np.log(sizes[1] / sizes[0]) / (2 * STEP)) if min(sizes) > 0 else None


def _said(plateau: Plateau) -> str:
    slopes = "".join(f"; its length changes by {s:.6g} with log(1/{name})" for name, s in plateau.slopes.items())
    return (
        f"from {plateau.start} to {plateau.end}: rate {plateau.rate:.6g} predicts {plateau.predicted:.5g}, "
        f"it takes {plateau.length:.5g}{slopes}"
    )
