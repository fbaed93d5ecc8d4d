"""Models made in a script or a notebook: swept and checked, here and in other processes, without being installed."""

import os
import subprocess
import sys

import pytest
from outside import ROOT

SCRIPT = """
from functools import cache
import numpy as np
import flowsys as fs
import mean
from flowsys.sweeps import make_sweep, parse_axis, run
from flowsys.sweeps.cluster import connected, run_on


@cache
def samples(L):
    return fs.Samples(x=np.arange(1.0, L + 1))


def decays(run):
    return run.values(1.0)["w"], run.p.scale * np.exp(-mean.square(samples(run.p.L).x))


model = fs.Model(
    "script",
    parameters={"L": fs.Size(2, 1, 5), "scale": fs.Real(1.0, 0.5, 2.0)},
    blocks=lambda p: {"w": fs.Direct(start=p.scale)},
    samples=lambda p: samples(p.L),
    loss=lambda ops, w, X, p: (X.x * w.w) ** 2 / 2,
    claims=[fs.Claim("decay", "Lemma 1", "w = scale e^-ct", fs.Identity(1e-6), decays)],
)
sweep = make_sweep(model, [parse_axis("scale=0.5:2:4")], ["w@t=1"], chunk_size=1)
here = [float(chunk.values[0][0]) for chunk in run(sweep)]
with connected("local") as client:
    there = {chunk.number: float(chunk.values[0][0]) for chunk in run_on(client, sweep)}
print(here == [there[number] for number in range(4)], here[1] / here[0])
print(fs.check(model)[0].verdict.word, fs.check(model, workers=2)[0].verdict.word)
"""


def test_a_script_needs_no_guard_and_no_installation(tmp_path):
    pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "mean.py").write_text("def square(x):\n    return float((x**2).mean())\n")
    done = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=False,
                          cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)})  # fmt: skip
    assert done.returncode == 0, done.stderr
    same, ratio, *words = done.stdout.split()
    assert same == "True" and float(ratio) == pytest.approx(2) and words == ["holds", "holds"]
