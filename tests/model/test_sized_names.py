"""What a declaration may say by its sizes: observables, thresholds, defaults; and the engine's descents by name."""

import numpy as np
import pytest

import flowsys as fs
from flowsys.errors import InputError


def entry(i):
    def value(ops, w, X, p):
        return w.v[i]

    value.__doc__ = f"coordinate {i}"
    return value


def model(**more):
    given = {"observe": lambda p: {f"x_{i}": entry(i) for i in range(p.n)}} | more
    return fs.Model(
        "sized",
        parameters={
            "n": fs.Size(2, 1, 5),
            "n_twice": fs.Size(lambda p: 2 * p["n"], 1, 20, "twice n", default_text="2 n", infinite=True),
            "level": fs.Real(0.1, 0.01, 1.0),
        },
        blocks=lambda p: {"v": fs.Direct(p.n, start=1.0)},
        samples=lambda p: fs.Samples(target=np.random.default_rng(p.seed).standard_normal((3, p.n)) * 0),
        batches=lambda key, p: fs.Samples(target=np.zeros((1, p.n))),
        loss=lambda ops, w, X, p: ((w.v - X.target) ** 2).sum(axis=-1) / 2,
        events={"root": fs.Crossing("x_0", lambda p: p.level**0.5, -1)},
        looks={"simultaneous": ("root",)},
        **given,
    )


def test_observables_follow_the_sizes_and_thresholds_are_functions():
    setup = model().setup(n=4, level=0.04)
    run = fs.solve(model(), setup, level="L2", at=["root"], observe=["x_0", "x_3"], rtol=1e-10)
    assert run.t[0] == pytest.approx(-np.log(0.2), rel=1e-8) and run["x_3"][0] == pytest.approx(0.2, rel=1e-8)
    assert model().observables["x_1"] == "coordinate 1" and "x_2" not in model().observables
    assert model().setup(n=3)["n_twice"] == 6 and model().setup(n_twice=np.inf)["n_twice"] == np.inf


def test_what_observables_share_is_found_once():
    calls = []

    def shared(ops, w, X, p):
        return w.once("sum", X, lambda: calls.append(1) or w.v.sum())

    made = model(observe={"x_0": shared, "y": lambda ops, w, X, p: 2 * shared(ops, w, X, p)})
    run = fs.solve(made, level="L2", at=[0.0], observe=["x_0", "y"])
    assert (run["x_0"][0], run["y"][0]) == (2.0, 4.0)
    from flowsys.model.concrete import View

    w, X, n = View({"v": np.ones(3)}), object(), len(calls)
    assert (shared(None, w, X, None), shared(None, w, X, None)) == (3.0, 3.0) and len(calls) == n + 1


def test_a_descent_of_the_engine_may_come_first():
    named = model(variants={"L0": {"fresh": "sgd"}})
    assert named.levels["L0"].names == ("fresh", "weights")
    run = fs.train(named, named.setup(learning_rate=0.5), seeds=2, steps=3, observe=["x_0"], records=1)
    assert np.asarray(run["x_0"][-1]) == pytest.approx([0.125, 0.125])


def test_seeds_are_refused_where_the_data_that_trains_depends_on_them():
    with pytest.raises(InputError, match="depend on the seed"):
        fs.train(model(), seeds=2, steps=2)
