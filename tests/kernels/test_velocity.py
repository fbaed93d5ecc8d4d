"""The velocity of switching functions is their derivative along the field."""

import ctypes

import numpy as np
from test_programs import EVERYTHING, LINKS, STAGE, STATES, TABLES

from flowsys.kernels import kernel
from flowsys.kernels.workspace import workspace
from flowsys.program.arrays import arguments, switching_functions

DIRECTION = np.array([0.3, -0.8, 0.5])


def native_velocity(stages):
    native = kernel(EVERYTHING, (), "frozen", stages)
    given = native.native_stages([STAGE])
    layout = native.layout(given)
    memory = workspace(native, layout)
    arrays, lanes = memory.arrays, native.host.lanes
    constants = np.concatenate([given[0].parameters, [0.0], layout.constants(given[0].tables, given[0].links)])
    arrays["constants"].reshape(-1, lanes)[:] = constants[:, None]
    arrays["gates"][:] = 1.0
    arrays["y"].reshape(-1, lanes)[:] = STATES[0][:, None]
    arrays["f_on"].reshape(-1, lanes)[:] = DIRECTION[:, None]
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 8)(native.library.address("velocity"))
    names = "y f_on v_on constants gates scratch layout indices".split()
    call(*(arrays[name].ctypes.data for name in names))
    return native.gates_as_stated(arrays["v_on"].reshape(-1, lanes)[: layout.n_gates, :1].T)[0]


def test_velocity_is_the_directional_derivative_of_the_switching_functions():
    columns = {t: dict(zip(EVERYTHING.tables[t], TABLES[t])) for t in TABLES}
    given = arguments(EVERYTHING, dict(zip("ab", STAGE.parameters)), columns, LINKS)
    h = switching_functions(EVERYTHING, "frozen", np)
    ε = 1e-6
    expected = (h(STATES[0] + ε * DIRECTION, given) - h(STATES[0] - ε * DIRECTION, given)) / (2 * ε)
    for stages in ((), (STAGE,)):
        assert np.allclose(native_velocity(stages), expected, rtol=1e-7, atol=1e-7)
