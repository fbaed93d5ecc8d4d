"""A model declared in a file of its own, in a directory where even its name is one of Python's modules."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from outside import ROOT

MODEL = """
import numpy as np
import flowsys as fs
from orders import orders


def samples(p):
    keys = orders(p.M, p.L)
    return fs.Samples(keys=keys, y=np.where(keys[:, 0] == 0, 1.0, -1.0))


signal = fs.Model(
    "signal",
    parameters={"M": fs.Size(2, 1, 4), "L": fs.Size(2, 2, 4), "omega": fs.Real(0.3, 1e-3, 2, log=True)},
    blocks=lambda p: {"v": fs.Direct(p.M), "S": fs.Pair(p.M, p.M, scale=p.omega)},
    samples=samples,
    loss=lambda ops, w, X, p: ops.softplus(-X.y * ops.attend(w.v[X.keys], w.S[X.keys, X.keys[:, -1:]], axis=-1)),
    observe={"first": lambda ops, w, X, p: w.v[0]},
    events={"T_half": fs.Crossing("first", 0.5, +1)},
    t_max=1e4,
    width=6,
)
"""
ORDERS = '''
import itertools
import numpy as np


def orders(M, L):
    return np.array(list(itertools.product(range(M), repeat=L)))
'''  # fmt: skip


@pytest.fixture
def place(tmp_path) -> Path:
    (tmp_path / "signal.py").write_text(MODEL)
    (tmp_path / "orders.py").write_text(ORDERS)
    return tmp_path


def run(place: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """The command line as it is installed: without the directory it runs in on Python's path."""
    command = [sys.executable, "-P", "-m", "flowsys", arguments[0], "--from", "signal.py", *arguments[1:]]
    known = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    return subprocess.run(command, capture_output=True, text=True, cwd=place, check=False,
                          env=known | {"PYTHONPATH": str(ROOT)} | environment)  # fmt: skip


def answer(place: Path, *arguments: str, **environment: str) -> str:
    done = run(place, *arguments, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_listed_shown_and_derived(place):
    assert answer(place, "list").startswith("signal ")
    shown = json.loads(answer(place, "show", "--format", "json"))
    assert shown["parameters"]["omega"]["default"] == "0.3" and "L3" in shown["levels"]
    derived = json.loads(answer(place, "derive", "--format", "json"))
    assert derived["certificate"] < 1e-12 and derived["agreement"] is None


@pytest.mark.parametrize("level", ["L0", "L3"])
def test_it_is_solved_and_trained_with_the_command_kept(level, place):
    more = ("--at", "t=1", "--observe", "loss", "--format", "json")
    content = json.loads(answer(place, "solve", "--level", level, *more))
    assert content["system"] == "signal" and content["level"] == level
    assert content["command"].startswith("flowsys solve --from signal.py --level")
    if level == "L0":
        trained = json.loads(answer(place, "train", *more))
        assert trained["rows"][0]["values"] == content["rows"][0]["values"]


def test_a_rung_of_its_ladder_is_measured_and_it_has_no_claims(place):
    (rung,) = json.loads(answer(place, "compare", "--rung", "L1-L2", "--format", "json"))["rungs"]
    assert rung["holds"]
    assert json.loads(answer(place, "check", "--format", "json"))[0]["claims"] == []


@pytest.mark.slow
def test_its_report_is_made(place):
    answer(place, "report", "--html", "page.html")
    assert "L2 → L3" in (place / "page.html").read_text()


def swept(place: Path, name: str, *more: str) -> bytes:
    axes = ("--x", "omega=0.1:1:4:log", "--observable", "loss@t=1", "--chunk", "2", "--no-picture")
    said = answer(place, "phase", *axes, *more, "--out", f"{name}.nc")
    assert "4 completed" in said
    return (place / f"{name}.nc").read_bytes()


@pytest.mark.parametrize(
    "level", [*(pytest.param(level, marks=pytest.mark.slow) for level in ("L0", "L1", "L2")), "L3"]
)
def test_a_cluster_gives_the_same_file_bit_for_bit(level, place):
    pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    assert swept(place, "here", "--level", level) == swept(place, "there", "--level", level, "--cluster", "local")


DIGEST = """
from flowsys.systems.outside import from_file
from flowsys.sweeps import make_sweep, parse_axis
model = from_file("signal.py")
print(model.digest, make_sweep(model, [parse_axis("omega=0.1:1:4:log")], ["loss@t=1"]).digest)
"""


def digests(place: Path, **environment: str) -> tuple[str, ...]:
    done = subprocess.run([sys.executable, "-P", "-c", DIGEST], capture_output=True, text=True, cwd=place, check=True,
                          env=os.environ | {"PYTHONPATH": str(ROOT)} | environment)  # fmt: skip
    return tuple(done.stdout.split())


def test_its_digests_are_those_of_its_texts_in_every_process(place):
    found = {digests(place, PYTHONHASHSEED=seed) for seed in ("1", "2")}
    assert len(found) == 1
    model, orders = place / "signal.py", place / "orders.py"
    for path, old, new in ((model, "0.5, +1", "0.6, +1"), (orders, "repeat=L)))", "repeat=L)))[::-1]")):
        path.write_text(path.read_text().replace(old, new))
        found.add(digests(place))
    assert len({model for model, _ in found}) == len({sweep for _, sweep in found}) == 3
