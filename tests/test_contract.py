"""The laws every system obeys, whatever paper it comes from."""

import numpy as np
import pytest

import flowsys
from flowsys.errors import InputError
from flowsys.system.problem import ProgramField

PAPERS = flowsys.names()


@pytest.fixture(scope="module", params=PAPERS)
def system(request):
    return flowsys.load(request.param)


def levels_of(system):
    return [level for level in system.levels if level != "L0"]


def test_defaults_lie_in_their_own_ranges(system):
    setup = system.setup()
    assert set(setup) == {p.name for p in system.parameters}
    for parameter in system.parameters:
        assert parameter.check(setup[parameter.name]) == setup[parameter.name]


def test_every_parameter_has_a_meaning_and_refuses_what_is_not_a_number(system):
    for parameter in system.parameters:
        assert parameter.meaning
        with pytest.raises(InputError, match=parameter.name):
            parameter.check("nonsense")
        with pytest.raises(InputError, match=parameter.name):
            parameter.check(float("nan"))


def test_an_unknown_parameter_is_named_in_the_refusal(system):
    with pytest.raises(InputError, match="no_such_parameter"):
        system.setup(no_such_parameter=1)


def test_every_system_has_a_horizon(system):
    assert "t_max" in {p.name for p in system.parameters}


def test_the_default_problem_offers_only_documented_names(system):
    problem = system.problem(system.setup())
    assert set(problem.observable_names) <= set(system.observables)
    assert set(problem.event_names) <= set(system.events)


def test_the_initial_state_is_finite_and_named(system):
    problem = system.problem(system.setup())
    assert np.isfinite(problem.initial).all()
    assert len(problem.field.names) == len(problem.initial)


def test_the_limit_is_a_derived_program(system):
    assert isinstance(system.problem(system.setup()).field, ProgramField)


def test_the_limit_solves_its_default_events_with_finite_observables(system):
    trajectory = flowsys.solve(system)
    assert not trajectory.outcome.is_failure, trajectory.outcome.sentence
    for name, values in trajectory.series.items():
        assert np.isfinite(values).all(), name


def test_states_at_the_start_are_the_initial_state(system):
    problem = system.problem(system.setup())
    trajectory = flowsys.solve(system, at=[problem.start])
    np.testing.assert_array_equal(trajectory.states[0], problem.initial)


def test_a_level_or_variant_or_mode_that_is_not_there_is_refused(system):
    for wrong in ({"level": "L9"}, {"variant": "nonsense"}, {"mode": "nonsense"}):
        with pytest.raises(InputError, match=r"nonsense|L9"):
            flowsys.solve(system, **wrong)


def test_variants_and_modes_say_what_they_are(system):
    for variants in system.levels.values():
        assert len(variants.meanings) == len(variants.names)
    assert all(system.modes.values())


def test_equations_are_there_for_a_reader(system):
    equations = system.equations()
    assert equations and all(isinstance(text, str) and text for text in equations.values())
