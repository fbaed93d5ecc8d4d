"""solve on flows whose answer is known in closed form: events, kinks that cross or slide, stages, refusals.

The toy: y' = -y, and x' = drive - a·step(x - 1) with drive 1 on [0, 5] and -1 afterwards. From x = 0 the surface x = 1
is met at t = 1; the flow crosses it if a < 1 and slides on it if a > 1, until the drive turns.
"""

import subprocess
import sys

import numpy as np
import pytest

import flowsys
from flowsys.errors import InputError
from flowsys.integrate.outcome import Ending
from flowsys.program import Program
from flowsys.program.arrays import arguments
from flowsys.runs.solving import solve
from flowsys.system import Parameter, System, Variants, t_max
from flowsys.system.problem import Event, Problem, ProgramField, Stage
from flowsys.system.references import Paper

PROGRAM = Program.parse("""\
state x y
parameters a drive
once:
    margin = x - 1
    gate = step(margin)
    above = relu(margin)
    d_x = drive - a*gate
    d_y = -y
derivative x = d_x
derivative y = d_y
observe x = x
observe y = y
observe above = above
""")


def _build(setup, level, variant, mode) -> Problem:
    data = lambda drive: arguments(PROGRAM, {"a": setup["a"], "drive": drive})
    return Problem(
        field=ProgramField(PROGRAM),
        initial=np.array([0.0, 1.0]),
        stages=(Stage("up", data(1.0), until=5.0), Stage("down", data(-1.0))),
        events=(Event("half", "y", 0.5, -1), Event("above", "x", 1.5, +1), Event("low", "x", -1.0, -1)),
        marks={"turn": 5.0},
        derived={"twice": lambda y: 2 * y[0]},
        t_max=setup["t_max"],
        default_at=("half",),
    )


TOY = System(
    name="toy",
    paper=Paper("toy", "A toy", "nowhere"),
    summary="a toy",
    parameters=(Parameter("a", 2.0, "how strongly the flow is pushed back", low=0.0), t_max(100.0)),
    modes={"only": "the only one"},
    levels={"L3": Variants(("program",))},
    events={"half": "y falls to 1/2", "above": "x rises to 3/2", "low": "x falls to -1", "turn": "the drive turns"},
    observables={"x": "position", "y": "clock", "above": "x over 1", "twice": "2x"},
    build=_build,
)
SOLVERS = ["auto", "native", "tsit5", "kvaerno5"]


def run(at, a=2.0, horizon=100.0, **options):
    return solve(TOY, TOY.setup(a=a, t_max=horizon), at=at, **{"rtol": 1e-10} | options)


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_event_is_located_where_it_happens(solver):
    assert run(["half"], solver=solver).t[0] == pytest.approx(np.log(2), abs=1e-9)


@pytest.mark.parametrize("solver", ["tsit5", "kvaerno5"])
def test_an_event_is_not_lost_where_a_requested_time_falls_on_it(solver):
    # x = t, to the last bit or the one before it (tests/kernels has the same for the native solver)
    near = 1.5 + np.spacing(1.5) * np.arange(-3, 4)
    runs = (run([t, "above", 3.0], a=0.0, solver=solver) for t in near)
    trajectory = next(found for found in runs if found["x"][0] == 1.5)
    assert trajectory.at("above")["t"] == trajectory.t[0]


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_kink_that_lets_through_is_crossed(solver):
    course = run([0.5, 1.0, 3.0, 5.0, 7.0], a=0.5, solver=solver)
    assert course["x"] == pytest.approx([0.5, 1.0, 2.0, 3.0, 1 / 3], abs=1e-9)  # down with -1.5 while above 1
    assert course.statistics["kinks"] == 2 and course.statistics["slides"] == 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_kink_that_pushes_back_is_slid_along_until_it_lets_go(solver):
    course = run([0.5, 1.0, 3.0, 5.0, 7.0], a=2.0, solver=solver)
    assert course["x"] == pytest.approx([0.5, 1.0, 1.0, 1.0, -1.0], abs=1e-9)
    assert course.statistics["slides"] == 1 and "Filippov" in course.outcome.remarks[0]


@pytest.mark.parametrize("a", [0.5, 2.0])
def test_the_smoothed_kink_tends_to_the_exact_one(a):
    exact = run([3.0, 7.0], a=a)["x"]
    errors = [np.abs(run([3.0, 7.0], a=a, kink_width=d)["x"] - exact).max() for d in (1e-2, 1e-3, 1e-4)]
    assert errors[1] == pytest.approx(errors[0] / 10, rel=0.15) and errors[2] == pytest.approx(errors[1] / 10, rel=0.15)


def test_the_smoothed_run_meets_no_kinks():
    statistics = run([7.0], kink_width=1e-3).statistics
    assert statistics["kinks"] == statistics["slides"] == 0


def test_a_setup_of_another_mode_gets_the_defaults_of_the_one_that_runs():
    lego = flowsys.load("lego")
    run = lambda setup: solve(lego, setup, mode="stage_1", at=[1.0], observe=["a"]).origin.parameters
    assert run(lego.setup()) == run(None) == dict(lego.setup("stage_1"))
    assert (run(lego.setup(bias=0.1))["group"], run(lego.setup(bias=0.1))["bias"]) == ("C3", 0.1)


@pytest.mark.parametrize("wrong", [{"omega": 0.2}, flowsys.load("lego").setup()])
def test_a_setup_that_is_none_of_the_system_s_is_refused(wrong):
    with pytest.raises(InputError, match=r"mixture\.setup\(…\) makes those"):
        solve(flowsys.load("mixture"), wrong, at=["T_1"])


