"""The types of the modules listed in pyproject.toml, as mypy sees them."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_annotations_are_consistent(tmp_path):
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stdout + found.stderr
