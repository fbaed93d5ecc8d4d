"""Implicit steps against closed forms, published solutions of stiff problems and the explicit method."""

import dataclasses

import numpy as np
import pytest
from toys import GATED, OSCILLATOR, STIFF, batch_of, kernel_of, program

from flowsys.kernels import Code, integrate
from flowsys.kernels.collocation import STAGES, collocation
from flowsys.kernels.host import this_host

# Robertson's kinetics and van der Pol's oscillator at ε = 1e-6, with their solutions at the end as published in the
# test set for IVP solvers (F. Mazzia & C. Magherini, release 2.4, 2008)
ROBERTSON = program(
    """
    state a b c
    parameters slow
    once:
    forth = slow*a
    back = 10000*b*c
    third = 30000000*b**2
    da = back - forth
    db = forth - back - third
    derivative a = da
    derivative b = db
    derivative c = third
    observe a = a
    """
)
ROBERTSON_AT_1E11 = [0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050]
VAN_DER_POL = program(
    """
    state x v
    parameters stiffness
    once:
    dv = stiffness*((1 - x**2)*v - x)
    derivative x = v
    derivative v = dv
    observe x = x
    """
)
VAN_DER_POL_AT_2 = [0.1706167732170483e1, -0.8928097010247975]
# a stiff relaxation to a slow variable that crosses zero: the gate opens at z = 1/2
STIFF_GATED = program(
    """
    state x z
    parameters rate
    once:
    h = z - 1/2
    gate = relu(h)
    dx = -rate*(x - gate)
    dz = 1 - x
    derivative x = dx
    derivative z = dz
    observe x = x
    observe z = z
    """
)


def implicit(text, initial, parameters, watched=(), **options):
    return integrate(kernel_of(text, *watched), batch_of(initial, parameters, method="implicit", **options))


def test_collocation_is_exact_for_polynomials():
    table = collocation()
    c, out, into = np.array(table.nodes), np.array(table.out), np.array(table.into)
    inverse = ((out * np.array(table.eigenvalues)) @ into).real
    for k in range(1, STAGES + 1):
        assert inverse @ c**k == pytest.approx(k * c ** (k - 1), abs=1e-12)
    # the last stage is a quadrature of degree 12
    b = np.linalg.solve(inverse.T, np.eye(STAGES)[-1])
    assert [b @ c**k for k in range(13)] == pytest.approx([1 / (k + 1) for k in range(13)], rel=1e-12)
    assert abs(b @ c**13 - 1 / 14) > 1e-10


def test_error_falls_like_the_thirteenth_power_of_the_step():
    steps, errors = [], []
    for rtol in (1e-2, 1e-4, 1e-6):
        result = implicit(OSCILLATOR, [1.0, 0.0], [1.0], times=[60.0], rtol=rtol, atol=rtol)
        steps.append(result.statistic("steps")[0])
        errors.append(np.abs(result.time_states[0, 0] - [np.cos(60), -np.sin(60)]).max())
    order = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert 11 < order < 16


@pytest.mark.parametrize("rate", [1.0, 1e3, 1e9])
def test_a_stiff_relaxation_is_followed_in_few_steps(rate):
    # x → z with z = e^-t
    result = implicit(STIFF, [2.0, 1.0], [rate], times=[1.0, 20.0], rtol=1e-9, atol=1e-14)
    z = np.exp(-np.array([1.0, 20.0]))
    x = z * rate / (rate - 1) if rate > 1 else z * (2 + np.array([1.0, 20.0]))
    assert result.time_states[0] == pytest.approx(np.column_stack([x, z]), rel=1e-8)
    assert result.statistic("steps")[0] < 60


@pytest.mark.parametrize("method", ["implicit", "auto"])
def test_published_solutions_of_stiff_problems_are_met(method):
    solved = integrate(
        kernel_of(ROBERTSON),
        batch_of([1.0, 0, 0], [0.04], times=[1e11], t_max=1e11, rtol=1e-9, atol=1e-20, method=method),
    )
    assert Code(solved.outcome[0]) is Code.COMPLETED
    assert solved.time_states[0, 0] == pytest.approx(ROBERTSON_AT_1E11, rel=1e-8)
    solved = integrate(
        kernel_of(VAN_DER_POL), batch_of([2.0, 0.0], [1e6], times=[2.0], rtol=1e-9, atol=1e-12, method=method)
    )
    assert solved.time_states[0, 0] == pytest.approx(VAN_DER_POL_AT_2, rel=1e-7)
    assert solved.statistic("steps")[0] < 700


