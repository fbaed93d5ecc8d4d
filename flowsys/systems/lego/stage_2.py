"""Stage 2: attention over an isotropic feed-forward layer, four numbers α, β, γ, δ.

The query `ans, ℓ-1` of a length-L sentence scores α on predicate ℓ, β on the other L - 1 predicates, γ on its own
answer and δ on the other ℓ - 1 answers. A configuration (see `configurations`) says what those clauses hold: with
attention p_α … p_δ per clause, P on predicates and S on answers,

    M_{jy} = p_α hit_{jy} + p_β distractors_{jy},     N_y = p_γ current_y + p_δ past_y,
    Λ_{j,y} = P b' + (a - b') M_{jy} + S e + (c - e) N_y + b,     F_j = Σ_y s(Λ_{j,y}).

Time is τ = t / n_x: α and γ stand for n_x entries, β and δ for n_x (n_x - 1).
"""

from typing import Any, NamedTuple

from flowsys.systems.lego.configurations import Configurations
from flowsys.systems.lego.feedforward import FeedForward
from flowsys.systems.lego.isotropic import Isotropic


class Scores(NamedTuple):
    """Diagonal and off-diagonal value of Q_43, then of Q_44."""

    alpha: Any = 0.0
    beta: Any = 0.0
    gamma: Any = 0.0
    delta: Any = 0.0


AT_REST = Scores()


def attention(ops, scores: Scores, L, ell) -> Scores:
    """Attention on one clause of each kind (Eq. 19); L and ℓ may be symbols."""
    stacked = ops.stack(list(scores))
    total = ops.log_sum_exp(stacked, counts=ops.array([1, L - 1, 1, ell - 1]))
    return Scores(*(ops.exp(stacked[i] - total) for i in range(4)))


def eps_attention(ops, scores: Scores, L, ell):
    """ε^{L,ℓ}: attention on clauses that do not matter (Eq. 20)."""
    p = attention(ops, scores, L, ell)
    return (L - 1) * p.beta + (ell - 1) * p.delta


def gap(ops, scores: Scores, L, ell):
    """Δ^{L,ℓ} with its sign: attention on the right predicate minus on the right answer (Eq. 20 takes |·|)."""
    p = attention(ops, scores, L, ell)
    return p.alpha - p.gamma


def preactivation(ops, scores: Scores, features: Isotropic, hit, distractors, current, past, L, ell, bias):
    """Λ of neurons that see these counts; the four are numbers, symbols or arrays that broadcast."""
    p = attention(ops, scores, L, ell)
    a, b_prime, c, e = features
    predicates = p.alpha + (L - 1) * p.beta
    answers = p.gamma + (ell - 1) * p.delta
    M = p.alpha * hit + p.beta * distractors
    N = p.gamma * current + p.delta * past
    return predicates * b_prime + answers * e + bias + (a - b_prime) * M + (c - e) * N


def logits(ops, scores: Scores, features: Isotropic, table: Configurations, feedforward: FeedForward):
    """F_j of the values in every row of a table: (rows, n_y)."""
    current, past = (x[:, None, :] for x in (table.current, table.past))
    counts = table.hit, table.distractors, current, past
    Λ = preactivation(ops, scores, features, *counts, table.L, table.ell, feedforward.bias)
    return feedforward.clip_logits(ops, feedforward.activate(ops, Λ).sum(axis=-1))
