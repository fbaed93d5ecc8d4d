"""Results are kept until the code that makes them changes; a broken-off check goes on where it was."""

from dataclasses import replace

import pytest

import flowsys
from flowsys.claims.checking import check_systems
from flowsys.machine.kept import Kept


def test_a_result_is_found_again(tmp_path):
    Kept(tmp_path, "mixture").write("part", {"a": 1})
    assert Kept(tmp_path, "mixture").read("part") == {"a": 1}
    assert Kept(tmp_path, "parity").read("part") is None
    assert Kept(None, "mixture").read("part") is None


def test_what_other_code_made_is_forgotten(tmp_path, monkeypatch):
    for digest in ("old", "new"):
        monkeypatch.setattr("flowsys.machine.kept.digest_of_sources", lambda system, digest=digest: digest)
        Kept(tmp_path, "mixture").write("part", digest)
        assert Kept(tmp_path, "mixture").read("part") == digest
    assert [path.name for path in (tmp_path / "mixture").iterdir()] == ["new"]


def test_a_file_that_cannot_be_read_counts_as_missing(tmp_path):
    Kept(tmp_path, "mixture").write("part", 1)
    (path,) = tmp_path.rglob("*.pickle")
    path.write_bytes(b"no pickle")
    assert Kept(tmp_path, "mixture").read("part") is None


def test_a_check_that_was_broken_off_measures_only_the_rest(tmp_path):
    system, measured = flowsys.load("mixture"), []
    first, second = system.claims[:2]

    def counted(claim, breaks):
        def measure():
            if breaks:
                raise KeyboardInterrupt
            measured.append(claim.id)
            return claim.measure()

        return replace(claim, measure=measure)

    broken = replace(system, claims=(counted(first, False), counted(second, True)))
    with pytest.raises(KeyboardInterrupt):
        check_systems([broken], journal=tmp_path)
    whole = replace(system, claims=(counted(first, False), counted(second, False)))
    third = system.claims[2]
    check_systems([system], [third.id], journal=tmp_path)  # another check does not forget this one
    for _ in range(2):  # the second time nothing is kept any more
        found = check_systems([whole], journal=tmp_path)["mixture"]
        assert [c.verdict.word for c in found] == ["holds", "holds"]
    assert measured == [first.id, second.id, first.id, second.id]
