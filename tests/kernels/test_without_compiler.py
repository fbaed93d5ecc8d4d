"""A machine on which llvmlite does not run: the reference solver does the work, slowly, and says so."""

import json
import subprocess
import sys

import numpy as np
import pytest

import flowsys as fs

HERE = """
import json, sys
sys.modules["llvmlite"] = sys.modules["llvmlite.binding"] = None
import flowsys as fs
run = fs.solve("mixture", mode="simultaneous", at=[3.0], observe=["w_c", "S_cv_same"])
swept = fs.phase("mixture", x="b=0.4:0.6:2", observable="w_c@t=3", mode="simultaneous")
refused = ""
try:
    fs.solve("mixture", mode="simultaneous", at=[3.0], solver="native")
except fs.InputError as error:
    refused = str(error)
numbers = run["w_c"][-1], run["S_cv_same"][-1]
print(json.dumps([*numbers, run.outcome.remarks, swept.quantities["w_c@t=3"].tolist(), refused]))
"""


@pytest.fixture(scope="module")
def without():
    ran = subprocess.run([sys.executable, "-c", HERE], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def test_numbers_are_those_of_compiled_code(without):
    run = fs.solve("mixture", mode="simultaneous", at=[3.0], observe=["w_c", "S_cv_same"])
    np.testing.assert_allclose(without[:2], [run["w_c"][-1], run["S_cv_same"][-1]], rtol=1e-6)
    swept = fs.phase("mixture", x="b=0.4:0.6:2", observable="w_c@t=3", mode="simultaneous")
    np.testing.assert_allclose(without[3], swept.quantities["w_c@t=3"], rtol=1e-6)


def test_it_says_so(without):
    assert any("reference solver" in remark and "llvmlite" in remark for remark in without[2])


def test_solvers_that_need_compiled_code_are_refused(without):
    assert without[4].startswith("solver = native is not allowed here: llvmlite does not run on this machine")
