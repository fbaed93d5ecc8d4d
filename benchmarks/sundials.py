"""CVODE called natively: SUNDIALS' library as scikit-sundae ships it, the loop over points compiled by numba.

No Python runs between the first and the last point. `adams` is for flows that are not stiff; on the kinked field the
gates are data of the right-hand side, the switching functions are CVODE's roots, a root flips its gate, and the solver
restarts there. `bdf` is for stiff ones, with dense Jacobians by CVODE's own difference quotients.
"""

import ctypes
from pathlib import Path

import numpy as np
from scalar_code import field_of, frozen_field, scalar_program, smooth_field, switching_functions

ADAMS, BDF, NORMAL, ROOT_RETURN = 1, 2, 1, 2
MOST_STEPS, MOST_KINKS = 1_000_000, 10_000

_POINTER, _REAL, _INT = ctypes.c_void_p, ctypes.c_double, ctypes.c_int
_SIGNATURES = {
    "CVodeCreate": (_POINTER, _INT, _POINTER),
    "CVodeInit": (_INT, _POINTER, _POINTER, _REAL, _POINTER),
    "CVodeReInit": (_INT, _POINTER, _REAL, _POINTER),
    "CVodeSStolerances": (_INT, _POINTER, _REAL, _REAL),
    "CVodeSetUserData": (_INT, _POINTER, _POINTER),
    "CVodeSetMaxNumSteps": (_INT, _POINTER, ctypes.c_long),
    "CVodeSetNonlinearSolver": (_INT, _POINTER, _POINTER),
    "CVodeSetLinearSolver": (_INT, _POINTER, _POINTER, _POINTER),
    "SUNDenseMatrix": (_POINTER, ctypes.c_int32, ctypes.c_int32, _POINTER),
    "SUNLinSol_Dense": (_POINTER, _POINTER, _POINTER, _POINTER),
    "CVodeSetStopTime": (_INT, _POINTER, _REAL),
    "CVodeRootInit": (_INT, _POINTER, _INT, _POINTER),
    "CVodeGetRootInfo": (_INT, _POINTER, _POINTER),
    "CVode": (_INT, _POINTER, _REAL, _POINTER, _POINTER, _INT),
    "SUNContext_Create": (_INT, _INT, _POINTER),
    "SUNNonlinSol_FixedPoint": (_POINTER, _POINTER, _INT, _POINTER),
    "N_VMake_Serial": (_POINTER, ctypes.c_int32, _POINTER, _POINTER),
    "N_VGetArrayPointer": (_POINTER, _POINTER),
}


def library() -> dict:
    """SUNDIALS' functions, from the shared library in scikit-sundae's wheel."""
    import sksundae
    import sksundae.cvode

    folder = Path(sksundae.__file__).parents[1] / "scikit_sundae.libs"
    found = sorted(folder.glob("libsundials_cvode-*"))
    if not found:
        raise ImportError("this scikit-sundae does not bring SUNDIALS as a shared library beside it")
    shared, functions = ctypes.CDLL(str(found[0])), {}
    for name, (result, *arguments) in _SIGNATURES.items():
        function = getattr(shared, name)
        function.restype, function.argtypes = result, arguments
        functions[name] = function
    return functions


def _as_doubles():
    """An address as a pointer to doubles, in compiled code."""
    import numba
    from numba import types

    double = types.CPointer(types.float64)

    @numba.extending.intrinsic
    def as_doubles(typing, address):
        return double(types.voidptr), lambda context, builder, signature, arguments: builder.bitcast(
            arguments[0], context.get_value_type(double)
        )

    return as_doubles


