"""The command line answers like a colleague: wrong lines get one helpful sentence and exit code 2, names complete."""

import json
import os
import subprocess
import sys

import pytest

from flowsys.version import VERSION

WRONG = {  # what was written, and what of the answer helps
    "solve mixtur": "Did you mean mixture?",
    "solve": "SYSTEM is missing",
    "solv mixture": "No such command",
    "solve mixture --observe wc": "Did you mean w_c?",
    "solve mixture --observe loss,S_cv_sam": "Did you mean S_cv_same?",
    "solve mixture --observe ,": "the list of observables is empty",
    "solve mixture --at T2": "Did you mean T_2?",
    "solve mixture --at t=abc": "after t= there must be a number",
    "solve mixture --at -5": "it must lie between",
    "solve mixture --at ,": "--at is empty",
    "solve mixture --mode simultanous": "Did you mean simultaneous?",
    "solve mixture --level L7": "level = L7 is not one of mixture's",
    "solve mixture --variant redced": "is not one of mixture's at L3",
    "solve mixture --omega 0.2": "parameters are set with --set omega=0.2",
    "solve mixture --omega=0.2": "parameters are set with --set omega=0.2",
    "solve mixture --set omga=0.2": "Did you mean omega?",
    "solve mixture --set omega": "NAME=VALUE",
    "solve mixture --set K=3 L=4": "here --set L=4",
    "solve mixture --set omega=-1": "omega = -1 is not allowed",
    "solve mixture --set omega=nan": "omega = nan is not allowed",
    "solve mixture --set K=2.5": "K = 2.5 is not allowed",
    "solve mixture --solver rk4": "solver = rk4 is not known",
    "solve mixture --rtol 2": "rtol = 2 is not allowed",
    "solve mixture --rtol abc": "rtol",
    "solve mixture --max-steps 0": "max_steps = 0 is not allowed",
    "solve mixture --kink-width -1": "kink_width = -1 is not allowed",
    "solve mixture --format yaml": "--format yaml is not known",
    "solve mixture --start nowhere.npz": "nowhere.npz",
    "solve mixture --from nowhere.py": "are both given",
    "solve --from nowhere.py": "nowhere.py",
    "solve mixture --out nowhere/run.csv": "nowhere",
    "phase mixture --x omega=0.01..0.3 --observable T_2": "write NAME=start:stop:count",
    "phase mixture --x omega=0.01:0.3 --observable T_2": "write NAME=start:stop:count",
    "phase mixture --x omega=0.01:0.3:0 --observable T_2": "at least 1 point",
    "phase mixture --x omga=0.01:0.3:3 --observable T_2": "Did you mean omega?",
    "phase mixture --x omega=0.01:0.3:3": "observable",
    "phase mixture --diagram stag_2": "Did you mean stage_2?",
    "figure mixture 11": "figure = 11 is not one of mixture's",
    "check mixture --claim E33": "Did you mean E.3?",
    "check mixture --claim E.3 --set omga=1": "omga",
    "train mixture --steps 0": "steps",
    "train mixture --observe los": "Did you mean loss?",
    "train mixture --seeds 0": "seeds",
    "compare mixtur": "Did you mean mixture?",
    "show parrity": "Did you mean parity?",
    "solve mixture --set K=1": "K = 1",
    "solve mixture --set kappa=1": "kappa",
    "solve mixture --at T_9": "T_9",
    "solve mixture --at t=-1": "t = -1",
    "solve mixture --observe w_x": "w_x",
    "solve mixture --format xml": "xml",
    "solve mixture --solver euler": "euler",
    "solve mixture --rtol 0": "rtol = 0",
    "solve mixture --nonsense": "nonsense",
    "solve mixture --at t=1 --out no/such/dir/a.csv": "no/such/dir",
    "phase mixture --x b=1:2:0 --observable T_2": "at least 1 point",
    "phase mixture --x b --observable T_2": "b",
    "phase mixture --x K=1:3:3 --observable T_2": "K = 1",
    "phase mixture --x b=1:2:3 --observable w_c": "w_c",
    "phase mixture --kink-width 0.1 --exact-kinks": "--kink-width 0.1",
    "phase mixture --diagram nonsense": "nonsense",
    "plot no-such-file.nc": "no-such-file.nc",
    "figure mixture 99": "99",
    "figure mixture 2 --out a.xyz": "a.xyz",
    "derive mixture --mode simultaneous": "mode = simultaneous",
    "show mixture --template": "--template",
    "solve mixture --level ''": "--level",
    "solve mixture --out ''": "--out",
    "solve mixture --out .": "directory",
    "solve mixture --rtol small": "rtol = small",
    "train mixture --records 0": "records = 0",
    "train mixture --at t=1e9": "t_max = 1e+06",
    "train mixture --out no/such/dir/a.nc": "no/such/dir",
}

ALL = """
import io, json, shlex, sys
from contextlib import redirect_stderr, redirect_stdout
from flowsys import cli
answers = {}
for line in json.load(sys.stdin):
    sys.argv, out, err, code = ["flowsys", *shlex.split(line)], io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
    answers[line] = code, out.getvalue(), err.getvalue()
json.dump(answers, sys.stdout)
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What the command line says to every wrong line; one process for all of them, which leaves no file."""
    place = tmp_path_factory.mktemp("empty")
    done = subprocess.run([sys.executable, "-c", ALL], input=json.dumps([*WRONG, "", "--version", "figure mixture"]),
                          capture_output=True, text=True, cwd=place)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not list(place.iterdir())
    return json.loads(done.stdout)


def test_there_are_forty_wrong_lines():
    assert len(WRONG) >= 40


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_line_gets_one_helpful_sentence(line, answers):
    code, out, err = answers[line]
    assert code == 2 and not out, (code, out, err)
    assert err.startswith("flowsys: ") and err.count("\n") == 1 and "Traceback" not in err
    assert WRONG[line] in err, err


def test_bare_and_version_and_figures_without_a_number(answers):
    assert answers[""][0] == 0 and "Usage: flowsys" in answers[""][1]
    assert answers["--version"][:2] == [0, f"flowsys {VERSION}\n"]
    code, listed, _ = answers["figure mixture"]
    assert code == 0 and [line.split()[0] for line in listed.splitlines()] == list("1234567")


@pytest.mark.parametrize(
    ("words", "wanted"),
    [("flowsys solve mi", "mixture"), ("flowsys solve mixture --observe loss,w_", "loss,w_c"),
     ("flowsys phase mixture --diagram sta", "stage_2"), ("flowsys check mixture --claim E.3-", "E.3-law")],
)  # fmt: skip
def test_names_complete(words, wanted):
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1), "_FLOWSYS_COMPLETE": "complete_bash"}
    code = "import sys; from flowsys.cli import main; sys.argv[0] = 'flowsys'; main()"
    done = subprocess.run([sys.executable, "-c", code],
                          env=os.environ | asked, capture_output=True, text=True)  # fmt: skip
    assert wanted in done.stdout.split(), done.stderr
