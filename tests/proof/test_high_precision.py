"""High-precision runs by other means (extrapolation in mpmath's numbers) lie inside enclosures, at random set-ups."""

import re
from functools import reduce

import mpmath
import numpy as np
import pytest

pytest.importorskip("flint", reason="the extra `proof` is not installed")

from test_enclosures import inside

import flowsys as fs
from flowsys.program.arrays import source


def on_arrays(function, arguments: int):
    """A function of mpmath's numbers, on the rows of tables too."""
    return np.frompyfunc(function, arguments, 1)


def folded(function):
    return lambda first, *rest: reduce(on_arrays(function, 2), rest, first)


FUNCTIONS = {
    "quotient": lambda a, b: mpmath.mpf(a) / b,
    "exp": on_arrays(mpmath.exp, 1),
    "log": on_arrays(mpmath.log, 1),
    "sigmoid": on_arrays(lambda x: 1 / (1 + mpmath.exp(-x)), 1),
    "softplus": on_arrays(lambda x: mpmath.log(1 + mpmath.exp(x)), 1),
    "max": folded(max),
    "min": folded(min),
    "masked": on_arrays(lambda score, count: score if count > 0 else -mpmath.inf, 2),
    "total": np.sum,
    "linked": lambda x, C: C @ x,
    "spread": lambda x, C: x @ C,
    "relu": lambda x, gate: gate * x,
    "step": lambda x, gate: gate,
}


COLUMNS = 14  # of the extrapolation: order 28


def exact_numbers(array) -> np.ndarray:
    return np.array([mpmath.mpf(str(x)) for x in np.ravel(array)], dtype=object).reshape(np.shape(array))


class Reading:
    """A problem of one stage in mpmath's numbers: its rates and switching functions under given gates."""

    def __init__(self, problem):
        program, data = problem.field.program, problem.stages[0].arguments
        self._rates = self._printed(program, program.derivatives)
        self._surfaces = self._printed(program, program.kinks) if program.kinks else None
        tables, links = ({name: exact_numbers(x) for name, x in of.items()} for of in (data.tables, data.links))
        self._arguments = lambda gates: (exact_numbers(data.parameters), tables, links, gates, 0)
        self.initial = [mpmath.mpf(float(x)) for x in problem.initial]
        self.gates = np.ones(len(data.gates), dtype=int)
        self.gates = (self.surfaces(self.initial, self.gates) > 0).astype(int)

    @staticmethod
    def _printed(program, names):
        namespace = dict(FUNCTIONS)
        # a quotient of literals would be a float64
        text = re.sub(r"\b(\d+) / (\d+)\b", r"quotient(\1, \2)", source(program, names, "frozen"))
        exec(text, namespace)
        return namespace["evaluate"]

    def rates(self, y, gates) -> list:
        return list(self._rates(y, self._arguments(gates)))

    def surfaces(self, y, gates) -> np.ndarray:
        found = self._surfaces(y, self._arguments(gates)) if len(gates) else ()
        return np.concatenate([np.zeros(0), *(np.atleast_1d(x) for x in found)])


def high_precision(problem, t: float, steps: int, switches=()) -> list:
    """The solution at t by Gragg's midpoint rule, extrapolated (Bulirsch and Stoer) on so many equal steps a stretch.

    Near the times `switches` the flow crosses a surface: there it is located, and the gates on it turn.
    """
    of = Reading(problem)
    y, gates, now = of.initial, of.gates, mpmath.mpf(0)
    advanced = lambda y, gates, length: extrapolated(lambda x: of.rates(x, gates), y, length)

    def stretch(y, gates, length):
        for _ in range(steps):
            y = advanced(y, gates, length / steps)
        return y

    for switch in switches:
        y, now = stretch(y, gates, mpmath.mpf(switch) - now), mpmath.mpf(switch)
        before = of.surfaces(y, gates)
        met, step = int(np.abs(before).argmin()), mpmath.mpf("1e-8")
        for _ in range(5):  # secants
            y, now = advanced(y, gates, step), now + step
            after = of.surfaces(y, gates)
            slope = (after[met] - before[met]) / step
            before, step = after, -after[met] / slope
        on_surface = np.abs(after) < mpmath.mpf("1e-30")
        assert on_surface[met]
        gates = np.where(on_surface, 1 - gates, gates)
    return stretch(y, gates, mpmath.mpf(t) - now)


