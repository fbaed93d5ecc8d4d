"""`flowsys check` as people and scripts use it: its exit codes, its formats, and the residual plot."""

import json
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import flowsys
from flowsys.claims import read_record
from flowsys.cli import app
from flowsys.errors import InputError


def run(*arguments: str):
    return CliRunner().invoke(app, ["check", *arguments])


def test_a_verdict_as_on_record_gives_0():
    answer = run("mixture", "--claim", "D.2", "--format", "json")
    assert answer.exit_code == 0
    (content,) = json.loads(answer.output)
    assert content["claims"][0]["word"] == content["claims"][0]["recorded"] == "holds"


def test_a_verdict_that_changed_gives_1(monkeypatch):
    record = read_record(flowsys.claims.checking.record_file(flowsys.load("mixture")))
    lie = {"D.2": record["6.1-printed"]}
    monkeypatch.setattr("flowsys.claims.checking.recorded", lambda system: lie)
    answer = run("mixture", "--claim", "D.2", "--format", "markdown")
    assert answer.exit_code == 1
    assert "on record: does not hold" in answer.output


def test_elsewhere_nothing_is_compared_and_the_exit_code_is_0():
    answer = run("mixture", "--claim", "D.7", "--set", "b=2", "--format", "json")
    assert answer.exit_code == 0
    (content,) = json.loads(answer.output)
    assert content["conditions"] == {"b": 2.0}
    assert content["claims"][0]["word"] == "outside the regime"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("mixture", "--claim", "E.7-consistent", "--level", "L0"), "cannot be measured at level L0"),
        (("mixture", "--claim", "stage_2_times_w_c", "--set", "b=1"), "cannot be measured with b = 1"),
        (("mixture", "--claim", "D.1", "--set", "b=-1"), "b = -1 is not allowed"),
        (("mixture", "--claim", "D.1", "--level", "L7"), "--level L7 is not known"),
        (("mixture", "--claim", "D.1", "--seeds", "3"), "give --level L2"),
        (("mixture", "--claim", "nothing"), "claim = nothing is not known"),
        (("mixture", "--claim", "E.3", "--constant", "k=2"), "has no hidden constant k = 2"),
        (("mixture", "--claim", "E.3", "--constant", "c=no"), "--constant c=no is not allowed"),
        (("mixture", "--map", "b=1:2:2", "T_1=2:3:2"), "--map draws one claim"),
        (("mixture", "--claim", "E.3", "--map", "omega=0.1:0.2:2", "T_1=2:3:2"), "cannot be measured with omega"),
        (("--set", "b=1"), "needs one system"),
        (("mixture", "--claim", "D.1", "--plot", "x.png"), "rests on no fit"),
        (("mixture", "--plot", "x.png"), "give it with --claim"),
        (("mixture", "--record", "--set", "b=1"), "--record keeps"),
        (("mixture", "--claim", "D.1", "--format", "xml"), "--format xml is not known"),
    ],
)
def test_bad_input_is_one_sentence(arguments, sentence):
    answer = run(*arguments)
    assert isinstance(answer.exception, InputError)
    assert sentence in str(answer.exception)


def test_bad_input_ends_the_process_with_2():
    command = [sys.executable, "-m", "flowsys", "check", "mixture", "--claim", "D.3-law", "--level", "L0"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1


def test_without_a_name_what_cannot_be_measured_is_listed(monkeypatch):
    monkeypatch.setattr("flowsys.claims.Claim.check", lambda claim, system, conditions: flowsys.claims.Verdict(
        flowsys.claims.Word.NOT_TESTABLE, "", "", claim.refusal(system, conditions)))  # fmt: skip
    answer = run("mixture", "--level", "L1", "--format", "json")
    assert answer.exit_code == 0
    (content,) = json.loads(answer.output)
    assert "cannot be measured at level L1" in content["claims"][0]["note"]


def test_the_residual_plot_is_a_picture(tmp_path):
    picture = tmp_path / "slope.png"
    assert run("mixture", "--claim", "E.3", "--plot", str(picture)).exit_code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_coverage_counts_statements_and_names_the_rest():
    answer = run("mixture", "--coverage")
    assert re.match(r"mixture: \d+ of \d+ numbered statements are checked, by \d+ claims: ", answer.output)
    assert "  checked: Lemma E.3: E.3" in answer.output
    assert "Lemma H.1" in answer.output


def test_coverage_says_so_if_a_package_lists_no_statements(monkeypatch):
    unlisted = object.__new__(type(flowsys.load("parity")))
    unlisted.__dict__.update({**flowsys.load("parity").__dict__, "name": "unlisted"})
    monkeypatch.setattr("flowsys.systems.load", lambda name: unlisted)
    answer = run("unlisted", "--coverage")
    assert answer.exit_code == 0, answer.output
    assert answer.output.startswith(
        "unlisted: none of its paper's statements are listed (statements.py); it is checked"
    )
