"""KaTeX, fetched once a session where node and npm are at hand."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = """
const katex = require('katex');
const formulas = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const wrong = [];
for (const f of formulas) {
  try { katex.renderToString(f, {throwOnError: true, strict: 'error', displayMode: true}); }
  catch (error) { wrong.push(f + ': ' + error.message); }
}
console.log(JSON.stringify(wrong));
"""


def fetched(directory: Path) -> Path:
    """A directory with KaTeX in it; the test is skipped without node or npm, and where no registry answers."""
    for tool in ("node", "npm"):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    failure = _npm("install", "--no-audit", "--no-fund", "--prefix", str(directory), "katex")
    if failure and _npm("ping"):
        pytest.skip("npm's registry cannot be reached")
    assert not failure, failure
    return directory


def _npm(*command: str) -> str:
    """What npm says where it fails; nothing where it does not."""
    try:
        done = subprocess.run(["npm", "--fetch-retries=1", *command], capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired as late:
        return str(late)
    return done.stderr or f"npm {command[0]} failed" if done.returncode else ""


def refused(formulas: list[str], directory: Path) -> list[str]:
    """The formulas that KaTeX does not set, with its reasons."""
    done = subprocess.run(
        ["node", "-e", SCRIPT], input=json.dumps(formulas), capture_output=True, text=True, cwd=directory, check=True
    )
    return json.loads(done.stdout)
