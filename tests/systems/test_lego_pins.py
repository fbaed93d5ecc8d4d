"""Numbers that no change of the package may move: limits and the surrogate at events and times, to 1e-9.

`lego_numbers.json` holds them, printed to 13 digits from runs at rtol 1e-10; finite levels agree from the same weights.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from flowsys import load, solve, train
from flowsys.sweeps import Axis, make_sweep
from flowsys.sweeps.memory import run_in_memory
from flowsys.systems.lego.derive import derive

SYSTEM = load("lego")
NUMBERS = json.loads(Path(__file__).with_name("lego_numbers.json").read_text())
QUICK = [("L0", None, "stage_2")]


def named(case):
    form = [case["mode"] or "", case.get("level", ""), case.get("variant") or ""]
    return " ".join([*form, *(f"{k}={v}" for k, v in case["given"].items())])


def cases(kind, is_quick):
    return [pytest.param(c, id=named(c), marks=[] if is_quick(c) else [pytest.mark.slow]) for c in NUMBERS[kind]]


def close(found, expected, tolerance=1e-9):
    """Relative to the value; what is 0 up to the solver's tolerance stays so."""
    assert found == pytest.approx(expected, rel=tolerance, abs=1e-11, nan_ok=True)


@pytest.mark.parametrize("case", cases("runs", lambda case: case["variant"] is None))
def test_limits_give_the_numbers_they_gave(case):
    names = list(case["rows"][0]["values"])
    run = solve(SYSTEM, SYSTEM.setup(case["mode"], **case["given"]), level=case["level"], variant=case["variant"],
                mode=case["mode"], observe=names, at=[row["at"] for row in case["rows"]], rtol=1e-10)  # fmt: skip
    for row in case["rows"]:
        found = run.at(row["at"])
        close(found["t"], row["t"])
        close(dict(found["values"]), row["values"])


@pytest.mark.parametrize("case", cases("sweeps", lambda case: True))
def test_sweeps_give_the_corners_they_gave(case):
    axes = [Axis(name, tuple(values)) for name, values in case["axes"]]
    found = run_in_memory(make_sweep(SYSTEM, axes, case["quantities"], mode=case["mode"], fixed=case["given"]))
    for name, values in case["values"].items():
        close(np.ravel(found.quantities[name]).tolist(), values)


@pytest.mark.parametrize("case", cases("finite", lambda case: (case["level"], case["variant"], case["mode"]) in QUICK))
def test_finite_levels_give_the_numbers_they_gave_from_the_same_weights(case):
    setup, at, names = SYSTEM.setup(case["mode"], **case["given"]), case["at"], list(case["values"])
    of = {"variant": case["variant"], "mode": case["mode"], "observe": names, "at": at}
    if case["level"] == "L0":
        run = train(SYSTEM, setup, **of, records=1)
    else:
        run = solve(SYSTEM, setup, level=case["level"], **of, rtol=1e-10, solver="tsit5")
    for name, values in case["values"].items():
        close(run[name][-len(at) :].tolist(), values, 1e-8)


@pytest.mark.parametrize("variant", ["isotropic", "many_variables"])
def test_derived_systems_have_the_classes_they_had(variant):
    assert derive(SYSTEM.setup(group="C3", n_x_finite=3), variant).n_classes == 4
