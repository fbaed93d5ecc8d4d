"""A second surface met while sliding on one: gone through where the flow beyond goes on, handed over where it does not.

The toy: constant velocities of x and z in each quadrant, named by the signs of x and z; u counts the time with x > 0
(while sliding on x = 0, by the share of the open side) and w the time with z > 0.
"""

import numpy as np
import pytest
from toys import batch_of, kernel_of, program

from flowsys.integrate.record import Tolerances
from flowsys.kernels import Code, integrate
from flowsys.program.arrays import arguments
from flowsys.runs.automatic import integrate as solve
from flowsys.system.problem import Problem, ProgramField, Stage

QUADRANTS = ("pp", "mp", "pm", "mm")
VELOCITIES = tuple(f"{name}_{quadrant}" for name in "xz" for quadrant in QUADRANTS)
TOY = program(
    f"""
    state x z u w
    parameters {" ".join(VELOCITIES)}
    once:
    right = step(x)
    above = step(z)
    pp = right*above
    mp = (1 - right)*above
    pm = right*(1 - above)
    mm = (1 - right)*(1 - above)
    dx = x_pp*pp + x_mp*mp + x_pm*pm + x_mm*mm
    dz = z_pp*pp + z_mp*mp + z_pm*pm + z_mm*mm
    derivative x = dx
    derivative z = dz
    derivative u = right
    derivative w = above
    observe u = u
    """
)


def toy(x, z, z0, T=4.0, **options):
    """From (1, z0); x and z are the velocities in the quadrants ++, -+, +-, --."""
    batch = batch_of([1.0, z0, 0.0, 0.0], [*x, *z], times=[T], log_size=10, keeps_gates=True, **options)
    return integrate(kernel_of(TOY), batch)


# the share of the open side is v_off / (v_off - v_on): 1/2 above z = 0, 3/4 below
HOLDS = (-1.0, 1.0, -1.0, 3.0)


def test_a_surface_that_is_merely_crossed_does_not_end_a_slide():
    result = toy(HOLDS, [-1.0] * 4, z0=2.0)
    assert Code(result.outcome[0]) is Code.COMPLETED
    assert np.allclose(result.time_states[0, 0], [0.0, -2.0, 1 + 1 / 2 + 2 * 3 / 4, 2.0], atol=1e-13)
    assert result.log[0, : result.log_counts[0], 0].tolist() == [0, 1, 0, -1]
    assert np.allclose(result.log[0, :4, 1], [1.0, 1.0, 2.0, 4.0], rtol=1e-13)
    assert result.statistic("kinks")[0] == 2 and result.statistic("slides")[0] == 1


def test_it_is_crossed_in_the_other_direction_too():
    result = toy(HOLDS, [1.0] * 4, z0=-2.0)
    assert Code(result.outcome[0]) is Code.COMPLETED
    assert np.allclose(result.time_states[0, 0], [0.0, 2.0, 1 + 3 / 4 + 2 * 1 / 2, 2.0], atol=1e-13)


@pytest.mark.parametrize(
    ("x_below", "x_end", "u_end", "gate"),
    [
        ((-1.0, -3.0), -6.0, 1.5, 0.0),
        ((-3.0, -1.0), -2.0, 1.5, 0.0),
        ((1.0, 3.0), 2.0, 3.5, 1.0),
        ((3.0, 1.0), 6.0, 3.5, 1.0),
    ],
)
def test_the_first_surface_may_let_go_beyond_the_second(x_below, x_end, u_end, gate):
    # on the side that is left behind z points back: it must not be asked
    z_below = (-1.0, 2.0) if gate else (2.0, -1.0)
    result = toy((-1.0, 1.0, *x_below), [-1.0, -1.0, *z_below], z0=2.0)
    assert Code(result.outcome[0]) is Code.COMPLETED
    assert np.allclose(result.time_states[0, 0], [x_end, -2.0, u_end, 2.0], atol=1e-12)
    assert result.log[0, : result.log_counts[0], 0].tolist() == [0, 1, 0, -1]
    assert result.final_gates.tolist() == [[gate, 0.0]]


