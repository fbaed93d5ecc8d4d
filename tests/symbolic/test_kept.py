"""Derived programs kept on disk: derived once, derived again when something has changed or the file is damaged."""

import pytest

from flowsys.program import Program
from flowsys.symbolic import kept as module
from flowsys.symbolic.kept import kept

PROGRAM = Program.parse("state x\nparameters k\nonce:\n    d_x = -k*x\nderivative x = d_x\n")


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A function that asks for the program, with the number of derivations so far."""
    monkeypatch.setenv("FLOWSYS_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "model.py"
    source.write_text("loss = x")
    derived = []

    def ask(name="decay"):
        found = kept(name, lambda: derived.append(name) or PROGRAM, [source])
        return found, len(derived)

    return ask, source


def test_a_program_is_derived_once_and_read_afterwards(store):
    ask, _ = store
    assert [ask() for _ in range(2)] == [(PROGRAM, 1)] * 2
    assert ask("another")[1] == 2


def test_a_changed_source_is_derived_again(store):
    ask, source = store
    ask()
    source.write_text("loss = 2*x")
    assert ask()[1] == 2


def test_a_damaged_file_counts_as_missing(store):
    ask, _ = store
    ask()
    (path,) = module.directory().iterdir()
    path.write_text(path.read_text().replace("-k*x", "+k*x"))
    assert ask() == (PROGRAM, 2)


def test_a_directory_that_cannot_be_written_is_only_slower(store, monkeypatch, tmp_path):
    ask, source = store
    monkeypatch.setenv("FLOWSYS_CACHE", str(source))
    assert [ask()[1] for _ in range(2)] == [1, 2]
