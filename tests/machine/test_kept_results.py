"""Results are kept until the code that makes them changes; a broken-off check goes on where it was."""

import pytest

import flowsys
from flowsys.claims import Claim
from flowsys.claims.checking import check_systems
from flowsys.machine.kept import Kept


def test_a_result_is_found_again(tmp_path):
    Kept(tmp_path, "mixture", "1").write("part", {"a": 1})
    assert Kept(tmp_path, "mixture", "1").read("part") == {"a": 1}
    assert Kept(tmp_path, "parity", "1").read("part") is None
    assert Kept(None, "mixture", "1").read("part") is None


def test_what_other_code_made_is_forgotten(tmp_path):
    for digest in ("old", "new"):
        Kept(tmp_path, "mixture", digest).write("part", digest)
        assert Kept(tmp_path, "mixture", digest).read("part") == digest
    assert [path.name for path in (tmp_path / "mixture").iterdir()] == ["new"]


def test_a_file_that_cannot_be_read_counts_as_missing(tmp_path):
    Kept(tmp_path, "mixture", "1").write("part", 1)
    (path,) = tmp_path.rglob("*.pickle")
    path.write_bytes(b"no pickle")
    assert Kept(tmp_path, "mixture", "1").read("part") is None


def test_a_check_that_was_broken_off_measures_only_the_rest(tmp_path, monkeypatch):
    system, measured, check = flowsys.load("mixture"), [], Claim.check
    first, second, third = "D.1", "D.2", "D.4"

    def counted(claim, system, conditions):
        if claim.id == second and measured == [first]:
            measured.append("broken off")
            raise KeyboardInterrupt
        measured.append(claim.id)
        return check(claim, system, conditions)

    monkeypatch.setattr(Claim, "check", counted)
    with pytest.raises(KeyboardInterrupt):
        check_systems([system], [first, second], journal=tmp_path)
    check_systems([system], [third], journal=tmp_path)  # another check does not forget this one
    for _ in range(2):  # the second time nothing is kept any more
        found = check_systems([system], [first, second], journal=tmp_path)["mixture"]
        assert [c.verdict.word for c in found] == ["holds", "holds"]
    assert measured == [first, "broken off", third, second, first, second]
