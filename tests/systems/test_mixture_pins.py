"""Numbers that no change of the package may move: every observable of limits and surrogates at events and times.

`mixture_pins.json` holds them, printed to 13 digits from runs of hand-written equations at rtol 1e-11.
"""

import json
from pathlib import Path

import pytest

from flowsys import load, solve

SYSTEM = load("mixture")
CASES = json.loads(Path(__file__).with_name("mixture_pins.json").read_text())


def named(case):
    return " ".join([case["variant"], case["mode"], *(f"{k}={v}" for k, v in case["given"].items())])


@pytest.mark.parametrize("case", CASES, ids=named)
def test_limits_and_surrogates_give_the_numbers_they_gave(case):
    names = list(case["rows"][0]["values"])
    run = solve(SYSTEM, SYSTEM.setup(**case["given"]), level=case["level"], variant=case["variant"], mode=case["mode"],
                at=[row["at"] for row in case["rows"]], observe=names, rtol=1e-11)  # fmt: skip
    for row in case["rows"]:
        found = run.at(row["at"])
        assert found["t"] == pytest.approx(row["t"], rel=1e-9)
        assert dict(found["values"]) == pytest.approx(row["values"], rel=1e-9, abs=1e-9)


def test_a_number_that_moved_is_noticed():
    row = CASES[0]["rows"][-1]
    wrong = {name: value + 1e-8 for name, value in row["values"].items()}
    assert wrong != pytest.approx(row["values"], rel=1e-9, abs=1e-9)
