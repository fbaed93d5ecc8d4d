"""Every point of a system's allowed box ends in a value or a named outcome."""

from collections import Counter
from contextlib import suppress
from itertools import product

import numpy as np
import pytest
from draws import draws
from sweeps import posed

from flowsys.errors import InputError
from flowsys.sweeps.diagram import CODES, OUTCOMES
from flowsys.sweeps.points import evaluate_points
from flowsys.sweeps.quantities import parse_quantity
from flowsys.sweeps.sweep import Sweep
from flowsys.system import System
from flowsys.system.problem import ProgramField
from flowsys.systems import load, names

BUDGET = 2000  # steps a point may take


def forms(system: System) -> list[tuple[str, str]]:
    """The variants and modes of a system's limit that are integrated as programs; `found` would be derived at each."""
    found = []
    stated = [variant for variant in system.levels[system.default_level].names if variant != "found"]
    for variant, mode in product(stated, system.modes):
        with suppress(InputError):  # not every variant has every mode
            problem = system.problem(system.setup(mode), system.default_level, variant, mode)
            if isinstance(problem.field, ProgramField):
                found.append((variant, mode))
    return found


def ends(name: str, n: int, solver: str, sizes: bool, seed: int = 0) -> Counter:
    """How n draws over a system's box ended, looking at an event and at a time; forms take turns with the seeds."""
    system = load(name)
    level, known = system.default_level, forms(system)
    variant, mode = known[seed % len(known)]
    problem = system.problem(system.setup(mode), level, variant, mode)
    texts = (problem.default_at[-1], f"{problem.observable_names[0]}@t=1")
    quantities = tuple(parse_quantity(text, problem.event_names) for text in texts)
    sweep = Sweep(system, level, variant, mode, (), quantities, solver=solver, max_steps=BUDGET)
    points = list(draws(system, level, mode, n, seed, sizes))
    values, outcomes = evaluate_points(sweep, posed(points), threads=2)
    has_value = outcomes <= CODES["completed with smoothed kinks"]
    assert (np.isfinite(values).all(axis=0) == has_value).all() and (outcomes < len(OUTCOMES)).all()
    assert all(CODES["invalid parameters"] == o for p, o in zip(points, outcomes) if p is None)
    return Counter(OUTCOMES[o] for p, o in zip(points, outcomes) if p is not None)


@pytest.mark.parametrize("name", names())
def test_draws_end_in_a_value_or_a_named_outcome(name):
    found = ends(name, 40, "native", sizes=False)
    assert sum(found.values()) == 40 and found["invalid parameters"] < 40


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("seed", range(10))
def test_ten_thousand_draws_end_in_a_value_or_a_named_outcome(name, seed):
    assert sum(ends(name, 1000, "auto", sizes=True, seed=seed).values()) == 1000


def test_a_long_and_dear_flow_stops_at_its_budget():
    from flowsys.sweeps.together import step_budget

    system = load("mixture")
    sweep = Sweep(system, "L3", "22", "three_stage", (), ())
    cheap, dear = (system.problem(system.setup(K=K, L=L)) for K, L in ((2, 3), (8, 9)))
    assert step_budget(sweep, cheap) == sweep.max_steps > step_budget(sweep, dear) >= 1000
