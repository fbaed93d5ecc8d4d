"""Theorems and lemmas of the parity paper by code of their own: what does not hold as printed; Eq. (1)."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, norm

from flowsys.analysis.attention import attention_entropy
from flowsys.claims.conditions import Conditions
from flowsys.systems import load
from flowsys.systems.parity.claims import construction

PARITY = load("parity")
CLAIMS = {claim.id: claim for claim in PARITY.claims}


def checked(id, **parameters):
    return CLAIMS[id].check(PARITY, Conditions(None, None, tuple(parameters.items())))


# -- Theorem 1 --------------------------------------------------------------------------------------------------------


def exhaustive_margin(made, n, k):
    """The least margin of the construction over every string, one by one."""
    offsets, h = construction.ramps(k)
    least = np.inf
    for bits in product((0, 1), repeat=n):
        scores = np.append(made.scores[np.arange(n), bits], made.end_score)
        values = np.append(made.values[np.arange(n), bits], made.end_value)
        weights = np.exp(scores - scores.max())
        x = 2 * k * (weights @ values) / weights.sum()
        least = min(least, (-1) ** (sum(bits[:k]) + 1) * (h @ np.maximum(offsets + x, 0)))
    return least


@pytest.mark.parametrize(("k", "d"), [(2, 120), (3, 160)])
def test_theorem_1s_bound_lies_below_every_string_and_is_positive(k, d):
    made = construction.construct(9, k, d, np.random.default_rng(1))
    assert 0 < made.least_margin() <= exhaustive_margin(made, 9, k) + 1e-12


def test_theorem_1_fails_in_too_few_dimensions():
    made = [construction.construct(9, 3, 7, np.random.default_rng(seed)) for seed in range(3)]
    assert min(exhaustive_margin(one, 9, 3) for one in made) < 0 and min(one.least_margin() for one in made) < 0


def test_few_bits_of_precision_do_not_suffice():
    made = construction.construct(9, 3, 160, np.random.default_rng(1), bits=1)
    assert made.least_margin() < 0 < construction.construct(9, 3, 160, np.random.default_rng(1), bits=14).least_margin()


def test_the_ramps_make_a_zigzag():
    offsets, h = construction.ramps(5)
    c = np.arange(6)
    assert np.array_equal(np.maximum(offsets[None] + 2.0 * c[:, None], 0) @ h, (-1.0) ** (c + 1))


# -- what does not hold as printed, by own code -----------------------------------------------------------------------


def strings(n, k):
    """Every sequence with its chain and last label, secrets first."""
    found = []
    for bits in product((0, 1), repeat=n):
        chain = [0]
        for j in range(k):
            chain.append(chain[-1] ^ bits[j])
        found.append([*bits, *chain])
    return np.array(found)


def first_step_outputs(n, k):
    """K after step 1 at infinite width per η_0/m, by summing over every string: Γ = (I + 11ᵀ)/8."""
    rows, slope = strings(n, k), np.zeros((2 * k, 2 * (n + k)))
    for row in rows:
        for j in range(k):
            i = n + j
            for t in range(i + 1):
                slope[2 * j + row[i], 2 * t + row[t]] += (-1.0) ** row[i + 1] / (i + 1) / len(rows)
    return -(slope + slope.sum(axis=0)) / 8


def test_lemmas_18_and_19_by_summing_over_every_string():
    n, k = 6, 3
    K = first_step_outputs(n, k)
    assert np.isclose(-K[0, 0], 1 / (8 * (n + 1))) and np.isclose(-K[4, 4], 1 / (32 * (n + 3)))
    assert np.isclose(-K[2, 0], 1 / (16 * (n + 1)))  # off target: the common mode
    found = checked("lemma_18", n=n, k=k)
    assert str(found.word) == "holds in part" and np.isclose(found.values["at_first"], -K[0, 0] * 16 * (n + 1))
    assert np.isclose(checked("lemma_19", n=n, k=k).values["common"], -K[2, 0])


def test_lemma_19s_bound_is_far_below_the_common_mode_in_the_papers_range():
    n, k = 4e9, 11_000
    L = np.log(10 * n)
    bound = (
        10 * np.sqrt(n * k / (1.28e7 * n * L**20 * k * L**1.1)) / n * np.log(300 * 2 * k * n * 1.28e7 * n * L**20 * 10)
    )
    found = CLAIMS["lemma_19"].check(PARITY)
    assert n / L**5 < k < n / L**4 and str(found.word) == "does not hold"
    assert np.isclose(found.constant, 1 / (16 * (n + 1)) / bound, rtol=1e-6)


def test_lemma_7s_bound_is_0_off_target_where_a_batch_is_not_balanced():
    bits = np.random.default_rng(0).integers(0, 2, (512, 12))
    b = np.concatenate([bits, np.zeros((512, 1), int), np.cumsum(bits[:, :3], axis=1) % 2], axis=1)
    α = ((-1.0) ** b[:, 13] * (b[:, 5] == 1)).sum()  # i = n+1, j = 6, which is not secret
    assert α != 0 and str(CLAIMS["lemma_7"].check(PARITY).word) == "does not hold"


def third_gradient(n, k, j):
    """E[(-1)^label 1(b[i] = 0, b[S[i]] = 0)] at one-hot attention: the factor of h_r on S[i]."""
    rows = strings(n, k)
    i = n + j
    return np.mean((-1.0) ** rows[:, i + 1] * (rows[:, i] == 0) * (rows[:, j] == 0))


def test_lemmas_23_and_25_by_summing_over_every_string():
    later, first = third_gradient(6, 3, 2), third_gradient(6, 3, 0)
    gradient, shift = checked("lemma_23"), checked("lemma_25")
    assert np.isclose(gradient.values["later"], later) and np.isclose(gradient.values["first"], first)
    assert np.isclose(shift.values["later"], 4 / 3 / 2 * later) and np.isclose(shift.values["first"], 4 / 3 / 2 * first)
    assert {str(gradient.word), str(shift.word)} == {"does not hold"}


def test_lemma_14_on_a_batch_by_hand():
    found = CLAIMS["lemma_14"].check(PARITY)
    bits = np.random.default_rng(0).integers(0, 2, (512, 12))
    α = ((-1.0) ** bits[:, 0] * (bits[:, 0] == 0)).sum()  # i = n+1 on (S[n+1], 0): the label is b[S[n+1]]
    assert α != 256 and abs(α - 256) / 256 >= 0.5 * found.constant


def test_attention_at_n_plus_2_depends_on_the_bit_of_its_secret_alone():
    import parity_oracle as oracle

    n, k, m = 6, 3, 1.0
    rhs = oracle.frozen_rhs(n, k, oracle.limit_overlaps(k, m))
    y = oracle.solve(rhs, np.zeros(2 * 6 * 13), [0.0, 60.0 * n], 1e-9, 1e-11)
    a = y[78:, -1].reshape(13, 6)
    for query in (2, 3):  # (n+2, 0) and (n+2, 1)
        assert a[2, query] < 0 < 10 < a[3, query]  # (S[n+2], 0) fails, (S[n+2], 1) locks


def test_margins_at_n_plus_2_turn_negative():
    found = CLAIMS["one_hot_at_n2"].check(PARITY)
    assert found.values["margin"] < 0 and str(found.word) == "holds in part"


def test_theorem_3_width_in_and_out_of_its_regime():
    inside = checked("theorem_3_width", n=4 * 10**9, k=11_000)
    outside = checked("theorem_3_width", n=30_000, k=7500)
    assert str(inside.word) == "holds" and inside.values["one_hot_error"] < (4e9) ** -8
    assert str(outside.word) == "outside the regime" and outside.values["one_hot_error"] < 1e-40


def test_theorem_3_at_the_printed_constants_of_its_rates():
    n, k, ρ, ε = 10**12, 1_200_000, 0.002, 52.0
    found = CLAIMS["theorem_3_width_rates"].check(PARITY)
    assert 4 * ρ <= 1 / 120 and ρ**2 * 2 * k * ε**2 / 16 > 40 * np.log(n)
    scores = ρ**2 * 2 * k * ε**2 / 8  # on S[i] after the second step, an infinite number of neurons
    assert str(found.word) == "holds" and abs(found.values["log10_error"] * np.log(10) / -scores - 1) < 0.1


def test_rates_at_which_gates_flip_are_outside_what_theorem_3_states():
    inside, outside = (checked("theorem_3_width", rho=ρ) for ρ in (0.33, 0.34))
    assert str(inside.word) == "holds" and inside.values["shift"] < 1
    assert str(outside.word) == "outside the regime" and outside.values["shift"] > 1


def test_more_pairs_of_tokens_are_far_from_orthogonal_than_lemma_31_allows():
    found = CLAIMS["lemma_31"].check(PARITY)
    n, k, d = 4e9, 11_000, found.values["d"]
    x = np.sqrt(2 * np.log(8 * n * d * 10))  # the bound in standard deviations of an inner product
    assert str(found.word) == "does not hold" and n / np.log(10 * n) ** 5 < k < n / np.log(10 * n) ** 4
    assert np.isclose(found.constant * 0.1, 4 * (n + k) ** 2 * norm.sf(x), rtol=0.02) and found.values["least"] > 0.9


def test_pairs_beyond_a_bound_are_as_many_as_the_binomial_says():
    n, d, bound = 4000, 64, 0.6
    E = np.random.default_rng(0).choice(np.array([-1, 1], np.float32), (2 * n, d))
    beyond = (np.abs(E @ E.T) > bound * d).sum() / 2 - n  # the diagonal is not a pair
    expected = n * (2 * n - 1) * 2 * binom.sf(np.floor(d * (1 + bound) / 2), d, 0.5)
    assert abs(beyond - expected) < 4 * np.sqrt(expected)


@pytest.mark.parametrize(
    ("id", "given", "allowed"),
    [
        ("lemma_1", {"k": 72, "d": 812_992}, "k d <= 4000000"),
        ("lemma_7_sums", {"n": 1000, "k": 1, "m": 5900.0}, "width max(k, 8) (n + k) <= 6000000"),
        ("lemma_10", {"n": 10**6, "k": 1000, "d": 10**6}, "k <= 500"),
        ("lemma_24", {"n": 10**12, "k": 10**7}, "k <= 2000000"),
        ("one_hot_elsewhere", {"n": 10**7, "k": 10**6}, "k <= 2000"),
    ],
)
def test_claims_refuse_sizes_that_would_take_minutes_by_name(id, given, allowed):
    assert allowed in checked(id, **given).note


# -- entropy ----------------------------------------------------------------------------------------------------------


def test_uniform_causal_attention_has_entropy_one():
    attention = np.tril(np.ones((7, 7)))
    assert abs(attention_entropy(attention / attention.sum(axis=1, keepdims=True)) - 1) < 1e-14


def test_one_sharp_query_makes_the_entropy_zero():
    attention = np.tril(np.ones((3, 2, 7, 7)))
    attention /= attention.sum(axis=-1, keepdims=True)
    attention[1, 0, 4] = np.eye(7)[2]
    entropy = attention_entropy(attention)
    assert entropy.shape == (3, 2) and entropy[1, 0] == 0 and np.allclose(np.delete(entropy.ravel(), 2), 1)


def test_half_on_one_key_gives_the_entropy_by_hand():
    attention = np.array([[0.5, 0.25, 0.25]])
    assert abs(attention_entropy(attention, lengths=[3]) - 1.5 * np.log(2) / np.log(3)) < 1e-15


def test_rows_that_are_no_distributions_are_refused():
    with pytest.raises(ValueError, match="attention"):
        attention_entropy(np.ones((3, 3)))
