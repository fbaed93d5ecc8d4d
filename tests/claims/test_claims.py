"""Every claim can fail, the verdicts on record are what the checks say now, and conditions reach the measurement."""

import json

import numpy as np
import pytest

import flowsys
from flowsys.claims import Checked, Claim, Inequality, Order, Sides, Verdict, Word, write_record
from flowsys.claims.checking import check, check_systems, record_file, recorded
from flowsys.claims.conditions import Conditions
from flowsys.claims.numbering import places
from flowsys.claims.statements import coverage, statements
from flowsys.claims.verdict import without_gaps
from flowsys.errors import InputError

MIXTURE = flowsys.load("mixture")
CLAIMS = [(name, c) for name in flowsys.names() for c in flowsys.load(name).claims if c.measure is not None]
CHEAP = [pair for pair in CLAIMS if pair[1].is_cheap]
LONG = [pair for pair in CLAIMS if not pair[1].is_cheap]


def named(pairs):
    return pytest.mark.parametrize(("name", "claim"), pairs, ids=[f"{name}-{c.id}" for name, c in pairs])


@named(CHEAP)
def test_the_recorded_verdict_is_fresh(name, claim):
    assert recorded(flowsys.load(name))[claim.id].verdict == str(claim.check(flowsys.load(name)).word)


def changes_the_verdict(name: str, claim: Claim) -> bool:
    system = flowsys.load(name)
    return str(claim.controlled().check(system).word) != recorded(system)[claim.id].verdict


@named([pair for pair in CHEAP if not pair[1].control_note])
def test_the_control_changes_the_verdict(name, claim):
    assert changes_the_verdict(name, claim)


@pytest.mark.slow
@named([pair for pair in LONG if not pair[1].control_note])
def test_the_control_of_a_long_claim_changes_the_verdict(name, claim):
    assert changes_the_verdict(name, claim)


@pytest.mark.parametrize("name", flowsys.names())
def test_every_claim_is_on_record_under_a_name_of_its_own(name):
    ids = [claim.id for claim in flowsys.load(name).claims]
    assert len(set(ids)) == len(ids)
    record, measurable = recorded(flowsys.load(name)), {claim.id for system, claim in CLAIMS if system == name}
    assert measurable <= set(record) <= set(ids)
    assert all(record[id].measured for id in measurable)


@pytest.mark.parametrize("name", flowsys.names())
def test_every_statement_of_a_paper_is_checked_or_says_why_not(name):
    system = flowsys.load(name)
    listed = {place for key in statements(system) for place in places(key)}
    assert not [c.place for c in coverage(system) if not c.claims and not c.ours and not c.statement.reason]
    cited = {place for c in system.claims if c.whose == "paper" for place in places(c.place)}
    assert cited and cited <= listed


def test_places_are_read_from_citations():
    assert places("Lemmas C.2–C.4, Eq. (11)") == ("Lemma C.2", "Lemma C.3", "Lemma C.4", "Eq. 11")
    assert places("Figures 1a, 2 and 9-10") == ("Fig. 1a", "Fig. 2", "Fig. 9", "Fig. 10")
    assert places("Theorem 3.2, items 3, 4; display before Lemma 5.5") == ("Theorem 3.2", "Lemma 5.5")


@pytest.mark.parametrize("values", [{"x": float("nan")}, {"x": {"y": [1.0, np.float64("nan")]}}])
def test_a_verdict_cannot_hold_on_what_is_no_number(values):
    found = without_gaps(Verdict(Word.HOLDS, "", "", values=values))
    assert found.word is Word.FAILS and "no number" in found.note


@named(CLAIMS)
def test_every_packaged_claim_has_a_control(name, claim):
    assert claim.control is not None


def test_a_check_needs_a_kind_and_an_order_a_path():
    with pytest.raises(ValueError, match="kind"):
        Claim("x", "Lemma 0", "anything", measure=lambda run: 1)
    with pytest.raises(ValueError, match="path"):
        Claim("x", "Lemma 0", "anything", Order("O"), lambda run: 1)


def test_records_keep_what_was_not_checked_again_and_forget_claims_that_are_gone(tmp_path):
    path, old = tmp_path / "verdicts.json", {"verdict": "holds", "predicted": "p", "measured": "m", "note": ""}
    path.write_text(json.dumps({"old": old, "gone": old}))
    made = [Claim(id, "Lemma 0", "s", Inequality(), lambda run: Sides(2, 1)) for id in ("new", "old")]
    write_record(path, [Checked(made[0], Verdict(Word.FAILS, "p", "m"), None)], made)
    assert json.loads(path.read_text()) == {"new": old | {"verdict": "does not hold"}, "old": old}


def measured_omega(run) -> Sides:
    run.note(level=run.level or "L3", **run.given)
    return Sides(run.p.omega, 0.01)


TOY = Claim(
    "x", "Lemma 0", "s", Inequality(">="), measured_omega, control={"value": 9.0}, levels="L0 L3", takes="omega"
)


def test_conditions_reach_the_measurement():
    found = TOY.check(MIXTURE, Conditions("L0", None, (("omega", 0.5), ("width", 7)))).values
    assert (found["level"], found["omega"], found["width"]) == ("L0", 0.5, 7)
    assert TOY.check(MIXTURE).values["level"] == "L3"


def test_seeds_are_measured_one_by_one_and_counted():
    verdict = TOY.check(MIXTURE, Conditions("L0", 3))
    assert verdict.measured.startswith("holds for 3 of 3 seeds")
    assert [values["seed"] for values in verdict.values["seeds"]] == [0, 1, 2]


@pytest.mark.parametrize(
    ("conditions", "why"),
    [
        (Conditions("L4"), "cannot be measured at level L4"),
        (Conditions("L3", None, (("b", 1.0),)), "b = 1.0: it takes omega"),
        (Conditions("L3", None, (("width", 5),)), "width = 5"),
        (Conditions(None, 4), "seeds = 4"),
    ],
)
def test_what_cannot_be_measured_says_so(conditions, why):
    verdict = TOY.check(MIXTURE, conditions)
    assert verdict.word is Word.NOT_TESTABLE
    assert why in verdict.note


def test_a_named_claim_that_cannot_be_measured_there_is_bad_input():
    with pytest.raises(InputError, match="cannot be measured at level L1"):
        check(flowsys.load("mixture"), ["D.3"], conditions=Conditions("L1"))
    with pytest.raises(InputError, match="not known"):
        check(flowsys.load("mixture"), ["Lemma 99"])


def test_workers_give_what_one_process_gives():
    systems = [flowsys.load("mixture")]
    ids = ["D.1", "6.1"]
    alone, together = (check_systems(systems, ids, workers=n)["mixture"] for n in (1, 2))
    assert [c.as_dict() for c in alone] == [c.as_dict() for c in together]


def test_a_claim_that_cannot_be_measured_need_not_be_on_record():
    untestable = Claim("x", "Lemma 0", "s", reason="no data")
    assert Checked(untestable, untestable.check(MIXTURE), None).is_as_recorded
    assert not Checked(TOY, TOY.check(MIXTURE), None).is_as_recorded


def test_records_lie_in_the_package():
    assert record_file(flowsys.load("mixture")).name == "verdicts.json"
