"""Compiled kernels on disk, and what importing the back-end costs."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from flowsys.kernels import cache
from flowsys.kernels.host import plain_host, this_host
from flowsys.program import Program


@pytest.fixture
def directory(tmp_path, monkeypatch):
    monkeypatch.setenv("FLOWSYS_CACHE", str(tmp_path))
    return tmp_path / "kernels"


def compiling(calls):
    return lambda: calls.append(1) or b"machine code"


def test_code_is_compiled_once_and_found_again(directory):
    calls = []
    for _ in range(3):
        assert cache.cached("program", this_host(), compiling(calls)) == b"machine code"
    assert len(calls) == 1


def test_a_damaged_file_counts_as_missing(directory):
    calls = []
    cache.cached("program", this_host(), compiling(calls))
    for damage in (b"", b"short", b"x" * 500):
        next(directory.glob("*.o")).write_bytes(damage)
        assert cache.cached("program", this_host(), compiling(calls)) == b"machine code"
    assert len(calls) == 4


def test_another_processor_or_program_has_another_key():
    keys = {cache.key("a", this_host()), cache.key("b", this_host()), cache.key("a", plain_host())}
    assert len(keys) == 3


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("FLOWSYS_CACHE", str(blocked))
    assert cache.cached("program", this_host(), compiling([])) == b"machine code"


def test_importing_the_back_end_loads_nothing_heavy():
    heavy = ("jax", "sympy", "xarray", "matplotlib", "llvmlite", "scipy")
    code = f"import sys, flowsys.kernels; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_another_reading_of_programs_has_another_key(tmp_path, monkeypatch):
    identity = cache.generator.__wrapped__
    assert cache.text.__name__ == Program.__module__
    changed = tmp_path / "text.py"
    changed.write_text(Path(cache.text.__file__).read_text(encoding="utf-8") + "\n", encoding="utf-8")
    before = identity()
    monkeypatch.setattr(cache.text, "__file__", str(changed))
    assert identity() != before == cache.generator()


def test_kernels_written_by_several_threads_leave_the_umask_alone(directory, monkeypatch):
    umask = os.umask

    def slow(mask):
        # lets another thread in between asking for the mask and setting it back
        found = umask(mask)
        time.sleep(1e-3)
        return found

    before = umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", slow)
        writers = [threading.Thread(target=cache.write, args=(f"k{i}", bytes(100))) for i in range(8)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert umask(0o027) == 0o027
    finally:
        umask(before)
    assert {path.stat().st_mode & 0o777 for path in directory.glob("*.o")} == {0o640}
