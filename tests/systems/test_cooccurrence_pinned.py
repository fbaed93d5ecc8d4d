"""Numbers of the co-occurrence limit and its surrogates on record, to 1e-9; finite levels from the weights on record.

The record (`cooccurrence_pins.npz`) was made by hand-written equations of every level, at rtol 1e-12: limits and
surrogates at events and times, corners of the named diagrams (looser, R would be noise of the solver beyond 1e-6), and
descent and flows from one set of weights.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.sweeps import Axis, make_sweep
from flowsys.sweeps.memory import run_in_memory
from flowsys.systems.cooccurrence import SYSTEM

PINS = np.load(Path(__file__).parent / "cooccurrence_pins.npz")
HEAD = json.loads(str(PINS["head"]))


FEW = (
    "loss test_loss tau clock c G_mu1 G_mu3 G_r2 d_G_mu2 S_12 S_31 S_2_r1 S_r3_1 S_r1_same_word S_r4_same_sample VV_12 "
    "KK_11 QQ_23 F_type2 d_F_type2 g_type3 R p_type1_1_2 p_type3_r_r least_margin attention_deviation"
).split()


def same(found, expected, tolerance=1e-9):
    scale = np.maximum(1.0, np.abs(expected))
    return np.abs(np.asarray(found) - expected) / scale <= tolerance


@pytest.mark.parametrize("case", HEAD["limits"], ids=lambda case: case["name"])
def test_limits_and_surrogates_keep_their_numbers(case):
    setup = SYSTEM.setup(case["mode"], **case["parameters"])
    run = solve(SYSTEM, setup, level=case["level"], variant=case["variant"], mode=case["mode"], at=case["at"],
                observe=case["names"], rtol=1e-12)  # fmt: skip
    expected = PINS[f"limit_{case['name']}"]
    assert sorted(run.labels) == sorted(case["labels"])
    # events may coincide: rows are told apart by what they are called
    mine, theirs = ([*zip(labels, np.argsort(np.argsort(t)) * np.array([label == "" for label in labels]))]
                    for labels, t in ((run.labels, run.t), (case["labels"], expected[:, 0])))  # fmt: skip
    rows = [mine.index(row) for row in theirs]
    found = np.column_stack([run.t, *(run.series[name] for name in case["names"])])[rows]
    wrong = np.argwhere(~same(found, expected))
    assert not len(wrong), [(case["labels"][i], (["t"] + case["names"])[j], found[i, j], expected[i, j])
                            for i, j in wrong[:5]]  # fmt: skip


@pytest.mark.parametrize("case", HEAD["corners"], ids=lambda case: case["axes"][0][0] + case["quantities"][0][:8])
def test_corners_of_the_diagrams_keep_their_numbers(case):
    axes = [Axis(name, tuple(values)) for name, values in case["axes"]]
    found = run_in_memory(make_sweep(SYSTEM, axes, case["quantities"], **case["options"])).quantities
    for name, values in case["values"].items():
        assert same(np.ravel(found[name]), np.array(values)).all(), name


@pytest.mark.parametrize("case", HEAD["finite"], ids=lambda case: case["mode"])
@pytest.mark.parametrize("number", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3, 4))])
def test_finite_levels_from_the_recorded_weights_keep_their_numbers(case, number):
    mode, run = case["mode"], case["runs"][number]
    start = {name: PINS[f"{mode}_{name}"] for name in ("W", "W_V", "W_K", "W_Q")}
    t, *expected = PINS[f"{mode}_run_{number}"]
    recorded = dict(zip(run["names"], expected))
    # every level reads its observables alike: all of them are looked at once in each mode
    names = run["names"] if run["variant"] == "small" else FEW
    setup = SYSTEM.setup(mode, **case["parameters"] | {"learning_rate": 0.05})
    if run["level"] == "L0":
        found = train(SYSTEM, setup, variant=run["variant"], mode=mode, steps=40, records=4, start=start, observe=names)
    else:
        found = solve(SYSTEM, setup, level=run["level"], variant=run["variant"], mode=mode, at=list(t), rtol=1e-12,
                      atol=1e-14, start=start, observe=names)  # fmt: skip
    wrong = [name for name in names if not same(found[name], recorded[name], 1e-8).all()]
    assert not wrong
