"""Equilibria: stationary points of a flow on the leaf of its conserved quantities, and what it does towards infinity.

Candidates are the slow states of the flow itself, its end, and random starts that are brought back onto the leaf; each
is refined by least squares on (f(y), C(y) - C(start)). Points that agree are one. A point is classified by the
eigenvalues of the Jacobian there; where a direction along the leaf is neutral and can be followed to other stationary
points, it lies on a family of that many dimensions. Where the flow keeps growing instead, its direction is reported.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from flowsys.analysis.growth import Growth, growth
from flowsys.analysis.result import Analysis
from flowsys.runs.flow import Flow, flow_of
from flowsys.system import Setup, System

STARTS = 96
RESTS = 1e-9  # |f| at a stationary point, relative to the rates and the size of the states met
SAME = 1e-4  # of the size of the states met: points nearer than this are one
NEUTRAL = 1e-6  # of the largest rate: a smaller real part is neutral
LOOKS = 60


@dataclass(frozen=True)
class Equilibrium:
    """A stationary point: how many directions leave, return or stay, and where it was found from."""

    state: dict[str, float]
    loss: float | None
    eigenvalues: np.ndarray
    unstable: int
    stable: int
    neutral: int
    family: int
    found: int
    is_end: bool

    @property
    def kind(self) -> str:
        return "saddle" if self.unstable else "attracting" if self.stable else "neutral"


@dataclass(frozen=True, kw_only=True)
class Equilibria(Analysis):
    """The stationary points that were found, the most unstable first; `towards` says how the flow grows, if it does."""

    points: tuple[Equilibrium, ...]
    towards: Growth | None

    @property
    def title(self) -> str:
        saddles = sum(point.unstable > 0 for point in self.points)
        return f"{self.origin.system}: {len(self.points)} stationary points, {saddles} of them unstable"

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "kind": point.kind,
                "unstable": point.unstable,
                "stable": point.stable,
                "neutral": point.neutral,
                "family": point.family,
                "rate": float(point.eigenvalues.real.max()),
                "loss": point.loss,
                "end": point.is_end,
                "found": point.found,
                "state": {name: round(x, 9) + 0.0 for name, x in point.state.items()},
            }
            for point in self.points
        ]

    def details(self) -> dict[str, Any]:
        return {
            "eigenvalues": [list(point.eigenvalues) for point in self.points],
            "towards_infinity": vars(self.towards) if self.towards else None,
        }

    def figure(self) -> Any:
        from flowsys.analysis.pictures.equilibria import equilibria

        return equilibria(self)


def equilibria(
    system: System,
    setup: Setup | None,
    *,
    starts: int = STARTS,
    seed: int = 0,
    level: str | None = None,
    variant: str | None = None,
    mode: str | None = None,
    rtol: float = 1e-10,
    command: str = "",
) -> Equilibria:
    """Stationary points of the last stage of a flow."""
    flow = flow_of(system, setup, level, variant, mode)
    search = _Search(flow, rtol)
    found = search.points(starts, np.random.default_rng(seed))
    names = flow.problem.field.names
    remarks = [] if found else ["no stationary point was found"]
    if search.growing is not None:
        remarks.append(search.growing.sentence)
    return Equilibria(
        origin=flow.origin(command),
        symbols=system.names.symbols({*names, *flow.setup}, mode),
        remarks=tuple(remarks),
        points=tuple(found),
        towards=search.growing,
    )


class _Search:
    """A field with its Jacobian, its conserved quantities, and the states its flow meets."""

    def __init__(self, flow: Flow, rtol: float):
        from flowsys.runs.asking import field

        self.flow, self.problem = flow, flow.problem
        stage = len(self.problem.stages) - 1
        asked = field(flow.system, flow.setup, level=flow.level, variant=flow.variant, mode=flow.mode, stage=stage)
        self.rhs, self.jacobian = _compiled(asked.jax)
        last = self.problem.t_max
        times = [0.0, *np.geomspace(min(1e-3, 1e-6 * last), last, LOOKS)]
        run = flow.run(times, rtol)
        self.states = np.array([record.y for record in run.records])
        self.growing = growth(flow, np.array([record.t for record in run.records]), self.states)
        self.size = max(float(np.abs(self.states).max()), 1e-12)
        self.rate = max(float(np.abs(self.rhs(y)).max()) for y in self.states) or 1.0
        conserved = self.problem.conserved
        self.kept = (lambda y: conserved(y[None])[0]) if conserved is not None else (lambda y: np.zeros(0))
        self.leaf = self.kept(self.problem.initial)

    def points(self, starts: int, rng: np.random.Generator) -> list[Equilibrium]:
        end = self._refined(self.states[-1])
        candidates = [*self.states[:: max(1, len(self.states) // 20)], *(self._random(rng) for _ in range(starts))]
        places: list[np.ndarray] = []
        counts: list[int] = []
        for y in [end, *map(self._refined, candidates)]:
            if y is None:
                continue
            near = [i for i, place in enumerate(places) if np.abs(place - y).max() < SAME * self.size]
            if near:
                counts[near[0]] += 1
            else:
                places.append(y)
                counts.append(1)
        near_end = lambda y: end is not None and np.abs(y - end).max() < SAME * self.size
        is_end = lambda y: bool(self.growing is None and near_end(y))
        found = [self._classified(y, n, is_end(y)) for y, n in zip(places, counts)]
        return sorted(_one_a_family(found), key=lambda p: (-p.unstable, -p.family, -(p.loss or 0.0)))

    def _random(self, rng: np.random.Generator) -> np.ndarray:
        """A state whose coordinates are those of the start, of the end, or anywhere about those the flow meets."""
        low, high = self.states.min(axis=0), self.states.max(axis=0)
        wide = rng.uniform(low - 0.2 * (high - low), high + 0.5 * (high - low))
        chosen = rng.integers(3, size=len(low))
        return np.choose(chosen, [self.states[0], self.states[-1], wide])

    def _refined(self, y: np.ndarray) -> np.ndarray | None:
        """The stationary point of the leaf that least squares find from a state; None if it finds none nearby."""
        from scipy.optimize import least_squares

        scales = np.maximum(np.abs(self.leaf), self.size)
        residual = lambda y: np.concatenate([self.rhs(y) / self.rate, (self.kept(y) - self.leaf) / scales])
        slopes = lambda y: np.vstack([self.jacobian(y) / self.rate, self._kept_slope(y) / scales[:, None]])
        done = least_squares(residual, y, slopes, xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=200)
        rests = np.isfinite(done.x).all() and np.abs(residual(done.x)).max() <= RESTS
        # far out every slope may be tiny: a stationary point is one that Newton's step does not leave
        rests = rests and np.abs(np.linalg.lstsq(slopes(done.x), residual(done.x), 1e-9)[0]).max() < SAME * self.size
        return done.x if rests and np.abs(done.x).max() < 10 * self.size and self._is_possible(done.x) else None

    def _kept_slope(self, y: np.ndarray) -> np.ndarray:
        h = 1e-6 * self.size
        shifts = h * np.eye(len(y))
        return np.array([(self.kept(y + s) - self.kept(y - s)) / (2 * h) for s in shifts]).T.reshape(-1, len(y))

    def _is_possible(self, y: np.ndarray) -> bool:
        """Whether the Gram matrices of a state have no negative eigenvalues."""
        layout = self.problem.layout
        if not {"KK", "QQ"} <= set(layout):
            return True
        blocks = [np.atleast_2d(layout[name].read(y)) for name in ("KK", "QQ")]
        return all(np.linalg.eigvalsh((M + np.swapaxes(M, -1, -2)) / 2).min() > -SAME * self.size for M in blocks)

    def _classified(self, y: np.ndarray, found: int, is_end: bool) -> Equilibrium:
        values = np.linalg.eigvals(self.jacobian(y))
        scale = NEUTRAL * max(float(np.abs(values).max()), self.rate / self.size)
        unstable, stable = int((values.real > scale).sum()), int((values.real < -scale).sum())
        loss = None
        if "loss" in self.problem.field.observables:
            from flowsys.integrate.multistep import numpy_observer

            loss = float(numpy_observer(self.problem.field, ("loss",))(y, self.problem.stages[-1].arguments)[0])
        state = dict(zip(self.problem.field.names, map(float, y)))
        order = np.argsort(-values.real)
        n = unstable, stable, len(y) - unstable - stable
        return Equilibrium(state, loss, values[order], *n, self._family(y), found, is_end)

    def _family(self, y: np.ndarray) -> int:
        """In how many directions along the leaf the stationary point can be moved."""
        J = np.vstack([self.jacobian(y) * (self.size / self.rate), self._kept_slope(y) / self.size])
        _, singular, directions = np.linalg.svd(J)
        padded = np.append(singular, np.zeros(max(0, len(y) - len(singular))))
        moved = 0
        for direction in directions[padded < 1e-6 * max(singular.max(initial=0.0), 1e-300)]:
            step = 1e-2 * self.size * direction
            there = [self._refined(y + sign * step) for sign in (1.0, -1.0)]
            moved += any(x is not None and abs((x - y) @ direction) > 0.5 * np.linalg.norm(step) for x in there)
        return moved


def _one_a_family(points: list[Equilibrium]) -> list[Equilibrium]:
    """Of the points of a continuous family (same dimension, loss and numbers of directions) the one met most often."""
    found: dict[tuple, Equilibrium] = {}
    for point in sorted(points, key=lambda p: -p.found):
        alone = tuple(point.state.values()) if not point.family else ()
        loss = None if point.loss is None else round(point.loss, 6)
        found.setdefault((point.family, point.unstable, loss, alone), point)
    return list(found.values())


def _compiled(rhs: Callable) -> tuple[Callable, Callable]:
    import jax

    from flowsys.integrate.compiling import jit

    def in_double(function):
        def call(y: np.ndarray) -> np.ndarray:
            with jax.enable_x64(True):
                return np.asarray(function(y))

        return call

    with jax.enable_x64(True):
        return in_double(jit(rhs)), in_double(jit(jax.jacfwd(rhs)))