@pytest.mark.parametrize(
    ("x", "z"),
    [
        (HOLDS, (-1.0, -1.0, 1.0, 1.0)),
        (HOLDS, (-1.0, -1.0, 0.0, 0.0)),
        ((-1.0, 1.0, 1.0, 3.0), (-1.0, -1.0, 1.0, -1.0)),
    ],
    ids=["both surfaces attract", "z rests beyond", "x lets go to a side where z points back"],
)
def test_a_surface_that_holds_the_flow_is_handed_over(x, z):
    result = toy(x, z, z0=2.0)
    assert Code(result.outcome[0]) is Code.CANNOT_SLIDE
    assert np.isclose(result.final_t[0], 2.0) and np.allclose(result.final_state[0, :2], 0.0, atol=1e-12)
    assert result.log[0, : result.log_counts[0], 0].tolist() == [0, 1, 0, -1]


# x slides on 0 with a share that jumps with the sign of p, which swings; at the end of a period, the drive lets x go
SWINGING = program(
    """
    state x p q u s
    parameters a lift
    once:
    gate = step(x)
    above = step(p)
    late = s - 7
    over = relu(late)
    dx = 1 + a*above - 3*gate + p*q/4 + lift*over
    dp = q + gate/10
    dq = -p
    du = gate*(1 + p) + above*q
    ds = 1 + 0*x
    derivative x = dx
    derivative p = dp
    derivative q = dq
    derivative u = du
    derivative s = ds
    observe u = u
    """
)


def swinging(a: float, lift: float, T: float = 12.0):
    stage = Stage("only", arguments(SWINGING, {"a": a, "lift": lift}))
    return Problem(ProgramField(SWINGING), np.array([0.5, 1.0, 0.0, 0.0, 0.0]), (stage,), t_max=T)


@pytest.mark.parametrize(("a", "lift"), [(1.0, 0.0), (-0.5, 0.0), (1.0, 1.0)])
def test_the_reference_driver_finds_the_same_flow(a, lift):
    native, reference = (
        solve(swinging(a, lift), [3.0, 12.0], (), Tolerances(1e-11, 1e-13, 100_000), solver)
        for solver in ("auto", "dopri8")
    )
    assert native.statistics.solvers == ["native"] and reference.statistics.solvers == ["dopri8"]
    assert native.statistics.kinks == reference.statistics.kinks >= 4
    assert native.statistics.slides == reference.statistics.slides == 1
    assert np.allclose(native.statistics.switch_times, reference.statistics.switch_times, rtol=1e-9)
    for ours, theirs in zip(native.records, reference.records):
        assert np.allclose(ours.y, theirs.y, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("threads", [1, 3])
def test_numbers_do_not_depend_on_company_where_surfaces_are_crossed_in_a_slide(threads):
    rng = np.random.default_rng(1)
    n = 43
    x = np.column_stack([*(rng.choice([-1.0, -0.7], n), rng.choice([1.0, 0.3], n)), *rng.choice([-1.5, 2.0], (2, n))])
    z = np.column_stack([-np.ones(n), -np.ones(n), *rng.choice([-0.6, 0.9], (2, n), p=[0.8, 0.2])])
    initial = np.column_stack([rng.uniform(0.2, 2, n), rng.uniform(0.2, 4, n), np.zeros(n), np.zeros(n)])
    parameters = np.column_stack([x, z])
    native, options = (
        kernel_of(TOY, "u"),
        {"thresholds": [1.2], "directions": [1], "requested": [False], "times": [5.0]},
    )
    whole = integrate(native, batch_of(initial, parameters, **options), threads=threads)
    assert {Code(c) for c in whole.outcome} == {Code.COMPLETED, Code.CANNOT_SLIDE}
    assert np.sum((whole.statistic("slides") == 1) & (whole.statistic("kinks") == 2) & (whole.outcome == 0)) > 5
    order = rng.permutation(n)
    parts = [integrate(native, batch_of(initial[i], parameters[i], **options)) for i in np.array_split(order, 7)]
    for name in ("outcome", "time_states", "event_times", "event_states", "final_state", "final_t", "statistics"):
        shuffled = np.concatenate([getattr(part, name) for part in parts])
        assert np.array_equal(getattr(whole, name)[order], shuffled, equal_nan=True)
