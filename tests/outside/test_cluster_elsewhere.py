"""A cluster that stays up while the model is edited: workers never run what was sent to them before."""

import numpy as np
import pytest
from outside import flowsys

distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

MODEL = """
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple
import numpy as np
import flowsys as fs
import helper
from helper import Kind

DATA = np.load(Path(__file__).parent / "data.npy")


@dataclass(frozen=True)
class Data:
    n: int

    @cached_property
    def rows(self):
        from late import SHIFT
        return DATA[: self.n] + SHIFT


class Two(NamedTuple):
    a: float
    b: float


@cache
def samples(n):
    return fs.Samples(x=Data(n).rows, weight=helper.weights(n, Kind.EVEN))


TWO = Two(1.0, 0.5)
mine = fs.Model(
    "mine",
    parameters={"n": fs.Size(3, 1, 6), "scale": fs.Real(1.0, 0.5, 2.0)},
    blocks=lambda p: {"w": fs.Direct(start=p.scale), "S": fs.Pair(2, 2, scale=0.3)},
    samples=lambda p: samples(p.n),
    loss=lambda ops, w, X, p: TWO.a * (X.x * w.w) ** 2 / 2 + TWO.b * ops.softplus(w.S[0, 1] - X.x),
    width=4,
)
"""
HELPER = """
from enum import Enum
import numpy as np


class Kind(Enum):
    EVEN = "even"


def weights(n, kind):
    assert kind is Kind.EVEN
    return np.full(n, 1 / n)
"""
UNEVEN = "np.arange(1, n + 1) / np.arange(1, n + 1).sum()"


@pytest.mark.slow
def test_every_edit_arrives_and_the_bits_are_those_of_threads(tmp_path):
    files = {"mine.py": MODEL, "helper.py": HELPER, "late.py": "SHIFT = 0.25"}
    edits = {
        "none": lambda: None,
        "late": lambda: (tmp_path / "late.py").write_text("SHIFT = 0.75"),
        "helper": lambda: (tmp_path / "helper.py").write_text(HELPER.replace("np.full(n, 1 / n)", UNEVEN)),
        "data": lambda: np.save(tmp_path / "data.npy", np.arange(2.0, 8.0)),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    np.save(tmp_path / "data.npy", np.arange(1.0, 7.0))
    found = []
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        for name, edit in edits.items():
            edit()
            for level in ("L3", "L0"):
                for where in ([], ["--cluster", cluster.scheduler_address]):
                    more = ["--x", "scale=0.5:2:3", "--level", level, "--observable", "loss@t=1", "--chunk", "1"]
                    done = flowsys("phase", "--from", "mine.py", *more, *where, "--no-picture", "--out",
                                   f"{name}{level}{len(where)}.nc", cwd=tmp_path)  # fmt: skip
                    assert done.returncode == 0, done.stderr
                here, there = (tmp_path / f"{name}{level}{n}.nc" for n in (0, 2))
                assert here.read_bytes() == there.read_bytes()
                found.append(here.read_bytes())
    assert len(set(found)) == 8
