"""The parity limit derived: found by lumping against stated by hand, and the committed text against a fresh one."""

from pathlib import Path

import pytest

from derivations import parity as derivation
from flowsys.symbolic.assemble import assemble
from flowsys.systems import load
from flowsys.systems.parity import reduced
from flowsys.systems.parity.statement import position_statement

PARITY = load("parity")


@pytest.mark.parametrize(("n", "k", "classes"), [(4, 1, 4), (5, 3, 20)])
def test_lumping_finds_four_variables_a_position_and_sixteen_for_the_block(n, k, classes):
    found = PARITY.derive(PARITY.setup(n=n, k=k, m=3), "limit")
    assert (found.n_coordinates, found.n_classes) == (8 * k * (n + k), classes)
    assert found.certificate < 1e-14 and found.control > 1e-4 and found.agreement < 1e-14 and found.autodiff < 1e-12


def test_the_derivation_agrees_with_the_equations_written_by_hand():
    derivation.check_positions()
    derivation.check_block()
    derivation.check_invariants()


def test_the_agreement_notices_a_flipped_sign():
    theirs = derivation.stated_position()
    ours = {x: rate.subs(derivation.c, 2) for x, rate in derivation.flow(position_statement()).items()}
    with pytest.raises(ValueError, match="dg/dt differs"):
        derivation.agrees(ours, {x: -rate for x, rate in theirs.items()}, "a wrong position")


def test_the_committed_program_is_the_derived_one():
    assert str(assemble(position_statement())) == reduced.PROGRAM_POSITION


def test_the_page_holds_the_committed_equations():
    page = (Path(derivation.__file__).parent / "parity.md").read_text(encoding="utf-8")
    assert all(line in page for line in derivation.equations_of(position_statement()))