def test_a_system_is_a_name_or_a_system():
    with pytest.raises(InputError, match=r"system = mixtur is not known.*Did you mean mixture"):
        solve("mixtur")
    with pytest.raises(InputError, match=r"system = 3 is none: it must be a name"):
        solve(3)


def test_training_gives_the_rows_asked_for_like_any_other_level():
    mixture = flowsys.load("mixture")
    setup = mixture.setup(width=4, T_1=2.0)
    assert [solve(mixture, setup, level=level, at="T_1").t.tolist() for level in ("L3", "L0")] == [[2.0], [2.0]]


def test_times_may_come_in_an_array_of_any_type(tmp_path):
    found = solve(flowsys.load("mixture"), at=np.arange(1, 4), observe=["w_c"])
    assert found.requested == (1.0, 2.0, 3.0) and found.save(tmp_path / "x.nc").exists()


def test_rows_come_in_the_order_asked_for():
    rows = run([3.0, "turn", "half", 0.5]).rows
    assert [r["at"] for r in rows] == ["t=3", "turn", "half", "t=0.5"] and all(r["reached"] for r in rows)


def test_records_come_in_the_order_of_time():
    assert (np.diff(run([7.0, "half", 0.5, "low", "turn"]).t) >= 0).all()


def test_a_time_that_is_also_a_stage_end_is_recorded_once_per_request():
    course = run([5.0, "turn"])
    assert course.at(5.0)["t"] == course.at("turn")["t"] == 5.0


def test_an_event_that_does_not_come_is_an_outcome_not_an_error():
    course = run(["above", 2.0], horizon=4.0)
    assert course.outcome.ending is Ending.NOT_REACHED and not course.outcome.is_failure
    assert "above" in course.outcome.sentence and course.at("above") == {
        "at": "above", "t": None, "reached": False, "values": None,
    }  # fmt: skip


def test_a_spent_step_budget_is_an_outcome_with_a_cure():
    outcome = run([3.0], max_steps=3, solver="native").outcome
    assert outcome.ending is Ending.STEP_BUDGET and outcome.is_failure and "max_steps" in outcome.sentence


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_step_order_shows_in_the_tolerance(solver):
    loose, tight = (abs(run([1e-3, 4.0], solver=solver, rtol=r)["y"][-1] - np.exp(-4)) for r in (1e-4, 1e-11))
    assert tight < 1e-10 and loose < 1e-3


def test_only_what_is_asked_for_is_observed():
    course = run([1.0], observe=["twice", "x"])
    assert list(course) == ["twice", "x"] and course["twice"][0] == 2 * course["x"][0]


def test_the_defaults_of_the_system_are_used():
    course = solve(TOY)
    assert course.labels == ("half",) and course.origin.parameters == {"a": 2.0, "t_max": 100.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at": ["noon"]}, "at = noon is not an event of toy"),
        ({"at": []}, "at is empty"),
        ({"at": [1e3]}, "between 0, where the run starts, and t_max = 100"),
        ({"at": [-1.0]}, "between 0, where the run starts, and t_max = 100"),
        ({"at": [float("nan")]}, "not allowed"),
        ({"at": [1.0], "observe": ["z"]}, "observe = z is not an observable"),
        ({"at": [1.0], "rtol": 1.0}, "rtol = 1 is not allowed"),
        ({"at": [1.0], "atol": -1.0}, "atol = -1 is not allowed"),
        ({"at": [1.0], "solver": "euler"}, "solver = euler is not known"),
        ({"at": [1.0], "max_steps": 0}, "max_steps = 0 is not allowed"),
        ({"at": [1.0], "kink_width": 0.0}, "kink_width = 0 is not allowed"),
        ({"at": [1.0], "level": "L7"}, "level = L7 is not one of toy's"),
        ({"at": [1.0], "variant": "z"}, "variant = z is not one of toy's"),
        ({"at": [1.0], "mode": "z"}, "mode = z is not one of toy's"),
    ],
)
def test_a_wrong_argument_is_named(options, message):
    with pytest.raises(InputError, match=message):
        solve(TOY, **options)


@pytest.mark.parametrize(
    ("given", "message"), [({"a": -1.0}, "a = -1.0 is not allowed"), ({"c": 1}, "no parameter 'c'")]
)
def test_a_wrong_parameter_is_named(given, message):
    with pytest.raises(InputError, match=message):
        TOY.setup(**given)


FRESH = """
import numpy as np
from flowsys.runs.solving import solve
from flowsys.systems import load
S = load("mixture")
print(repr(solve(S, S.setup(), at=["T_0.5"], rtol=1e-7, solver={solver!r}).t[0]))
"""


@pytest.mark.parametrize("solver", ["auto", "dopri8"])
def test_the_first_solve_of_a_process_runs_in_double_precision(solver):
    done = subprocess.run(
        [sys.executable, "-c", FRESH.format(solver=solver)], capture_output=True, text=True, timeout=300
    )
    found = float(done.stdout.strip().removeprefix("np.float64(").rstrip(")"))
    assert found == pytest.approx(0.5 + (np.e - 1) / 2, abs=1e-7)


@pytest.mark.parametrize("time", [12.5, "12.5", "t=12.5"])
def test_a_time_is_asked_for_as_a_number_or_as_the_command_line_writes_it(time):
    found = solve("mixture", at=[time], observe=["w_c"])
    assert found.at(time) == found.at(12.5) and found.at(time)["at"] == "t=12.5"
