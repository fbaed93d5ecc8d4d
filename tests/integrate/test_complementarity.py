"""Shares on several surfaces: conditions met, velocity unique, against least squares in a box."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from flowsys.integrate.complementarity import YIELD, admit


def solved(a, B):
    """All surfaces admitted one after the other, from closed gates."""
    shares, held = np.zeros(len(a)), np.zeros(len(a), dtype=bool)
    for p in range(len(a)):
        n = p + 1
        if (a + B @ shares)[p] >= 0:
            shares[:n], held[:n] = admit(a[:n], B[:n, :n], shares[:n], held[:n], p)
    return shares, held


def gradient_flow(rng, n, dim):
    """Normals, φ > 0, and the velocity under closed gates."""
    normals, φ, drift = rng.standard_normal((n, dim)), rng.uniform(0.1, 3, n), 2 * rng.standard_normal(dim)
    return normals, φ, drift, normals @ drift, -(normals @ normals.T) * φ


@pytest.mark.parametrize("n", [1, 2, 3, 6, 10, 16])
def test_the_velocity_is_the_one_of_least_norm(n):
    rng = np.random.default_rng(n)
    for _ in range(40):
        normals, φ, drift, a, B = gradient_flow(rng, n, 20)
        shares, held = solved(a, B)
        v = a + B @ shares
        tight = YIELD * np.abs(np.diagonal(B)).max()
        assert (np.abs(v[held]) < tight).all() and (v[(shares == 0) & ~held] < tight).all()
        assert (v[(shares == 1) & ~held] > -tight).all() and ((shares >= 0) & (shares <= 1)).all()
        least = lsq_linear(-(φ[:, None] * normals).T, -drift, (0.0, 1.0), tol=1e-14).x
        assert np.allclose(drift - (φ * shares) @ normals, drift - (φ * least) @ normals, atol=1e-6)


@pytest.mark.parametrize(("n", "dim"), [(3, 2), (5, 2), (8, 3), (16, 5)])
def test_dependent_surfaces_have_one_velocity(n, dim):
    rng = np.random.default_rng(n)
    for _ in range(40):
        normals, φ, drift, a, B = gradient_flow(rng, n, dim)
        shares, _ = solved(a, B)
        least = lsq_linear(-(φ[:, None] * normals).T, -drift, (0.0, 1.0), tol=1e-14).x
        assert np.allclose((φ * shares) @ normals, (φ * least) @ normals, atol=1e-6)


def test_a_surface_that_is_met_twice_leaves_the_velocity_as_it_is():
    normals, φ, drift = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([2.0, 1.0]), np.array([1.0, 0.5])
    shares, held = solved(normals @ drift, -(normals @ normals.T) * φ)
    assert np.allclose(drift - (φ * shares) @ normals, [0.0, 0.5]) and held.all()


def test_a_negative_φ_is_crossed():
    shares, held = admit(np.array([1.0]), np.array([[0.5]]), np.zeros(1), np.zeros(1, dtype=bool), 0)
    assert shares.tolist() == [1.0] and not held.any()
