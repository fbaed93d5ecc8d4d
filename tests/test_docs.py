"""The site builds strictly, its code runs, and its gallery's commands are commands."""

import re
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
WITH_CODE = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


def test_the_site_builds_without_a_warning_and_without_a_dead_link(tmp_path):
    pytest.importorskip("material", reason="mkdocs-material is not installed (extra docs)")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    page = lambda name: (tmp_path / "site" / name / "index.html").read_text(encoding="utf-8")
    words = re.sub(r"<[^>]*>", "", page("notebooks/quickstart"))  # code is highlighted word by word
    assert "until" in page("api") and "fs.sweep" in words
    assert all((tmp_path / "site" / "gallery" / f"{name}.png").exists() for name in ("figure", "law", "parity"))


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    known: dict = {"__name__": "__docs__"}
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        exec(compile(block, page.name, "exec"), known)


def test_every_picture_of_the_gallery_has_its_command_and_every_page_is_there():
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    pictures, commands = re.findall(r"\((gallery/[\w.]+|phase.png)\)", text), re.findall(r"(?m)^    flowsys .*$", text)
    assert len(pictures) == len(commands) and all((ROOT / "docs" / name).stat().st_size < 150_000 for name in pictures)
    there = {page.stem for page in PAGES}
    assert {"idea", "levels", "kinks", "verdicts", "own_models", "sweeps", "contributing", "gallery"} <= there