def extrapolated(rates, y, length) -> list:
    """One step: midpoint rules of 2, 4, 6 … parts, whose errors are even in their length."""
    table: list[list] = []
    for column in range(COLUMNS):
        n = 2 * (column + 1)
        h = length / n
        before, now = y, moved(y, rates(y), h)
        for _ in range(n - 1):
            before, now = now, moved(before, rates(now), 2 * h)
        row = [[(a + b + h * c) / 2 for a, b, c in zip(before, now, rates(now))]]
        for k, coarse in enumerate(table):
            ratio = (mpmath.mpf(n) / (n - 2 * (k + 1))) ** 2
            row.append([a + (a - b) / (ratio - 1) for a, b in zip(row[-1], coarse)])
        table = row
    return table[-1]


def moved(y, rate, h) -> list:
    return [a + h * b for a, b in zip(y, rate)]


def random_setup(seed: int):
    """A system, a mode, a set-up and a time, all drawn; numbers are simple, so that both sides read the same ones."""
    rng = np.random.default_rng(seed)
    if seed % 3 == 2:  # dyadic numbers, whose squares are float64 too; T_0.5 lies before the time, or behind
        system = fs.load("mixture")
        given = {
            "K": int(rng.integers(2, 5)),
            "omega": int(rng.integers(2, 9)) / 32,
            "b": int(rng.integers(4, 13)) / 16,
        }
        return system, "simultaneous", system.setup("simultaneous", **given), int(rng.integers(4, 16)) / 4
    t = float(rng.integers(1, 60)) / 4
    if seed % 3:
        system = fs.load("prompt")
        given = {"K": int(rng.integers(2, 4)), "M": int(rng.integers(10, 200)), "alpha": int(rng.integers(2, 9)) / 10}
        return system, None, system.setup(**given), t
    system = fs.load("parity")
    given = {"n": int(rng.integers(8, 30)), "k": int(rng.integers(3, 6)), "m": int(rng.integers(20, 400))}
    return system, None, system.setup(**given), t


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_a_high_precision_run_lies_inside(seed):
    system, mode, setup, t = random_setup(seed)
    problem = system.problem(setup, mode=mode)
    names = problem.field.program.state
    proof = fs.prove(system, setup, mode=mode, at=[t], observe=[n for n in names if n in problem.field.observables])
    assert not proof.declined
    row = proof.rows[0]
    switches = fs.solve(system, setup, mode=mode, at=[t], rtol=1e-12).statistics["switch_times"]
    with mpmath.workdps(45):
        coarse, fine = (high_precision(problem, t, steps, switches) for steps in (2, 3))
        assert max(abs(a - b) for a, b in zip(coarse, fine)) < row.radius / 4  # it is that precise
        exact = dict(zip(names, fine))
        assert row.values and all(inside(value, exact[name], row.radius / 4) for name, value in row.values.items())
        assert row.radius < 1e-20
        name = next(iter(row.values))
        assert not inside(row.values[name], exact[name] + 3 * row.radius, row.radius / 4)


def test_both_sides_of_the_mixtures_kink_are_among_the_set_ups():
    """The gates that open at T_0.5 are crossed in some, and not yet met in others."""
    crossed = []
    for seed in range(2, 30, 3):
        system, mode, setup, t = random_setup(seed)
        crossed.append(len(fs.solve(system, setup, mode=mode, at=[t]).statistics["switch_times"]))
    assert 0 in crossed and sum(n > 0 for n in crossed) >= 4
