"""Compiled kernels on disk, and what importing the back-end costs."""

import subprocess
import sys

import pytest

from flowsys.kernels import cache
from flowsys.kernels.host import plain_host, this_host


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
