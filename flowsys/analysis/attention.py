"""How sparse attention is: the normalised entropy of any attention array (parity paper, Eq. (1)).

    Ent = min over queries i ≥ 2 of H(attention of query i) / log i,

between 0 (some query attends to one key) and 1 (every query attends uniformly). The paper averages it over samples.
"""

import numpy as np


def attention_entropy(attention, lengths=None) -> np.ndarray:
    """Ent of attention (..., queries, keys): an array of shape (...).

    `lengths` (queries) is the number of keys each query can see, by default 1, 2, ..., as in a causal square array;
    queries that see a single key are left out.
    """
    attention = np.asarray(attention, dtype=float)
    if attention.ndim < 2:
        raise ValueError(f"attention has {attention.ndim} dimensions, but (..., queries, keys) is required.")
    if np.any(attention < 0) or np.any(np.abs(attention.sum(axis=-1) - 1) > 1e-4):
        raise ValueError(
            "attention has rows that are negative or do not sum to 1, but every row must be a distribution."
        )
    n_queries = attention.shape[-2]
    lengths = np.arange(1, n_queries + 1) if lengths is None else np.asarray(lengths)
    if lengths.shape != (n_queries,):
        raise ValueError(
            f"lengths has shape {lengths.shape}, but one length for each of {n_queries} queries is needed."
        )
    kept = lengths >= 2
    if not kept.any():
        raise ValueError(f"lengths = {lengths.tolist()}, but at least one query must see two keys.")
    logarithm = np.log(attention, out=np.zeros_like(attention), where=attention > 0)
    entropy = -(attention * logarithm).sum(axis=-1)
    return (entropy[..., kept] / np.log(lengths[kept])).min(axis=-1)
