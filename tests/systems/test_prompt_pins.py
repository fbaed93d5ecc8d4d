"""Numbers that no change of the package may move: every observable of the limits at events and times, to 1e-9.

`prompt_numbers.json` holds them, printed to 13 digits from runs at rtol 1e-11.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from flowsys import load, solve, train

SYSTEM = load("prompt")
NUMBERS = json.loads(Path(__file__).with_name("prompt_numbers.json").read_text())
DERIVED = 6  # programs of this many steps and more are not packaged


def named(case):
    return " ".join([case.get("mode", ""), case.get("level", ""), *(f"{k}={v}" for k, v in case["given"].items())])


def close(found, expected):
    """To 1e-9 of the value; what is 0 up to rounding stays so."""
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, id=named(c), marks=[pytest.mark.slow] * (c["given"].get("K", 3) >= DERIVED)) for c in
     NUMBERS["runs"]],
)  # fmt: skip
def test_limits_give_the_numbers_they_gave(case):
    names = list(case["rows"][0]["values"])
    run = solve(SYSTEM, SYSTEM.setup(**case["given"]), level=case["level"], mode=case["mode"], observe=names,
                at=[row["at"] for row in case["rows"]], rtol=1e-11)  # fmt: skip
    for row in case["rows"]:
        found = run.at(row["at"])
        close(found["t"], row["t"])
        close(dict(found["values"]), row["values"])


@pytest.mark.parametrize("case", NUMBERS["tested"], ids=named)
def test_tests_of_the_limit_give_the_numbers_they_gave(case):
    names = list(case["values"])
    setup = SYSTEM.setup(**case["given"], n_prompts=300)
    run = solve(SYSTEM, setup, at=[0.0, 300.0, 2e5], observe=names, rtol=1e-11)
    for name in names:
        assert run[name].tolist() == pytest.approx(case["values"][name], rel=1e-9, nan_ok=True)


def frame_entries(M, K):
    i, j = np.indices((2 * M + K, M + K))
    return 0.1 * np.cos(3.0 * i + 7.0 * j)


@pytest.mark.parametrize("case", NUMBERS["finite"], ids=lambda c: f"{c['how']} {named(c)}")
def test_finite_levels_give_the_numbers_they_gave_from_the_same_weights(case):
    setup, names = SYSTEM.setup(**case["given"]), list(case["rows"][0]["values"])
    at = [row["at"] for row in case["rows"]]
    if case["level"] == "L0":
        run = train(SYSTEM, setup, variant=case["how"], at=at, observe=names, records=1)
    else:
        start = {"W": frame_entries(setup["M"], setup["K"])} if case["how"] == "start" else None
        run = solve(SYSTEM, setup, level="L2", at=at, observe=names, rtol=1e-11, start=start)
    for row in case["rows"]:
        close(dict(run.at(row["at"])["values"]), row["values"])
