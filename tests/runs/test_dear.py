"""Dear observables: computed where they are named, and only there."""

import pytest

from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.system import System
from flowsys.systems import load, names

WITH_DEAR = {"lego": "accuracy_rollout", "prompt": "cot_error"}


@pytest.mark.parametrize("name", names())
def test_what_is_dear_is_an_observable_of_a_level_that_is_there(name):
    system: System = load(name)
    assert set(system.dear) <= set(system.observables)
    assert {level for levels in system.dear.values() for level in levels} <= set(system.levels)


@pytest.mark.parametrize(("name", "dear"), WITH_DEAR.items())
def test_a_default_solve_leaves_dear_observables_out_and_a_named_one_is_computed(name, dear):
    system = load(name)
    unasked = solve(system).series
    problem = system.problem(system.setup())
    assert set(problem.observable_names) - set(unasked) == {n for n, at in system.dear.items() if "L3" in at}
    event = problem.default_at[0]
    assert set(solve(system, system.setup(), at=[event], observe=[dear]).series) == {dear}


def test_a_training_run_leaves_the_max_margin_out_unless_it_is_named():
    system = load("mixture")
    setup = system.setup(width=20)
    assert "max_margin" not in train(system, setup, steps=2, records=1).series
    assert set(train(system, setup, steps=2, records=1, observe=["max_margin"]).series) == {"max_margin"}


def test_the_limit_of_the_mixture_reports_its_margin_unasked():
    assert "max_margin" in solve(load("mixture")).series
