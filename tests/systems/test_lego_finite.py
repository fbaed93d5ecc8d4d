"""LEGO at finite width: the closures on the weights, the ladder to the limits, descent, and lumping."""

from functools import cache

import numpy as np
import pytest

from flowsys.claims import Word
from flowsys.claims.conditions import Conditions
from flowsys.errors import InputError
from flowsys.runs.asking import start
from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.systems import load
from flowsys.systems.lego import groups
from flowsys.systems.lego.derive import derive, small

SYSTEM = load("lego")
SCORES = ("alpha", "beta", "gamma", "delta")


@cache
def attention(level, group, n_x, tau):
    n_g, n_y = groups.sizes(group)
    setup = SYSTEM.setup(group=group, n_x=n_x, d=n_x + n_g + n_y + 1)
    observe = [*SCORES, "loss", *(["score_spread"] if level != "L3" else [])]
    found = solve(SYSTEM, setup, level=level, at=[tau], observe=observe, rtol=1e-9, solver="auto")
    return {name: float(found[name][0]) for name in observe}


@pytest.mark.slow
@pytest.mark.parametrize(("level", "group", "n_x"), [("L2", "C3", 6), ("L1", "C3", 6), ("L1", "S3", 5)])
def test_full_attention_follows_the_four_variable_limit(level, group, n_x):
    finite, limit = attention(level, group, n_x, 33.0), attention("L3", group, n_x, 33.0)
    assert finite.pop("score_spread") < 1e-14
    assert list(finite.values()) == pytest.approx(list(limit.values()), abs=1e-6)


@pytest.mark.parametrize("trained_steps", ["first_two", pytest.param("all", marks=pytest.mark.slow)])
def test_chains_of_three_steps_follow_their_limit(trained_steps):
    given = {"group": "C2", "n_x": 4, "L": 3, "trained_steps": trained_steps}
    finite, limit = (
        solve(SYSTEM, SYSTEM.setup(**given, d=9.0, n_samples=4096), level=level, at=[3.0], rtol=1e-9, solver="auto",
              observe=(*SCORES, "eps_attention", "loss_1", "loss_2"))
        for level in ("L2", "L3")
    )  # fmt: skip
    # the third step's expectation is over 4096 drawn chains in the limit
    slack = 1e-7 if trained_steps == "first_two" else 0.02
    assert finite.states.shape[1] == 32
    for name in (*SCORES, "eps_attention", "loss_1", "loss_2"):
        assert finite[name][0] == pytest.approx(limit[name][0], abs=slack), name


def test_a_finite_level_counts_its_vocabulary():
    given = SYSTEM.setup(group="C3", n_x_finite=4, d=500.0, gap_target=0.02)
    there = SYSTEM.settled(given, "L2", "full", "stage_2")
    assert (there["d"], there["n_x"]) == (4 + 3 + 3 + 1, 4)
    assert there["alpha_1"] == pytest.approx(1 / np.log(11)) and there["gap_target"] == 0.02
    assert SYSTEM.settled(given, "L0", "weights", "stage_2") == there


@pytest.mark.parametrize(("name", "value"), [("sigma_0", 0.1), ("V_level", 2.0), ("miss_target", 0.25)])
def test_what_was_set_stays_where_a_level_counts_the_vocabulary(name, value):
    setup = SYSTEM.setup("stage_1", n_x_finite=3, **{name: value})
    settled = SYSTEM.settled(setup, "L2", "full", "stage_1")
    followed = {"sigma_0": 10**-0.5, "V_level": np.log(10) / 2, "miss_target": 10**-0.5} | {name: value}
    assert {n: settled[n] for n in followed} == pytest.approx(followed)
    assert SYSTEM.settled(settled, "L2", "full", "stage_1") == settled
    assert SYSTEM.settled(setup, "L2", "exchangeable", "stage_1")["d"] == 1000
    assert SYSTEM.settled(setup, "L3", "isotropic", "stage_1") is setup


