"""What `flowsys derive` certifies, on a two-layer linear network: stated mode by mode, found by lumping."""

import numpy as np
import pytest
import sympy as sp
from typer.testing import CliRunner

import flowsys as fs
import flowsys.systems
from flowsys.cli import app
from flowsys.errors import InputError
from flowsys.program.arrays import arguments, vector_field
from flowsys.symbolic.assemble import Statement, assemble, symbol
from flowsys.symbolic.derivation import Derivation
from flowsys.symbolic.flow import Gram, pair
from flowsys.symbolic.lumping import describe, merged
from flowsys.symbolic.render import flow_equations, loss_equations
from flowsys.system import System, Variants
from flowsys.system.references import Paper
from tests.symbolic.plain_lumping import certificate, lump

TEACHER = np.diag([2.0, 1.0])
UPPER = np.triu_indices(4)
NAMES = tuple(f"M_{i}{j}" for i, j in zip(*UPPER))
WHERE = {"KK_1": "M_00", "S_1": "M_02", "QQ_1": "M_22", "KK_2": "M_11", "S_2": "M_13", "QQ_2": "M_33"}


def full(y: np.ndarray) -> np.ndarray:
    """dM/dt = -(ΓM + MΓ) of L = |S - diag(s)|²/2, S the off-diagonal block of the 4 × 4 matrix M."""
    M = np.zeros((4, 4))
    M[UPPER] = y
    M = M + np.triu(M, 1).T
    G = M[:2, 2:] - TEACHER
    Γ = np.block([[np.zeros((2, 2)), G], [G.T, np.zeros((2, 2))]])
    return -(Γ @ M + M @ Γ)[UPPER]


START = 0.01 * np.eye(4)[UPPER]
FOUND = lump(full, START)


def derived(factor: float = 1, field=full, control: float | None = 0.5) -> Derivation:
    """The network's limit, the loss of its first mode off by a factor."""
    one = lambda name: sp.Matrix([[symbol(name)]])
    blocks = [Gram(pair(one(f"KK_{i}"), one(f"S_{i}"), one(f"QQ_{i}"))) for i in (1, 2)]
    loss = factor * (symbol("S_1") - symbol("s")) ** 2 / 2 + (symbol("S_2") - 1) ** 2 / 2
    statement = Statement(blocks, (symbol("s"),), loss)
    program, latex = assemble(statement), {"S_1": "S_1", "s": "s"}
    at = [NAMES.index(WHERE[name]) for name in program.state]
    y = FOUND.lift(np.random.default_rng(0).standard_normal(FOUND.n_classes))
    ours = vector_field(program, "exact", np)(y[at], arguments(program, {"s": 2.0}))
    words = describe(FOUND, NAMES)
    return Derivation(
        program=program, equations=flow_equations(statement, latex), loss=loss_equations(statement, latex),
        size="2 modes", n_coordinates=len(NAMES), n_classes=FOUND.n_classes, alike=words.alike, classes=words.classes,
        certificate=certificate(field, FOUND), control=control, unlike=("S_1", "S_2"),
        agreement=float(np.abs(ours - full(y)[at]).max()), seconds=0.0, statement=statement,
    )  # fmt: skip


def no_problem(*_):
    raise InputError("the toy is only derived.")


def run(derivation: Derivation, monkeypatch, *options: str):
    levels = {"L3": Variants(("6",), ("the limit",))}
    toy = System("toy", Paper("toy", "Toy", ""), "", (), {"flow": ""}, levels, {}, {}, no_problem,
                 derive=lambda setup, variant: derivation)  # fmt: skip
    monkeypatch.setattr(flowsys.systems, "load", lambda name: toy)
    return CliRunner().invoke(app, ["derive", "toy", *options])


def test_a_right_derivation_ends_with_exit_code_0(monkeypatch):
    answer = run(derived(), monkeypatch)
    assert answer.exit_code == 0 and answer.stderr == ""


@pytest.mark.parametrize("format", ["text", "latex", "markdown", "html", "program", "json"])
def test_a_statement_that_disagrees_with_the_model_ends_with_exit_code_1(format, monkeypatch):
    answer = run(derived(factor=1.001), monkeypatch, "--format", format)
    assert answer.exit_code == 1
    assert "the stated program and the found one differ by" in answer.stderr
    assert len(answer.stderr.splitlines()) == 1


@pytest.mark.parametrize("bent", [lambda y: full(y) + 1e-3 * np.arange(10) * y, lambda y: full(y) * np.nan])
def test_a_subspace_that_the_flow_leaves_is_a_fault_also_where_it_is_no_number(bent):
    assert any("leaves the lumped subspace" in fault for fault in derived(field=bent).faults)


def test_the_control_passes_over_classes_that_may_be_merged():
    assert certificate(full, merged(FOUND, 0, 1)) < 1e-15  # KK = S is invariant too, so this pair shows nothing
    model = fs.Model("linear", blocks=lambda p: {"S": fs.Pair(1, 1, scale=0.1), "v": fs.Direct(start=0.3)},
                     loss=lambda ops, w, X, p: ((w.S - 2.0) ** 2).sum() / 2 + (w.v - 1.0) ** 2 / 2)  # fmt: skip
    found = fs.derive(model)
    assert len(found.program.state) == 3 and found.program.state[2] == "v"
    assert found.unlike == (found.program.state[0], "v") and found.control > 1e-3


def test_without_a_control_derive_says_so_and_ends_with_exit_code_1(monkeypatch):
    answer = run(derived(control=None), monkeypatch)
    assert answer.exit_code == 1
    assert "no control found" in answer.stdout and "no control found" in answer.stderr


def test_the_loss_and_its_gradient_are_shown(monkeypatch):
    for format in ("latex", "markdown"):
        shown = run(derived(), monkeypatch, "--format", format).stdout
        assert r"\mathcal{L} = \frac{\left(S_{1} - s\right)^{2}}{2} + \frac{\left(S_{2} - 1\right)^{2}}{2}" in shown
        assert r"\partial_{S_{2}}\mathcal{L} = S_{2} - 1" in shown
