"""Quantities beyond values and times: fitted rates, statistics over seeds, claims, and training runs."""

import numpy as np
import pytest
from sweeps import finished, sweep

import flowsys
from flowsys.errors import InputError
from flowsys.sweeps import load
from flowsys.sweeps.diagram import CODES, OUTCOMES
from flowsys.sweeps.memory import run_in_memory
from flowsys.sweeps.over_seeds import Statistic, reduced
from flowsys.sweeps.points import evaluate_chunk
from flowsys.sweeps.quantities import parse_quantity

SOME = CODES["only some seeds have a value"]


@pytest.mark.parametrize("kind, decay", [("rate", lambda t: 3 * np.exp(-0.7 * t)), ("exponent", lambda t: -(t**-0.7))])
def test_a_fit_finds_the_rate_of_a_pure_decay(kind, decay):
    quantity = parse_quantity(f"{kind}(loss)@t=0.5..20", ())
    series = {term: np.array([decay(term.at), decay(2 * term.at)]) for term in quantity.terms}
    expected = [-0.7, -1.4] if kind == "rate" else [-0.7, -0.7]
    assert quantity.value(series) == pytest.approx(expected, rel=1e-12)


def test_a_fitted_rate_in_a_sweep_is_that_of_the_trajectory():
    of = sweep("omega=0.05,0.1", observables=["rate(loss)@t=1..5"], mode="simultaneous", fixed={})
    system, quantity = flowsys.load("mixture"), of.quantities[0]
    trajectory = flowsys.solve(
        system, system.setup(omega=0.1), mode="simultaneous", at=quantity.times, observe=["loss"]
    )
    slope = np.polyfit(trajectory.t, np.log(trajectory["loss"]), 1)[0]
    assert evaluate_chunk(of, 0).values[0, 1] == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("text", ["rate(loss)@T_1", "rate(loss)@t=3..1", "exponent(loss)@t=0..1", "rate(loss)@t=a..b"])
def test_a_fit_over_no_stretch_is_refused(text):
    with pytest.raises(InputError, match="observable"):
        parse_quantity(text, ("T_1",))


def test_statistics_are_numpy_s_own_over_the_seeds_that_have_a_value():
    of_seeds = np.array([[1.0, 2.0, 4.0, 8.0], [1.0, np.nan, 3.0, np.nan], [np.nan] * 4])
    ends = np.where(np.isnan(of_seeds), CODES["event not reached by t_max"], 0).astype(np.uint8)
    kinds = ("mean", "std", "median", "q25", "share")
    statistics = [Statistic.parse(f"{kind}(T_2)", lambda inner: inner) for kind in kinds]
    values, outcomes = reduced(statistics, np.array([of_seeds] * 5), ends, 4)
    first = of_seeds[0]
    assert values[:, 0].tolist() == [first.mean(), first.std(ddof=1), 3.0, np.quantile(first, 0.25), 1.0]
    assert values[:, 1].tolist() == [2.0, np.sqrt(2.0), 2.0, 1.5, 0.5]
    assert outcomes.tolist() == [0, SOME, CODES["event not reached by t_max"]]


def test_a_share_of_no_seeds_is_0_where_shares_are_all_that_is_asked_for():
    never, wrong = CODES["event not reached by t_max"], CODES["invalid parameters"]
    ends = np.repeat(np.array([0, never, wrong], dtype=np.uint8), 2)
    of_seeds = np.where(ends == 0, 1.0, np.nan)[None]
    values, outcomes = reduced([Statistic.parse("share(T_2)", lambda inner: inner)], of_seeds, ends, 2)
    assert values[0].tolist() == [1, 0, 0] and outcomes.tolist() == [0, SOME, wrong]


def test_a_ratio_with_nothing_below_has_no_value_and_says_so():
    of = sweep("b=0.5,1", observables=["w_c@T_1:w_c@t=0"], level="L0", fixed={"width": 3, "T_1": 1.0})
    chunk = evaluate_chunk(of, 0)
    assert chunk.outcomes.tolist() == [CODES["quantity not finite"]] * 2 and np.isnan(chunk.values).all()