def test_scores_features_weights_and_the_outside_logit_can_be_given():
    given = solve(SYSTEM, SYSTEM.setup(group="C3"), at=[0.0], observe=SCORES, start={"alpha": 0.3, "gamma": -0.1})
    assert [given[name][0] for name in SCORES] == [0.3, 0.0, -0.1, 0.0]
    first = solve(SYSTEM, mode="stage_1", at=[0.0], observe=("a", "e"), start={"a": 0.2, "e": -0.1})
    assert (first["a"][0], first["e"][0]) == (0.2, -0.1)
    weights = start(SYSTEM, level="L1", mode="stage_1", n_x=3, width=2)
    assert {name: array.shape for name, array in weights.items()} == {
        "V_g": (10, 2, 3), "V_y": (10, 2, 3), "X": (10, 2, 3), "U": (10, 2, 2, 3)
    }  # fmt: skip
    # at the start of stage 1 all logits are small, and d - n_y classes have F_0
    setups = [SYSTEM.setup("stage_1", d=1e6, F_0=F) for F in (0.0, 3.0)]
    losses = [solve(SYSTEM, setup, mode="stage_1", at=[0.0], observe=["loss"])["loss"][0] for setup in setups]
    assert losses[1] - losses[0] == pytest.approx(3, abs=1e-4)


LAYER = {"bias": 0.3, "rho": 0.5, "sigma_0": 0.15, "clip": "none"}


