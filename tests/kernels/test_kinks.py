"""Kinks: crossed exactly, slid along where both sides point back, alike whoever travels beside."""

import numpy as np
import pytest
from toys import GATED, batch_of, kernel_of, program

from flowsys.kernels import Code, integrate


def gated(c, d, x0, T=3.0, **options):
    """dx/dt = c above 0 and d below; dz/dt = 1 + x."""
    return integrate(kernel_of(GATED), batch_of([x0, 0.0], [c, d], times=[T], log_size=10, keeps_gates=True, **options))


def test_a_kink_is_crossed_without_error():
    result = gated(-1.0, -3.0, 1.0)
    # x = 1 - t to t = 1, then -3 (t - 1); the integral of x follows
    assert np.allclose(result.time_states[0, 0], [-6.0, 3 + 0.5 - 6.0], rtol=1e-13)
    assert result.statistic("kinks")[0] == 1 and np.isclose(result.log[0, 0, 1], 1.0, rtol=1e-14)
    assert result.final_gates.tolist() == [[0.0]]


def test_the_flow_slides_where_both_sides_point_back():
    result = gated(-1.0, 2.0, 1.0)
    assert np.allclose(result.time_states[0, 0], [0.0, 3.5], atol=1e-12)
    assert result.statistic("slides")[0] == 1
    assert result.log[0, :3, 0].tolist() == [0, 1, -1]


LEAVING = program(
    """
    state x z
    parameters a
    once:
    gate = step(x)
    dx = gate*(z - 2) + (1 - gate)*(a + z)
    dz = 1 + 0*x
    derivative x = dx
    derivative z = dz
    observe x = x
    """
)


def test_sliding_ends_when_one_side_lets_go():
    # above, the flow points down until z = 2; below it always points up: slide from contact to t = 2, then rise
    result = integrate(
        kernel_of(LEAVING), batch_of([0.5, 0.0], [1.0], times=[4.0], log_size=10, rtol=1e-11, atol=1e-13)
    )
    contact = 2 - np.sqrt(4 - 1.0)
    assert np.allclose(result.log[0, :3, 1], [contact, contact, 2.0], rtol=1e-9)
    assert np.allclose(result.time_states[0, 0], [2.0, 4.0], rtol=1e-9)


GRAZING = program(
    """
    state x z
    parameters a
    once:
    gate = step(x)
    dx = gate*(a - z) + (1 - gate)
    dz = 1 + 0*x
    derivative x = dx
    derivative z = dz
    observe x = x
    """
)


@pytest.mark.parametrize("a", [1e-9, 1e-12, 1e-15, 0.0])
def test_a_side_that_holds_the_flow_off_by_less_than_rounding_does_not_stall_it(a):
    # at contact (t = 1, z = 0) the upper side still points up, but only for a time a: then both sides point back
    result = integrate(kernel_of(GRAZING), batch_of([-1.0, -1.0], [a], times=[3.0], rtol=1e-10, atol=1e-12))
    assert Code(result.outcome[0]) is Code.COMPLETED and result.statistic("kinks")[0] <= 10
    assert np.allclose(result.time_states[0, 0], [0.0, 2.0], atol=1e-11)


SHARED = program(
    """
    state x z
    parameters a
    table rows: weight
    once:
    base = x - a
    for each rows:
    h = base*weight
    r = relu(h)
    once:
    same = base
    dx = -1 - total(r)
    dz = relu(same)
    derivative x = dx
    derivative z = dz
    observe x = x
    """
)


def test_gates_on_one_surface_switch_together():
    from flowsys.kernels import Batch, StageBatch, kernel

    stage = StageBatch(np.array([0.5]), {"rows": np.array([[1.0, 1.0, 1.0]])}, until=None)
    for stages in ((), (stage,)):
        native = kernel(SHARED, (), "frozen", stages)
        result = integrate(native, Batch([1.0, 0.0], [stage], times=[2.0], log_size=10, keeps_gates=True))
        assert result.log[0, 0, 2] == 4 and result.statistic("kinks")[0] == 1
        assert result.final_gates.tolist() == [[0.0] * 4]


TWO = program(
    """
    state x z
    parameters a
    once:
    g = step(x)
    k = step(z)
    dx = a - 2*a*g
    dz = a/2 - a*k
    derivative x = dx
    derivative z = dz
    observe x = x
    """
)


def test_a_second_surface_is_slid_on_as_well():
    result = integrate(kernel_of(TWO), batch_of([1.0, 1.0], [1.0], times=[9.0], keeps_gates=True, log_size=10))
    assert Code(result.outcome[0]) is Code.COMPLETED and np.abs(result.time_states).max() < 1e-15
    log = [[0, 1, 1], [1, 1, 1], [0, 2, 1], [2, 2, 2], [-1, 9, 2]]
    assert np.allclose(result.log[0, : result.log_counts[0]], log, rtol=1e-14)
    assert np.allclose(result.final_gates, 0.5, rtol=1e-12) and result.statistic("slides")[0] == 2


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_numbers_do_not_depend_on_company_order_or_threads(threads):
    rng = np.random.default_rng(0)
    n = 41
    initial = np.column_stack([rng.uniform(0.1, 2, n), np.zeros(n)])
    parameters = np.column_stack([rng.choice([-1.0, -0.5], n), rng.choice([-2.0, 1.5], n)])
    native = kernel_of(GATED, "x")
    options = {"thresholds": [0.05], "directions": [-1], "times": [2.5]}
    whole = integrate(native, batch_of(initial, parameters, **options), threads=threads)
    assert set(whole.statistic("slides")) == {0, 1}
    order = rng.permutation(n)
    parts = [integrate(native, batch_of(initial[i], parameters[i], **options)) for i in np.array_split(order, 6)]
    for name in ("time_states", "event_times", "event_states", "final_state", "statistics"):
        shuffled = np.concatenate([getattr(part, name) for part in parts])
        assert np.array_equal(getattr(whole, name)[order], shuffled)


# 41 surfaces met within 4e-11, told apart by their velocities: one fewer than counts as several at once
CROWDED = program(
    """
    state x
    parameters a
    table rows: place weight
    for each rows:
    h = (x - place)*weight
    r = step(h)
    once:
    dx = 1 + 0*total(r)
    derivative x = dx
    observe x = x
    """
)


def test_a_lane_does_not_remember_the_trajectory_before():
    from flowsys.kernels import Batch, StageBatch, kernel

    rows = np.arange(41)
    stage = StageBatch(np.zeros(1), {"rows": np.array([1 + 1e-12 * rows, 1 + 0.1 * rows])})
    native = kernel(CROWDED)
    # as many late arrivals as there are lanes, then early ones in the same lanes
    start = np.repeat([-9.0, 0.0], native.host.lanes)[:, None]
    result = integrate(native, Batch(start, [stage], times=[12.0]))
    assert {Code(c) for c in result.outcome} == {Code.COMPLETED}
    assert set(result.statistic("kinks")) == {41}
