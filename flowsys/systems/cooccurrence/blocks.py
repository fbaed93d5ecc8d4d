"""The symmetric start under Assumption 2.3: word classes, pair orbits, and matrices as small blocks.

With equal initial correlations the flow commutes with permuting the irrelevant words of a sentence and the sentences of
a type, and (for n_2 = n_3) with the swap μ1 ↔ μ2, I_2 ↔ I_3. An invariant d × d matrix is then

    one 7 × 7 block on (μ1, μ2, μ3, f_1 … f_4), f_T the normalised sum of the irrelevant words of type T    (once),
    a scalar s_T on vectors that sum to zero over the samples of type T                               (n_T − 1 times),
    a scalar k_T on vectors that sum to zero within a sample of type T                            (n_T (R_T − 1) times),

so products of matrices are products of blocks, and each Gram block obeys dM_b/dt = −(Γ_b M_b + M_b Γ_b) with
Γ_b = (1/multiplicity)(∂L/∂M_b + transpose). With the swap, the 7 × 7 block is an even 5 × 5 block on
(μ_+, μ3, f_1, f_+, f_4) and an odd 2 × 2 block on (μ_−, f_−). n and L may be real numbers or symbols.
"""

from typing import Any, NamedTuple

import numpy as np

from flowsys.systems.cooccurrence.data import N_SPECIAL, Samples
from flowsys.systems.cooccurrence.model import Scores, Sizes

_RANDOM = np.arange(3, 7)


class Blocks(NamedTuple):
    """An invariant d × d matrix: its 7 × 7 block and, per type, the scalars `across` (s_T) and `within` (k_T)."""

    invariant: Any
    across: Any
    within: Any


class SwapBlocks(NamedTuple):
    """An invariant matrix that also commutes with the swap; scalars of type 1, of types 2 and 3, and of type 4."""

    even: Any
    odd: Any
    across: Any
    within: Any


def multiplicities(sizes: Sizes) -> Blocks:
    """How often each block occurs in the d × d matrix; a block that occurs 0 times does not exist."""
    return Blocks(1, sizes.sample_counts - 1, sizes.sample_counts * (sizes.random_slots - 1))


def swap_multiplicities(sizes: Sizes) -> SwapBlocks:
    """As `multiplicities`, for n_2 = n_3: the scalars of types 2 and 3 are one, twice as frequent."""
    _, across, within = multiplicities(sizes)
    one_two_four, twice = np.array([0, 1, 3]), np.array([1, 2, 1])
    return SwapBlocks(1, 1, twice * across[one_two_four], twice * within[one_two_four])


def class_sizes(sizes: Sizes, ops):
    """Number of words in each of the 7 classes: 1, 1, 1, n_T R_T."""
    return ops.concatenate([ops.array([1, 1, 1]), sizes.sample_counts * sizes.random_slots])


def scores_within_sentences(blocks: Blocks, sizes: Sizes, ops) -> Scores:
    """The entries of S that the softmax reads."""
    M, R_T, ε = blocks.invariant, sizes.random_slots, sizes.per_sample
    share = ops.sqrt(ε / R_T)
    sample_mean = ε * M[_RANDOM, _RANDOM] + (1 - ε) * blocks.across
    same_sample = (sample_mean - blocks.within) / R_T
    return Scores(
        special=M[:3, :3],
        special_random=M[:3, 3:] * share[None, :],
        random_special=M[3:, :3] * share[:, None],
        same_word=same_sample + blocks.within,
        same_sample=same_sample,
    )


def class_values(components, sizes: Sizes, ops):
    """Components of G along the orthonormal (μ1, μ2, μ3, f_1 … f_4), as a Gram block has them -> G of the 7 classes.

    Even components are brought to this basis by `swap_basis(ops)[:, :5]`.
    """
    random = ops.sqrt(sizes.per_sample / sizes.random_slots)
    return ops.concatenate([components[:3], components[3:] * random])


def swap_basis(ops):
    """(7, 7): columns μ_+, μ3, f_1, f_+, f_4 (even), μ_−, f_− (odd) in the basis (μ1, μ2, μ3, f_1 … f_4)."""
    h = 1 / ops.sqrt(ops.array(2))
    rows = [
        [h, 0, 0, 0, 0, h, 0],
        [h, 0, 0, 0, 0, -h, 0],
        [0, 1, 0, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0, 0],
        [0, 0, 0, h, 0, 0, h],
        [0, 0, 0, h, 0, 0, -h],
        [0, 0, 0, 0, 1, 0, 0],
    ]
    return ops.array(rows)


