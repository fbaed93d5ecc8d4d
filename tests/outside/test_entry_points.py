"""Models that installed distributions offer: listed beside the packages, and in nobody's way when they are broken."""

import os
import subprocess
import sys

import pytest
from outside import HERE, ROOT

MODULES = {
    "offering": "import decay\nmodel = decay.model\n",
    "broken": "raise RuntimeError('not today')\n",
    "namesake": "from offering import model\n",
}
ENTRIES = """[flowsys.systems]
decay = offering:model
number = offering:decay
broken = broken:model
other = namesake:model
mixture = broken:model
"""


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """The command line beside a distribution that offers a model, and some that it cannot."""
    place = tmp_path_factory.mktemp("distribution")
    for name, text in MODULES.items():
        (place / f"{name}.py").write_text(text)
    about = place / "offering-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: offering\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRIES)
    paths = os.pathsep.join(map(str, (ROOT, place, HERE)))

    def run(*arguments: str, code: str = "") -> subprocess.CompletedProcess:
        start = ["-c", code] if code else ["-m", "flowsys"]
        return subprocess.run([sys.executable, *start, *arguments], capture_output=True, text=True, check=False,
                              cwd=place, env=os.environ | {"PYTHONPATH": paths})  # fmt: skip

    return run


def test_a_model_is_listed_and_used_by_its_name(command):
    lines = dict(line.split(maxsplit=1) for line in command("list").stdout.splitlines())
    assert lines["decay"] == "exponential decay" and lines["mixture"].startswith("K-mixture")
    answer = command("solve", "decay", "--format", "csv")
    assert answer.returncode == 0 and answer.stdout.splitlines()[1].startswith("T_half,0.3465735")
    assert answer.stderr == ""


def test_a_broken_one_is_told_to_who_asks_for_it(command):
    for name, said in (
        ("broken", "RuntimeError: not today"),
        ("number", "is of type module"),
        ("other", "is named decay, not as its entry point"),
    ):
        answer = command("show", name)
        assert answer.returncode == 2 and said in answer.stderr and len(answer.stderr.splitlines()) == 1
        assert said in command("list").stdout


def test_names_leave_out_what_is_broken(command):
    answer = command(code="import flowsys; print(*flowsys.names())")
    assert answer.stdout.split() == ["cooccurrence", "lego", "mixture", "parity", "prompt", "decay"]
    assert "system = broken cannot be loaded" in answer.stderr


def test_a_stored_result_finds_its_offered_model_again(command):
    code = (
        "import flowsys; from flowsys.systems import at_hand; s = flowsys.load('decay');"
        "o = flowsys.solve(s).origin.as_dict();"
        "print(o['place'], at_hand(o) is s, at_hand(o | {'place': 'x.py:m'}))"
    )
    assert command(code=code).stdout.split() == ["offering:model", "True", "None"]
