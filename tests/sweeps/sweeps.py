"""Sweeps the tests of this directory share, small and quick."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from flowsys.sweeps import Sweep, make_sweep, parse_axis, run
from flowsys.sweeps.setups import Points, Varying
from flowsys.sweeps.store import Store
from flowsys.system import Setup
from flowsys.systems import load

ROOT = Path(__file__).resolve().parents[2]


def sweep(*axes: str, observables=("T_2-T_1", "w_c@T_1"), system="mixture", **options) -> Sweep:
    """A sweep of the mixture's three stages, unless said otherwise."""
    axes = axes or ("b=0.1:2:7", "T_1=5:50:6:log")
    fixed = options.pop("fixed", {"t_max": 2000})
    return make_sweep(load(system), [parse_axis(a) for a in axes], observables, fixed=fixed, **options)


def posed(setups: Sequence[Setup | None]) -> Points:
    """Points with these setups, whichever way they differ; there is none where values do not go together."""
    usual = next(setup for setup in setups if setup is not None)
    varying = {}
    for name in usual:
        each = [(setup or usual)[name] for setup in setups]
        number = {value: i for i, value in enumerate(dict.fromkeys(each))}
        varying |= {name: Varying(list(number), np.array([number[value] for value in each]))} if len(number) > 1 else {}
    return Points(usual.system, dict(usual), varying, np.array([setup is not None for setup in setups]))


def finished(path: Path, of: Sweep, chunks=None) -> bytes:
    """The file of a sweep run without interruption (or from given chunks)."""
    store = Store(path, of)
    for chunk in chunks if chunks is not None else run(of):
        store.write(chunk)
    store.finish()
    return path.read_bytes()


def command(*arguments: str, first: str = "") -> list[str]:
    """The command line of a sweep; `first` is Python run before it, in the same process."""
    start = ["-m", "flowsys"] if not first else ["-c", f"{first}; from flowsys.cli import main; main()"]
    return [sys.executable, *start, "phase", "mixture", "--no-picture", *arguments]


def environment(**more: str) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT)} | more


def flowsys(*arguments: str, cwd: Path, first: str = "") -> subprocess.CompletedProcess:
    return subprocess.run(
        command(*arguments, first=first), capture_output=True, text=True, cwd=cwd, check=False, env=environment()
    )