def without_swap(blocks: SwapBlocks, ops) -> Blocks:
    """The same matrix in the 7 × 7 description."""
    U = swap_basis(ops)
    invariant = U[:, :5] @ blocks.even @ U[:, :5].T + U[:, 5:] @ blocks.odd @ U[:, 5:].T
    one_two_two_four = np.array([0, 1, 1, 2])
    return Blocks(invariant, blocks.across[one_two_two_four], blocks.within[one_two_two_four])


def word_classes(samples: Samples) -> np.ndarray:
    """The class 0 … 6 of every word of a set of distinct words (Assumption 2.3), −1 for a word that does not occur."""
    classes = np.full(samples.d, -1)
    classes[:N_SPECIAL] = np.arange(N_SPECIAL)
    for word, (sample, _) in _places(samples).items():
        classes[word] = N_SPECIAL + samples.types[sample]
    return classes


def matrix_of(blocks: Blocks, samples: Samples) -> np.ndarray:
    """The d × d matrix (0 on words that do not occur)."""
    basis, across, within = _isotypic(samples)
    matrix = basis @ np.asarray(blocks.invariant) @ basis.T
    for T in range(4):
        matrix = matrix + blocks.across[T] * across[T] + blocks.within[T] * within[T]
    return matrix


def blocks_of(matrix: np.ndarray, samples: Samples) -> Blocks:
    """The blocks of the mean of a matrix over the group (exact if the matrix is invariant); absent scalars are 0."""
    basis, across, within = _isotypic(samples)

    def mean(projector):
        trace = np.trace(projector)
        return np.sum(projector * matrix) / trace if trace > 0.5 else 0.0

    return Blocks(basis.T @ matrix @ basis, np.array([*map(mean, across)]), np.array([*map(mean, within)]))


def pair_orbits(samples: Samples, swap: bool = True, symmetric: bool = False) -> np.ndarray:
    """(d, d) numbers of the orbits of (key, query) pairs of words that occur; −1 elsewhere.

    `symmetric` joins (key, query) with (query, key), as befits VV, KK and QQ.
    """
    classes, place = word_classes(samples), _places(samples)
    mirror = np.array([1, 0, 2, 3, 5, 4, 6])

    def orbit(key, query):
        relation = 0
        if key >= N_SPECIAL and query >= N_SPECIAL:
            same_sample = place[key][0] == place[query][0]
            relation = 2 if key == query else int(same_sample)
        pairs = [(classes[key], classes[query])]
        if swap:
            pairs += [tuple(mirror[list(pair)]) for pair in pairs]
        if symmetric:
            pairs += [pair[::-1] for pair in pairs]
        # (μ1, μ1) and (μ1, μ2) differ by their classes already, irrelevant words only by the relation
        return (*min(pairs), relation)

    numbers: dict = {}
    orbits = np.full((samples.d, samples.d), -1)
    present = np.flatnonzero(classes >= 0)
    for key in present:
        for query in present:
            orbits[key, query] = numbers.setdefault(orbit(key, query), len(numbers))
    return orbits


def _places(samples: Samples) -> dict[int, tuple[int, int]]:
    """irrelevant word -> (sample, position); each must occur once."""
    random = samples.words >= N_SPECIAL
    words, counts = np.unique(samples.words[random], return_counts=True)
    if np.any(counts > 1):
        raise ValueError(
            f"word {words[counts > 1][0]} occurs {counts.max()} times, but the limit's word classes need "
            "irrelevant words that occur once (Assumption 2.3)."
        )
    return {int(samples.words[i, l]): (int(i), int(l)) for i, l in np.argwhere(random)}


def _isotypic(samples: Samples):
    """Orthonormal basis (d, 7) of the invariants, and the projectors of s_T and k_T, (4, d, d) each."""
    basis, across, within = np.zeros((samples.d, 7)), np.zeros((4, samples.d, samples.d)), []
    basis[range(3), range(3)] = 1
    for T in range(4):
        samples_T = samples.words[samples.types == T]
        members = [row[row >= N_SPECIAL] for row in samples_T]
        words = np.concatenate([*members, np.array([], int)])
        if len(words):
            basis[words, 3 + T] = 1 / np.sqrt(len(words))
        means = np.zeros((samples.d, samples.d))
        for row in members:
            if len(row):
                means[np.ix_(row, row)] = 1 / len(row)
        across[T] = means - np.outer(basis[:, 3 + T], basis[:, 3 + T])
        identity = np.zeros((samples.d, samples.d))
        identity[words, words] = 1
        within.append(identity - means)
    return basis, across, np.array(within)