def test_statistics_and_seeds_need_each_other():
    with pytest.raises(InputError, match="give --seeds"):
        sweep("width=20,40", observables=["mean(w_c@t=1)"], level="L2")
    with pytest.raises(InputError, match="which statistic"):
        sweep("width=20,40", observables=["w_c@t=1"], level="L2", seeds=3)
    with pytest.raises(InputError, match="no random start"):
        sweep("b=1,2", observables=["mean(w_c@t=1)"], seeds=3)
    with pytest.raises(InputError, match="seed is an axis"):
        sweep("seed=1,2", observables=["mean(w_c@t=1)"], level="L2", seeds=3)


def test_training_runs_over_widths_and_seeds_are_a_diagram(tmp_path):
    observables = ["mean(w_c@t=2)", "share(T_0.5)"]
    of = sweep("width=4,8", observables=observables, level="L0", seeds=2, fixed={"t_max": 3, "learning_rate": 0.5})
    finished(tmp_path / "a.nc", of)
    diagram, system = load(tmp_path / "a.nc"), flowsys.load("mixture")
    for i, width in enumerate((4, 8)):
        setups = (system.setup(width=width, seed=seed, learning_rate=0.5, t_max=3) for seed in (0, 1))
        runs = [flowsys.train(system, s, steps=4, records=4, observe=["w_c"])["w_c"][-1] for s in setups]
        assert diagram.quantities["mean(w_c@t=2)"][i] == pytest.approx(np.mean(runs), rel=1e-12)


def test_a_claim_is_measured_at_every_point_s_parameters():
    of = sweep("b=0.4,0.6", observables=["verdict(E.2)"], fixed={})
    chunk = evaluate_chunk(of, 0)
    assert chunk.values.tolist() == [[1.0, 1.0]] and chunk.outcomes.tolist() == [0, 0]


def test_a_claim_that_cannot_be_measured_there_is_refused_with_the_reason():
    with pytest.raises(InputError, match="nothing is not a claim of mixture"):
        sweep("b=1,2", observables=["verdict(nothing)"])
    with pytest.raises(InputError, match=r"E\.2 cannot be measured with L = "):
        sweep("L=3,4", observables=["verdict(E.2)"], fixed={})


def test_every_outcome_has_a_code_of_its_own():
    assert len(set(OUTCOMES)) == len(OUTCOMES) < 256


def test_points_with_fresh_seeds_share_no_start_and_do_not_depend_on_their_chunk():
    system = flowsys.load("mixture")
    told = {"level": "L2", "fixed": {"t_max": 5.0, "width": 8}, "fresh_seeds": True}
    of = [sweep("b=0.4,0.5", "seed=0,1", observables=["S_plus_c1_v1@t=0"], chunk_size=n, **told) for n in (1, 3, 4)]
    found = [run_in_memory(each).quantities["S_plus_c1_v1@t=0"] for each in of]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    seeds = [of[0].parameters(i)["seed"] for i in range(4)]
    assert len(set(seeds)) == 4 == len(set(found[0].ravel()))
    point = flowsys.solve(system, system.setup(**of[0].parameters(2)), level="L2", at=[0.0], observe=["S_plus_c1_v1"])
    assert point["S_plus_c1_v1"][0] == found[0][1, 0]
    shared = sweep("b=0.4,0.5", "seed=0,1", observables=["S_plus_c1_v1@t=0"], **told | {"fresh_seeds": False})
    rows = run_in_memory(shared).quantities["S_plus_c1_v1@t=0"]
    np.testing.assert_array_equal(rows[0], rows[1])
    with pytest.raises(InputError, match="--fresh-seeds is not allowed at level L3"):
        sweep("b=1,2", observables=["w_c@t=1"], fresh_seeds=True)
