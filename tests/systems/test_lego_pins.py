"""Numbers that no change of the package may move: limits and the surrogate at events and times, to 1e-9.

`lego_numbers.json` holds them, printed to 13 digits from runs at rtol 1e-12; finite levels agree from the same weights.
"""

import json
from pathlib import Path

import jax
import numpy as np
import pytest

from flowsys import load, solve, train
from flowsys.model.starts import Given
from flowsys.sweeps import Axis, make_sweep
from flowsys.sweeps.memory import run_in_memory
from flowsys.systems.lego.groups import sizes

SYSTEM = load("lego")
NUMBERS = json.loads(Path(__file__).with_name("lego_numbers.json").read_text())
EARLIER = 2e-8  # stages before the one that is shown are integrated at rtol 1e-9
QUICK = [("L0", None, "stage_2")]


def named(case):
    form = [case["mode"] or "", case.get("level", ""), case.get("variant") or ""]
    return " ".join([*form, *(f"{k}={v}" for k, v in case["given"].items())])


def cases(kind, is_quick):
    return [pytest.param(c, id=named(c), marks=[] if is_quick(c) else [pytest.mark.slow]) for c in NUMBERS[kind]]


def close(found, expected, tolerance=1e-9):
    """Relative to the value; what is 0 up to the solver's tolerance stays so."""
    assert found == pytest.approx(expected, rel=tolerance, abs=min(tolerance, 1e-8), nan_ok=True)


@pytest.mark.parametrize("case", cases("runs", lambda case: case["variant"] is None))
def test_limits_give_the_numbers_they_gave(case):
    names = list(case["rows"][0]["values"])
    run = solve(SYSTEM, SYSTEM.setup(case["mode"], **case["given"]), level=case["level"], variant=case["variant"],
                mode=case["mode"], observe=names, at=[row["at"] for row in case["rows"]], rtol=1e-12)  # fmt: skip
    kinks = "activation" in case["given"]  # a run crosses hundreds of them, each found to the solver's tolerance
    for row in case["rows"]:
        found, loose = run.at(row["at"]), EARLIER if case["mode"] in ("algorithm_1", "algorithm_2") else 1e-9
        close(found["t"], row["t"], 1e-8 if row["at"] == "gap_peak" else loose)  # a maximum is flat
        for name, value in row["values"].items():
            is_difference = "gap" in name or name == "alpha_minus_gamma"
            slack = EARLIER if kinks else loose if is_difference else 1e-10
            assert found["values"][name] == pytest.approx(value, rel=loose, abs=slack, nan_ok=True), name


@pytest.mark.parametrize("case", cases("sweeps", lambda case: True))
def test_sweeps_give_the_corners_they_gave(case):
    axes = [Axis(name, tuple(values)) for name, values in case["axes"]]
    found = run_in_memory(
        make_sweep(SYSTEM, axes, case["quantities"], mode=case["mode"], fixed=case["given"], rtol=1e-12)
    )
    for name, values in case["values"].items():
        close(np.ravel(found.quantities[name]).tolist(), values)


def first_weights(setup):
    """The weights of W_5 that were recorded, by what they read: drawn as one array over slots and tokens."""
    n_x, (n_g, n_y) = setup["n_x"], sizes(setup["group"])
    d = n_x + n_g + n_y + 1
    with jax.enable_x64(True):
        key = jax.random.split(jax.random.key(setup["seed"]), 2)[1]
        W = setup["sigma_0"] * np.asarray(jax.random.normal(key, (d, setup["width"], 5, d - 1), float))
    variables, actions, values = slice(0, n_x), slice(n_x, n_x + n_g), slice(n_x + n_g, d - 1)
    return Given(V_g=W[:, :, 1, actions], V_y=W[:, :, 4, values], X=W[:, :, 0, variables], U=W[:, :, 2:4, variables])


@pytest.mark.parametrize("case", cases("finite", lambda case: (case["level"], case["variant"], case["mode"]) in QUICK))
def test_finite_levels_give_the_numbers_they_gave_from_the_same_weights(case):
    setup, at, names = SYSTEM.setup(case["mode"], **case["given"]), case["at"], list(case["values"])
    of = {"variant": case["variant"], "mode": case["mode"], "observe": names, "at": at}
    if case["mode"] in ("stage_1", "algorithm_1") and case["variant"] != "exchangeable":
        of["start"] = first_weights(setup)
    if case["level"] == "L0":
        run = train(SYSTEM, setup, **of, records=1)
    else:
        run = solve(SYSTEM, setup, level=case["level"], **of, rtol=1e-10, solver="tsit5")
    for name, values in case["values"].items():
        close(run[name][-len(at) :].tolist(), values, 5e-8)
