"""The paper's bounds are judged as bounds: also where our sharper laws no longer hold (a long stage 1)."""

import pytest

import flowsys as fs
from flowsys.claims.conditions import Conditions

S = fs.load("mixture")
CLAIMS = {claim.id: claim for claim in S.claims}


def verdict(id: str, **parameters: float):
    return CLAIMS[id].check(S, Conditions(parameters=tuple(parameters.items())))


@pytest.mark.parametrize(
    ("id", "parameters"),
    [("E.3", {"T_1": 2.0}), ("E.2", {"T_1": 1000.0}), ("F.3", {"T_1": 1000.0}), ("4.1-T_3", {"T_1": 1000.0}),
     ("4.1-T_3", {"s_star": 0.02}), ("E.6", {"T_1": 1000.0})],
)  # fmt: skip
def test_a_bound_holds_away_from_the_default(id, parameters):
    assert str(verdict(id, **parameters).word) == "holds"


def test_beyond_T_2_the_flow_slides_where_the_gate_has_closed():
    """Against the run itself: the preactivation stays 0 from the time that the claim names."""
    found = verdict("E.6-slide", T_1=1000.0).values
    times = found["t"] + 0.01, found["t"] + 50.0
    run = fs.solve(S, S.setup(T_1=1000.0, s_star=20.0), at=[found["t"] - 1.0, *times], rtol=1e-10)
    gate = run["preactivation_minus_conflicting"]
    assert found["t"] == pytest.approx(1203.8, abs=0.1) and found["score"] < found["highest"] < 5
    assert gate[0] > 1e-4 and abs(gate[1:]).max() < 1e-9
