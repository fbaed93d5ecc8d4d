"""Finite width through `solve` and `train`: closures, the limit's names measured on words, descent and its Gram map."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flowsys.errors import InputError
from flowsys.model.values import Values
from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence.scales import output_weights

SMALL = {"n": 6, "L": 4, "width": 7, "m1": 5, "beta": 2.0, "score_scale": 0.6}
FLOW = ("G_mu1", "G_mu3", "c", "S_21", "S_31", "KK_12", "QQ_13", "VV_12", "loss", "test_loss", "p_type1_1_2")


@pytest.mark.parametrize("mode, reading", [("limit", "E"), pytest.param("data", "E", marks=pytest.mark.slow),
                                           pytest.param("data", "gaussian", marks=pytest.mark.slow)])  # fmt: skip
@pytest.mark.slow
def test_the_closures_follow_the_weights(mode, reading):
    setup = SYSTEM.setup(mode, **SMALL, d=13, reading=reading, data_seed=1)
    levels = (("L1", "weights"), ("L2", "small"), ("L2", "six_families"))
    flows = [solve(SYSTEM, setup, level=level, variant=variant, mode=mode, at=[2.0, 20.0], observe=FLOW, rtol=1e-10)
             for level, variant in levels]  # fmt: skip
    for reduced in flows[1:]:
        for name in FLOW:
            np.testing.assert_allclose(reduced.series[name], flows[0].series[name], atol=1e-8, err_msg=name)
    assert flows[0].series["loss"][1] < 0.5 * flows[0].series["loss"][0]


WIDTH_SCALES = {"default": {}, "narrow": {"alpha": 0.2, "beta": 64.0, "m1": 8.0, "score_scale": 0.088}}


@pytest.mark.slow
@pytest.mark.parametrize("scales", WIDTH_SCALES)
def test_width_error_falls_like_one_over_the_square_root_of_the_width(scales):
    base = {"n": 12, "L": 5} | WIDTH_SCALES[scales]
    times = [tau / SYSTEM.setup(**base)["beta"] for tau in (4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 300.0)]
    names = ("G_mu1", "G_mu2", "G_mu3", "S_12", "S_21", "S_31", "S_32", "S_11", "S_22", "loss")
    groups = (names[:3], names[3:9], names[9:])
    limit = solve(SYSTEM, SYSTEM.setup(**base), at=times, observe=names).series
    widths, errors = (64, 256, 1024, 4096), []
    for width in widths:
        squares = []
        for seed in range(12):
            finite = solve(SYSTEM, SYSTEM.setup(**base, width=width, seed=seed), level="L2", at=times, observe=names,
                           rtol=1e-7).series  # fmt: skip
            squares.append([max(np.abs(finite[k] - limit[k]).max() for k in group) ** 2 for group in groups])
        errors.append(np.sqrt(np.mean(squares, axis=0)))
    slopes = np.polyfit(np.log(widths), np.log(errors), 1)[0]
    assert np.all(np.abs(slopes + 0.5) < 0.1), slopes  # spec: -.50, -.47, -.49 at both scales
    if scales == "default":
        spec = np.array([0.57, 0.25, 0.16, 0.069])  # rms of six other seeds
        assert np.all(np.abs(np.log(np.array(errors)[:, 0] / spec)) < np.log(1.8)), errors


def test_descent_approaches_the_flow_in_proportion_to_the_learning_rate():
    setup = {"n": 12, "L": 5, "alpha": 0.2, "beta": 32, "m1": 8, "score_scale": 32**-0.5, "width": 32}
    names, times = ("G_mu1", "G_mu3", "S_21", "S_31"), [0.4, 0.8, 1.6]
    flow = solve(SYSTEM, SYSTEM.setup(**setup), level="L2", at=times, observe=names, rtol=1e-9).series
    rates, errors = np.array([0.02, 0.01, 0.005, 0.0025]), []
    for η in rates:
        run = train(SYSTEM, SYSTEM.setup(**setup, learning_rate=η), variant="gram", at=times, records=1, observe=names)
        rows = [int(np.argmin(np.abs(run.t - t))) for t in times]
        errors.append(
            [max(np.abs(run.series[k][rows] - flow[k]).max() for k in group) for group in (names[:2], names[2:])]
        )
    slopes = np.polyfit(np.log(rates), np.log(errors), 1)[0]
    assert np.all(np.abs(slopes - 1) < 0.05), slopes


def test_the_gram_map_is_descent_on_the_weights():
    setup = SYSTEM.setup(**SMALL, learning_rate=0.05)
    names = ("G_mu1", "S_21", "c", "loss", "clock", "tau")
    one, two = (
        train(SYSTEM, setup, variant=v, steps=200, records=4, observe=names).series for v in ("weights", "gram")
    )
    for name in names:
        np.testing.assert_allclose(two[name], one[name], rtol=0, atol=1e-11, err_msg=name)


def test_seeds_train_side_by_side_as_they_do_alone():
    setup = SYSTEM.setup(**SMALL)
    together = train(SYSTEM, setup, variant="gram", steps=20, records=1, seeds=3, observe=("G_mu1",)).series["G_mu1"]
    alone = train(SYSTEM, SYSTEM.setup(**SMALL, seed=2), variant="gram", steps=20, records=1, observe=("G_mu1",))
    np.testing.assert_allclose(together[:, 2], alone.series["G_mu1"], rtol=1e-12)


def test_appendix_a_with_reading_e_shows_both_phases():
    names = ("loss_type2", "loss_type3", "loss", "S_21", "S_31", "least_margin", "c")
    setup = SYSTEM.setup("data", seed=7)
    run = train(SYSTEM, setup, variant="gram", mode="data", steps=2400, records=480, at=["T_1"], observe=names)
    epoch = np.round(run.t / 0.01).astype(int)
    for name in ("loss_type2", "loss_type3"):
        losses = run.series[name]
        assert 300 < epoch[losses.argmax()] < 800 and losses.max() > losses[0] + 0.02 and losses[-1] < losses[0] / 2
    assert 1200 < epoch[run.labels.index("T_1")] < 2200
    assert 0.05 < run.series["c"][0] < 0.2


@pytest.mark.slow
def test_thirty_thousand_epochs_of_appendix_a_take_less_than_thirty_seconds():
    setup, names = SYSTEM.setup("data", seed=7), ("loss", "c", "S_12", "S_21", "S_31", "S_32")
    begun = time.process_time()
    run = train(SYSTEM, setup, variant="gram", mode="data", steps=30_000, records=300, observe=names)
    assert time.process_time() - begun < 30
    change = {name: run.series[name][-1] - run.series[name][0] for name in names[2:]}
    assert min(change["S_12"], change["S_21"]) > 0.1 and max(change["S_31"], change["S_32"]) < -0.08
    assert 1.5e-3 < run.series["loss"][-1] < 3e-3 and 8 < run.series["c"][-1] < 12


@pytest.mark.benchmark
def test_training_the_weights_is_as_fast_as_a_hand_written_loop():
    setup, steps = SYSTEM.setup("data", seed=7), 400
    with jax.enable_x64(True):
        start, X = SYSTEM.start(setup, "L1", "data"), SYSTEM.concrete(setup, "L1", "data").populations[0].samples
        W, *others = (jnp.asarray(start[name]) for name in ("W", "W_V", "W_K", "W_Q"))
        a, words, labels = output_weights(Values({**setup, "mode": "data"})), X.words, X.y

        def loss(weights):
            W, W_V, W_K, W_Q = weights
            S = W_K.T @ W_Q
            p = jax.nn.softmax(128**-0.5 * S[words[:, :, None], words[:, None, :]], axis=1)
            F = jnp.einsum("nkq,nk->n", p, (a @ W.T @ W_V)[words])
            return jax.nn.softplus(-labels * F).mean()

        @jax.jit
        def loop(weights):
            step = lambda w: tuple(x - 0.01 * g for x, g in zip(w, jax.grad(loss)(w)))
            return jax.lax.fori_loop(0, steps, lambda _, w: step(w), weights)

        by_hand = lambda: jax.block_until_ready(loop((W, *others)))
        end = by_hand()
    run = lambda: train(SYSTEM, setup, mode="data", steps=steps, records=1, observe=("c",))
    assert run()["c"][-1] == pytest.approx(float(np.sum((a @ np.asarray(end[0]).T) ** 2)), rel=1e-10)
    times = {run: [], by_hand: []}
    for _ in range(5):
        for work, taken in times.items():
            begun = time.process_time()
            with jax.enable_x64(True):
                work()
            taken.append(time.process_time() - begun)
    assert min(times[run]) < 1.3 * min(times[by_hand]), list(times.values())


@pytest.mark.benchmark
def test_six_million_samples_take_the_time_of_sixty():
    times = {60: [], 6_000_000: []}
    for _ in range(6):
        for n, taken in times.items():
            setup = SYSTEM.setup(n=n, alpha=0.2, beta=4096.0, m1=16.0, score_scale=1 / 64)
            begun = time.process_time()
            solve(SYSTEM, setup, at=[1e5 / 4096], observe=["loss"])
            taken.append(time.process_time() - begun)
    few, many = (min(taken[1:]) for taken in times.values())
    assert many < 1.5 * few


def test_sizes_a_data_set_cannot_have_are_named():
    with pytest.raises(InputError, match="n = inf"):
        solve(SYSTEM, SYSTEM.setup(n=np.inf), level="L2", at=[1.0])
    with pytest.raises(InputError, match=r"m1 = 4\.5 is not allowed at finite width"):
        solve(SYSTEM, SYSTEM.setup(m1=4.5), level="L2", at=[1.0])
    with pytest.raises(InputError, match="the samples of cooccurrence depend on the seed"):
        train(SYSTEM, SYSTEM.setup("data"), mode="data", steps=2, seeds=2)
    with pytest.raises(InputError, match="whole numbers of samples"):
        solve(SYSTEM, SYSTEM.setup(n=7), level="L2", at=[1.0])
    with pytest.raises(InputError, match="mode = data is not allowed at level L3"):
        solve(SYSTEM, mode="data", at=[1.0])


def test_the_parameters_of_the_paper_are_translated():
    setup = SYSTEM.setup("condition_1", n=12, m=64, m1=8, kappa=0.5, logs=1.0)
    plain = SYSTEM.setup(n=12, alpha=0.25 / 5 / np.log(64) ** 2, beta=64.0, m1=8, score_scale=1 / 8, width=64)
    for level in ("L3", "L2"):
        ours, theirs = (solve(SYSTEM, s, level=level, mode=mode, at=[0.1], observe=["G_mu1", "S_21", "loss"])
                        for s, mode in ((setup, "condition_1"), (plain, "limit")))  # fmt: skip
        assert all(ours[name][0] == pytest.approx(theirs[name][0], rel=1e-12) for name in ours)


@pytest.mark.parametrize("reading, alpha, c", [("E", 0.67, 0.10), ("A", 0.67, 93.0), ("B", 2.0, 281.0)])
def test_the_readings_have_the_initial_scales_of_the_spec(reading, alpha, c):
    setup = SYSTEM.setup("data", reading=reading, seed=7)
    seen = SYSTEM.start(setup, "L2", "data")
    assert np.mean(np.diag(seen["VV"])) == pytest.approx(alpha, rel=0.1)
    assert np.mean(np.diag(seen["KK"])) == pytest.approx(alpha, rel=0.1)
    assert seen["UU"][0, 0] == pytest.approx(c, rel=0.5)  # one draw of |Wᵀa|²


def loops(seen, words, s):
    """F of a sentence, written with loops (Eq. 1)."""
    total = 0.0
    for query in words:
        weights = np.exp([s * seen["S"][key, query] for key in words])
        total += sum(w * seen["G"][0, key] for w, key in zip(weights / weights.sum(), words))
    return total


def test_losses_are_the_formula_of_the_paper_written_with_loops():
    setup = SYSTEM.setup(n=12, L=5, width=9, m1=3, seed=4)
    run = solve(SYSTEM, setup, level="L2", at=[0.7], observe=["loss", "F_type2", "test_loss", "least_margin"])
    seen = run.blocks(0.7)
    types = [0] * 6 + [1] * 2 + [2] * 2 + [3] * 2
    special, y, word = ((0, 1, 2), (0, 2), (1, 2), (2,)), (1, -1, -1, -1), iter(range(3, 60))
    sentences = [[*special[T], *(next(word) for _ in range(5 - len(special[T])))] for T in types]
    F = np.array([loops(seen, X, 0.5) for X in sentences])
    margins = np.array([y[T] for T in types]) * F
    assert run["loss"][0] == pytest.approx(np.mean(np.log1p(np.exp(-margins))), rel=1e-10)
    assert run["F_type2"][0] == pytest.approx(F[6:8].mean(), rel=1e-10)
    assert run["least_margin"][0] == pytest.approx(margins.min(), rel=1e-10)
    unseen = [[*special[T], *(next(word) for _ in range(5 - len(special[T])))] for T in range(4)]
    test = [np.log1p(np.exp(-y[T] * loops(seen, X, 0.5))) for T, X in enumerate(unseen)]
    assert run["test_loss"][0] == pytest.approx(np.dot((1 / 2, 1 / 6, 1 / 6, 1 / 6), test), rel=1e-10)
