"""The engines: each maps a field ("smooth" or "kink") to a function of rtol that gives (states at T, trajectories run).

What each is fed with is said in its first line. An engine that cannot be had raises ImportError, one that has no way
to treat a field NotImplementedError.
"""

import numpy as np
from problem import WIDTH, N, T, atol, initial, parameters, problem, problems


def flowsys(kinks: str):
    """the native batch, one thread, exact kinks located on the kink field"""
    from flowsys.kernels import Batch, StageBatch, integrate, kernel, stages_of

    copies, stated = 20, problem()
    shared = stages_of(stated)[0]
    stage = StageBatch(np.tile(parameters(), (copies, 1)), shared.tables, shared.links)
    compiled = kernel(stated.field.program, (), "smooth" if kinks == "smooth" else "frozen", stages_of(stated))
    starts = np.tile(initial(), (copies, 1))

    def run(rtol: float):
        batch = Batch(starts, [stage], times=[T], t_max=T, rtol=rtol, atol=np.tile(atol(rtol), copies),
                      kink_width=WIDTH)  # fmt: skip
        result = integrate(compiled, batch)
        run.evaluations = float(result.statistic("evaluations").mean())
        return result.time_states[:N, 0], copies * N

    return run


def cyrk(kinks: str):
    """CyRK's compiled Vern8 called natively, right-hand side compiled by numba (scalar code, a C callback)"""
    if kinks == "kink":
        raise NotImplementedError("its native entry point has no events")
    from CyRK.nb.numba_solver import cyjit, nbsolve2_ivp
    from numba import carray, njit
    from scalar_code import scalar_program, smooth_field

    field = smooth_field()
    n, n_parameters = len(scalar_program().state), len(scalar_program().parameters)

    @cyjit
    def callback(dy, t, y, p):
        field(carray(y, (n,)), carray(p, (n_parameters,)), carray(dy, (n,)))

    address = callback.address

    @njit
    def everything(starts, p, rtol, atols, out):
        for i in range(len(starts)):
            solution = nbsolve2_ivp(address, (0.0, T), starts[i], "Vern8", args=p[i], rtol=rtol, atol=atols[i])
            out[i] = solution.y[:n, -1]
            solution.free()

    def run(rtol: float):
        out = np.empty((N, n))
        everything(initial(), parameters(), rtol, atol(rtol), out)
        return out, N

    run.callback = callback
    return run


def cvode(kinks: str):
    """CVODE-Adams in a native loop, right-hand side compiled by numba, kinks by its own root finding and a restart"""
    from sundials import adams

    everything, alive = adams(kinks, T)

    def run(rtol: float):
        out = np.empty_like(initial())
        failures = everything(initial(), parameters(), rtol, atol(rtol), out)
        if failures:
            raise RuntimeError(f"CVODE gave up on {failures} of {N} points")
        return out, N

    run.alive = alive
    return run


def heyoka(kinks: str):
    """heyoka's Taylor series in batches of 8, kinks by its own events, which flip gates (a Python callback each)"""
    if kinks == "smooth":
        raise NotImplementedError(
            "a Taylor series does not cross the two branches of a softplus that does not overflow"
        )
    import heyoka as _  # noqa: F401  tells at once whether it is there
    from taylor import sweep

    return sweep()


def diffsol(kinks: str):
    """pydiffsol's tsit45, the program printed as DiffSL and compiled by its LLVM back-end"""
    if kinks == "kink":
        raise NotImplementedError("restarts at kinks would have to be driven from Python")
    import pydiffsol
    from diffsl import diffsl

    ode = pydiffsol.Ode(diffsl(), pydiffsol.llvm, ode_solver=pydiffsol.tsit45)

    def run(rtol: float):
        found = []
        for y, p, a in zip(initial(), parameters(), atol(rtol)):
            ode.rtol, ode.atol = rtol, float(a)
            found.append(np.asarray(ode.solve(np.concatenate([p, [y.max()]]), T).ys)[:, -1])
        return np.array(found), N

    return run


def diffrax(kinks: str):
    """diffrax Dopri8, vmapped over all points, the field in JAX"""
    if kinks == "kink":
        raise NotImplementedError("an explicit method without events does not keep its order across kinks")
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    field = problem().field.smoothed()
    stacked = [p.stages[0].arguments._replace(kink_width=np.float64(WIDTH)) for p in problems()]
    arguments = jax.tree.map(lambda *leaves: jnp.stack(leaves), *stacked)

    def one(y, arguments, rtol, a):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: field.rhs(y, args)), diffrax.Dopri8(), 0.0, T, None, y, arguments,
            saveat=diffrax.SaveAt(t1=True), max_steps=100_000,
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=a),
        ).ys[0]  # fmt: skip

    everything = jax.jit(jax.vmap(one, in_axes=(0, 0, None, 0)))
    return lambda rtol: (np.asarray(everything(initial(), arguments, rtol, atol(rtol))), N)


def scipy(kinks: str):
    """SciPy's DOP853 in a Python loop, right-hand side in Python (scalar code), no events"""
    from scalar_code import exact_field, smooth_field

    return _scipy_loop((smooth_field() if kinks == "smooth" else exact_field()).py_func, most=6)


def scipy_compiled(kinks: str):
    """SciPy's DOP853 in a Python loop, right-hand side compiled by numba, no events"""
    from scalar_code import exact_field, smooth_field

    return _scipy_loop(smooth_field() if kinks == "smooth" else exact_field())


def _scipy_loop(field, most: int = N):
    from scipy.integrate import solve_ivp

    def run(rtol: float):
        found, out = [], np.empty(initial().shape[1])
        for y, p, a in list(zip(initial(), parameters(), atol(rtol)))[:most]:

            def right_hand_side(t, y, p=p):
                field(y, p, out)
                return out.copy()

            found.append(solve_ivp(right_hand_side, (0, T), y, "DOP853", rtol=rtol, atol=a).y[:, -1])
        return np.array(found), len(found)

    return run


ENGINES = {
    "flowsys": flowsys,
    "cyrk": cyrk,
    "cvode": cvode,
    "heyoka": heyoka,
    "diffsol": diffsol,
    "diffrax": diffrax,
    "scipy": scipy,
    "scipy_compiled": scipy_compiled,
}
