"""The workshop's own rules: lint, format and dead code, as CONTRIBUTING has them."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "command",
    [("ruff", "check", "--no-cache"), ("ruff", "format", "--check", "--no-cache"), ("vulture",)],
    ids=["lint", "format", "dead code"],
)
def test_nothing_is_found(command):
    found = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
