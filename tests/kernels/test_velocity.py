"""Derivatives along a direction: of the switching functions (velocity) and of the field (tangent)."""

import ctypes

import numpy as np
import pytest
from test_programs import EVERYTHING, LINKS, STAGE, STATES, TABLES

from flowsys.kernels import kernel
from flowsys.kernels.packing import aligned
from flowsys.kernels.workspace import workspace
from flowsys.program.arrays import arguments, switching_functions, vector_field

WIDTH = 0.3
DIRECTION = np.array([0.3, -0.8, 0.5])


def along_the_direction(function, kinks, stages, count):
    """The first values of a directional function of a kernel, in the order of the machine code."""
    native = kernel(EVERYTHING, (), kinks, stages)
    given = native.native_stages([STAGE])
    layout = native.layout(given)
    memory, lanes = workspace(native, layout), native.host.lanes
    lane = lambda name: memory.array(name).reshape(-1, lanes)
    constants = np.concatenate([given[0].parameters, [WIDTH], layout.constants(given[0].tables, given[0].links)])
    lane("constants")[:] = constants[:, None]
    lane("gates")[:] = 1.0
    lane("y")[:] = STATES[0][:, None]
    lane("f_on")[:] = DIRECTION[:, None]
    library = native.tangent if function == "tangent" else native.library
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 8)(library.address(function))
    out = aligned(64 * lanes).reshape(-1, lanes)
    address = {name: memory.address(name) for name in "y f_on constants gates scratch layout indices".split()}
    call(address["y"], address["f_on"], out.ctypes.data, *list(address.values())[2:])
    return native, out[:count, 0]


def given_arguments():
    columns = {t: dict(zip(EVERYTHING.tables[t], TABLES[t])) for t in TABLES}
    given = arguments(EVERYTHING, dict(zip("ab", STAGE.parameters)), columns, LINKS)
    return given._replace(kink_width=WIDTH)


def quotient(function):
    """The derivative along the direction by central differences."""
    ε = 1e-6
    return (function(STATES[0] + ε * DIRECTION) - function(STATES[0] - ε * DIRECTION)) / (2 * ε)


def test_velocity_is_the_directional_derivative_of_the_switching_functions():
    h = switching_functions(EVERYTHING, "frozen", np)
    expected = quotient(lambda y: h(y, given_arguments()))
    for stages in ((), (STAGE,)):
        native, found = along_the_direction("velocity", "frozen", stages, len(expected))
        assert np.allclose(native.gates_as_stated(found[None])[0], expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("kinks", ["smooth", "exact"])
@pytest.mark.parametrize("stages", [(), (STAGE,)])
def test_tangent_is_the_directional_derivative_of_the_field(kinks, stages):
    f = vector_field(EVERYTHING, kinks, np)
    expected = quotient(lambda y: f(y, given_arguments()))
    _, found = along_the_direction("tangent", kinks, stages, len(expected))
    assert np.allclose(found, expected, rtol=1e-6, atol=1e-6)
