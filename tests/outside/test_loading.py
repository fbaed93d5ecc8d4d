"""Models in files: run only when they are named, found by their variables, and refused in one sentence."""

import json
import sys

import pytest
from outside import copied, flowsys
from typer.testing import CliRunner

import flowsys as fs
from flowsys.cli import app
from flowsys.errors import InputError
from flowsys.systems.outside import from_file, models_in

MINIMAL = """
from flowsys.system import System; from flowsys.systems.parity import SYSTEM
def replace(system, **new): return System(**({n: getattr(system, n) for n in System.__dataclass_fields__} | new))
model = replace(SYSTEM, name="mine")
"""


@pytest.fixture(autouse=True)
def python_as_it_was(monkeypatch):
    """What loading a file changes in this process is undone."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    known = dict(sys.modules)
    yield
    for name in ("rates", "decay_file", "m_file", "helper"):
        sys.modules.pop(name, None)
        if name in known:
            sys.modules[name] = known[name]


def written(tmp_path, text: str):
    path = tmp_path / "m.py"
    path.write_text(text)
    return path


def test_the_one_model_of_a_file_needs_no_name(tmp_path):
    path = copied(tmp_path)
    assert from_file(str(path)).name == "decay"
    system = from_file(f"{path}:model")
    assert system.place == "decay.py:model" and system.package is None
    assert fs.solve(system).at("T_half")["t"] == pytest.approx(0.34657359, rel=1e-6)


def test_a_model_with_two_names_is_one_and_flowsys_own_are_not_the_file_s(tmp_path):
    path = written(tmp_path, MINIMAL + "the_same = model\n_hidden = replace(SYSTEM, name='hidden')\n")
    assert list(models_in(str(path))) == ["model"]
    assert from_file(f"{path}:SYSTEM") is fs.load("parity")


REFUSED = {
    "nothing": ("x = 1", "holds no model"),
    "several": (MINIMAL + "other = replace(SYSTEM, name='other')", "holds several models, model, other: name one, as"),
    "syntax": ("x = 1\ny = (", r"m.py, line 2: SyntaxError: '\(' was never closed\."),
    "exception": ("import math\n\n\ndef f():\n    return 1 / 0\n\n\nf()", "m.py, line 5: ZeroDivisionError: division"),
    "import": ("import there_is_none", "line 1: ModuleNotFoundError: No module named 'there_is_none'"),
    "refusal": (MINIMAL + "model.setup(k=-1)", "line 5: k = -1 is not allowed"),
    "exit": ("raise SystemExit(3)", "line 1: SystemExit: 3"),
    "zero": ("x = 1\0", "m.py: "),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_is_wrong_is_refused_with_its_line(name, tmp_path):
    text, said = REFUSED[name]
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=said) as refusal:
        from_file(str(path))
    assert str(refusal.value).startswith(f"file = {path}") and "\n" not in str(refusal.value)
    assert "m_file" not in sys.modules or name in ("nothing", "several")


def test_a_mistake_in_a_module_beside_the_file_is_told_with_its_line(tmp_path):
    (tmp_path / "helper.py").write_text("\n\nx = undefined\n")
    with pytest.raises(InputError, match=r"file = helper.py, line 3: NameError: name 'undefined' is not defined\."):
        from_file(str(written(tmp_path, "import helper")))


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("there_is_none.py", "is not there"),
        (".", "its name must end in .py"),
        ("model.txt", "its name must end in .py"),
        ("m.py:nothing", "defines no 'nothing'; the models it holds: model"),
        ("m.py:replace", "replace is no model but of type function"),
        ("m.py:", "'' is no name of a variable"),
        ("directory.py", "is no file"),
    ],
)
def test_a_place_that_is_wrong_is_refused(place, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, MINIMAL)
    (tmp_path / "directory.py").mkdir()
    with pytest.raises(InputError, match=said):
        from_file(place)


def test_modules_beside_the_file_go_before_others_but_not_before_python_s_own(tmp_path):
    (tmp_path / "json.py").write_text("raise RuntimeError")
    (tmp_path / "helper.py").write_text(
        "import json\nfrom family import member\nNAME = json.loads('\"mine\"') + member.X"
    )
    (tmp_path / "family").mkdir()
    (tmp_path / "family" / "__init__.py").write_text("")
    (tmp_path / "family" / "member.py").write_text("X = 's'")
    path = written(tmp_path, "import helper\n" + MINIMAL.replace('"mine"', "helper.NAME"))
    assert from_file(str(path)).name == "mines"
    (tmp_path / "family" / "member.py").write_text("X = 'd'")  # within the same second, and as long as before
    assert from_file(str(path)).name == "mined"


def test_editing_the_file_a_module_or_the_samples_changes_the_digest(tmp_path):
    path, rates = copied(tmp_path), tmp_path / "rates.py"
    text = rates.read_text()
    digests = [from_file(str(path)).digest]
    for edited in (
        text.replace("FACTOR = 1.0", "FACTOR = 2.0"),
        text.replace("2.0, 3.0", "2.0, 4.0"),
        text + "# said\n",
    ):
        rates.write_text(edited)
        digests.append(from_file(str(path)).digest)
    rates.write_text(text)
    assert from_file(str(path)).digest == digests[0]
    path.write_text(path.read_text() + "# said\n")
    digests.append(from_file(str(path)).digest)
    assert len(set(digests)) == 5


def test_a_module_that_is_imported_late_counts_too(tmp_path):
    path, digests = written(tmp_path, MINIMAL + "def later():\n    import helper\n"), set()
    for text in ("x = 1", "x = 2"):
        (tmp_path / "helper.py").write_text(text)
        digests.add(from_file(str(path)).digest)
    assert len(digests) == 2 and "helper" not in sys.modules


def test_samples_in_a_data_file_count_too(tmp_path):
    import numpy as np

    path, digests = copied(tmp_path), set()
    text = "from pathlib import Path\nSAMPLES = np.load(Path(__file__).parent / 'samples.npy')\n"
    rates = tmp_path / "rates.py"
    rates.write_text(rates.read_text().replace("SAMPLES = np.array([1.0, 2.0, 3.0])\n", text))
    for last in (3.0, 4.0):
        np.save(tmp_path / "samples.npy", np.array([1.0, 2.0, last]))
        digests.add(from_file(str(path)).digest)
    assert len(digests) == 2


def test_what_the_file_prints_does_not_disturb_the_answer(tmp_path):
    path = copied(tmp_path)
    path.write_text(path.read_text() + "print('hello')\n")
    answer = flowsys("solve", "--from", "decay.py", "--format", "json", cwd=tmp_path)
    assert json.loads(answer.stdout)["system"] == "decay" and "hello" in answer.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["solve"], "SYSTEM is missing"),
        (["phase"], "SYSTEM is missing"),
        (["solve", "mixture", "--from", "m.py"], "SYSTEM mixture and --from m.py are both given"),
        (["report", "mixture", "parity", "--from", "m.py"], "SYSTEM mixture parity and --from m.py are both given"),
        (["check", "mixture", "--from", "m.py"], "are both given"),
        (["show", "--from", ""], "--from is empty"),
        (["figure", "--from", "m.py", "77"], "figure = 77 is not one of mine's"),
    ],
)
def test_neither_and_both_are_refused(arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, MINIMAL)
    answer = CliRunner().invoke(app, arguments)
    assert isinstance(answer.exception, InputError) and said in str(answer.exception)


def test_bad_input_ends_the_process_with_2_and_one_sentence(tmp_path):
    written(tmp_path, "x = (")
    answer = flowsys("show", "--from", "m.py", cwd=tmp_path)
    assert answer.returncode == 2 and len(answer.stderr.splitlines()) == 1 and answer.stdout == ""
