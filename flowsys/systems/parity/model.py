"""The simplified transformer block of the paper and its loss, declared once (Definitions 3–6, Assumption 1).

The loss sees of the weights only inner products with tokens: p = ⟨W_{1:d}, e_query⟩, q = ⟨W_{d+1:2d}, e_key⟩ and the
scores a = e_keyᵀ A e_query. The output at a query is

    T = Σ_r h_r ReLU(p_r + Σ_j s_j q_{r,j}),        s = softmax(a) over the causal context,

and the loss the sum over query positions of max(1 - margin, 0) (hinge) or -margin (linear; the same before any margin
reaches 1), with margin = -(-1)^label T. At the start W_{1:d} = Σ ν e: ν is a block of its own that does not train, and
`W_own` what is learned beside it. `read` are the token embeddings.

Tokens are taken as `all` (every string of n bits, or a batch; orthonormal or on the hypercube) or as `classes`:
permuting non-secret positions and flipping a non-secret bit change neither labels nor start, so orthonormal
non-secret tokens share one direction, and n is only a number.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import flowsys as fs
from flowsys.errors import InputError
from flowsys.model.starts import generator
from flowsys.systems.parity.data import Parity, all_bits, ascending, rows

# what may be written out: strings of secrets, strings of all bits; what is drawn to read a run on batches
LARGEST_K, LARGEST_N, TEST_SEQUENCES = 10, 12, 1024
# what neurons of their own may hold: weights seen through tokens, and inputs over all strings and positions
MOST_WEIGHTS, MOST_INPUTS = 10**6, 4 * 10**7


def parity_of(p: Any) -> Parity:
    """The problem of a setup, secrets in ascending order; refused if its strings cannot be written out."""
    if p.tokens == "classes":
        if p.k > LARGEST_K:
            raise InputError(
                f"k = {p.k} is not allowed with tokens = classes: all 2^k secret strings, so k <= {LARGEST_K}."
            )
    elif p.n > LARGEST_N and not np.isfinite(p.batch):
        raise InputError(f"n = {p.n} is not allowed with tokens = all: all 2^n strings, so n <= {LARGEST_N}.")
    return ascending(p.n, p.k, p.mode != "no_chain")


# -- data ---------------------------------------------------------------------------------------------------------


def samples(p: Any) -> fs.Samples:
    """Every string once: of the secrets, where other tokens are one class, or of all bits.

    In a run on batches of more bits than can be written out, what is read are fresh strings.
    """
    if p.tokens == "classes":
        return fs.Samples(**rows_of_classes(p.n, p.k, parity_of(p).chain_of_thought))
    if p.n <= LARGEST_N:
        return fs.Samples(**rows(parity_of(p), all_bits(p.n)))
    return fs.Samples(**rows(parity_of(p), generator(p.seed, "test").integers(0, 2, (TEST_SEQUENCES, p.n))))


def rows_of_classes(n: int, k: int, chain: bool = True) -> dict[str, Any]:
    """Rows of the 2^k secret strings; n only enters as the count n - k of the ordinary class, after the secrets."""
    found = rows(ascending(k, k, chain), all_bits(k))
    secret, asking = np.split(found["counts"], [2 * k], axis=-1)
    ordinary = np.full((*secret.shape[:-1], 1), n - k)
    return found | {"counts": np.concatenate([secret, ordinary, asking], axis=-1)}


def fresh_batch(key: Any, p: Any) -> fs.Samples:
    """Fresh strings for one step of descent."""
    import jax

    if p.tokens != "all":
        raise InputError("tokens = classes is not allowed on batches: a batch has no symmetry, use tokens=all.")
    if not np.isfinite(p.batch):
        raise InputError("batch = inf is not allowed with variant = sgd: give the number of fresh strings a step.")
    return fs.Samples(**rows(parity_of(p), jax.random.bernoulli(key, shape=(p.batch, p.n)).astype(int)))


# -- weights --------------------------------------------------------------------------------------------------------


class Embeddings(NamedTuple):
    """Token vectors of keys and of query tokens, and the names of both."""

    keys: np.ndarray
    queries: np.ndarray
    key_names: tuple[str, ...]
    query_names: tuple[str, ...]


def embeddings(p: Any) -> Embeddings:
    """Orthonormal tokens (or classes of them), or hypercube vectors {±d^(-1/2)}^d of the seed (Definition 3)."""
    problem = parity_of(p)
    asking = tuple(f"{i}b{b}" for i in range(p.n + 1, p.n + problem.n_queries + 1) for b in (0, 1))
    if p.tokens == "classes":
        names = (*(f"{j}b{b}" for j in range(1, p.k + 1) for b in (0, 1)), "o", *asking)
        lengths = np.ones(len(names))
        lengths[2 * p.k] = (2 * (p.n - p.k)) ** -0.5
        E = np.diag(lengths)
    else:
        names = (*(f"{j}b{b}" for j in range(1, p.n + 1) for b in (0, 1)), *asking)
        E = np.eye(len(names))
        if np.isfinite(p.d):
            E = generator(p.seed, "embeddings").choice([-1.0, 1.0], (len(names), p.d)) / p.d**0.5
    return Embeddings(E, E[-len(asking) :], names, asking)


def draw_signs(rng: np.random.Generator, width: int, n_query_tokens: int) -> np.ndarray:
    """Signs of ν on the query tokens (2m × 2·queries)."""
    return rng.choice([-1.0, 1.0], (2 * width, n_query_tokens))


def output_weights(width: int) -> np.ndarray:
    """h: the first m neurons push up, the others down (Assumption 1)."""
    return np.repeat([1.0, -1.0], width) / (2 * width)


def neuron_blocks(p: Any, n_neurons: int, start: Any, rate: float) -> dict[str, fs.Direct]:
    """ν, the two halves of W and A, seen through the tokens; neurons move `rate` times as fast as scores."""
    E = embeddings(p)
    gram = E.queries @ E.queries.T
    d = E.keys.shape[1]
    is_orthonormal = np.array_equal(gram, np.eye(len(gram)))
    stirred: Callable[..., dict[str, Any]] = lambda *shape: (
        {"start": lambda rng: p.sigma * rng.standard_normal(shape), "limit": 0.0} if p.sigma else {}
    )
    return {
        "nu": fs.Direct(n_neurons, E.query_names, start=start, trains=False, read=None if is_orthonormal else gram),
        "W_own": fs.Direct(n_neurons, d, rate=rate, read=E.queries),
        "W_att": fs.Direct(n_neurons, d, rate=rate, read=E.keys, **stirred(n_neurons, d)),
        "A": fs.Direct(d, d, read=(E.keys, E.queries), **stirred(d, d)),
    }


def sampled_blocks(p: Any) -> dict[str, fs.Direct]:
    """Assumption 1 with 2·width neurons; a width other than m keeps m's limit: neurons move width/m times as fast."""
    ε, width, n_query_tokens = p.epsilon, p.width, 2 * parity_of(p).n_queries
    n_strings = 2 ** min(LARGEST_N, p.n if p.tokens == "all" else p.k)
    n_tokens = 2 * p.n if p.tokens == "all" else 2 * p.k + 1
    most = min(MOST_WEIGHTS // (n_tokens + n_query_tokens), MOST_INPUTS // (n_strings * n_query_tokens // 2)) // 2
    if width > most:
        raise InputError(f"width = {width} is not allowed here: 2 width neurons are followed one by one, so width <= "
                         f"{most} at k = {p.k}; the variants frozen, collapsed and limit have none.")  # fmt: skip
    start = lambda rng: ε * draw_signs(rng, width, n_query_tokens)
    return neuron_blocks(p, 2 * width, start, width / p.m)


# -- the network ----------------------------------------------------------------------------------------------------


def loss_of_margin(ops: Any, margin: Any, kind: str) -> Any:
    """The loss of one prediction as a function of its margin."""
    return ops.hinge(margin) if kind == "hinge" else -margin


def attention(ops: Any, scores: Any, X: Any) -> Any:
    """Attention of every query on every token (class totals where a token occurs more than once)."""
    return ops.softmax(scores.T[X.query], X.counts)


class Network:
    """Every neuron with its gate; `output_weights(p)` gives h."""

    has_gates = True

    def __init__(self, output_weights):
        self.output_weights = output_weights

    def scores(self, w: Any) -> Any:
        return w.A

    def preactivations(self, ops: Any, w: Any, X: Any) -> Any:
        """Input of every neuron: sequences × positions × neurons."""
        return (w.nu + w.W_own).T[X.query] + attention(ops, w.A, X) @ w.W_att.T

    def margins(self, ops: Any, w: Any, X: Any, p: Any) -> Any:
        """-(-1)^label T at every sequence and position: positive where the prediction is right."""
        return -X.sign * (ops.relu(self.preactivations(ops, w, X)) @ self.output_weights(p))

    def frozen(self, ops: Any, w: Any, p: Any) -> tuple[Any, Any]:
        """(P, K): outputs of the neurons active on each query token, its own and on every key."""
        own = w.nu + w.W_own
        active = ops.is_positive(own) * self.output_weights(p)[:, None]
        return (active * own).sum(axis=0), active.T @ w.W_att

    def loss(self, ops: Any, w: Any, X: Any, p: Any) -> Any:
        return loss_of_margin(ops, self.margins(ops, w, X, p), p.loss).sum(axis=-1)
