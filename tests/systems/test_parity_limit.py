"""The infinite-width limit of parity: its parts against each other, quadratures, invariants, lock-on times."""

import numpy as np
import parity_oracle as oracle
import parity_position as position
import pytest


@pytest.fixture(scope="module")
def collapsed_course():
    """(times, K, a) of the collapsed limit system at n = 9, k = 3, m = 4, far past the first lock."""
    n, k, m = 9, 3, 4.0
    times = np.linspace(0, 25.0 * n * np.sqrt(m), 5)
    y = oracle.solve(oracle.frozen_rhs(n, k, oracle.limit_overlaps(k, m)), np.zeros(156), times)
    return times, y[:78].reshape(6, 13, -1), y[78:].reshape(13, 6, -1)


def test_the_sixteen_variable_block_is_the_collapsed_system(collapsed_course):
    times, K, a = collapsed_course
    y = oracle.solve(oracle.block_rhs(9, 4.0), np.zeros(16), times)
    g_1, K_x0, K_x1, K_z, K_o, K_e, K_f = oracle.block_outputs(y)
    assert np.allclose([-g_1, K_x0, K_x1, K_z, K_o, K_e, K_f], [K[0, 0], *K[2, [2, 3, 0, 6, 7, 9]]], rtol=0, atol=1e-8)
    assert np.allclose([y[1], y[2], y[3]], a[[0, 6, 7], 0], rtol=0, atol=1e-8)
    assert np.allclose(y[10:], a[[2, 3, 0, 6, 7, 9], 2], rtol=0, atol=1e-8)
    assert y[1, -1] > 3


def test_a_later_position_is_decoupled(collapsed_course):
    times, K, a = collapsed_course
    g, u, v, w = oracle.solve(oracle.position_rhs(9, 3, 12, 4.0), np.zeros(4), times)
    assert np.allclose([g, u, u, v, w, w], [-K[4, 4], *a[[4, 5, 6, 7, 11], 4]], rtol=0, atol=1e-8)
    assert u[-1] > 1


@pytest.mark.parametrize("k", [1, 3])
def test_invariants_hold_along_the_flow(k):
    n, m = 30, 16.0
    i = n + k
    place = position.only_position(n, m) if k == 1 else position.later_position(n, k, i, m)
    y = oracle.solve(oracle.position_rhs(n, k, i, m), np.zeros(4), np.linspace(0, 30 * n * np.sqrt(m), 7))
    _, u, v, w = y
    kept = u + place.n_ordinary * v + place.n_sure * w / 2, np.exp(-w) - 2 * np.exp(-v) + 1
    assert np.max(np.abs(kept)) < 1e-10


@pytest.mark.parametrize("k", [1, 3])
def test_the_quadrature_gives_signal_and_time_of_the_flow(k):
    n, m = 30, 16.0
    i = n + k
    place = position.only_position(n, m) if k == 1 else position.later_position(n, k, i, m)
    x = position.lock(place)
    y = oracle.solve(oracle.position_rhs(n, k, i, m), np.zeros(4), [0.0, position.time(place, x)])[:, -1]
    assert np.allclose(y, [position.signal(place, x), *position.scores(place, x)], rtol=1e-8, atol=0)


@pytest.mark.parametrize(
    ("n", "later", "first", "signal"),
    [
        (10, 20.10, 6.05, 3.11),
        (30, 16.49, 5.49, 4.29),
        (100, 14.97, 5.19, 5.56),
        (1000, 14.27, 5.036, 7.90),
        (10000, 14.190, 5.016, 10.209),
    ],
)
def test_lock_on_times_of_the_table(n, later, first, signal):
    m = 9.0
    place, only = position.later_position(n, 3, n + 3, m), position.only_position(n, m)
    x = position.lock(place)
    ours = position.time(place, x) / (n * 3.0), position.time(only, position.lock(only)) / (n * 3.0)
    assert np.allclose(ours, (later, first), rtol=0, atol=6e-3)
    assert abs(4 * m * position.signal(place, x) ** 2 - signal) < 6e-3


def test_lock_on_times_approach_their_asymptotes():
    n, m = 10**6, 4.0
    place, only = position.later_position(n, 3, n + 3, m), position.only_position(n, m)
    later, first = (position.time(p, position.lock(p)) for p in (place, only))
    assert abs(later / (8 * np.sqrt(np.pi) * n * np.sqrt(m)) - 1) < 2e-5
    assert abs(first / (2 * np.sqrt(2 * np.pi) * n * np.sqrt(m)) - 1) < 2e-5


def test_under_gradient_flow_attention_at_n_plus_2_does_not_become_one_hot():
    n, m = 1000, 1.0
    y = oracle.solve(oracle.block_rhs(n, m), np.zeros(16), [0.0, 15 * n * np.sqrt(m)], rtol=1e-9)[:, -1]
    a_x0, a_x1, a_z = y[10:13]
    assert np.allclose([a_x1, a_z], [31.6, 19.0], rtol=0, atol=0.05) and abs(a_x0 - 0.11) < 0.005


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: position.later_position(9, 3, 11, 4.0), "i = 11"),
        (lambda: position.lock(position.only_position(9, 1.0), 0.05), "threshold"),
    ],
)
def test_bad_positions_are_refused_by_name(make, name):
    with pytest.raises(ValueError, match=name):
        make()