def adams(kinks: str, end: float):
    """A compiled function (starts, parameters, rtol, atols, states at the end), and what must be kept alive with it."""
    from numba import carray, cfunc, njit, types

    call = library()
    create, initialise, again = call["CVodeCreate"], call["CVodeInit"], call["CVodeReInit"]
    tolerances, user_data, most = call["CVodeSStolerances"], call["CVodeSetUserData"], call["CVodeSetMaxNumSteps"]
    iterate, stop_time, roots = call["CVodeSetNonlinearSolver"], call["CVodeSetStopTime"], call["CVodeRootInit"]
    root_info, advance, entries = call["CVodeGetRootInfo"], call["CVode"], call["N_VGetArrayPointer"]
    fixed_point, vector = call["SUNNonlinSol_FixedPoint"], call["N_VMake_Serial"]

    n, n_parameters = len(scalar_program().state), len(scalar_program().parameters)
    n_gates = len(scalar_program().kinks) if kinks == "kink" else 0
    if n_gates:
        field, switching = frozen_field(), switching_functions()
    else:
        smooth = smooth_field()

        @njit
        def field(y, p, gates, dy):
            smooth(y, p, dy)

        @njit
        def switching(y, p, values):
            pass

    double, as_doubles = types.CPointer(types.float64), _as_doubles()

    @cfunc(types.int32(types.float64, types.voidptr, types.voidptr, double))
    def right_hand_side(t, y, dy, data):
        p = carray(data, (n_parameters + n_gates,))
        field(carray(as_doubles(entries(y)), (n,)), p[:n_parameters], p[n_parameters:],
              carray(as_doubles(entries(dy)), (n,)))  # fmt: skip
        return 0

    @cfunc(types.int32(types.float64, types.voidptr, double, double))
    def root_functions(t, y, values, data):
        p = carray(data, (n_parameters + n_gates,))
        switching(carray(as_doubles(entries(y)), (n,)), p[:n_parameters], carray(values, (n_gates,)))
        return 0

    made = ctypes.c_void_p()
    call["SUNContext_Create"](0, ctypes.addressof(made))
    context, rhs_address, roots_address = made.value, right_hand_side.address, root_functions.address

    @njit
    def everything(starts, parameters, rtol, atols, out):
        y, data = np.empty(n), np.empty(n_parameters + n_gates)
        values, found, reached = np.empty(n_gates), np.empty(n_gates, dtype=np.int32), np.zeros(1)
        state = vector(np.int32(n), y.ctypes.data, context)
        memory = create(ADAMS, context)
        y[:] = starts[0]
        initialise(memory, rhs_address, 0.0, state)
        iterate(memory, fixed_point(state, 0, context))
        user_data(memory, data.ctypes.data)
        most(memory, MOST_STEPS)
        if n_gates:
            roots(memory, n_gates, roots_address)
        failures = 0
        for i in range(len(starts)):
            y[:] = starts[i]
            data[:n_parameters] = parameters[i]
            data[n_parameters:] = 1.0
            if n_gates:
                switching(y, data[:n_parameters], values)
                for g in range(n_gates):
                    data[n_parameters + g] = 1.0 if values[g] > 0.0 else 0.0
            again(memory, 0.0, state)
            tolerances(memory, rtol, atols[i])
            stop_time(memory, end)
            flag = ROOT_RETURN
            for _ in range(MOST_KINKS):
                flag = advance(memory, end, state, reached.ctypes.data, NORMAL)
                if flag != ROOT_RETURN:
                    break
                root_info(memory, found.ctypes.data)
                for g in range(n_gates):
                    if found[g] != 0:
                        data[n_parameters + g] = 1.0 if found[g] > 0 else 0.0
                again(memory, reached[0], state)
                stop_time(memory, end)
            if flag < 0 or flag == ROOT_RETURN:
                failures += 1
            out[i] = y
        return failures

    return everything, (right_hand_side, root_functions, made)


def bdf(program, kink_width: float):
    """A compiled function (start, parameters, rtol, atol, end, state at the end, how often), and what it needs."""
    from numba import carray, cfunc, njit, types

    call = library()
    create, initialise, again = call["CVodeCreate"], call["CVodeInit"], call["CVodeReInit"]
    tolerances, user_data, most = call["CVodeSStolerances"], call["CVodeSetUserData"], call["CVodeSetMaxNumSteps"]
    linear, stop_time, advance = call["CVodeSetLinearSolver"], call["CVodeSetStopTime"], call["CVode"]
    entries, vector = call["N_VGetArrayPointer"], call["N_VMake_Serial"]
    matrix, dense = call["SUNDenseMatrix"], call["SUNLinSol_Dense"]
    n, n_parameters = len(program.state), len(program.parameters)
    field, double, as_doubles = field_of(program, kink_width), types.CPointer(types.float64), _as_doubles()

    @cfunc(types.int32(types.float64, types.voidptr, types.voidptr, double))
    def right_hand_side(t, y, dy, data):
        field(
            carray(as_doubles(entries(y)), (n,)), carray(data, (n_parameters,)), carray(as_doubles(entries(dy)), (n,))
        )
        return 0

    made = ctypes.c_void_p()
    call["SUNContext_Create"](0, ctypes.addressof(made))
    context, rhs_address = made.value, right_hand_side.address

    @njit
    def everything(start, parameters, rtol, atol, end, out, times):
        y, reached = start.copy(), np.zeros(1)
        state = vector(np.int32(n), y.ctypes.data, context)
        memory = create(BDF, context)
        initialise(memory, rhs_address, 0.0, state)
        jacobian = matrix(np.int32(n), np.int32(n), context)
        linear(memory, dense(state, jacobian, context), jacobian)
        user_data(memory, parameters.ctypes.data)
        most(memory, MOST_STEPS)
        failures = 0
        for _ in range(times):
            y[:] = start
            again(memory, 0.0, state)
            tolerances(memory, rtol, atol)
            stop_time(memory, end)
            if advance(memory, end, state, reached.ctypes.data, NORMAL) < 0:
                failures += 1
        out[:] = y
        return failures

    return everything, (right_hand_side, made)
