"""Three steps of gradient descent on parity: closed forms against neurons carried out, and batches."""

from functools import partial

import jax
import numpy as np
import pytest

from flowsys.runs.solving import solve
from flowsys.systems import load
from flowsys.systems.parity import data, frozen_batch
from flowsys.systems.parity.claims.population_map import (
    Counts,
    drawn_counts,
    expected_counts,
    population_map,
    usable_rates,
)
from flowsys.systems.parity.frozen_batch import batch_rates

PARITY = load("parity")


def counted(signs):
    """Counts of given signs (2m × 2k), one by one."""
    active, k, m = signs > 0, signs.shape[1] // 2, len(signs) // 2
    both = np.array([(active[:, 2 * j] & active[:, 2 * j + 1]).sum() for j in range(k)])
    return Counts(active.sum(axis=0).reshape(k, 2), both, (active & active[:, [0]]).sum(axis=0).reshape(k, 2),
                  (active[:m].sum(axis=0) - active[m:].sum(axis=0)).reshape(k, 2))  # fmt: skip


@pytest.fixture(scope="module")
def carried_out():
    """The closed form and the run of the same neurons at n = 20, k = 5, m = 400, where attention is half locked."""
    n, k, m = 20, 5, 400
    signs = np.random.default_rng(3).choice([-1.0, 1.0], (2 * m, 2 * k))
    setup = PARITY.setup(n=n, k=k, m=m, epsilon=1.0, eta_2=4 * m / 3)
    run = solve(PARITY, setup, level="L2", variant="reduced", mode="three_step", start={"nu": signs})
    rates = tuple(setup[f"eta_{j}"] for j in range(3))
    return population_map(n, counted(signs), m, m, 1.0, rates), run


def test_scores_and_attention_of_sampled_neurons_are_the_closed_form(carried_out):
    ours, run = carried_out
    assert np.isclose(np.nanmin(ours.target), run["score_target_min"][1], rtol=1e-12)
    assert np.isclose(np.nanmax(ours.other), run["score_other_max"][1], rtol=1e-12)
    assert np.allclose(np.exp(np.nanmax(ours.log_error, axis=(1, 2))), run["one_hot_error_max"][1:], rtol=1e-10)
    assert 0.01 < run["one_hot_error_max"][2] < 0.5


def test_margins_of_sampled_neurons_lie_within_the_spill_of_the_closed_form(carried_out):
    ours, run = carried_out
    assert ours.least_margin <= run["margin_min"][2] and run["margin_max"][2] <= ours.largest_margin
    assert abs(np.nanmin(ours.margin) - run["margin_min"][2]) < 0.05 * run["margin_min"][2]
    assert run["flipped"][2] == 0 and ours.shift < 1


@pytest.mark.parametrize("width", [64, 100])
def test_drawn_counts_have_the_moments_of_signs(width):
    counts = drawn_counts(0, 3000, width)
    first = counts.own[0, 0]
    for found, mean, variance in (
        (counts.own, width, width / 2),
        (counts.both, width / 2, 3 * width / 8),
        (counts.with_first[1:], first / 2, first / 4),
        (counts.balance, 0, width / 2),
    ):
        assert abs(found.mean() - mean) < 5 * np.sqrt(variance / found.size)
        assert abs(found.var() / variance - 1) < 0.1
    assert counts.with_first[0, 0] == counts.own[0, 0] and np.all(counts.both <= counts.own.min(axis=1))


def test_the_expected_counts_are_the_limit():
    n, k, m = 12, 4, 50.0
    rates = usable_rates(n, m, 1.0)
    ours, i = population_map(n, expected_counts(k, m), m, m, 1.0, rates), np.arange(n + 1, n + k + 1)
    once = rates[0] / i / np.where(i == n + 1, 8 * m, 32 * m)
    assert np.allclose(ours.signals[:2, :, 0], [once, 2 * once], rtol=1e-12)
    assert np.allclose(ours.target[2:, 0], rates[1] * once[2:] / (4 * i[2:]) * (1 - 1 / i[2:]), rtol=1e-12)


def one_hot_by_hand(n, k, ρ, seed):
    """Own code: the worst attention off target after two steps, m = 2k, ε = 1, position by position."""
    rng, m, worst = np.random.default_rng(seed), 2 * k, -np.inf
    for i in range(n + 3, n + k + 1):
        active = rng.integers(0, 2, (2 * m, 2))
        alone = (active * (1 - active[:, ::-1])).sum(axis=0).min()  # active on one token of i and not on the other
        u = (4 * ρ * m * n) ** 2 * (1 - 1 / i) / (16 * i**2) * alone / (4 * m**2)
        worst = max(worst, np.log(i - 3) - u * (1 + 1 / (i - 1)))
    return worst


def test_theorem_3_at_its_width_agrees_with_a_count_by_hand():
    n, k = 30_000, 1500
    m = 2 * k
    rates = usable_rates(n, m, 1.0, 0.3, eta_2=4 * m / 3)
    ours = [np.nanmax(population_map(n, drawn_counts(s, k, m), m, m, 1.0, rates).log_error[0, 2:]) for s in range(8)]
    theirs = [one_hot_by_hand(n, k, 0.3, seed) for seed in range(8)]
    assert abs(np.mean(ours) - np.mean(theirs)) < 4 * np.sqrt((np.var(ours) + np.var(theirs)) / 8) + 1e-9
    assert np.mean(ours) < -10


def test_batches_large_enough_succeed_and_small_ones_fail():
    problem, m = data.Parity(8, (5, 2)), 1600
    test = frozen_batch.sample_bits(jax.random.key(9), problem, 1024)
    shares = []
    for batch in (128, 1024):
        last = frozen_batch.batch_steps(jax.random.key(2), problem, m, 1.0, batch, batch_rates(m, 1.0, batch, c=0.08))
        margins, attention = frozen_batch.margins_and_attention(last, problem, test)
        shares.append((margins > 0).all(axis=1).mean())
        assert np.all((attention > 0) & (attention < 1))
    assert shares[0] < 0.9 and shares[1] > 0.95


def plain_loss(y, problem, bits):
    """Sequence by sequence, without matrices."""
    found = 0.0
    for row in data.sequences(problem, bits):
        for j in range(problem.n_queries):
            i, q = problem.n + j, 2 * j + row[problem.n + j]
            tokens = 2 * np.arange(i + 1) + row[: i + 1]
            weights = jax.nn.softmax(y.a[tokens, q])
            found += (-1.0) ** row[i + 1] * (y.P[q] + weights @ y.K[q, tokens])
    return found / len(bits)


def test_the_slope_of_a_batch_in_matrix_products_is_autodiff(monkeypatch):
    monkeypatch.setattr(frozen_batch, "CHUNK", 3)  # the batch is taken in parts
    problem = data.Parity(4, (3, 2))
    rng, q, t = np.random.default_rng(5), 2 * problem.n_queries, problem.n_tokens
    y = frozen_batch.State(rng.normal(size=q), 2 * rng.normal(size=(q, t)), rng.normal(size=(t, q)))
    bits = rng.integers(0, 2, (5, 4))
    with jax.enable_x64(True):
        slope = jax.grad(partial(plain_loss, problem=problem, bits=bits))(
            frozen_batch.State(*map(jax.numpy.asarray, y))
        )
    ours = frozen_batch.batch_slope(y, problem, bits)
    assert all(np.abs(a - np.asarray(b)).max() < 1e-14 < np.abs(a).max() for a, b in zip(ours, slope))
