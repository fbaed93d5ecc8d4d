"""Packages of systems that are not finished: in nobody's way, and told in one line to who asks for them."""

import subprocess
import sys

import pytest

import flowsys
import flowsys.systems

UNFINISHED = {
    "imports": ("import nonexistent_thing", "ModuleNotFoundError: No module named 'nonexistent_thing'"),
    "syntax": ("SYSTEM = (", "SyntaxError: '(' was never closed"),
    "number": ("SYSTEM = 1", "its SYSTEM is of type int"),
    "nothing": ("", "it defines no SYSTEM"),
    "namesake": ("from flowsys.systems.mixture import SYSTEM", "its SYSTEM is named mixture"),
}


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """The command line of an installation that holds unfinished packages beside the five."""
    place = tmp_path_factory.mktemp("systems")
    for name, (text, _) in UNFINISHED.items():
        (place / name).mkdir()
        (place / name / "__init__.py").write_text(text)

    def run(*arguments: str) -> subprocess.CompletedProcess:
        code = f"import flowsys.systems as s; s.__path__.append({str(place)!r}); from flowsys.cli import main; main()"
        return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)

    return run


def test_every_package_under_systems_can_be_loaded():
    assert flowsys.names() == flowsys.systems.packages()


def test_list_names_unfinished_packages_with_their_errors(command):
    answer = command("list")
    lines = dict(line.split(maxsplit=1) for line in answer.stdout.splitlines())
    assert answer.returncode == 0 and answer.stderr == ""
    assert set(lines) == {*flowsys.names(), *UNFINISHED}
    for name, (_, said) in UNFINISHED.items():
        assert said in lines[name]


@pytest.mark.parametrize("name", ["imports", "number"])
def test_who_asks_for_an_unfinished_package_gets_one_sentence_and_exit_code_2(name, command):
    answer = command("solve", name)
    assert answer.returncode == 2 and answer.stdout == ""
    assert UNFINISHED[name][1] in answer.stderr and len(answer.stderr.splitlines()) == 1


def test_other_systems_are_solved_and_only_theirs_is_imported(command):
    answer = command("solve", "mixture", "--at", "t=1", "--observe", "w_c", "--format", "csv")
    assert answer.returncode == 0 and answer.stderr == ""
    code = "import sys, flowsys; flowsys.load('mixture'); print('flowsys.systems.parity' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_what_is_asked_of_all_systems_is_done_for_the_others(command):
    answer = command("check", "--coverage")
    assert answer.returncode == 0
    assert all(f"{name}: " in answer.stdout for name in flowsys.names())
    assert all(f"system = {name} cannot be loaded" in answer.stderr for name in UNFINISHED)
