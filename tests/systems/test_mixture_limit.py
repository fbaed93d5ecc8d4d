"""The limit integrated: against SciPy through kinks, between tolerances, 22 against 10 variables; its invariants."""

import time
from functools import cache

import mixture_oracle as oracle
import numpy as np
import pytest

from flowsys.runs.solving import solve
from flowsys.systems import load
from flowsys.systems.mixture.limits import stage_1_neurons

S = load("mixture")
STATES = tuple(n for n in S.observables if n.startswith(("w_", "S_", "KK_", "QQ_")))


@cache
def run(at, mode="three_stage", rtol=1e-10, variant="22", solver="auto", **parameters):
    setup = S.setup(**parameters)
    return solve(S, setup, mode=mode, at=at, rtol=rtol, variant=variant, solver=solver, observe=(*STATES, "loss"))


def oracle_state(course, row):
    return oracle.from_program(course.states[row], course.state_names)


# -- against SciPy ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("K", "L", "b", "t"), [(2, 3, 0.5, 300.0), (4, 3, 0.2, 200.0), (3, 4, 1.0, 60.0), (2, 5, 1.0, 30.0)]
)
def test_simultaneous_training_agrees_with_scipy(K, L, b, t):
    _, states, _ = oracle.integrate(oracle.flow(K, L, b), oracle.start(0.1), 0.0, [t / 3, t])
    course = run((t / 3, t), mode="simultaneous", K=K, L=L, b=b)
    assert np.abs(oracle_state(course, -1) - states[-1]).max() < 1e-7 and course.statistics["slides"] == 0


def test_kink_times_agree_with_scipy():
    *_, kinks = oracle.integrate(oracle.flow(2, 3, 0.5), oracle.start(0.1), 0.0, [200.0])
    assert run((200.0,), mode="simultaneous").statistics["switch_times"] == pytest.approx(kinks, abs=1e-7)


@pytest.mark.parametrize(("start", "end"), [(0.0, 3.0), (140.0, 150.0)])
def test_a_trajectory_through_a_kink_agrees_with_radau_restarted_at_the_kink(start, end):
    course = run((start, end), mode="simultaneous", rtol=1e-11)
    first = oracle_state(course, 0)
    _, states, kinks = oracle.integrate(
        oracle.flow(2, 3, 0.5), first, start, [end], method="Radau", rtol=1e-9, atol=1e-13
    )
    assert len(kinks) == 1 and np.abs(oracle_state(course, -1) - states[-1]).max() < 1e-7


@pytest.mark.parametrize("K", [2, 3, 8])
def test_stage_2_agrees_with_scipy(K):
    course = run(("T_1", "T_2"), K=K)
    flow = oracle.flow(K, 3, 0.5, stage=2)
    reached = lambda y: oracle.same_and_diff(oracle.unpack(y)[1][:, 0], K)[0][0, 1] - 1.0
    t, states, _ = oracle.integrate(flow, oracle_state(course, 0), course.t[0], [3e3], stop=reached)
    assert t[-1] == pytest.approx(course.t[1], abs=1e-6) and np.abs(states[-1] - oracle_state(course, 1)).max() < 1e-7


@pytest.mark.parametrize(("K", "L"), [(3, 4), (4, 5)])
def test_stage_2_on_more_distractors_agrees_with_scipy(K, L):
    times = (10.0 * K, 10.0 * K + 20, 10.0 * K + 60)
    course = run(times, K=K, L=L, b=1.0)
    _, states, _ = oracle.integrate(oracle.flow(K, L, 1.0, stage=2), oracle_state(course, 0), times[0], times[1:])
    assert np.abs(states[-1] - oracle_state(course, -1)).max() < 1e-9


@pytest.mark.parametrize(("K", "b"), [(2, 0.5), (3, 0.2), (8, 1.0)])
def test_stage_1_is_its_closed_form(K, b):
    times = (0.5 * K, 2.0 * K, 10.0 * K, 100.0 * K)
    course = run(times, K=K, b=b, T_1=100.0 * K, rtol=1e-12)
    exact = np.array([stage_1_neurons(t, K, b) for t in times])
    assert np.abs(np.array([course["w_c"], course["w_v"]]).T - exact).max() < 1e-11


# -- between solvers and tolerances -----------------------------------------------------------------------------------

EVENTS = ("T_0.5", "T_2", "T_3")


