"""The command line as people and scripts use it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from flowsys import load

SOLVE = ["solve", "mixture", "--set", "omega=0.1"]


def flowsys(*arguments: str, cwd=None, first: str = "", **options) -> subprocess.CompletedProcess:
    """The command line; `first` is Python run before it, in the same process."""
    start = ["-m", "flowsys"] if not first else ["-c", f"{first}; from flowsys.cli import main; main()"]
    return subprocess.run(
        [sys.executable, *start, *arguments], capture_output=True, text=True, cwd=cwd, check=False, **options
    )


def test_solve_prints_the_contracted_object():
    run = flowsys(*SOLVE, "--at", "T_0.5,T_1,T_2,T_3", "--observe", "w_c,w_v,S_cv_same,loss_conflicting",
                  "--format", "json")  # fmt: skip
    assert run.returncode == 0, run.stderr
    answer = json.loads(run.stdout)
    assert {"system", "level", "mode", "parameters", "outcome", "version", "statistics", "rows"} <= answer.keys()
    rows = {row["at"]: row for row in answer["rows"]}
    assert rows["T_0.5"]["t"] == pytest.approx(1.359141, abs=1e-6)
    assert rows["T_1"]["values"]["w_c"] == pytest.approx(0.310170, abs=1e-6)
    assert rows["T_2"]["t"] - rows["T_1"]["t"] == pytest.approx(90.18, abs=5e-3)
    assert answer["parameters"]["K"] == 2 and answer["parameters"]["b"] == 0.5


def test_lists_may_be_given_in_one_option_or_in_several():
    one = flowsys(*SOLVE, "--at", "T_1,t=30", "--observe", "w_c,loss", "--format", "json")
    several = flowsys(*SOLVE, *"--at T_1 --at t=30 --observe w_c --observe loss --format json".split())
    assert json.loads(one.stdout)["rows"] == json.loads(several.stdout)["rows"] and one.stdout.count('"at"') == 2


def test_solve_writes_csv_to_a_file(tmp_path):
    run = flowsys(*SOLVE, "--at", "t=1,T_1", "--observe", "w_v", "--format", "csv", "--out", "a.csv", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[0] == "at,t,reached,w_v"
    assert [line.split(",")[0] for line in lines[1:]] == ["t=1", "T_1"]


def test_an_event_that_does_not_come_is_a_row_not_a_failure():
    run = flowsys("solve", "mixture", "--set", "t_max=50", "--at", "T_2", "--format", "json", "--observe", "w_c")
    assert run.returncode == 0
    assert json.loads(run.stdout)["rows"][0] == {"at": "T_2", "t": None, "reached": False, "values": None}
    assert "T_2 not reached" in run.stderr


@pytest.mark.parametrize("name", ["a.json", "a.nc"])
def test_a_full_disk_gets_one_sentence_and_leaves_nothing(name, tmp_path):
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))"
    run = flowsys(*SOLVE, "--at", "T_1", "--out", name, cwd=tmp_path, first=full)
    assert run.returncode == 2, run.stderr
    assert f"file = {name} cannot be written" in run.stderr and len(run.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_pipe_is_written_to_not_replaced():
    run = flowsys(*SOLVE, "--at", "t=1", "--observe", "w_c", "--format", "csv", "--out", "/dev/stdout")
    assert run.returncode == 0, run.stderr
    assert run.stdout == "at,t,reached,w_c\nt=1,1.0,true,0.0\n"


def test_training_that_diverges_is_valid_json_and_exit_code_1():
    run = flowsys("train", "mixture", "--mode", "simultaneous", "--steps", "10", "--set", "learning_rate=1e160",
                  "--format", "json")  # fmt: skip
    assert run.returncode == 1 and "lower the learning rate" in run.stderr
    values = json.loads(run.stdout, parse_constant=pytest.fail)["rows"][0]["values"]
    assert "nan" in values.values()


@pytest.mark.parametrize("command", [["train"], ["solve", "--level", "L0"]], ids=["train", "solve"])
def test_training_of_which_nothing_is_asked_shows_its_end(command):
    run = flowsys(command[0], "mixture", *command[1:], "--mode", "simultaneous", "--set", "width=4",
                  "--observe", "loss", "--format", "json")  # fmt: skip
    (row,) = json.loads(run.stdout)["rows"]
    assert (row["at"], row["t"], row["reached"]) == ("t=300", 300.0, True)


def test_train_writes_the_format_asked_for(tmp_path):
    run = flowsys("train", "mixture", "--steps", "5", "--observe", "w_v", "--at", "t=0.5,t=9",
                  "--format", "csv", "--out", "a.csv", cwd=tmp_path)  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "a.csv").read_text().splitlines()[::2] == ["at,t,reached,w_v", "t=9,,false,"]
    assert "t = 9 not reached" in run.stdout


def test_a_file_that_is_no_data_file_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "text.nc").write_text("not a data file")
    run = flowsys("plot", "text.nc", cwd=tmp_path)
    assert run.returncode == 2 and "text.nc" in run.stderr and "Traceback" not in run.stderr


def test_phase_writes_data_and_picture_and_plot_redraws(tmp_path):
    run = flowsys("phase", "mixture", "--x", "b=0.1:2:5", "--y", "T_1=5:50:4:log", "--observable", "T_2-T_1,w_c@T_1",
                  "--set", "t_max=5000", "--out", "d.nc", cwd=tmp_path)  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d.nc", "d.png"]
    from flowsys.sweeps import load

    diagram = load(tmp_path / "d.nc")
    assert diagram.shape == (5, 4) and sum(diagram.outcome_counts().values()) == 20
    finite = np.isfinite(diagram.quantities["T_2-T_1"])
    assert (finite == (diagram.outcomes <= 2)).all()
    assert flowsys("plot", "d.nc", "--out", "again.png", "--quantity", "w_c@T_1", cwd=tmp_path).returncode == 0


@pytest.mark.slow
def test_a_diagram_that_smooths_kinks_can_be_asked_for_exact_ones(tmp_path):
    cell = ("phase", "mixture", "--diagram", "stuck", "--x", "b=0.1,0.2", "--y", "L=4,5", "--no-picture")
    values = {}
    for name, more in (("smooth", ()), ("exact", ("--exact-kinks",))):
        run = flowsys(*cell, *more, "--out", f"{name}.nc", cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        from flowsys.sweeps import load

        values[name] = load(tmp_path / f"{name}.nc").quantities["w_c@t=1600"][0, 0]
    assert values["smooth"] < 0 < values["exact"]


def test_list_and_show_name_everything():
    assert "mixture" in flowsys("list").stdout
    shown = json.loads(flowsys("show", "mixture", "--format", "json").stdout)
    assert {"K", "L", "omega", "b", "T_1", "s_star", "epsilon", "t_max"} <= shown["parameters"].keys()
    assert {"T_0.5", "T_1", "T_2", "T_3"} == shown["events"].keys()
    assert shown["claims"]["D.2"] == "holds" and "1" in shown["figures"]


@pytest.mark.parametrize("name", ["mixture", "lego"])
def test_show_is_a_screen_with_every_parameter_mode_and_event(name):
    system, shown = load(name), flowsys("show", name).stdout
    assert len(shown.splitlines()) <= 50 and max(map(len, shown.splitlines())) <= 160
    assert all(each in shown for each in (*(p.name for p in system.parameters), *system.modes, *system.events))


def test_show_lists_what_check_and_figure_take():
    system = load("cooccurrence")
    shown = flowsys("show", "cooccurrence", "--all", env=os.environ | {"COLUMNS": "4000"}).stdout
    for claim in system.claims:
        assert f" {claim.id}" in shown
    assert f"figures, for `flowsys figure cooccurrence`: {', '.join(system.figures)}\n" in shown


def test_derive_certifies_the_lumping():
    answer = json.loads(flowsys("derive", "mixture", "--set", "K=3", "--format", "json").stdout)
    assert (answer["n_coordinates"], answer["n_classes"]) == (168, 22)
    assert answer["certificate"] < 1e-10 < 1e-2 < answer["control"]
    assert answer["agreement"] < 1e-12


@pytest.mark.slow
def test_the_script_of_phase_diagrams_runs(tmp_path):
    script = Path(__file__).parent.parent / "examples" / "phase_diagrams.sh"
    path = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    run = subprocess.run(["sh", script, tmp_path], capture_output=True, text=True, check=False, env=os.environ | path)
    assert run.returncode == 0, run.stderr
    made = {"stage_2.nc", "stage_2.png", "onset.nc", "onset.png", "length.nc", "length.png", "margin.png"}
    assert made == {entry.name for entry in tmp_path.iterdir()}


def test_times_may_be_given_as_a_range():
    rows = json.loads(
        flowsys("solve", "mixture", "--at", "t=1:100:3:log,T_1", "--observe", "w_c", "--format", "json").stdout
    )["rows"]
    assert [row["at"] for row in rows] == ["t=1", "t=10", "t=100", "T_1"]


DIMENSIONLESS = ("--mode", "dimensionless", "--set", "m1=3")


@pytest.mark.parametrize(("arguments", "said"), [
    (("solve", "mixture", "--set", "width=5", "--at", "t=1", "--observe", "w_c"), "width = 5 plays no part at L3 (it"),
    (("solve", "cooccurrence", *DIMENSIONLESS, "--at", "t=1", "--observe", "loss"), "m1 = 3 plays no part at L3: it"),
    (("train", "lego", "--set", "d=50", "--steps", "1", "--observe", "loss"), "d = 50 plays no part at L0: it is 16"),
    (("phase", "mixture", "--x", "width=4,5", "--observable", "w_c@t=1", "--no-picture"), "width = 4 … plays no part"),
])  # fmt: skip
def test_a_parameter_that_plays_no_part_is_named(arguments, said, tmp_path):
    run = flowsys(*arguments, cwd=tmp_path)
    assert run.returncode == 0 and said in run.stderr


@pytest.mark.parametrize("axes", [("--x", "group=C3,S3"), ("--x", "d=5,60,100")])
def test_a_sweep_may_have_named_values_and_points_that_are_not_allowed(axes, tmp_path):
    made = flowsys("phase", "lego", *axes, "--observable", "alpha@t=1", "--no-picture", cwd=tmp_path)
    assert made.returncode == 0, made.stderr


@pytest.mark.parametrize("arguments", [
    ("plot", "{file}", "--out", "x.xyz"),
    ("check", "mixture", "--claim", "E.3", "--plot", "x.xyz"),
    ("phase", "mixture", "--x", "b=0.1:1:3", "--observable", "w_c@t=1e9"),
    ("phase", "mixture", "--out", "x.png"),
    ("train", "mixture", "--save-weights", "x.txt"),
    ("phase", "mixture", "--out", "nowhere/x.nc"),
    ("report", "--html", "nowhere/x.html"),
])  # fmt: skip
def test_what_cannot_be_written_or_looked_at_is_refused_before_anything_runs(arguments, tmp_path):
    file = tmp_path / "x.nc"
    file.write_bytes(b"")
    said = flowsys(*(a.format(file=file) for a in arguments), cwd=tmp_path)
    assert said.returncode == 2 and len(said.stderr.strip().splitlines()) == 1 and "Traceback" not in said.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["x.nc"]
