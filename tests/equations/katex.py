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
    """A directory with KaTeX in it; the test is skipped where that cannot be had."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("node and npm are not at hand")
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(directory), "katex"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        pytest.skip("npm cannot fetch katex here")
    if done.returncode:
        pytest.skip("npm cannot fetch katex here")
    return directory


def refused(formulas: list[str], directory: Path) -> list[str]:
    """The formulas that KaTeX does not set, with its reasons."""
    done = subprocess.run(
        ["node", "-e", SCRIPT], input=json.dumps(formulas), capture_output=True, text=True, cwd=directory, check=True
    )
    return json.loads(done.stdout)
