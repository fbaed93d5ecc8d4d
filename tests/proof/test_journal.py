"""A proof that is broken off goes on from where it was, to the same result."""

import pytest

pytest.importorskip("flint", reason="the extra `proof` is not installed")

from test_enclosures import linear_program, problem_of

from flowsys.proof.certificate import piece_content
from flowsys.proof.proving import prove_problem
from flowsys.system.problem import Event

# a step at y0 = 3/4 on the way: a passage is among what is kept
KINKED = linear_program([[-0.125, 1], [-1, -0.25]]).replace("d0 = ", "x = y0 - 3/4\n    d0 = step(x)/8 + ")


class BrokenOff(Exception):
    pass


def content(piece):
    """All of a piece but the radii of a passage's tube, which are rounded up once more as they are read."""
    found = piece_content(piece)
    return found | {"tube": [middle for middle, _ in found["tube"]]} if found["kind"] == "passage" else found


def proven(journal, stop_after=None):
    steps = []

    def told(t, error):
        steps.append(t)
        if stop_after == len(steps):
            raise BrokenOff

    problem = problem_of(KINKED, [0.5, 1.0], events=[Event("down", "y0", 0.25, -1)])
    proof = prove_problem(problem, ["down", 9.0], ("y0",), tolerance=1e-16, journal=journal, on_progress=told)
    return proof, len(steps)


def test_a_proof_that_was_broken_off_goes_on_without_loss(tmp_path):
    whole, n = proven(None)
    assert any(piece_content(piece)["kind"] == "passage" for piece in whole.pieces[: n - 3])
    with pytest.raises(BrokenOff):
        proven(tmp_path, n - 3)
    (kept,) = tmp_path.iterdir()
    kept.write_text(kept.read_text() + '{"after": 3, "pie')  # a line that was cut off
    resumed, more = proven(tmp_path)
    assert more == 3 and not list(tmp_path.iterdir())
    assert list(map(content, resumed.pieces)) == list(map(content, whole.pieces))
    assert resumed.events == whole.events
    assert [row.radius for row in resumed.rows] == [row.radius for row in whole.rows]


def test_another_problem_does_not_take_what_is_kept(tmp_path):
    with pytest.raises(BrokenOff):
        proven(tmp_path, 2)
    other = problem_of(KINKED, [0.5, 0.875], events=[Event("down", "y0", 0.25, -1)])
    prove_problem(other, [0.25], ("y0",), tolerance=1e-16, journal=tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
