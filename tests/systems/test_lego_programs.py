"""The LEGO limits' programs against autodiff and the oracle, what they observe, and set-ups that are refused."""

import jax
import numpy as np
import pytest

from flowsys.errors import InputError
from flowsys.model import ops
from flowsys.program.arrays import observed, vector_field
from flowsys.runs.solving import solve
from flowsys.systems import load
from flowsys.systems.lego import closed_forms, configurations, groups, stage_2
from flowsys.systems.lego.feedforward import feedforward, value_losses
from flowsys.systems.lego.isotropic import Layer
from flowsys.systems.lego.limits import limit_problem, program, stage_2_problem
from flowsys.systems.lego.stage_2 import Scores
from tests.systems import lego_oracle as oracle

SYSTEM = load("lego")


def rows(at, observe, mode="stage_2", **parameters):
    found = solve(SYSTEM, SYSTEM.setup(**parameters), mode=mode, at=list(at), observe=list(observe))
    assert not found.outcome.is_failure, found.outcome.sentence
    return found.rows


def values(at, observe, mode="stage_2", **parameters):
    return [row["values"] for row in rows(at, observe, mode, **parameters)]


def field_at(problem, y):
    return vector_field(problem.field.program, "exact", np)(np.asarray(y, dtype=float), problem.stages[0].arguments)


def observed_at(problem, y, names):
    read = observed(problem.field.program, tuple(names), "exact", np)
    return dict(zip(names, read(np.asarray(y, dtype=float), problem.stages[0].arguments)))


# -- the programs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clip", ["none", "smooth"])
@pytest.mark.parametrize("group", ["C3", "S4"])
def test_stage_1_program_is_the_four_equations(group, clip):
    setup = SYSTEM.setup(group=group, bias=0.1, C_B=0.5, clip=clip)
    y, (n_g, n_y) = [1.4, -0.3, 2.2, -0.1], groups.sizes(group)
    B = closed_forms.clip_level(0.5, 1e3) if clip == "smooth" else None
    theirs = oracle.isotropic_field(y, n_g, n_y, 1e3, 0.3, 4, 0.1, B)
    np.testing.assert_allclose(field_at(limit_problem(setup, "stage_1"), y), theirs, rtol=1e-12)


@pytest.mark.parametrize(("group", "n_x"), [("C5", 9), ("S3", np.inf)])
def test_stage_2_program_is_the_brute_force_sum(group, n_x):
    problem = limit_problem(SYSTEM.setup(group=group, n_x=n_x), "stage_2")
    y, by_step = [1.1, 0.2, 0.7, -0.3], {ell: oracle.brute_force(group, 2, ell) for ell in (1, 2)}
    features = closed_forms.final_features(*groups.sizes(group), closed_forms.clip_level(3, 1e3))
    theirs = oracle.attention_field(y, features, by_step, 2, 1e3, n_x, 0.3, 4, 0.1)
    np.testing.assert_allclose(field_at(problem, y), theirs, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("clip", ["none", "smooth"])
def test_stage_2_program_is_the_gradient_of_the_model_on_sampled_configurations(clip):
    setup, y = SYSTEM.setup(group="S3", n_x=12, L=7), Scores(1.5, 0.2, 1.1, -0.3)
    group = groups.named("S3")
    drawn = {ell: configurations.sequences(group, 7, 40, seed=ell) for ell in (1, 2, 5)}
    tables = [configurations.from_sequences(group, *drawn[ell], [ell])[0] for ell in drawn]
    features = closed_forms.final_features(6, 3, 14.0)
    nonlinearity = feedforward(np, setup, clip)
    problem = stage_2_problem(setup, Layer(group, features, 1e3, nonlinearity), tables)

    def loss(y):
        logits = lambda table: stage_2.logits(ops, y, features, table, nonlinearity)
        losses = lambda table: value_losses(ops, logits(table), table.target.argmax(1), 1e3, nonlinearity.F_0)
        return sum((table.weight * losses(table)).sum() for table in tables)

    with jax.enable_x64(True):
        theirs = -np.array(jax.jit(jax.grad(loss))(y)) * [1, 1 / 11, 1, 1 / 11]
    np.testing.assert_allclose(field_at(problem, y), theirs, rtol=1e-10, atol=1e-14)


def test_the_loss_keeps_its_digits_where_it_is_tiny():
    setup = SYSTEM.setup(C_B=15, group="C3")
    problem = limit_problem(setup, "stage_2")
    found = observed_at(problem, [14.0, 0.0, 14.0, 0.0], ["log_loss", "loss_1", "loss_2"])
    assert found["loss_1"] + found["loss_2"] < 1e-40
    assert found["log_loss"] == pytest.approx(np.log(2 * 997) - closed_forms.clip_level(15, 1e3), abs=0.3)


def test_rates_are_the_derivatives_of_what_they_name():
    problem = limit_problem(SYSTEM.setup(group="C4", n_x=7, L=3), "stage_2")
    y = np.array([0.9, -0.1, 0.6, 0.1])
    step, ahead = 1e-5, field_at(problem, y)
    names = ("gap", "eps_attention", "log_eps")
    after, before = (observed_at(problem, y + s * step * ahead, names) for s in (1, -1))
    rates = observed_at(problem, y, ["gap_rate", "eps_rate", "log_eps_rate"])
    slopes = [(after[n] - before[n]) / (2 * step) for n in names]
    assert list(rates.values()) == pytest.approx(slopes, rel=1e-7)


def test_other_powers_and_activations_are_derived_when_asked_for():
    assert program("stage_1", 10, "azl", "none").kinks == ()
    assert len(program("stage_1", 4, "azl", "hard").kinks) == 2
    assert len(program("stage_2", 4, "even", "none").kinks) > 0


def test_a_long_chain_is_sampled_and_a_short_one_exact():
    n_rows = lambda L: len(configurations.expectation(groups.named("S4"), L, [2], 50, 0)[0].weight)
    assert (n_rows(2), n_rows(8)) == (24 * 4, 50)


# -- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "mode", "sentence"),
    [
        ({"q": 5}, "stage_1", "q = 5 is not allowed: it must be an even integer"),
        ({"d": 4.5}, "stage_2", "d = 4.5 is not allowed: it must exceed"),
        ({"group": "D4"}, "stage_2", "group = D4 is not allowed"),
        ({"n_x": 4, "L": 4}, "stage_2", "a chain needs L . 1 distinct variables"),
        ({"L": 6}, "algorithm_2", "it must be a power of 2"),
    ],
)
def test_bad_parameters_are_refused_with_a_sentence(parameters, mode, sentence):
    with pytest.raises(InputError, match=sentence):
        solve(SYSTEM, SYSTEM.setup(**parameters), mode=mode, at=["loss_threshold"])


def test_limits_of_one_stage_are_refused_for_the_other():
    with pytest.raises(InputError, match=r"mode = stage_2 is not allowed at level L3 \(many_variables\)"):
        solve(SYSTEM, SYSTEM.setup(), variant="many_variables", at=[1.0])
