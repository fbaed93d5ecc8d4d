"""Numbers that no change of the package may move: every observable of the limits at events and times, to 1e-9.

`prompt_numbers.json` holds them, printed to 13 digits from runs at rtol 1e-11.
"""

import json
from pathlib import Path

import pytest

from flowsys import load, solve

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
