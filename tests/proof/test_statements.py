"""Statements on windows: proven, with zeros at open ends too; refused once changed; declined if false."""

import json

import pytest

pytest.importorskip("flint", reason="the extra `proof` is not installed")

from test_enclosures import problem_of

import flowsys as fs
from flowsys.errors import InputError
from flowsys.proof.checker import Refused, verify
from flowsys.proof.proving import prove_problem
from flowsys.proof.stating import Stated

# y = t and x = 3/2 t²: zeros of order 1 and 2 at the start
POWERS = (
    "state x y\nparameters \nonce:\n    a = 3*y\n    c = 0*y + 1\n"
    "derivative x = a\nderivative y = c\nobserve x = x\nobserve y = y\n"
)


def test_the_leading_derivative_decides_at_an_open_end():
    proof = prove_problem(problem_of(POWERS, [0.0, 0.0]), None, (), ["x > 0 on (0, 1]", "y - x/4 > 0 on (0, 1]"])
    assert not proof.declined
    assert [sign.order for sign in proof.signs] == [2, 1]


def test_what_is_false_or_touches_is_declined():
    texts = ["x < 0 on (0, 1]", "x > 0 on [0, 1]", "y < 1/2 at 1"]
    proof = prove_problem(problem_of(POWERS, [0.0, 0.0]), None, (), texts)
    assert not proof.signs and proof.declined.count("on") >= 2


def test_signs_of_lemma_E_5_are_proven_and_the_certificate_is_refused_once_changed(tmp_path):
    system = fs.load("mixture")
    texts = ["S_cv_same > 0 on (T_1, 25]", "S_vc_same < 0 on (T_1, 25]"]
    proof = fs.prove(system, system.setup(), observe=[], state=texts)
    assert not proof.declined and [sign.order for sign in proof.signs] == [1, 1]
    path = tmp_path / "signs.json"
    proof.save(str(path))
    assert len(verify(str(path))["statements"]) == 2
    content = json.loads(path.read_text())
    content["statements"][0]["text"] = texts[0].replace(">", "<")
    path.write_text(json.dumps(content))
    with pytest.raises(Refused, match="S_cv_same"):
        verify(str(path))


def test_a_statement_that_is_none_is_refused():
    with pytest.raises(InputError, match="not understood"):
        Stated.parse("w_c grows")
    system = fs.load("parity")
    with pytest.raises(InputError, match="does not observe"):
        fs.prove(system, system.setup(), state=["nothing > 0 at 1"])


def test_a_sign_for_all_values_of_a_parameter_in_an_interval(tmp_path):
    system = fs.load("mixture")
    texts = ["S_cv_same > 0 on (T_1, 25]"]
    interval = ("omega", 0.1, 0.1001)
    proof = fs.prove(system, system.setup(), observe=["S_cv_same"], at=[25.0], state=texts, interval=interval)
    assert not proof.declined and proof.signs
    path = tmp_path / "interval.json"
    proof.save(str(path))
    assert verify(str(path))["interval"] == ["omega", 0.1, 0.1001]
    value = proof.rows[0].values["S_cv_same"]
    for omega in (0.1, 0.10005, 0.1001):
        there = fs.solve(system, system.setup(omega=omega), at=[25.0], observe=["S_cv_same"], rtol=1e-10)
        assert value.lower() < there["S_cv_same"][0] < value.upper()


def test_a_parameter_that_moves_a_stage_is_no_interval():
    system = fs.load("mixture")
    with pytest.raises(InputError, match="T_1"):
        fs.prove(system, system.setup(), at=[1.0], interval=("T_1", 20, 21))
