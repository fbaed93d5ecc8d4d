"""A certificate holds, and the checker refuses it once anything in it is altered."""

import copy
import json
from fractions import Fraction

import pytest

pytest.importorskip("flint", reason="the extra `proof` is not installed")

import flowsys as fs
from flowsys.proof.certificate import written
from flowsys.proof.checker import Refused, verify
from flowsys.proof.checker.reading import fraction


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    system = fs.load("mixture")
    proof = fs.prove(system, system.setup(), mode="three_stage", at=["T_0.5", 1.5], observe=["w_c", "loss"])
    assert not proof.declined
    path = tmp_path_factory.mktemp("proof") / "certificate.json"
    proof.save(str(path))
    return json.loads(path.read_text())


def verified(content, tmp_path):
    path = tmp_path / "altered.json"
    path.write_text(json.dumps(content))
    return verify(str(path))


def test_it_holds(certificate, tmp_path):
    assert verified(certificate, tmp_path)["statements"]
    assert any(piece["kind"] == "passage" for piece in certificate["pieces"])


def last_step(content):
    return [piece for piece in content["pieces"] if piece["kind"] == "step"][-1]


def shift_result(content):
    """Every constant term by twice the bound."""
    step = last_step(content)
    bound = 2 * max(fraction(e) for e in step["errors"])
    step["polynomials"] = [[written(fraction(p[0]) + bound * 4), *p[1:]] for p in step["polynomials"]]


def alter_coefficient(content):
    step = last_step(content)
    step["polynomials"][1][3] = written(fraction(step["polynomials"][1][3]) + Fraction(1, 2**60))


def wrong_digest(content):
    content["problem"]["digest"] = "0" * 64


def other_program(content):
    content["problem"]["program"] = content["problem"]["program"].replace("1/K", "2/K", 1)


def shorten_error(content):
    step = last_step(content)
    step["errors"] = [step["errors"][0], *(written(fraction(e) / 2) for e in step["errors"][1:])]


def understate_residual(content):
    step = last_step(content)
    step["residual"] = written(fraction(step["residual"]) / 1000)


def understate_norm(content):
    step = last_step(content)
    step["norms"] = [written(fraction(n) - 1) for n in step["norms"]]


def flip_gate(content):
    step = last_step(content)
    step["gates"] = [1 - gate for gate in step["gates"]]


def leave_out_a_piece(content):
    del content["pieces"][1]


def move_bracket(content):
    event = next(s for s in content["statements"] if s["kind"] == "event")
    event["low"], event["high"] = (
        written(fraction(event["low"]) + 1 / Fraction(2**40)),
        written(fraction(event["high"]) + 1 / Fraction(2**40)),
    )


def narrow_value(content):
    value = next(s for s in content["statements"] if s["kind"] == "value" and s["observable"] == "loss")
    low, high = map(fraction, value["between"])
    value["between"] = [written(low + (high - low) * 3 / 4), value["between"][1]]


def other_parameter(content):
    content["problem"]["stages"][0]["parameters"][2] = "51/100"


ALTERATIONS = [
    shift_result, alter_coefficient, wrong_digest, other_program, shorten_error, understate_residual, understate_norm,
    flip_gate, leave_out_a_piece, move_bracket, narrow_value, other_parameter,
]  # fmt: skip


@pytest.mark.parametrize("alter", ALTERATIONS, ids=lambda f: f.__name__)
def test_it_is_refused_once_altered(certificate, tmp_path, alter):
    content = copy.deepcopy(certificate)
    alter(content)
    with pytest.raises(Refused):
        verified(content, tmp_path)


def test_a_file_that_is_none_is_refused(tmp_path):
    path = tmp_path / "none.json"
    path.write_text("{}")
    with pytest.raises(fs.InputError, match="no certificate"):
        verify(str(path))
