"""Parity sequences, and the rows a loss is summed over.

Bits b[1..n] are uniform, b[n+1] = 0, and b[i+1] = b[i] ⊕ b[S[i]] for i = n+1..n+k (Definition 2); without a chain of
thought only b[n+2], the parity of all secret bits, follows (Definition 1). Token (j, b) has number 2(j-1) + b.

Of every sequence and query position, `rows` gives which token asks, how often every token is in its causal context,
the sign (-1)^label, and the token at S[i].
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

MAX_ENUMERATED_BITS = 16


@dataclass(frozen=True)
class Parity:
    """The parity problem (n, k) with secrets S[n+1], ..., S[n+k], each a position in 1..n."""

    n: int
    secrets: tuple[int, ...]
    chain_of_thought: bool = True

    def __post_init__(self):
        if not self.secrets or len(set(self.secrets)) != len(self.secrets):
            raise ValueError(f"secrets = {self.secrets}, but at least one position and no repetition is allowed.")
        if min(self.secrets) < 1 or max(self.secrets) > self.n:
            raise ValueError(f"secrets = {self.secrets}, but every secret must be a position from 1 to n = {self.n}.")

    @property
    def k(self) -> int:
        return len(self.secrets)

    @property
    def n_queries(self) -> int:
        """Positions at which the loss is taken: n+1..n+k with a chain of thought, else n+1."""
        return self.k if self.chain_of_thought else 1

    @property
    def n_positions(self) -> int:
        return self.n + self.n_queries

    @property
    def n_tokens(self) -> int:
        return 2 * self.n_positions


def ascending(n: int, k: int, chain_of_thought: bool = True) -> Parity:
    """Secrets at positions 1..k, read in ascending order."""
    return Parity(n, tuple(range(1, k + 1)), chain_of_thought)


def shuffled(seed: int, n: int, k: int, chain_of_thought: bool = True) -> Parity:
    """k secret positions drawn without replacement, in random order."""
    import jax

    drawn = jax.random.permutation(jax.random.key(seed), n)[:k]
    return Parity(n, tuple(int(j) + 1 for j in drawn), chain_of_thought)


def all_bits(count: int) -> np.ndarray:
    """All 2^count bit strings, one a row."""
    if count > MAX_ENUMERATED_BITS:
        raise ValueError(f"n = {count}, but at most {MAX_ENUMERATED_BITS} bits are enumerated.")
    return np.array(list(product((0, 1), repeat=count)), dtype=np.int64).reshape(-1, count)


def sequences(problem: Parity, bits: Any) -> Any:
    """Input bits (B × n) completed by the end-of-sequence bit, the chain of thought and the last label."""
    xp = bits.__array_namespace__()
    running = xp.cumulative_sum(bits[:, np.array(problem.secrets) - 1], axis=1) % 2
    shown = running if problem.chain_of_thought else running[:, -1:]
    return xp.concatenate([bits, xp.zeros_like(bits[:, :1]), shown], axis=1)


def rows(problem: Parity, bits: Any) -> dict[str, Any]:
    """Of input bits (B × n): query, sign and target (B × positions), counts (B × positions × tokens).

    Without a chain of thought attention has no one target: that of the first secret stands there.
    """
    sequence = sequences(problem, bits)
    token_position, token_bit = np.divmod(np.arange(problem.n_tokens), 2)
    query_position = problem.n + np.arange(problem.n_queries)
    present = sequence[:, token_position] == token_bit[None, :]
    causal = token_position[None, :] <= query_position[:, None]
    secret = np.array(problem.secrets)[: problem.n_queries] - 1
    return {
        "query": 2 * np.arange(problem.n_queries)[None, :] + sequence[:, query_position],
        "counts": (present[:, None, :] & causal[None]) * 1,
        "sign": 1 - 2 * sequence[:, query_position + 1],
        "target": 2 * secret[None, :] + sequence[:, secret],
    }
