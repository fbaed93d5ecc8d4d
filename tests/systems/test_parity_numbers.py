"""Every public number of the parity system at chosen set-ups, as it was when first computed, to 1e-9."""

import json
from pathlib import Path

import numpy as np
import pytest

from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.systems import load

PARITY = load("parity")
CASES = json.loads((Path(__file__).parent / "parity_numbers.json").read_text(encoding="utf-8"))


def told(case):
    return " ".join(map(str, [*case["of"].values(), *(f"{k}={v}" for k, v in case["parameters"].items())]))


@pytest.mark.parametrize("case", CASES, ids=told)
def test_numbers_are_those_on_record(case):
    setup, form = PARITY.setup(**case["parameters"]), case["of"]
    if form.get("level") == "L0":
        run = train(PARITY, setup, variant=form["variant"], steps=30, records=1)
        found = [(run.t[-1], {name: run[name][-1] for name in run})]
    else:
        run = solve(PARITY, setup, at=case["at"], rtol=1e-10, **({"level": "L3"} | form))
        found = [(row["t"], row["values"]) if row["reached"] else (None, {}) for row in run.rows]
    for (t, values), (expected_t, expected) in zip(found, case["rows"], strict=True):
        assert (t is None) == (expected_t is None)
        for name, value in expected.items():
            assert values[name] == pytest.approx(value, rel=1e-9, abs=1e-9), name
        assert t is None or np.isclose(t, expected_t, rtol=1e-9, atol=0)
