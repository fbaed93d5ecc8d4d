"""Every notebook and every script runs from top to bottom, thinly and on public names, and finds what it says."""

import ast
import json
import re
import runpy
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from typer.testing import CliRunner

import flowsys as fs
from flowsys.cli import app
from flowsys.systems.outside import from_file

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


def code_cells(path: Path) -> list[str]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def of_a_paper(path: Path):
    """A parameter of tests: notebooks of papers measure claims, which takes minutes."""
    return pytest.param(path, marks=[pytest.mark.slow] if path.stem in fs.names() else [], id=path.stem)


@pytest.mark.parametrize("path", map(of_a_paper, NOTEBOOKS))
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
                if hasattr(value, reading) and (text := getattr(value, reading)()) is not None:
                    assert 0 < len(text) < 50_000
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_the_notebook_is_thin_and_uses_public_names_only(path):
    source = "\n".join(code_cells(path))
    assert len([line for line in source.splitlines() if line.strip()]) <= 60
    names = {n.attr for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Attribute)}
    assert not [name for name in names if name.startswith("_")]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.stem)
def test_the_script_is_short_and_uses_public_names_only(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80 and ast.get_docstring(ast.parse(text))
    names = {n.attr for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Attribute)}
    assert not [name for name in names if name.startswith("_")]
    modules = [n.module for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom)]
    assert not [module for module in modules if module.startswith("flowsys")]


def example(name: str) -> dict:
    return runpy.run_path(str(ROOT / "examples" / f"{name}.py"))


def test_modes_of_a_linear_network_follow_their_sigmoids():
    network = example("linear_network")
    assert network["distance_to_sigmoids"](np.linspace(0, 8, 81)) <= 1e-8
    assert network["distance_to_quadrature"](3) <= 1e-8


def test_linear_attention_ends_where_the_theorem_says():
    attention = example("linear_attention")
    assert attention["distance_to_limit"]() <= 1e-6 and attention["distance_to_limit"](N=3, d=2) <= 1e-6


def test_the_softmax_classifier_shows_its_derivation_ladder_and_phase_diagram(tmp_path, monkeypatch, capsys):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "softmax_classifier.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "78 coordinates fall into 12 classes" in printed
    to_flow, to_limit = map(float, re.findall(r"exponent (-?[\d.]+) ", printed))
    assert to_flow == pytest.approx(1, abs=0.1) and to_limit == pytest.approx(-0.5, abs=0.1)
    assert float(re.search(r"L1 → L2: error (\S+)", printed)[1]) <= 1e-8
    assert (tmp_path / "softmax_classifier.png").stat().st_size > 20_000


def test_the_script_of_the_readme_runs_and_has_at_most_thirty_lines(capsys):
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## Your own model")[1]
    script = re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]
    assert len(script.splitlines()) <= 30
    exec(compile(script, "README.md", "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out
    assert "60 coordinates fall into 12 classes" in printed and printed.count(", holds)") == 3


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.stem)
def test_a_model_is_shown_on_a_page_with_its_blocks_in_a_line_each(path):
    model = from_file(str(path))
    shown = CliRunner().invoke(app, ["show", "--from", str(path)]).stdout
    assert len(shown.splitlines()) <= 60 and max(map(len, shown.splitlines())) <= 160
    assert all(name in shown for name in (*model.events, *model.modes, *(p.name for p in model.parameters)))
    assert all(name in shown for name in model.concrete(model.setup(), "L2", model.mode(None)).observable_names)
    last = list(model.observables)[-1]
    assert last in shown and len(model.observables) > 10


def test_values_tell_themselves_in_a_line():
    model = example("linear_attention")["model"]
    assert len(repr(fs.solve(model))) < 200 and "\n" not in repr(fs.solve(model))
    assert len(repr(fs.derive(model, d=2))) < 200 and "U_{0,1}" in fs.derive(model, d=2).equations["U_0_1"]


def test_the_template_is_a_model_file_that_loads_derives_and_solves(tmp_path):
    printed = CliRunner().invoke(app, ["show", "--template"])
    (tmp_path / "my_model.py").write_text(printed.stdout, encoding="utf-8")
    answer = CliRunner().invoke(app, ["derive", "--from", str(tmp_path / "my_model.py"), "--mode", "in_turn"])
    assert answer.exit_code == 0 and "mode in_turn: 60 coordinates fall into 12 classes" in answer.stdout
    model = from_file(str(tmp_path / "my_model.py"))
    derivation = fs.derive(model)
    assert not derivation.faults and derivation.n_classes < derivation.n_coordinates
    assert all(fs.solve(model, mode=mode, observe=["seen"]).rows[0]["reached"] for mode in model.modes)
