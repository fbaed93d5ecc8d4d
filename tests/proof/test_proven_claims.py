"""Claims proven: what a claim declares is proven at its parameters, or where its proof stops is said."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

pytest.importorskip("flint", reason="the extra `proof` is not installed")

import flowsys as fs
from flowsys.claims import Provable, signs_on
from flowsys.cli import app
from flowsys.errors import InputError
from flowsys.proof.claiming import prove_claim
from flowsys.proof.stating import Stated, with_statements
from flowsys.systems import names

INVARIANTS = "u + (i - 3)*v + {share}*w = 0 within 1e-15 on [0, {end}]"


def provable(name):
    return [claim for claim in fs.load(name).claims if claim.provable]


@pytest.mark.parametrize("paper", names())
def test_every_paper_has_a_claim_that_can_be_proven(paper):
    system, (claim, *_) = fs.load(paper), provable(paper)
    own = dict(claim.at if isinstance(claim.at, dict) else claim.at[0]) | dict(claim.provable.at)
    setup = system.setup(claim.mode, **own)
    statements = [Stated.parse(text.format_map(setup)) for text in claim.provable.statements]
    problem = system.problem(setup, mode=claim.mode)
    assert with_statements(problem.field.program, statements)
    ends = {end for stated in statements for end in (stated.low, stated.high)} - {"0"}
    assert ends <= {event.name for event in problem.events} | set(problem.marks)


def test_a_claim_is_proven_from_the_command_line():
    words = ["check", "parity", "--claim", "position_invariants", "--prove", "--format", "json", "--set", "n=12"]
    found = CliRunner().invoke(app, words)
    ((claim,),) = [content["claims"] for content in json.loads(found.stdout)]
    assert found.exit_code == 0 and claim["word"] == "holds"
    assert claim["proof"]["proven"] and 0 < claim["proof"]["margin"] <= 1e-15
    assert "n = 12" in claim["proof"]["at"] and "Theorem" in claim["proof"]["theorem"][0]


def test_where_a_proof_stops_is_said():
    system, (claim,) = fs.load("parity"), [c for c in provable("parity") if c.id == "position_invariants"]
    wrong = replace(
        claim, provable=Provable([INVARIANTS.format(share=2, end=200), INVARIANTS.format(share=1, end=200)])
    )
    found = prove_claim(wrong, system)
    assert not found.is_proven and found.n_proven == 1
    assert "1 of 2" in found.said and "2*w = 0 within 1e-15 on [0, 200]: it is not certain near" in found.stops


def test_a_claim_that_declares_nothing_is_refused():
    system = fs.load("parity")
    (claim,) = [c for c in system.claims if c.id == "lock_time"]
    with pytest.raises(InputError, match="position_invariants"):
        prove_claim(claim, system)


def test_signs_become_statements():
    assert signs_on("(a, b]", {"x": 1, "y": -1}) == ("x > 0 on (a, b]", "y < 0 on (a, b]")
