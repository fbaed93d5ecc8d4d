"""Observables that see how the weights move (`w.rates`); marks, sizes and forms beyond the plain ones."""

import numpy as np
import pytest

import flowsys as fs
from flowsys.errors import InputError


def loss(ops, w, X, p):
    return ops.softplus(-X.y * (w.v[X.key] + p.gain * w.S[X.key, X.query]))


def samples(p):
    return fs.Samples(key=[0, 1, 0, 1], query=[0, 1, 1, 0], y=[1, 1, -1, -1.0], share=[1, 1, 0, 0])


def model(**more):
    return fs.Model(
        "rated",
        parameters={"gain": fs.Real(0.7, 0.1, 2), "part": fs.Real(0.5, 0.1, 1, shapes=True, infinite=True)},
        blocks=lambda p: {"v": fs.Direct(2, start=[0.1, -0.2]), "S": fs.Pair(2, 2, scale=0.8)},
        samples=samples,
        loss=loss,
        observe={
            "value": lambda ops, w, X, p: w.v[0] * w.S[0, 0],
            "speed": lambda ops, w, X, p: w.rates.v[0] * w.S[0, 0] + w.v[0] * w.rates.S[0, 0],
            "seen_speed": lambda ops, w, X, p: 2 * X.share * w.rates.S[X.key, X.query],
        },
        events={"slow": fs.Crossing("speed", 0.005, -1), "late": fs.Mark(lambda p: 2 / p.gain)},
        **more,
    )


@pytest.mark.parametrize("level", ["L1", "L2", "L3"])
def test_rates_are_the_derivatives_in_time(level):
    t, h = 1.3, 1e-3
    times = [t - 2 * h, t - h, t, t + h, t + 2 * h]
    names = ["value", "speed", "seen_speed", "S_0_0", "S_1_1"]
    run = fs.solve(model(), model().setup(width=7), level=level, at=times, observe=names, rtol=1e-12)
    slope = lambda y: (y[0] - 8 * y[1] + 8 * y[3] - y[4]) / (12 * h)
    assert run["speed"][2] == pytest.approx(slope(run["value"]), rel=1e-8)
    both = (slope(run["S_0_0"]) + slope(run["S_1_1"])) / 2
    assert run["seen_speed"][2] == pytest.approx(both, rel=1e-8)


def test_descent_sees_the_rates_of_the_flow_at_its_weights():
    system = model()
    rate = fs.train(system, system.setup(width=7), steps=1, records=1, observe=["speed"])["speed"][0]
    flow = fs.solve(system, system.setup(width=7), level="L2", at=[0.0], observe=["speed"])["speed"][0]
    assert rate == pytest.approx(flow, rel=1e-10)


def test_an_event_may_watch_a_rate_and_a_mark_may_be_a_formula():
    run = fs.solve(model(), model().setup(gain=0.5), level="L3", at=["slow", "late"], observe=["speed"])
    assert run["speed"][run.labels.index("slow")] == pytest.approx(0.005, abs=1e-9)
    assert run.t[run.labels.index("late")] == pytest.approx(4.0)


def test_a_loss_has_no_rates_and_no_block_is_called_so():
    bad = lambda ops, w, X, p: w.rates.v[X.key]
    with pytest.raises(InputError, match=r"w\.rates is for observables"):
        fs.solve(fs.Model("bad", blocks=lambda p: {"v": fs.Direct(2)}, samples=samples, loss=bad), level="L2")
    with pytest.raises(InputError, match="rates: the name is reserved"):
        fs.Model("bad", blocks=lambda p: {"rates": fs.Direct(2)}, samples=samples, loss=bad)


def test_what_shapes_the_data_is_a_value_and_may_be_infinite():
    declared = model().declaration
    assert "part" not in declared.real_names and "part" in declared.structural_names
    assert np.isinf(model().setup(part=np.inf)["part"])


def test_a_form_of_the_engine_may_have_another_name():
    system = model(variants={"L2": {"small": "reduced"}})
    assert list(system.levels["L2"].names) == ["small"]
    setup, look = system.setup(width=7), {"level": "L2", "at": [1.0], "observe": ["value"]}
    run = fs.solve(system, setup, start=fs.start(system, setup, level="L2"), **look)
    other = fs.solve(model(), model().setup(width=7), **look)
    assert run["value"][0] == pytest.approx(other["value"][0], rel=1e-12)


def test_seeds_do_not_train_side_by_side_where_blocks_read_the_seed():
    system = fs.Model("seeded", blocks=lambda p: {"v": fs.Direct(2, start=0.1 * (1 + p.seed))}, samples=samples,
                      loss=lambda ops, w, X, p: ops.softplus(-X.y * w.v[X.key]))  # fmt: skip
    with pytest.raises(InputError, match="the blocks of seeded depend on the seed"):
        fs.train(system, steps=2, seeds=2)
