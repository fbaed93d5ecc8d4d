"""Statements on windows: proven, with zeros at open ends too; refused once changed; declined if false."""

import json

import pytest

pytest.importorskip("flint", reason="the extra `proof` is not installed")

from flint import arb
from test_enclosures import problem_of

import flowsys as fs
from flowsys.errors import InputError
from flowsys.proof.algebra import Algebra, Unknown
from flowsys.proof.checker import Refused, verify
from flowsys.proof.exact import Exact
from flowsys.proof.proving import prove_problem
from flowsys.proof.stating import Stated
from flowsys.systems.mixture.claims.stage_2 import TWENTY_SIGNS

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


def refused(content, path, match):
    path.write_text(json.dumps(content))
    with pytest.raises(Refused, match=match):
        verify(str(path))


def test_the_twenty_signs_of_lemma_E_5_are_proven_from_their_exact_zeros(tmp_path):
    system = fs.load("mixture")
    texts = [f"{name} {'>' if sign > 0 else '<'} 0 on (T_1, 21]" for name, sign in TWENTY_SIGNS.items()]
    proof = fs.prove(system, system.setup(), observe=[], state=texts)
    assert not proof.declined and len(proof.signs) == 20
    orders = {sign.stated.left: sign.order for sign in proof.signs}
    assert orders["S_cv_same"] == 1 and orders["S_vv_same"] == 2 and orders["S_cc_diff"] == 4
    path = tmp_path / "signs.json"
    proof.save(str(path))
    assert len(verify(str(path))["statements"]) == 20
    content = json.loads(path.read_text())
    signs = {statement["text"]: statement for statement in content["statements"]}
    higher = signs["S_vv_same < 0 on (T_1, 21]"]
    higher["order"] += 1
    refused(content, path, "not proven to start from a zero of order 3")
    higher["order"] -= 1
    signs["S_cv_same > 0 on (T_1, 21]"]["text"] = "S_cv_same < 0 on (T_1, 21]"
    refused(content, path, "S_cv_same")


def test_the_algebra_finds_zeros_and_claims_no_others():
    algebra = Algebra()
    x, y = algebra.unknown("x"), algebra.number(Exact.parse("1/3"), "y")
    assert (x.exp() * y - y * x.exp()).is_zero() and (1 / x - 1 / x).is_zero()
    assert not (x - y).is_zero() and not (x.exp() - x).is_zero()
    t = algebra.series([algebra.constant(0), algebra.constant(1)], 5)
    assert ((1 + t).log().exp() - (1 + t)).is_zero() and ((1 + t).sqrt() * (1 + t).sqrt() - 1 - t).is_zero()
    with pytest.raises(Unknown, match="rounding"):
        _ = x * (arb(1) / 3)


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
