"""Weights of the norm: fitted on a float run, so that the bound of the errors' growth, ∫ μ dt, is small.

Any weights prove; good ones prove more. They are powers of 2, so that scaling by them is exact.
"""

from collections.abc import Sequence

import numpy as np
from flint import arb
from scipy.optimize import minimize

from flowsys.integrate.record import Tolerances
from flowsys.proof.flow import Flow
from flowsys.proof.posing import Posed
from flowsys.runs.automatic import integrate
from flowsys.runs.solving import double_precision
from flowsys.system.problem import Problem

_LOOKS = 24
_TRIES = 60  # of the fit; fewer where there are many coordinates
_MOST = 30.0  # of the exponents, in powers of 2


def fitted_exponents(problem: Problem, posed: Posed, events: Sequence[str], times: Sequence[float]) -> list[np.ndarray]:
    """The exponents of every stage's weights."""
    sampled = _sampled(problem, posed, events, times)
    return [_fitted(sampled[stage], len(problem.initial)) for stage in range(len(posed.stages))]


def _sampled(problem: Problem, posed: Posed, events, times) -> list[list[tuple[float, np.ndarray]]]:
    """(time step, Jacobian) along a float run, by stage."""
    found: list[list[tuple[float, np.ndarray]]] = [[] for _ in posed.stages]
    tolerances = Tolerances(1e-8, 1e-12 * problem.scale, 20_000)
    with double_precision(problem):
        ends = integrate(problem, list(times), list(events), tolerances, "auto", None, None).records
        if not ends:
            return found
        last = ends[-1].t
        looks = np.unique(np.concatenate([np.linspace(0, last, _LOOKS), last * np.geomspace(1e-4, 1, _LOOKS // 3)]))
        records = integrate(problem, list(looks), [], tolerances, "auto", None, None).records
    steps = np.gradient([r.t for r in records]) if len(records) > 1 else np.ones(len(records))
    for record, step in zip(records, steps):
        flow = Flow(posed.stages[record.stage].unrolled, 64)
        state = [arb(float(y)) for y in record.y]
        gates = [1] * len(flow.unrolled.gates)
        for _ in range(3):
            gates = [int(arb(x) > 0) for x in flow.with_gates(gates).kinks(state)] if gates else []
        matrix = flow.with_gates(gates).jacobian(state, range(len(state)))
        values = np.array([[float(x.mid()) for x in row] for row in matrix])
        if np.isfinite(values).all():
            found[record.stage].append((float(step), values))
    return found


def _fitted(sampled: Sequence[tuple[float, np.ndarray]], n: int) -> np.ndarray:
    if not sampled:
        return np.zeros(n, dtype=int)
    steps, matrices = np.array([s for s, _ in sampled]), np.array([m for _, m in sampled])

    def growth(x: np.ndarray) -> tuple[float, np.ndarray]:
        scale = np.exp(x[:, None] - x[None, :])
        scaled = matrices * scale
        values, vectors = np.linalg.eigh((scaled + np.swapaxes(scaled, 1, 2)) / 2)
        top = vectors[:, :, -1]
        forward, backward = np.einsum("kij,kj->ki", scaled, top), np.einsum("kji,kj->ki", scaled, top)
        gradient = (steps[:, None] * top * (forward - backward)).sum(axis=0)
        # a little for being far from equal: weights that change nothing stay near each other
        return float((steps * values[:, -1]).sum()) + 1e-4 * float(x @ x), gradient + 2e-4 * x

    bounds = [(-_MOST * np.log(2) / 2, _MOST * np.log(2) / 2)] * n
    best = minimize(growth, np.zeros(n), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxfun": _tries(n)})
    x = best.x if best.fun < growth(np.zeros(n))[0] else np.zeros(n)
    exponents = np.round(x / np.log(2)).astype(int)
    return exponents - exponents.max()  # no weight above 1: the error's bound is at least that of each coordinate


def _tries(n: int) -> int:
    return max(20, min(_TRIES, 4000 // n))
