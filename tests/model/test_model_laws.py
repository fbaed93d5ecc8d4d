"""What the levels of any model owe each other: the limit is the reduced flow, weights and inner products flow alike."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from law_models import committee, drawn, headed, kinked, nested, nested_output, reading, scaled, staged, stepped

import flowsys as fs

LIMITS = {
    "committee": (committee, {}, None, [1.0, 8.0]),
    "staged": (staged, {}, "three", [0.5, 1.5, 6.0]),
    "headed": (headed, {}, None, [1.0, 5.0]),
    "reading": (reading, {}, None, [0.5, 2.0]),
    "kinked": (kinked, {}, None, [0.5, 3.0]),
    "nested": (nested, {}, None, [0.1, 1.0]),
    "scales unequal": (scaled, {"a": 1.5, "b": 0.1}, None, [2.0]),
    "rates unequal": (scaled, {"a": 0.3, "eta": 2.5}, None, [2.0]),
    "data of a seed": (drawn, {"seed": 4, "noise": 0.9}, None, [1.0]),
    "data beyond a step": (stepped, {"r": 0.94}, None, [1.0]),
    "start beyond a step": (stepped, {"r": 0.97}, None, [1.0]),
}


def _setup(model, mode, **values):
    return model.setup(mode, width=5, **values)


@pytest.mark.parametrize("case", LIMITS)
def test_the_lifted_limit_is_the_reduced_flow_from_its_start(case):
    model, values, mode, at = LIMITS[case]
    fs.solve(model, mode=mode, at=[0.01])  # derived at the defaults
    setup = _setup(model, mode, **values)
    start = fs.start(model, setup, level="L3", mode=mode)
    limit = fs.solve(model, setup, level="L3", mode=mode, at=at, rtol=1e-10)
    full = fs.solve(model, setup, level="L2", mode=mode, at=at, rtol=1e-10, start=start)
    for time in at:
        lifted, there = limit.blocks(time), full.blocks(time)
        assert all(np.allclose(lifted[name], there[name], rtol=1e-8, atol=1e-8) for name in there)
    shared = [name for name in limit if name in full.series]
    assert all(np.allclose(limit[name], full[name], rtol=1e-8, atol=1e-8) for name in shared)
    for run in (limit, full):
        assert run.statistics.get("conserved_drift", 0.0) < 1e-7


@pytest.mark.parametrize("model", [committee, headed, reading], ids=lambda model: model.name)
def test_weights_flow_and_descend_as_what_is_seen_of_them(model):
    setup = _setup(model, None)
    a, b = (fs.solve(model, setup, level=level, at=[0.5], rtol=1e-11) for level in ("L1", "L2"))
    assert all(np.allclose(a[name], b[name], rtol=1e-9, atol=1e-10) for name in a if name in b.series)
    c, d = (fs.train(model, setup, variant=variant, steps=10, records=1) for variant in ("weights", "gram"))
    assert all(np.allclose(c[name], d[name], rtol=1e-11, atol=1e-12) for name in c)


def test_spectra_are_claimed_where_the_loss_reads_products_alone():
    claimed = lambda model: "conserved_drift" in fs.solve(model, level="L2", at=[0.1], observe=["loss"]).statistics
    assert claimed(headed) and not claimed(committee) and not claimed(reading)


@pytest.mark.parametrize("model", [scaled, drawn], ids=lambda model: model.name)
def test_reals_rates_and_seeds_share_one_derivation(model):
    for values in ({}, {"seed": 3}, {"a": 1.0, "eta": 0.7} if model is scaled else {"noise": 0.0}):
        fs.solve(model, model.setup(**values), level="L3", at=[0.1])
    assert len({id(found) for found in model.declaration.found.values()}) == 1


def test_events_and_marks_come_at_the_same_times_with_and_without_weights():
    at = ["T_one", "T_up"]
    start = {"v": [0.1, 0.2, 0.3]}
    runs = [fs.solve(staged, level=level, at=at, start=start, rtol=1e-10) for level in ("L1", "L2")]
    runs.append(fs.solve(staged, level="L3", at=at, rtol=1e-10))
    trained = fs.train(staged, staged.setup(learning_rate=1e-3), at=at, start=start, records=1, steps=20_000)
    times = [[run.at(name)["t"] for name in at] for run in runs]
    assert np.allclose(times[0], times[1], rtol=1e-8) and np.allclose(times[1], times[2], rtol=1e-8)
    assert np.allclose([trained.at(name)["t"] for name in at], times[0], atol=5e-3)


def test_a_located_kink_is_crossed_alike():
    a, b = (fs.solve(kinked, level=level, at=[3.0], rtol=1e-10).statistics["switch_times"] for level in ("L2", "L3"))
    assert len(a) and len(a) == len(b) and np.allclose(a, b, atol=1e-8)


@pytest.mark.parametrize("level", ["L2", "L3"])
def test_gates_behind_closed_gates_start_right(level):
    field = fs.field(nested, level=level)
    with jax.enable_x64(True):
        slope = jax.grad(lambda y: (nested_output(jax.nn.relu, y[0], y[1]) - 3.0) ** 2)(jnp.array([-2.0, 0.5]))
    assert field.names == ("v", "u") and np.allclose(field(field.start), -slope, rtol=1e-12)
    assert fs.solve(nested, level=level, at=[0.01]).statistics["kinks"] == 0


def _batch(key, p):
    k = jax.random.randint(key, (4,), 0, 3)
    return fs.Samples(k=k, y=jnp.where(k == 0, 1.0, -1.0))


def test_fresh_batches_are_those_of_a_loop_by_hand():
    model = fs.Model(
        "batches",
        blocks=lambda p: {"S": fs.Pair(3, 1, scale=0.5), "v": fs.Direct(3, start=0.1)},
        samples=lambda p: fs.Samples(k=[0, 1, 2], y=[1.0, -1.0, -1.0]),
        loss=lambda ops, w, X, p: ops.softplus(-X.y * w.S[X.k, 0] * w.v[X.k]),
        batches=_batch,
    )
    setup = model.setup(width=6, seed=3, learning_rate=0.1)
    names = ["S_0_0", "v_1", "KK_0_1"]
    a, b = (fs.train(model, setup, variant=v, steps=12, records=12, observe=names) for v in ("sgd", "sgd_gram"))
    assert all(np.allclose(a[name], b[name], rtol=1e-12, atol=1e-14) for name in names)

    def loss(w, k, y):
        return jnp.log1p(jnp.exp(-y * (w["W_K"].T @ w["W_Q"])[k, 0] * w["v"][k])).mean()

    with jax.enable_x64(True):
        w = {name: jnp.asarray(array) for name, array in fs.start(model, setup, level="L0").items()}
        key, step = jax.random.key(3), jax.jit(jax.grad(loss))
        for _ in range(12):
            now, key = jax.random.split(key)
            k = jax.random.randint(now, (4,), 0, 3)
            slopes = step(w, k, jnp.where(k == 0, 1.0, -1.0))
            w = {name: w[name] - 0.1 * slopes[name] for name in w}
    assert a["S_0_0"][-1] == pytest.approx(float(np.asarray(w["W_K"])[:, 0] @ np.asarray(w["W_Q"])[:, 0]), rel=1e-12)
    assert a["v_1"][-1] == pytest.approx(float(w["v"][1]), rel=1e-12)


def test_what_sympy_simplifies_and_how_blocks_are_called_changes_nothing():
    """(v²)^r becomes |v|^(2r) in sympy, and blocks may be called as parts of a program are."""

    def flow(name):
        model = fs.Model(
            "powers",
            parameters={"r": fs.Real(1.5, 1, 3)},
            blocks=lambda p: {name: fs.Direct(2, 2, start=np.array([[-1.0, 0.5], [0.3, 2.0]]))},
            samples=lambda p: fs.Samples(x=[1.0, 2.0, 3.0], weight=[0.2, 0.3, 0.5]),
            loss=lambda ops, w, X, p: (
                (getattr(w, name)[0, 0] ** 2) ** p.r * X.x + 0.5 * (getattr(w, name)[1] - X.x[:, None]).sum(1) ** 2
            ),
        )
        limit, reduced = (fs.solve(model, level=level, at=[0.4]) for level in ("L3", "L2"))
        return [limit[f"{name}_{i}"][-1] for i in ("0_0", "1_0")], [reduced[f"{name}_{i}"][-1] for i in ("0_0", "1_0")]

    plain = flow("v")
    for name in ("weight", "share", "data"):
        limit, reduced = flow(name)
        np.testing.assert_allclose(limit, reduced, rtol=1e-8)
        np.testing.assert_allclose(limit, plain[0], rtol=1e-12)
