"""Every command with --from, run where the file is not; sweeps here and on a cluster, killed and resumed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from outside import ROOT, copied, flowsys

SWEEP = ("--x", "rate=0.5:2:4", "--y", "start=1:2:3", "--no-picture")


@pytest.fixture
def place(tmp_path):
    """A directory to run in, beside the one with the model."""
    (tmp_path / "models").mkdir()
    copied(tmp_path / "models")
    (tmp_path / "here").mkdir()
    return tmp_path / "here"


def answer(place, command: str, *arguments: str) -> str:
    done = flowsys(command, "--from", "../models/decay.py", *arguments, cwd=place)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_is_there_is_shown(place):
    assert answer(place, "list") == "decay         exponential decay (model)\n"
    shown = json.loads(answer(place, "show", "--format", "json"))
    assert shown["system"] == "decay" and shown["claims"] == {"halving": "not on record"}
    assert r"\dot x" in answer(place, "show", "--equations")


def test_a_solution_says_the_command_and_the_file_it_comes_from(place):
    content = json.loads(answer(place, "solve", "--at", "t=1", "--format", "json"))
    assert content["command"] == "flowsys solve --from ../models/decay.py --at t=1 --format json"
    answer(place, "solve", "--out", "t.nc")
    shutil.rmtree(place.parent / "models")  # files are drawn without their model
    assert flowsys("plot", "t.nc", cwd=place).returncode == 0
    from flowsys import load_trajectory

    run = load_trajectory(place / "t.nc")
    assert run.origin.place == "decay.py:model" and run.meanings == {"x": "what decays"}


def test_training_the_ladder_and_the_claims_run(place):
    assert json.loads(answer(place, "train", "--at", "T_half", "--format", "json"))["level"] == "L0"
    assert json.loads(answer(place, "compare", "--format", "json"))["rungs"][0]["holds"]
    (checked,) = json.loads(answer(place, "check", "--format", "json"))
    assert checked["claims"][0]["word"] == "holds"
    assert json.loads(answer(place, "check", "--all", "--workers", "2", "--format", "json")) == [checked]


def test_what_a_model_lacks_is_refused_in_a_sentence(place):
    for command, said in (("derive", "has no derivation"), ("check --record", "has no record")):
        done = flowsys(*command.split(), "--from", "../models/decay.py", cwd=place)
        assert done.returncode == 2 and said in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_report_is_made(place):
    answer(place, "report", "--html", "a.html")
    page = (place / "a.html").read_text()
    assert "exponential decay" in page and "--diagram halves" in page and "one flow, twice" in page


@pytest.mark.parametrize(
    "level", [pytest.param("L0", marks=pytest.mark.slow), pytest.param("L1", marks=pytest.mark.slow), "L3"]
)
def test_a_cluster_gives_the_same_file_without_an_installation(level, place):
    pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    more = (*SWEEP, "--level", level, "--observable", "x@t=2", "--chunk", "4")
    answer(place, "phase", *more, "--out", "here.nc")
    answer(place, "phase", *more, "--cluster", "local", "--out", "there.nc")
    assert (place / "here.nc").read_bytes() == (place / "there.nc").read_bytes()


def test_a_worker_elsewhere_needs_neither_the_file_nor_the_modules_beside_it(place):
    # imported late, so that the name is looked up over there
    model = place.parent / "models" / "decay.py"
    text = model.read_text().replace("from rates import rate\n", "")
    model.write_text(text.replace("c, start = rate(setup)", "import rates\n\n    c, start = rates.rate(setup)"))
    code = f"""
from flowsys.machine.by_value import packed
from flowsys.sweeps import make_sweep, parse_axis, run
from flowsys.systems.outside import from_file
sweep = make_sweep(from_file({str(model)!r}), [parse_axis("rate=1:2:3")], ["T_half"])
open("sweep", "wb").write(packed(sweep))
print(*(float(x).hex() for chunk in run(sweep) for x in chunk.values[0]))
"""
    there = """
from flowsys.machine.by_value import unpacked
from flowsys.sweeps import run
print(*(float(x).hex() for chunk in run(unpacked(open("sweep", "rb").read())) for x in chunk.values[0]))
"""
    said = []
    for text in (code, there):
        done = subprocess.run([sys.executable, "-c", text], cwd=place, capture_output=True, text=True, check=False,
                              env=os.environ | {"PYTHONPATH": str(ROOT)})  # fmt: skip
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
        shutil.rmtree(place.parent / "models", ignore_errors=True)
    assert said[0] == said[1] and len(said[0].split()) == 3


def test_a_killed_sweep_goes_on_unless_the_model_was_edited(place):
    more = ("--observable", "x@t=2", "--x", "rate=0.5:2:200", "--chunk", "1", "--no-picture")
    command = [sys.executable, "-m", "flowsys", "phase", "--from", "../models/decay.py", *more, "--out", "d.nc"]
    begun = subprocess.Popen(command, cwd=place, env=os.environ | {"PYTHONPATH": str(ROOT)})
    while begun.poll() is None and len(list(place.glob("d.nc.parts/0*.npy"))) < 3:
        time.sleep(0.002)
    begun.send_signal(signal.SIGKILL)
    begun.wait()
    rates = place.parent / "models" / "rates.py"
    text = rates.read_text()
    shutil.copytree(place / "d.nc.parts", place / "e.nc.parts")
    rates.write_text(text.replace("2.0, 3.0", "2.0, 4.0"))
    edited = flowsys("phase", "--from", "../models/decay.py", *more, "--out", "e.nc", cwd=place)
    rates.write_text(text)
    again = flowsys("phase", "--from", "../models/decay.py", *more, "--out", "d.nc", cwd=place)
    assert edited.returncode == again.returncode == 0
    assert "resuming" not in edited.stderr and "resuming: " in again.stderr
    answer(place, "phase", *more, "--out", "whole.nc")
    assert (place / "whole.nc").read_bytes() == (place / "d.nc").read_bytes() != (place / "e.nc").read_bytes()


def test_diagrams_are_refined_drawn_and_drawn_again_without_the_model(place):
    answer(place, "phase", "--diagram", "halves", "--out", "d.nc")
    answer(place, "phase", "--refine", "d.nc", "--out", "finer.nc", "--no-picture")
    assert flowsys("plot", "finer.nc", "--from", "../models/decay.py", cwd=place).returncode == 0
    (place.parent / "models" / "decay.py").write_text("raise RuntimeError('it was run')")
    for name in ("d", "finer"):
        (place / f"{name}.png").unlink()
        done = flowsys("plot", f"{name}.nc", cwd=place)
        assert done.returncode == 0 and done.stderr == "" and (place / f"{name}.png").stat().st_size > 1000