def test_time_without_end_is_reached():
    # dx/dt = e^-x: x = log(1 + t), driven by a variable that follows at once
    late = program(
        """
        state x z
        parameters rate
        once:
        dx = exp(-z)
        dz = rate*dx*(x - z)
        derivative x = dx
        derivative z = dz
        observe x = x
        """
    )
    times = [1e10, 1e30, 1e60]
    result = implicit(late, [0.0, 0.0], [1e6], times=times, t_max=1e60, rtol=1e-10, atol=1e-14)
    assert result.time_states[0, :, 0] == pytest.approx(np.log(times), rel=1e-6)
    assert result.statistic("steps")[0] < 300


def test_events_are_located_on_implicit_steps():
    result = implicit(
        STIFF, [2.0, 1.0], [1e6], ("x", "z"), thresholds=[0.5, 0.25], directions=[-1, -1], times=[3.0], rtol=1e-10
    )
    assert result.event_times[0] == pytest.approx(np.log([2, 4]), abs=2e-6)
    assert result.event_states[0, 1, 1] == pytest.approx(0.25, abs=1e-12)


def test_a_kink_is_met_exactly_on_implicit_steps():
    found = {}
    for method in ("explicit", "implicit"):
        batch = batch_of([0.0, 0.0], [2e3], times=[0.4, 3.0], rtol=1e-11, atol=1e-14, log_size=9, method=method)
        found[method] = integrate(kernel_of(STIFF_GATED), batch)
    result = found["implicit"]
    assert result.statistic("kinks")[0] == 1 and result.log[0, 0, 1] == pytest.approx(0.5, abs=1e-10)
    assert result.time_states[0] == pytest.approx(found["explicit"].time_states[0], abs=1e-9)
    assert result.statistic("implicit_steps")[0] < 40 < found["explicit"].statistic("steps")[0]


def test_sliding_is_followed_by_implicit_steps():
    # both sides point to x = 0, where dz/dt = 1
    result = implicit(GATED, [1.0, 0.0], [-1.0, 2.0], times=[5.0], rtol=1e-10)
    assert result.statistic("slides")[0] == 1
    assert result.time_states[0, 0] == pytest.approx([0.0, 5.5], abs=1e-9)


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_numbers_do_not_depend_on_company_order_or_lanes(lanes):
    rng = np.random.default_rng(3)
    starts, rates = rng.normal(size=(11, 2)), 10.0 ** rng.uniform(0, 7, size=(11, 1))
    options = {"times": [0.3, 2.0], "method": "auto", "rtol": 1e-8}
    alone = [integrate(kernel_of(STIFF, "x"), _of(starts[i : i + 1], rates[i : i + 1], options)) for i in range(11)]
    order = rng.permutation(11)
    host = dataclasses.replace(this_host(), lanes=lanes)
    together = integrate(kernel_of(STIFF, "x", host=host), _of(starts[order], rates[order], options), threads=2)
    assert together.statistic("implicit_steps").max() > 0
    for place, i in enumerate(order):
        assert np.array_equal(together.time_states[place], alone[i].time_states[0])
        assert np.array_equal(together.statistics[place], alone[i].statistics[0])


def _of(starts, rates, options):
    return batch_of(starts, rates, thresholds=[0.1], directions=[-1], requested=[False], **options)


def test_auto_hands_over_after_tens_of_steps():
    result = integrate(kernel_of(STIFF), batch_of([2.0, 1.0], [1e6], times=[10.0], log_size=9))
    assert result.log[0, 0, 0] == -2 and result.log[0, 0, 1] < 1e-3
    explicit = result.statistic("steps")[0] - result.statistic("implicit_steps")[0]
    assert 0 < explicit < 60 and result.statistic("implicit_steps")[0] < 60


def test_a_mild_flow_stays_explicit():
    result = integrate(kernel_of(STIFF), batch_of([2.0, 1.0], [3.0], times=[10.0]))
    assert result.statistic("implicit_steps")[0] == 0


def test_auto_goes_back_when_the_stiffness_ends():
    # stiff while z is small: the rate falls from 1e6 to 1 around z = 10, then an oscillation goes on and on
    passing = program(
        """
        state x z u v
        parameters frequency
        once:
        rate = 1 + 1000000*sigmoid(5*(10 - z))
        dx = -rate*x
        dz = 1 + 0*x
        du = frequency*v*sigmoid(5*(z - 12))
        dv = -frequency*u*sigmoid(5*(z - 12))
        derivative x = dx
        derivative z = dz
        derivative u = du
        derivative v = dv
        observe x = x
        """
    )
    result = integrate(kernel_of(passing), batch_of([1.0, 0.0, 1.0, 0.0], [20.0], times=[60.0], rtol=1e-9, log_size=9))
    assert [kind for kind, _, _ in result.log[0, : result.log_counts[0]]][:2] == [-2, -3]
    assert 9 < result.log[0, 1, 1] < 40
    assert np.hypot(*result.time_states[0, 0, 2:]) == pytest.approx(1.0, abs=1e-7)
