"""Every claim can fail, and the verdicts on record are what the checks say now."""

import json
from pathlib import Path

import pytest

import flowsys
from flowsys.claims import Claim, Verdict, Word, check, judged, read_record, write_record
from flowsys.references import Ref

CLAIMS = [(name, claim) for name in flowsys.names() for claim in flowsys.load(name).claims]
CHEAP = [pair for pair in CLAIMS if pair[1].is_cheap and pair[1].measure is not None]
ids = [f"{name}-{claim.id}" for name, claim in CHEAP]


def record_of(name: str) -> dict[str, str]:
    return read_record(Path(flowsys.__file__).parent / "systems" / name / "verdicts.json")


@pytest.mark.parametrize(("name", "claim"), CHEAP, ids=ids)
def test_the_recorded_verdict_is_fresh(name, claim):
    assert record_of(name)[claim.id] == str(claim.check().word)


@pytest.mark.parametrize(("name", "claim"), CHEAP, ids=ids)
def test_the_control_makes_the_check_fail(name, claim):
    assert not claim.control().holds


def test_every_claim_is_on_record_under_a_name_of_its_own():
    for name in flowsys.names():
        claims = flowsys.load(name).claims
        names = [claim.id for claim in claims]
        assert len(set(names)) == len(names)
        assert {c.id for c in claims if c.measure is not None} <= set(record_of(name))


def test_a_check_without_a_control_is_refused():
    with pytest.raises(ValueError, match="control"):
        Claim("x", Ref("mixture", "Lemma 0"), "anything", measure=lambda: judged(True, "", ""))


def test_records_keep_what_was_not_checked_again(tmp_path):
    path = tmp_path / "verdicts.json"
    path.write_text(json.dumps({"old": "holds"}))
    claim = Claim("new", Ref("mixture", "Lemma 0"), "s", measure=lambda: Verdict(Word.FAILS, "", ""),
                  control=lambda: Verdict(Word.FAILS, "", ""))  # fmt: skip
    write_record(path, check([claim]))
    assert json.loads(path.read_text()) == {"new": "does not hold", "old": "holds"}
