"""Derived programs against the oracle, wrapped against unwrapped labels, and lumping of the enumerated score flow."""

import numpy as np
import pytest
from prompt_oracle import Population, planar_velocity

from flowsys import load
from flowsys.program.arrays import arguments, observed, vector_field
from flowsys.symbolic.assemble import assemble
from flowsys.symbolic.found import found_statement
from flowsys.symbolic.lumping import certificate, lump, merged
from flowsys.systems.prompt.derive import derive
from flowsys.systems.prompt.enumerated import enumerated, generic_start, symmetric_of, unlumped_field
from flowsys.systems.prompt.limits import planar_program, population_program, wraps

SYSTEM = load("prompt")


def point(program, seed=0):
    return np.random.default_rng(seed).standard_normal(len(program.state))


@pytest.mark.parametrize("M, K", [(4, 2), (7, 3), (20, 3), (57, 3), (11, 4), (16, 5), (40, 6), (29, 7), (50, 8)])
def test_committed_programs_are_the_oracle_at_every_number_of_steps(M, K):
    assert not wraps(M, K)
    program = population_program(K)
    y, oracle, numbers = point(program, M), Population(M, K, 0.35), arguments(program, {"M": M, "alpha": 0.35})
    assert np.abs(vector_field(program, "exact", np)(y, numbers) - oracle.velocity(0, y)).max() < 1e-15
    seen = observed(program, ("loss", "p_min", "mass_other_step_max", "mass_other_same"), "exact", np)(y, numbers)
    masses = oracle.masses(y)
    expected = (oracle.loss(y), masses[:, 0].min(), oracle.other_step_mass(y).max(), masses[:, 2].mean())
    assert seen == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("M, K", [(2, 2), (3, 2), (2, 3), (5, 3), (6, 3), (20, 3), (4, 4)])
def test_programs_of_one_integer_M_are_the_oracle_also_where_labels_wrap(M, K):
    program = population_program(K, M)
    y, oracle, numbers = point(program, M), Population(M, K, 0.35), arguments(program, {"M": M, "alpha": 0.35})
    assert np.abs(vector_field(program, "exact", np)(y, numbers) - oracle.velocity(0, y)).max() < 1e-15


def test_the_symbolic_program_is_wrong_where_labels_wrap():
    program, y = population_program(3), 0.5 * np.ones(11)
    field = vector_field(program, "exact", np)
    for M, error in ((5, 1e-3), (6, 1e-5)):
        ours = field(y, arguments(program, {"M": M, "alpha": 0.4}))
        assert np.abs(ours - Population(M, 3, 0.4).velocity(0, y)).max() > error


def test_rate_of_a_mass_is_its_derivative_along_the_flow():
    program, oracle = population_program(3), Population(20, 3, 0.4)
    y = point(program)
    rate = observed(program, ("rate_mass_other_same",), "exact", np)(y, arguments(program, {"M": 20, "alpha": 0.4}))
    dy, h = oracle.velocity(0, y), 1e-5
    mean = lambda y: oracle.masses(y)[:, 2].mean()
    assert rate[0] == pytest.approx((mean(y + h * dy) - mean(y - h * dy)) / (2 * h), rel=1e-6)


def test_planar_program_is_the_printed_field():
    program = planar_program()
    numbers = arguments(program, {"M": 20, "K": 3, "alpha": 0.4})
    ours = vector_field(program, "exact", np)(np.array([0.7, 1.3]), numbers)
    assert ours == pytest.approx(planar_velocity(0, (0.7, 1.3), 20, 3, 0.4), rel=1e-14)


@pytest.mark.parametrize("M, K, from_zero", [(4, 2, 7), (4, 3, 16), (5, 3, 16)])
def test_lumping_finds_the_orbits_of_relabelling(M, K, from_zero):
    full = unlumped_field(M, K, 0.4)
    start = generic_start(M, K)
    found = lump(full, start)
    assert found.n_classes == 4 + 3 * K + K**2
    assert lump(full, 0 * start).n_classes == from_zero, "input × step and output × step entries stay 0"
    assert certificate(full, found) < 1e-13 < 1e-3 < certificate(full, merged(found, 0, 1))


def test_found_program_is_the_stated_one():
    """M = 4, K = 2: 48 prompts written out, of which six differ as expressions, on 7 classes."""
    partition = lump(unlumped_field(4, 2, 0.4), np.zeros(60))
    found, stated = assemble(found_statement(enumerated(4, 2), partition)), population_program(2)
    z = point(found)
    numbers = arguments(found, {"alpha": 0.4})
    assert observed(found, ("n_merged_samples",), "exact", np)(z, numbers)[0] == 6
    ours = symmetric_of(partition.lift(vector_field(found, "exact", np)(z, numbers)), 4, 2)
    theirs = vector_field(stated, "exact", np)(
        symmetric_of(partition.lift(z), 4, 2), arguments(stated, {"M": 4, "alpha": 0.4})
    )
    assert np.abs(ours - theirs).max() < 1e-14


def test_derivation_certifies_itself():
    found = derive(SYSTEM.setup(M=5, K=2))
    assert (found.n_coordinates, found.n_classes) == (84, 7)
    assert max(found.certificate, found.agreement) < 1e-13 and found.control > 1e-3
    assert len(found.program.state) == 6 and len(found.equations) == 6
