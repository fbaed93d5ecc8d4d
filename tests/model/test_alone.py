"""One mode of a model as a model of its own, with some of its declaration replaced."""

import pytest

import flowsys as fs

MODEL = fs.Model(
    "two_modes",
    parameters={"k": fs.Real(2.0, 0.1, 10)},
    blocks=lambda p: {"u": fs.Direct(start=1.0), "v": fs.Direct(start=1.0)},
    loss=lambda ops, w, X, p: (p.k * w.u**2 + w.v**2) / 2,
    events={"u_half": fs.Crossing("u", 0.5, -1, modes=("both",)), "v_half": fs.Crossing("v", 0.5, -1, modes=("one",))},
    stages={"both": [fs.Stage("all")], "one": [fs.Stage("second", trains=("v",))]},
    modes={"both": "both move", "one": "one moves"},
)


def test_a_mode_alone_runs_as_it_does_in_the_model():
    alone = MODEL.alone("one")
    assert tuple(alone.modes) == ("one",) and tuple(alone.events) == ("v_half",)
    ours, theirs = (fs.solve(system, mode="one", level="L2", at=["v_half"]) for system in (alone, MODEL))
    assert ours.t[0] == theirs.t[0] == pytest.approx(0.6931472, rel=1e-6) and ours["u"][0] == 1.0


def test_what_is_replaced_is_another_reading_of_it():
    other = MODEL.alone("both", loss=lambda ops, w, X, p: (p.k * w.u**2 - w.v**2) / 2)
    end = fs.solve(other, level="L2", at=[1.0], k=3.0)
    assert (end["u"][0], end["v"][0]) == pytest.approx((0.0497871, 2.7182818), rel=1e-6)
