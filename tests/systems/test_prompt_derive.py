"""Derived programs against the oracle, wrapped against unwrapped labels, and the found limit beside the stated one."""

import numpy as np
import pytest
from prompt_oracle import Population, papers_velocity, planar_velocity

import flowsys as fs
from flowsys import load
from flowsys.program.arrays import arguments, observed, vector_field
from flowsys.systems.prompt.derive import derive
from flowsys.systems.prompt.limits import packaged, population_program
from flowsys.systems.prompt.symmetric import least_unwrapped_M

SYSTEM = load("prompt")


def point(program, seed=0):
    return np.random.default_rng(seed).standard_normal(len(program.state))


DERIVED = [pytest.param(M, K, marks=pytest.mark.slow) for M, K in ((40, 6), (29, 7), (50, 8))]


@pytest.mark.parametrize("M, K", [(4, 2), (7, 3), (20, 3), (57, 3), (11, 4), (16, 5), *DERIVED])
def test_packaged_and_derived_programs_are_the_oracle_at_every_number_of_steps(M, K):
    assert least_unwrapped_M(K) <= M
    program = population_program(K, M)
    y, oracle, numbers = point(program, M), Population(M, K, 0.35), arguments(program, {"M": M, "alpha": 0.35})
    assert np.abs(vector_field(program, "exact", np)(y, numbers) - oracle.velocity(0, y)).max() < 1e-15
    seen = observed(program, ("loss", "p_min", "mass_other_step_max", "mass_other_same"), "exact", np)(y, numbers)
    masses = oracle.masses(y)
    expected = (oracle.loss(y), masses[:, 0].min(), oracle.other_step_mass(y).max(), masses[:, 2].mean())
    assert seen == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("M, K", [(2, 2), (3, 2), (2, 3), (5, 3), (6, 3), (4, 4)])
def test_programs_of_one_integer_M_are_the_oracle_also_where_labels_wrap(M, K):
    program = population_program(K, M)
    y, oracle, numbers = point(program, M), Population(M, K, 0.35), arguments(program, {"M": M, "alpha": 0.35})
    assert np.abs(vector_field(program, "exact", np)(y, numbers) - oracle.velocity(0, y)).max() < 1e-15


def test_the_symbolic_program_is_wrong_where_labels_wrap():
    program, y = population_program(3, 7), 0.5 * np.ones(11)
    field = vector_field(program, "exact", np)
    for M, error in ((5, 1e-3), (6, 1e-5)):
        ours = field(y, arguments(program, {"M": M, "alpha": 0.4}))
        assert np.abs(ours - Population(M, 3, 0.4).velocity(0, y)).max() > error


def test_rate_of_a_mass_is_its_derivative_along_the_flow():
    program, oracle = population_program(3, 20), Population(20, 3, 0.4)
    y = point(program)
    rate = observed(program, ("rate_mass_other_same",), "exact", np)(y, arguments(program, {"M": 20, "alpha": 0.4}))
    dy, h = oracle.velocity(0, y), 1e-5
    mean = lambda y: oracle.masses(y)[:, 2].mean()
    assert rate[0] == pytest.approx((mean(y + h * dy) - mean(y - h * dy)) / (2 * h), rel=1e-6)


@pytest.mark.parametrize(("name", "printed"), [("PLANAR", planar_velocity), ("SURROGATE", papers_velocity)])
def test_programs_for_every_number_of_steps_are_the_printed_fields(name, printed):
    program = packaged(name)
    numbers = arguments(program, {"M": 20, "K": 3, "alpha": 0.4})
    ours = vector_field(program, "exact", np)(np.array([0.7, 1.3]), numbers)
    assert ours == pytest.approx(printed((0.7, 1.3), 20, 3, 0.4), rel=1e-14)


@pytest.mark.parametrize("M, K, n_entries, n_classes", [(5, 2, 84, 7), (5, 3, 104, 16)])
def test_derivation_finds_the_classes_and_certifies_itself(M, K, n_entries, n_classes):
    found = derive(SYSTEM.setup(M=M, K=K), "symmetric")
    assert (found.n_coordinates, found.n_classes) == (n_entries, n_classes)
    assert max(found.certificate, found.agreement, found.autodiff) < 1e-13 and found.control > 1e-3
    assert len(found.program.state) == 2 + K**2 == len(found.equations)


def test_the_found_limit_solves_as_the_stated_one():
    """All cycles of M = 4 patterns written out and lumped: the labels of K = 3 steps wrap around there."""
    setup, names = SYSTEM.setup(M=4, K=3, d_X=4), ["a", "H_21", "loss", "purity", "Gamma_same_other"]
    runs = [fs.solve(SYSTEM, setup, level="L3", variant=v, at=["T_1", "T_peak", 300.0], observe=names, rtol=1e-11)
            for v in ("symmetric", "found")]  # fmt: skip
    for name in names:
        assert runs[1][name] == pytest.approx(runs[0][name], rel=1e-8)
    assert runs[1].t == pytest.approx(runs[0].t, rel=1e-8)