@pytest.mark.parametrize(("rough", "fine", "bar"), [(1e-8, 1e-11, 1e-6), (1e-11, 1e-13, 1e-9)])
@pytest.mark.parametrize("mode", ["three_stage", "simultaneous"])
def test_event_times_are_stable_between_tolerances(mode, rough, fine, bar):
    times = [[run(EVENTS, mode=mode, rtol=r).at(e)["t"] for e in EVENTS] for r in (rough, fine)]
    assert np.abs(np.subtract(*times)).max() < bar


@pytest.mark.parametrize("mode", ["three_stage", "simultaneous"])
@pytest.mark.parametrize("omega", [0.3, 0.1, 0.01])
def test_ten_variables_give_what_twenty_two_give(omega, mode):
    at = (10.0, 60.0, "T_2", 300.0)
    large, small = (run(at, mode=mode, omega=omega, rtol=1e-11, variant=v) for v in ("22", "10"))
    assert max(np.abs(large[n] - small[n]).max() for n in STATES) < 1e-10


@pytest.mark.slow
def test_the_native_solver_agrees_with_the_reference():
    native, reference = (run(("T_0.5", "T_2", 200.0), rtol=1e-11, solver=s) for s in ("native", "dopri8"))
    assert np.abs(native.t - reference.t).max() < 1e-8 and np.abs(native.states - reference.states).max() < 1e-9


# -- laws -------------------------------------------------------------------------------------------------------------


def sector_matrices(course):
    """N = [[KK, -S], [Sᵀ, -QQ]] of both sectors at every row."""
    for row in range(len(course)):
        for S_, KK, QQ in oracle.unpack(oracle_state(course, row))[1]:
            yield np.block([[KK, -S_], [S_.T, -QQ]]), S_


@pytest.mark.parametrize("mode", ["three_stage", "simultaneous"])
@pytest.mark.parametrize(("K", "L", "omega"), [(2, 3, 0.1), (4, 3, 0.01), (3, 4, 0.3)])
def test_the_spectrum_of_the_pair_is_conserved(K, L, omega, mode):
    course = run((30.0, 100.0, 300.0), mode=mode, K=K, L=L, omega=omega)
    for N, scores in sector_matrices(course):
        error = np.linalg.norm(N @ N - omega**4 * np.eye(4))
        assert error <= 1e-8 * max(1.0, np.linalg.norm(scores) ** 2)


@pytest.mark.parametrize(("K", "L", "b"), [(2, 3, 0.5), (3, 4, 0.1), (3, 5, 1.0)])
def test_the_loss_never_increases_along_simultaneous_training(K, L, b):
    loss = run(tuple(np.linspace(0, 400, 201)), mode="simultaneous", K=K, L=L, b=b)["loss"]
    assert loss[0] == pytest.approx(np.log(2)) and (np.diff(loss) <= 1e-12).all()


def test_self_scores_stay_positive_definite():
    course = run(tuple(np.linspace(0, 300, 31)), mode="simultaneous")
    for row in range(len(course)):
        for _, KK, QQ in oracle.unpack(oracle_state(course, row))[1]:
            assert min(np.linalg.eigvalsh(KK).min(), np.linalg.eigvalsh(QQ).min()) > 0


def test_two_groups_and_one_distractor_leave_the_mean_sector_of_v_queries_at_rest_in_stage_2():
    course = run((30.0, 60.0, "T_2"))
    at = [course.state_names.index(n) for n in ("S_cv_mean", "S_vv_mean")]
    assert np.abs(course.states[:, at]).max() < 1e-14


@pytest.mark.parametrize(("K", "L"), [(2, 3), (4, 3), (3, 4)])
def test_the_reported_loss_is_the_population_loss(K, L):
    course = run((50.0, 100.0), mode="simultaneous", K=K, L=L)
    flow = oracle.flow(K, L, 0.5)
    assert [flow.loss(oracle_state(course, i)) for i in (0, 1)] == pytest.approx(course["loss"], rel=1e-12)


def test_the_largest_size_solves_in_seconds():
    run((1.0,), mode="simultaneous", K=8, L=9, b=1.0)
    start = time.process_time()
    course = run((100.0,), mode="simultaneous", K=8, L=9, b=1.0)
    assert course.outcome.is_complete and time.process_time() - start < 20
