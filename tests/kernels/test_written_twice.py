"""What has to be written in two places, because one of them is compiled or must not load jax, is the same in both."""

import inspect

from flowsys.cli.solve import solve
from flowsys.integrate import complementarity, driver
from flowsys.integrate import kinks as reference
from flowsys.kernels import BatchResult, Code, workspace
from flowsys.kernels.native import complementarity as native
from flowsys.kernels.native import constants
from flowsys.kernels.stepper import WATCHED_FRACTIONS
from flowsys.runs import automatic


def test_both_drivers_mean_the_same_by_one_surface():
    assert constants.SAME_SURFACE == reference._SAME_SURFACE
    assert constants.ON_SURFACE == reference._ON_SURFACE


def test_both_drivers_slide_alike():
    assert (constants.AFFINE, constants.MAX_HURRIED, constants.HURRY) == (
        reference._AFFINE,
        reference._MAX_HURRIED,
        reference._HURRY,
    )
    assert workspace.MAX_SURFACES == reference.MAX_SURFACES
    for name in ("YIELD", "REFINEMENTS"):
        assert getattr(native, name) == getattr(complementarity, name)


def test_both_ways_to_smooth_the_rest_of_a_run_smooth_it_alike():
    assert automatic.FALLBACK_WIDTH == driver._FALLBACK_WIDTH
    assert f"{automatic.FALLBACK_WIDTH:.0e}".replace("e-0", "e-") in automatic.__doc__


def test_outcomes_and_columns_have_one_numbering():
    named = {code.name: int(code) for code in Code if code is not Code.INTERRUPTED}
    assert named == {name: getattr(constants, name) for name in named}
    columns = [name.upper() for name in BatchResult.COLUMNS]
    assert [getattr(constants, name) for name in columns] == list(range(constants.N_COUNTS))


def test_the_fractions_of_a_step_are_the_method_s():
    from scipy.integrate._ivp import dop853_coefficients as table

    assert (constants.THIRD, constants.TWO_THIRDS) == WATCHED_FRACTIONS
    assert tuple(table.C[[5, 8]]) == WATCHED_FRACTIONS


def test_the_command_line_names_every_solver():
    [option] = inspect.signature(solve).parameters["solver"].annotation.__metadata__
    assert option.help == " | ".join(automatic.SOLVERS)
