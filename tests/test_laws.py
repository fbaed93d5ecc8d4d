"""Laws whose kind is known: found among constant, power, logarithm and both, with intervals that cover."""

import numpy as np
import pytest

from flowsys.laws.law import law, local_exponents

KINDS = ("constant", "power", "logarithm", "power × logarithm")
NOISES = (0.0, 1e-4, 1e-2)


def synthetic(rng: np.random.Generator, kind: str, noise: float, is_corrected: bool):
    """(x, y, truth): the truth is an exponent, or of laws without one the leading coefficient."""
    X = np.geomspace(*10 ** (np.array([0.0, rng.uniform(3, 5)]) + rng.uniform(0.3, 1.5)), int(rng.integers(10, 21)))
    coefficient, exponent = np.exp(rng.normal()), rng.choice([-1, 1]) * rng.uniform(0.3, 2)
    y = np.full(len(X), coefficient)
    if "power" in kind:
        y = y * X**exponent
    if "logarithm" in kind:
        y = y * (np.log(X) + (rng.uniform(-0.3, 2) * np.log(X[0]) if is_corrected else 0.0))
    if is_corrected:
        y = y * (1 + rng.choice([-0.5, 1.0]) * rng.uniform(0.3, 1) * (X / X[0]) ** -rng.choice([0.5, 1.0, 2.0]))
    y = y * (1 + noise * rng.normal(size=len(X)))
    is_small = rng.random() < 0.5
    truth = (-exponent if is_small else exponent) if "power" in kind else coefficient
    return (1 / X if is_small else X), y, truth


def found_of_sixty(seed: int) -> tuple[int, int]:
    """How many of sixty laws are found, and how many intervals hold the truth."""
    rng, cases = np.random.default_rng(seed), []
    for noise in NOISES:
        for is_corrected in (False, True):
            cases += [(kind, noise, is_corrected) for kind in KINDS for _ in range(2)]
    cases += [(kind, noise, False) for noise in NOISES for kind in KINDS]
    kinds = covered = 0
    for kind, noise, is_corrected in cases:
        x, y, truth = synthetic(rng, kind, noise, is_corrected)
        found = law(x, y)
        kinds += found.kind == kind
        covered += found.interval[0] <= truth <= found.interval[1]
    assert len(cases) == 60
    return kinds, covered


def test_of_sixty_laws_the_kind_is_found_and_the_interval_covers():
    kinds, covered = found_of_sixty(seed=2026)
    assert kinds >= 57
    assert covered >= 54


@pytest.mark.slow
def test_over_many_draws_the_kind_is_found_and_the_interval_covers():
    kinds, covered = np.sum([found_of_sixty(seed) for seed in range(20)], axis=0)
    assert kinds >= 0.95 * 1200
    assert covered >= 0.9 * 1200


def test_a_drifting_exponent_is_not_yet_asymptotic():
    x = np.geomspace(10, 1e3, 12)
    drifting, settled = law(x, x + 30 * x**0.5), law(x, x + 0.01 * x**0.5)
    assert not drifting.is_settled and settled.is_settled
    assert "not yet asymptotic" in str(drifting) and "not yet asymptotic" not in str(settled)
    assert np.ptp(drifting.local) > 0.1


RANGES = ((10, 1e4, 12), (10, 1e3, 8), (100, 1e6, 12), (10, 100, 8), (3, 1e5, 20))
SUMS = {  # a leading term, and a logarithm of lower order beside it
    "X + 3 log X": (lambda X: X + 3 * np.log(X), "power", 1.0),
    "X + 10 log X": (lambda X: X + 10 * np.log(X), "power", 1.0),
    "2 + log X / X": (lambda X: 2 + np.log(X) / X, "constant", 2.0),
    "X log X + 5 X": (lambda X: X * np.log(X) + 5 * X, "power × logarithm", 1.0),
}


@pytest.mark.parametrize("range_of_X", RANGES)
@pytest.mark.parametrize("name", SUMS)
def test_a_logarithm_of_lower_order_does_not_name_the_law(name, range_of_X):
    formula, kind, truth = SUMS[name]
    X = np.geomspace(*range_of_X)
    for x in (X, 1 / X):
        found = law(x, formula(X))
        assert found.kind == kind
        sign = -1 if x is not X and "power" in kind else 1
        assert found.interval[0] <= sign * truth <= found.interval[1]
        assert not np.isfinite(found.interval).all() or np.ptp(found.interval) < 1


def test_a_law_has_a_sign_and_may_begin_with_the_other():
    X = np.geomspace(3, 1e5, 20)
    assert law(X, -2 * X**0.5).kind == "power" and law(X, -2 * X**0.5).coefficient == pytest.approx(-2)
    begins_below = law(X, X - 3 * np.log(X))
    assert X[0] - 3 * np.log(X[0]) < 0
    assert begins_below.kind == "power" and begins_below.exponent == pytest.approx(1, abs=1e-3)
    low, high = law(X, -3 + 1 / X).interval
    assert low <= -3 <= high < 0


def test_what_no_law_predicts_is_not_asymptotic():
    X = np.geomspace(3, 1e5, 12)
    assert not law(X, np.where(np.arange(12) % 2, 1e3, 1e-3)).is_settled


def test_local_exponents_are_those_between_neighbours():
    x = np.array([1.0, 2.0, 8.0])
    np.testing.assert_allclose(local_exponents(x, x**1.5), 1.5)


def test_an_exact_law_is_found_whatever_its_size():
    x = np.geomspace(0.3, 1e-4, 8)
    for size in (1e-30, 1.0, 1e30):
        assert law(x, size * x**2).kind == "power"
        np.testing.assert_allclose(law(x, size * x**2).exponent, 2, rtol=1e-9)


@pytest.mark.parametrize(("x", "y"), [([1, 2], [1, 2]), ([1, 3, 2], [1, 1, 1]), ([0, 1, 2], [1, 1, 1])])
def test_what_has_no_law_is_refused(x, y):
    with pytest.raises(ValueError):
        law(x, y)
