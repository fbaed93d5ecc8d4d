"""Events of single modes, and starts given to forms that are stated."""

import numpy as np
import pytest

import flowsys as fs
from flowsys.errors import InputError
from flowsys.program import Program
from flowsys.program.arrays import arguments
from flowsys.system.problem import Problem, ProgramField, Stage

TEXT = Program.parse("state x\nparameters rate\nonce:\n    d_x = -rate*x\nderivative x = d_x\nobserve x = x\n")


def decay(setup, mode):
    stage = Stage("decay", arguments(TEXT, {"rate": 1.0}))
    return Problem(ProgramField(TEXT), np.array([1.0]), (stage,), t_max=10.0, default_at=(1.0,))


def model(**more):
    return fs.Model(
        "modes",
        blocks=lambda p: {"v": fs.Direct(start=1.0)},
        loss=lambda ops, w, X, p: w.v**2 / 2,
        stages={"first": [fs.Stage("one")], "second": [fs.Stage("two")]},
        variants={"L3": {"decay": ("x' = -x", decay)}},
        t_max=10.0,
        **more,
    )


def test_a_mode_may_have_some_forms_only_and_a_stated_form_observables_of_its_own():
    made = model(forms={"second": {"L3": ["decay"]}}, stated={"x": "what is left"})
    assert made.observables["x"] == "what is left" and made.problem(made.setup("second"), "L3", mode="second")
    for level, variant in (("L2", None), ("L3", "found")):
        assert made.problem(made.setup("first"), level, variant, "first")
        with pytest.raises(InputError, match=f"second is not allowed at level {level} .*: it has L3 .decay. only"):
            made.problem(made.setup("second"), level, variant, "second")
    with pytest.raises(InputError, match="mode = second is not allowed at level L0"):
        fs.train(made, made.setup("second"), mode="second", steps=1)


def test_a_mode_has_its_own_events():
    half = fs.Crossing("loss", 0.1, -1, modes=("second",))
    made = model(events={"half": half, "late": fs.Mark(2.0, modes=("first",))})
    first, second = (made.problem(made.setup(mode), "L2", mode=mode) for mode in ("first", "second"))
    assert ([e.name for e in first.events], list(first.marks)) == ([], ["late"])
    assert ([e.name for e in second.events], list(second.marks)) == (["half"], [])
    assert (first.default_at, second.default_at) == (("late",), ("half",))
    with pytest.raises(InputError, match="event half is one of mode third; there are first, second"):
        model(events={"half": fs.Crossing("loss", 0.1, -1, modes=("third",))})


def test_a_stated_form_starts_where_it_is_told():
    made = model()
    run = fs.solve(made, level="L3", at=[1.0], observe=["x"], start={"x": 3.0}, rtol=1e-10)
    assert run["x"][0] == pytest.approx(3 * np.exp(-1), rel=1e-8)
    with pytest.raises(InputError, match=r"start: y is not a coordinate of the state at L3 \(decay\); there are x"):
        fs.solve(made, level="L3", start={"y": 3.0})


def test_a_mode_is_refused_at_a_level_that_it_does_not_have():
    model = fs.Model(
        "two_modes",
        blocks=lambda p: {"v": fs.Direct(start=0.1 if p.mode == "plain" else lambda rng: rng.standard_normal())},
        loss=lambda ops, w, X, p: (w.v - 1) ** 2,
        stages={mode: [fs.Stage("all")] for mode in ("plain", "drawn")},
        modes={"plain": "from .1", "drawn": "from a normal number"},
        forms={"drawn": ("L0", "L1", "L2")},
    )
    assert fs.solve(model, at=[1.0])["v"][0] > 0.5
    assert fs.solve(model, level="L2", mode="drawn", at=[9.0])["v"][0] == pytest.approx(1, abs=1e-6)
    with pytest.raises(
        InputError, match=r"drawn is not allowed at level L3 \(found\): it has L0 \(weights\), L1 \(weights\), L2"
    ):
        fs.solve(model, mode="drawn", at=[1.0])
    assert not model.columns(model.setup(), "L3", "found", "drawn")
