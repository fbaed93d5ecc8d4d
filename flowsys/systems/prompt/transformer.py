"""The single-head transformer itself: patterns, merged weights W, and how W is read by the loss (Eq. 2, App. B).

Columns are (input; output; 0) + c_k in R^(2 d_X + K), with c_k the k-th unit vector of the last block (the paper's
third zero block of W_V leaves no other place for it). W is trained whole; the loss sees it only through its entries
between the frames {a_i, b_i, c_k} of keys and {a_i, c_k} of queries, and because the frames are orthonormal,
gradient flow or descent on W is gradient flow or descent on those entries.
"""

import jax
import jax.numpy as jnp

from flowsys.model import ops

from .checks import check_at_least, check_count
from .model import Prompts, score_loss


def orthonormal_patterns(key, M: int, d_X: int):
    """M orthonormal rows in R^d_X, uniformly distributed."""
    check_count("M", M, 1, check_count("d_X", d_X, 1))
    with jax.enable_x64(True):
        Q, R = jnp.linalg.qr(jax.random.normal(key, (d_X, M), dtype=float))
        return (Q * jnp.sign(jnp.diagonal(R)).reshape(1, M)).T


def weights(key, d_X: int, K: int, xi: float):
    """W(0) with independent N(0, ξ²) entries (Algorithm 1, line 2)."""
    check_count("d_X", d_X, 1)
    check_count("K", K, 1)
    check_at_least("xi", xi, 0.0)
    with jax.enable_x64(True):
        D = 2 * d_X + K
        return xi * jax.random.normal(key, (D, D), dtype=float)


def frames(patterns, K: int):
    """Rows a_i, b_i, c_k that keys are sums of, and rows a_i, c_k that queries are sums of."""
    M, d_X = patterns.shape
    D = 2 * d_X + K
    a = jnp.zeros((M, D), patterns.dtype).at[:, :d_X].set(patterns)
    b = jnp.zeros((M, D), patterns.dtype).at[:, d_X : 2 * d_X].set(patterns)
    c = jnp.eye(D, dtype=patterns.dtype)[2 * d_X :]
    return jnp.concatenate([a, b, c]), jnp.concatenate([a, c])


def scores_of(W, patterns):
    """Entries uᵀ W v, u in the key frame and v in the query frame: (2M + K, M + K)."""
    keys, queries = frames(patterns, W.shape[0] - 2 * patterns.shape[1])
    return keys @ W @ queries.T


def weights_with(scores, patterns):
    """The W of least norm with the given frame entries: where training arrives from W(0) = 0."""
    keys, queries = frames(patterns, scores.shape[0] - 2 * patterns.shape[0])
    return keys.T @ scores @ queries


def loss(W, patterns, prompts: Prompts):
    """Mean loss over `prompts` of the transformer with weights W."""
    return score_loss(ops, scores_of(W, patterns), prompts)


def field(t, W, args):
    """Gradient flow on the weights; `args` = (patterns, prompts)."""
    del t
    return -jax.grad(loss)(W, *args)