@pytest.mark.parametrize(
    ("group", "n_x", "width", "time"), [("C3", 3, 2, 25.0), pytest.param("S3", 4, 4, 40.0, marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_inner_products_follow_the_weights(group, n_x, width, time):
    setup = SYSTEM.setup(group=group, n_x=n_x, width=width, **LAYER)
    run = lambda level: solve(
        SYSTEM, setup, mode="stage_1", level=level, at=[time], observe=["loss"], rtol=1e-9, solver="tsit5"
    )
    weights, reduced = run("L1").blocks(time), run("L2").blocks(time)
    assert max(np.abs(weights[name] - reduced[name]).max() for name in ("V_g", "V_y", "X")) < 1e-6
    assert np.abs(weights["U"].sum(axis=2) - reduced["U"]).max() < 1e-6 < 0.2 < np.abs(reduced["V_g"]).max()


@cache
def layer(variant, level, **changes):
    setup = SYSTEM.setup(group="C3", bias=0.02, rho=0.5, sigma_0=0.02, clip="none", width=4, **changes)
    return solve(SYSTEM, setup, mode="stage_1", level=level, variant=variant, at=[2000.0], observe=["V_psi", "loss"],
                 solver="tsit5").states[-1]  # fmt: skip


@pytest.mark.slow
def test_exchangeable_slots_tend_to_many_variables_like_one_over_their_number():
    limit = layer("many_variables", "L3")
    errors = [np.abs(layer("exchangeable", "L2", n_x=n_x) - limit)[: 3 * 4 * 6].max() for n_x in (1000, 4000)]
    assert 3 < errors[0] / errors[1] < 5


@pytest.mark.slow
def test_a_far_horizon_does_not_hide_how_attention_begins():
    # both blocks start at 0 and saturate: a first step in proportion to t_max would leap over both stages
    setups = [SYSTEM.setup(group="C3", n_x_finite=3, t_max=horizon) for horizon in (1e13, 10.0)]
    far, near = (solve(SYSTEM, setup, level="L2", observe=("alpha",)) for setup in setups)
    assert far.labels == near.labels == ("stage_2_1", "stage_2_2")
    assert far.t == pytest.approx(near.t, rel=1e-6) and far["alpha"][1] == pytest.approx(1, abs=1e-9)


def test_gradient_descent_of_attention_is_first_order_in_the_learning_rate():
    limit = attention("L3", "C3", 6, 10.0)
    errors = []
    for rate in (0.2, 0.1):
        setup = SYSTEM.setup(group="C3", n_x=6, learning_rate=rate)
        found = train(SYSTEM, setup, at=[10.0], observe=list(SCORES), records=1)
        errors.append(max(abs(found[name][-1] - limit[name]) for name in SCORES))
    assert 1.6 < errors[0] / errors[1] < 2.5


@pytest.mark.slow
def test_algorithm_1_trains_the_layer_first_and_attention_after():
    setup = SYSTEM.setup(group="C2", n_x=3, width=2, learning_rate=0.5, T_1=30.0, **LAYER)
    found = train(SYSTEM, setup, mode="algorithm_1", at=[60.0], records=2)
    assert found["alpha"][:2].tolist() == [0, 0] and found["alpha"][2] != 0
    assert found["a"][0] != found["a"][1] == found["a"][2]


@pytest.mark.parametrize(
    ("variant", "n_coordinates", "copies"),
    [("isotropic", 32, (4, 12, 4, 12)), ("many_variables", 90, (18, 36, 9, 18))],
)
def test_lumping_finds_four_classes_and_the_stated_program(variant, n_coordinates, copies):
    found = derive(SYSTEM.setup(group="S3", n_x_finite=4), variant)
    assert (found.n_coordinates, found.n_classes) == (n_coordinates, 4)
    assert [f"stands for {n} coordinates" in text for n, text in zip(copies, found.classes)] == [True] * 4
    assert max(found.certificate, found.agreement) < 1e-13 < 1e-2 < found.control


@pytest.mark.parametrize(("group", "found_at"), [("S3", "S3"), ("S6", "S3"), ("C12", "C5"), ("C5", "C5")])
def test_a_group_of_many_sentences_is_compared_at_a_smaller_one_of_its_kind(group, found_at):
    there = small(SYSTEM.setup(group=group, C_B=4.0))
    assert (there["group"], there["n_x"], there["C_B"]) == (found_at, 5, 4.0)


@pytest.mark.parametrize(
    ("parameters", "level", "sentence"),
    [({"L": 12, "n_x": 13}, "L2", "too large together"), ({"group": "S6", "n_x": 20}, "L1", "too large together")],
)
def test_finite_models_that_do_not_fit_are_refused(parameters, level, sentence):
    with pytest.raises(InputError, match=sentence):
        solve(SYSTEM, SYSTEM.setup(**parameters), level=level, at=[1.0])


@pytest.mark.slow
@pytest.mark.parametrize(("id", "level"), [(c.id, level) for c in SYSTEM.claims for level in c.levels if level != "L3"])
def test_claims_at_finite_levels_hold_and_their_controls_do_not(id, level):
    claim = next(c for c in SYSTEM.claims if c.id == id)
    assert claim.check(SYSTEM, Conditions(level)).word is Word.HOLDS
    assert claim.controlled().check(SYSTEM, Conditions(level)).word is Word.FAILS


@pytest.mark.slow
def test_self_training_of_the_finite_model_follows_its_limit():
    at_12 = {"group": "C3", "L": 4, "loss_target": 0.05, "n_samples": 256}
    setup = SYSTEM.setup("algorithm_2", **at_12, learning_rate=0.05)
    trained = train(SYSTEM, setup, mode="algorithm_2", at=["loss_threshold"], records=1)
    end = trained.at("loss_threshold")
    limit_setup = SYSTEM.setup("algorithm_2", **at_12, n_x=5, d=12)
    limit = solve(SYSTEM, limit_setup, mode="algorithm_2", at=["loss_threshold"]).at("loss_threshold")
    assert trained.t[0] > 1 and end["values"]["label_accuracy"] == 1.0
    # another sample of 256 sentences of length 4, and steps of 0.05
    for name, slack in {"alpha": 0.1, "gamma": 0.1, "eps_attention": 0.02}.items():
        assert end["values"][name] == pytest.approx(limit["values"][name], abs=slack)
    assert end["t"] == pytest.approx(limit["t"], rel=0.1)


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ({"L": 6, "n_x": 7}, {}, "it must be a power of 2"),
        ({"L": 8}, {}, "L = 8 is not allowed: a chain needs L \\+ 1 distinct variables, but n_x = 5"),
        ({}, {"seeds": 2}, "seeds = 2 is not allowed in algorithm_2"),
    ],
)
def test_self_training_refuses_what_it_cannot_do(given, options, message):
    with pytest.raises(InputError, match=message):
        train(SYSTEM, SYSTEM.setup("algorithm_2", group="C3", **given), mode="algorithm_2", steps=1, **options)


@pytest.mark.parametrize("level", ["L1", "L2"])
def test_a_finite_level_needs_variables_for_its_chain(level):
    with pytest.raises(InputError, match="L = 2 is not allowed: a chain needs L"):
        SYSTEM.problem(SYSTEM.setup(group="C3", n_x=2), level)


def test_more_neurons_than_there_is_a_flow_for_are_refused():
    setup = SYSTEM.setup("stage_1", group="C11", width=651)
    with pytest.raises(InputError, match=r"width = 651 is not allowed with group C11 .* it must be at most 79"):
        SYSTEM.problem(setup, "L3", "many_variables", "stage_1")
