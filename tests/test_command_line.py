"""The command line answers like a colleague: wrong lines get one helpful sentence and exit code 2, names complete."""

import json
import os
import subprocess
import sys

import pytest
import xarray as xr

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
    "solve ''": "system =  is not known",
    "check ''": "system =  is not known",
    "solve mixture --out run.xyz": "end in .json, .csv, .nc or .txt",
    "solve mixture --format csv --out run.json": "two formats",
    "solve mixture --format netcdf": "needs --out FILE.nc",
    "solve mixture --at t=1 --out /dev/full": "No space left",
    "solve mixture --at t=0:10:999999999999999": "at most",
    "solve mixture --until 10 --points 999999999999999": "points = 999999999999999",
    "solve mixture --until nan": "until = nan",
    "solve mixture --max-steps 99999999999999999999999999": "at most",
    "solve mixture --level L2 --set width=1000000000000": "more memory than there is",
    "solve mixture --start empty.npz": "no NPZ file",
    "solve mixture --start broken.npz": "no NPZ file",
    "solve mixture --start .": "no file",
    "solve --from syntax.py": "line 1: SyntaxError",
    "solve --from zero.py": "ZeroDivisionError",
    "solve --from exits.py": "SystemExit",
    "solve --from none.py": "holds no model",
    "train mixture --steps 99999999999999": "at most",
    "train mixture --set width=1000000000000": "more memory than there is",
    "train mixture --steps 10 --seeds 99999999999 --out w.nc": "more memory than there is",
    "train mixture --steps 10 --save-weights w.txt": "must end in .npz",
    "phase mixture --x b=1:2:99999999999999 --observable T_2": "at most",
    "phase mixture --x b=nan:2:3 --observable T_2": "finite",
    "phase mixture --x b=1:2:3 --observable T_2 --cluster nowhere": "tcp://HOST:PORT",
    "phase mixture --x b=1:2:3 --observable T_2@T_3": "write T_2 alone",
    "phase mixture --x b=1:2:3 --observable los@T_3": "Did you mean loss?",
    "phase mixture --x b=1:2:3 --observable T_2 --out a.png": "name it .nc",
    "phase mixture --refine broken.nc": "no netCDF-4 file",
    "plot broken.nc": "no netCDF-4 file",
    "plot foreign.nc": "of something else",
    "derive mixture --out page.nc": "no format has this ending",
    "derive lego --set group=nope": "group = nope",
    "compare mixture --rung L9-L10": "L2-L3",
    "check mixture --claim E.3 --constant c": "--constant c is not understood",
    "check mixture --claim E.3 --constant c=nan": "--constant c=nan",
    "check mixture --claim E.3 --map b=1:2:3 b=1:2:3": "not b twice",
    "figure mixture one": "figure = one",
    "report mixture --html no/such/dir/a.html": "no/such/dir",
    "cache --clean": "--clear",
    "prove --verify broken.json": "is no JSON",
    "prove --verify list.json": "is no certificate",
    "prove mixture --state 'w_v >'": "must read like",
    "prove mixture --interval b=2:1": "is empty",
    "prove mixture --tolerance nan": "tolerance = nan",
    "analyse mixture": "none is given",
    "analyse mixture --exponents b=0.1:1 --equilibria": "exponents and equilibria are given",
    "analyse mixture --exponents nosuch=1:2": "no parameter 'nosuch'",
    "analyse mixture --exponents b=2:1": "0 < low < high",
    "analyse mixture --sensitivities b --rtol 5": "rtol = 5",
    "analyse mixture --linearise T_99": "at = T_99",
}
FILES = {  # what stands where the lines are written, none of it of use
    "empty.npz": "", "broken.npz": "no arrays", "broken.nc": "no numbers", "broken.json": '{"a":',
    "list.json": "[1, 2]", "syntax.py": "def f(:", "zero.py": "1 / 0", "exits.py": "raise SystemExit(3)",
    "none.py": "x = 1",
}  # fmt: skip

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
    """What the command line says to every wrong line; one process for all of them, which leaves no file behind."""
    place = tmp_path_factory.mktemp("broken")
    for name, text in FILES.items():
        (place / name).write_text(text)
    xr.Dataset({"a": ("x", [1.0, 2.0])}).to_netcdf(place / "foreign.nc", engine="h5netcdf")
    there = {path.name: path.read_bytes() for path in place.iterdir()}
    done = subprocess.run([sys.executable, "-c", ALL], input=json.dumps([*WRONG, "", "--version", "figure mixture"]),
                          capture_output=True, text=True, cwd=place)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {path.name: path.read_bytes() for path in place.iterdir()} == there
    return json.loads(done.stdout)


def test_there_are_a_hundred_wrong_lines():
    assert len(WRONG) >= 100


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
