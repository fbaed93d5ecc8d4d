"""The command: help without heavy libraries, sentences for what cannot be asked."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from flowsys.cli import app
from flowsys.errors import InputError

run = CliRunner().invoke


def test_help_imports_neither_flint_nor_jax():
    code = (
        "import sys\nfrom flowsys.cli import app\n"
        "try:\n    app(['prove', '--help'], standalone_mode=False)\nexcept SystemExit:\n    pass\n"
        "assert not {'flint', 'jax', 'sympy'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_proof_prints_its_theorem_and_its_certificate_holds(tmp_path):
    pytest.importorskip("flint")
    path = tmp_path / "proof.json"
    found = run(app, ["prove", "parity", "--at", "t=500", "--observe", "g", "--format", "json", "--out", str(path)])
    content = json.loads(found.stdout)
    assert not content["declined"] and content["rows"][0]["radius"] < 1e-18
    assert "Theorem" in content["theorem"][0]
    assert "holds" in run(app, ["prove", "--verify", str(path)]).stdout


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["parity", "--at", "nowhere"], "no event"),
        (["parity", "--at", "t=1", "--observe", "nothing"], "not an observable"),
        (["parity", "--at", "t=1", "--tolerance", "1"], "tolerance = 1"),
        (["mixture", "--level", "L1", "--at", "t=1"], "only derived programs"),
    ],
)
def test_what_cannot_be_asked_is_said(words, sentence):
    pytest.importorskip("flint")
    found = run(app, ["prove", *words])
    assert isinstance(found.exception, InputError) and sentence in str(found.exception)
