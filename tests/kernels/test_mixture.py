"""The mixture limit on the native back-end: the spec's numbers, its conserved spectra, and SciPy beside it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from toys import HOSTS

from flowsys.integrate.outcome import Ending
from flowsys.kernels import Batch, Code, StageBatch, integrate, kernel, observe, run_problem, stages_of
from flowsys.program.arrays import vector_field
from flowsys.systems.mixture import SYSTEM
from flowsys.systems.mixture.limits import initial_state


def problem(mode="three_stage", variant="22", **parameters):
    return SYSTEM.problem(SYSTEM.setup(**parameters), "L3", variant, mode)


@pytest.mark.parametrize("variant", ["22", "10"])
def test_the_three_stages_take_the_time_the_spec_gives(variant):
    # papers/mixture.md, omega = 0.1
    run = run_problem(problem(omega=0.1, variant=variant), [], ["T_0.5", "T_1", "T_2", "T_3"], rtol=1e-11)
    assert run.outcome.ending is Ending.COMPLETED and run.handover is None
    times = {record.label: record.t for record in run.records if record.label}
    expected = {"T_0.5": 1.359140914229, "T_2": 110.1759101669, "T_3": 656.246909259}
    assert all(abs(times[name] - t) < 1e-10 * t + 1e-12 for name, t in expected.items())
    assert [record.stage for record in run.records] == [0, 0, 1, 2]


def test_simultaneous_training_ends_where_the_spec_says():
    stated = problem("simultaneous", omega=0.1)
    run = run_problem(stated, [300.0], rtol=1e-11)
    native = kernel(stated.field.program, ("w_c", "S_cv_same"), "exact", stages_of(stated))
    found = observe(native, [run.records[0].y], stages_of(stated))[0]
    assert np.allclose(found, [2.46366170769, 3.0866768321], rtol=1e-10)


def test_the_spectra_are_conserved_through_stages_and_kinks():
    stated = problem(omega=0.1)
    run = run_problem(stated, [50.0, 200.0], ["T_2", "T_3"], rtol=1e-10)
    quantities = stated.conserved(np.vstack([stated.initial, *(record.y for record in run.records)]))
    assert np.abs(quantities - quantities[0]).max() < 1e-7


def test_a_smoothed_flow_agrees_with_scipy():
    stated = problem("simultaneous", omega=0.2)
    given = stated.stages[0].arguments._replace(kink_width=np.float64(0.05))
    f = vector_field(stated.field.program, "smooth", np)
    scipy = solve_ivp(lambda t, y: f(y, given), (0, 60), stated.initial, "DOP853", rtol=1e-11, atol=1e-13)
    run = run_problem(stated, [60.0], rtol=1e-11, kink_width=0.05)
    assert np.abs(run.records[0].y - scipy.y[:, -1]).max() < 1e-9


def test_an_exact_kink_agrees_with_scipy_at_fine_tolerance():
    stated = problem("simultaneous", omega=0.2, K=3, L=4)
    f = vector_field(stated.field.program, "exact", np)
    scipy = solve_ivp(lambda t, y: f(y, stated.stages[0].arguments), (0, 8), stated.initial, "DOP853",
                      rtol=1e-10, atol=1e-13, max_step=0.05)  # fmt: skip
    run = run_problem(stated, [8.0], rtol=1e-11)
    assert np.abs(run.records[0].y - scipy.y[:, -1]).max() < 1e-6


def sweep(n, host=None, stages=True, rtol=1e-9):
    """n points of the (omega, b) diagram with simultaneous training."""
    stated = problem("simultaneous")
    names, program = stated.field.program.parameters, stated.field.program
    rng = np.random.default_rng(5)
    parameters = np.tile(stated.stages[0].arguments.parameters, (n, 1))
    parameters[:, names.index("omega")] = rng.uniform(0.05, 0.5, n)
    parameters[:, names.index("b")] = rng.uniform(0.1, 1, n)
    stage = StageBatch(parameters, stated.stages[0].arguments.tables, stated.stages[0].arguments.links)
    ω = parameters[:, names.index("omega")]
    initial = np.array([initial_state(program.state, x) for x in ω])
    native = kernel(program, ("S_cv_same",), "frozen", stages_of(stated) if stages else (), host)
    batch = Batch(initial, [stage], [1.0], [1], times=[200.0], rtol=rtol, atol=1e-4 * rtol * ω**2)
    return integrate(native, batch, threads=2)


def test_written_out_tables_looped_tables_and_other_processors_agree():
    ways = [sweep(12, stages=False), *(sweep(12, host=host) for host in HOSTS.values())]
    for other in ways[1:]:
        assert np.allclose(other.time_states, ways[0].time_states, rtol=1e-8, atol=1e-8)
        assert np.allclose(other.event_times, ways[0].event_times, rtol=1e-8)


def test_every_point_of_a_diagram_ends_with_a_value():
    result = sweep(60)
    assert (result.outcome == Code.COMPLETED).all() and np.isfinite(result.time_states).all()


def test_a_large_table_runs_in_loops():
    stated = problem("simultaneous", omega=0.3, K=8, L=9)
    run = run_problem(stated, [3.0], rtol=1e-9)
    f = vector_field(stated.field.program, "exact", np)
    scipy = solve_ivp(lambda t, y: f(y, stated.stages[0].arguments), (0, 3), stated.initial, "DOP853",
                      rtol=1e-10, atol=1e-13, max_step=0.02)  # fmt: skip
    assert np.abs(run.records[0].y - scipy.y[:, -1]).max() < 1e-6


def test_an_event_out_of_reach_is_named():
    run = run_problem(problem(omega=0.1, t_max=50.0), [], ["T_2"])
    assert run.outcome.ending is Ending.NOT_REACHED and "T_2 not reached by t = 50" in run.outcome.sentence


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{"omega": 0.1}, {"omega": 0.5, "b": 0.1}])
def test_the_reference_driver_agrees(parameters):
    from flowsys.runs.solving import solve

    reference = solve(SYSTEM, SYSTEM.setup(**parameters), mode="simultaneous", at=[100.0, 300.0], rtol=1e-10)
    run = run_problem(problem("simultaneous", **parameters), [100.0, 300.0], rtol=1e-10)
    assert np.abs(reference.states - np.array([r.y for r in run.records])).max() < 1e-8
    assert reference.statistics["slides"] == run.statistics.slides


@pytest.mark.parametrize("built_in", [True, False], ids=["written out", "loops"])
def test_a_diagram_is_the_same_to_the_last_bit_in_any_order_chunks_and_threads(built_in):
    # this corner of the diagram holds trajectories that slide
    native, batch = corner(48, built_in)
    whole = integrate(native, batch(np.arange(48)), threads=2)
    assert {0, 1} <= set(whole.statistic("slides"))
    order = np.random.default_rng(1).permutation(48)
    parts = [integrate(native, batch(places)) for places in np.array_split(order, 7)]
    for name in ("outcome", "time_states", "event_times", "event_states", "statistics"):
        assert np.array_equal(
            getattr(whole, name)[order], np.concatenate([getattr(p, name) for p in parts]), equal_nan=True
        )


def corner(n, built_in):
    """A kernel, and batches of chosen trajectories with large omega and small b."""
    stated = problem("simultaneous")
    names, program = stated.field.program.parameters, stated.field.program
    given = stated.stages[0].arguments
    parameters = np.tile(given.parameters, (n, 1))
    ω = np.linspace(0.4, 0.5, n)
    parameters[:, names.index("omega")] = ω
    parameters[:, names.index("b")] = np.tile(np.linspace(0.1, 0.3, 6), n // 6)
    initial = np.array([initial_state(program.state, x) for x in ω])
    native = kernel(program, ("S_cv_same",), "frozen", stages_of(stated) if built_in else ())

    def batch(places):
        stage = StageBatch(parameters[places], given.tables, given.links)
        return Batch(initial[places], [stage], [1.0], [1], times=[290.0], t_max=300.0, rtol=1e-8, atol=1e-13)

    return native, batch


def test_a_second_surface_is_crossed_as_the_smoothed_flow_crosses_it():
    # sliding since t = 102.9, the flow meets another surface at 104.48, and the first lets it go there
    stated = problem("simultaneous", omega=0.05, b=0.44, L=5)
    run = run_problem(stated, [104.4, 108.0], rtol=1e-11)
    before, after = run.records
    assert run.handover is None and any("from t = 102.92451 to 104.48394" in remark for remark in run.remarks)
    left = replace(stated, initial=before.y, start=before.t)
    errors = [
        np.abs(run_problem(left, [108.0], rtol=1e-11, kink_width=width).records[0].y - after.y).max()
        for width in (1e-3, 1e-4, 1e-5)
    ]
    assert errors[2] < 1e-5 and np.allclose(np.divide(errors[:2], errors[1:]), 10, rtol=0.1)


def test_a_kink_that_implicit_steps_cannot_get_past_is_left_to_explicit_ones():
    stated = problem(variant="10", K=3, L=6, T_1=173.52683993412205, b=0.015650475740596758, s_star=15.2,
                     epsilon=0.379, omega=0.003225092801087981, t_max=1e10)  # fmt: skip
    found, explicit = (run_problem(stated, [340.0], rtol=1e-8, method=method) for method in ("auto", "explicit"))
    assert found.outcome.ending is Ending.COMPLETED and found.statistics.implicit > 0
    assert np.abs(found.records[0].y - explicit.records[0].y).max() < 1e-7
