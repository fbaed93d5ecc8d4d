"""Gradient flow in reduced coordinates is gradient flow on the weights, whatever the width."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from symbolic_oracle import symbols

from flowsys.model.conserved import pair_invariants
from flowsys.symbolic.assemble import symbol
from flowsys.symbolic.flow import Direct, Gram, balanced_self_scores, chain_rule, pair

D = 3
M = sp.Matrix(D, D, lambda i, j: symbol(f"M_{min(i, j)}{max(i, j)}"))
ENTRIES = tuple(M[i, j] for i in range(D) for j in range(i, D))
# a loss with every entry in it, and not symmetric in any of them
LOSS = sum((k + 1) * x + x * ENTRIES[(k + 2) % len(ENTRIES)] for k, x in enumerate(ENTRIES))


def pushed_forward(width: int, seed: int) -> tuple[dict[sp.Symbol, float], dict[sp.Symbol, float]]:
    """Gram entries of random factors, and their rates as sympy finds them on the factors."""
    F = sp.Matrix(width, D, lambda i, j: sp.Symbol(f"F_{i}{j}"))
    grams = dict(zip(ENTRIES, ((F.T * F)[i, j] for i in range(D) for j in range(i, D))))
    loss = LOSS.xreplace(grams)
    numbers = np.random.default_rng(seed).standard_normal((width, D))
    at = {x: sp.Float(v) for x, v in zip(F, numbers.ravel())}
    rates = {e: sum(-g.diff(x) * loss.diff(x) for x in F) for e, g in grams.items()}
    return {e: float(g.subs(at)) for e, g in grams.items()}, {e: float(r.subs(at)) for e, r in rates.items()}


@pytest.mark.parametrize("width", [1, 2, 4])
def test_gram_flow_is_gradient_flow_on_the_factors(width):
    grams, rates = pushed_forward(width, seed=width)
    ours = Gram(M).derivatives(lambda x: LOSS.diff(x))
    for entry, rate in rates.items():
        assert float(ours[entry].subs(grams)) == pytest.approx(rate, rel=1e-12)


def test_a_wrong_sign_in_one_entry_is_noticed():
    grams, rates = pushed_forward(2, seed=2)
    ours = Gram(M).derivatives(lambda x: -LOSS.diff(x) if x == ENTRIES[1] else LOSS.diff(x))
    assert any(abs(float(ours[e].subs(grams)) - rate) > 1e-3 for e, rate in rates.items())


def test_multiplicity_divides_the_rate():
    once, thrice = (Gram(M, multiplicity=sp.Integer(n)).derivatives(lambda x: LOSS.diff(x)) for n in (1, 3))
    assert all(sp.expand(3 * thrice[x] - once[x]) == 0 for x in ENTRIES)


def test_a_block_that_does_not_train_rests():
    assert all(v == 0 for v in Gram(M, trains=sp.S.Zero).derivatives(lambda x: LOSS.diff(x)).values())


def test_copies_are_a_diagonal_metric():
    x, y, _ = symbols(3)
    gradient = {x: sp.Symbol("g"), y: sp.Symbol("h")}.get
    assert Direct((x, y), (sp.Integer(2), sp.Integer(5))).derivatives(gradient) == Direct(
        (x, y), sp.diag(sp.Rational(1, 2), sp.Rational(1, 5))
    ).derivatives(gradient)


def test_a_full_metric_mixes_gradients():
    x, y, _ = symbols(3)
    g = {x: sp.Symbol("g"), y: sp.Symbol("h")}
    rates = Direct((x, y), sp.Matrix([[2, 1], [1, 3]])).derivatives(g.get)
    assert sp.expand(rates[x] + 2 * g[x] + g[y]) == 0 and sp.expand(rates[y] + g[x] + 3 * g[y]) == 0


@settings(deadline=None, max_examples=20)
@given(st.lists(st.floats(-2, 2), min_size=4, max_size=4), st.floats(0.1, 1))
def test_balanced_self_scores_square_to_what_the_spectrum_says(entries, ω):
    scores = sp.Matrix(2, 2, [sp.Float(x) for x in entries])
    S = np.array(scores.tolist(), dtype=float)
    KK, QQ = (np.array(m.tolist(), dtype=float) for m in balanced_self_scores(scores, sp.Float(ω)))
    assert np.allclose(KK @ KK, ω**4 * np.eye(2) + S @ S.T, atol=1e-10)
    assert np.allclose(QQ @ QQ, ω**4 * np.eye(2) + S.T @ S, atol=1e-10)


def test_balanced_self_scores_keep_their_digits_where_the_scores_are_nearly_singular():
    ω = 1e-4  # the small eigenvalue of √(ω⁴I + SSᵀ) is ω², far below the rounding of |S|² = 26
    KK, _ = balanced_self_scores(sp.Matrix(2, 2, [1.0, 5.0, 0.0, 0.0]), sp.Float(ω))
    assert float(KK[1, 1]) == pytest.approx(ω**2, rel=1e-12)


def test_self_scores_of_larger_blocks_are_refused():
    with pytest.raises(ValueError, match="2×2"):
        balanced_self_scores(sp.eye(3), sp.Symbol("w"))


def test_entries_that_are_functions_of_entries_chain():
    x, y, _ = symbols(3)
    a, b = sp.symbols("a b")
    gradient = chain_rule({a: x * y, b: a**2}, {a: sp.Symbol("ga"), b: sp.Symbol("gb")})
    assert sp.expand(gradient(x) - sp.Symbol("ga") * y - sp.Symbol("gb") * 2 * x * y**2) == 0


def test_a_pair_is_the_gram_matrix_of_both_factors():
    KK, S, QQ = sp.MatrixSymbol("K", 2, 2), sp.MatrixSymbol("S", 2, 2), sp.MatrixSymbol("Q", 2, 2)
    M = pair(KK.as_explicit(), S.as_explicit(), QQ.as_explicit())
    assert M[:2, 2:] == S.as_explicit() and M[2:, :2] == S.as_explicit().T and M[2:, 2:] == QQ.as_explicit()


def random_pair(seed: int, width: int = 3, n: int = 2):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((width, 2 * n)), rng.standard_normal((n, n))


def gram_flow(M, Γ):
    return -(Γ @ M + M @ Γ)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_flow_of_a_pair_keeps_its_spectrum(seed):
    F, G = random_pair(seed)
    gram, Γ = F.T @ F, np.block([[np.zeros((2, 2)), G], [G.T, np.zeros((2, 2))]])
    step = 1e-5
    drift = pair_invariants(gram + step * gram_flow(gram, Γ), 2) - pair_invariants(gram - step * gram_flow(gram, Γ), 2)
    assert np.abs(drift / (2 * step)).max() < 1e-5 * np.abs(pair_invariants(gram, 2)).max()


def test_a_loss_that_reads_self_scores_does_not_keep_the_spectrum():
    F, G = random_pair(0)
    gram, Γ = F.T @ F, np.block([[np.eye(2), G], [G.T, np.zeros((2, 2))]])
    drift = pair_invariants(gram + 1e-5 * gram_flow(gram, Γ), 2) - pair_invariants(gram, 2)
    assert np.abs(drift / 1e-5).max() > 1e-2
