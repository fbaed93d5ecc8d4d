"""Every notebook runs from top to bottom, thinly and on public names."""

import ast
import json
from pathlib import Path

import matplotlib
import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples").glob("*.ipynb"))


def code_cells(path: Path) -> list[str]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_the_notebook_runs_and_shows_its_values(path, monkeypatch):
    matplotlib.use("Agg")
    namespace: dict = {}
    for source in code_cells(path):
        tree = ast.parse(source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, str(path), "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), str(path), "eval"), namespace)
            for reading in ("_repr_html_", "_repr_markdown_"):
                if hasattr(value, reading):
                    assert getattr(value, reading)()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_the_notebook_is_thin_and_uses_public_names_only(path):
    source = "\n".join(code_cells(path))
    assert len([line for line in source.splitlines() if line.strip()]) <= 60
    names = {n.attr for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Attribute)}
    assert not [name for name in names if name.startswith("_")]
