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

from flowsys.systems.cooccurrence.model import Scores, Sizes
from flowsys.systems.cooccurrence.sentences import Sentences

TYPES = {"88": ("1", "23", "4"), "113": ("1", "23", "4"), "without_swap": ("1", "2", "3", "4")}
"""The types that a stated limit tells apart."""
SECTORS: dict[str, dict[str, tuple[str, ...]]] = {
    "88": {"even": ("mu", "mu3", "f1", "f23", "f4"), "odd": ("mu", "f23")},
    "without_swap": {"all": ("mu1", "mu2", "mu3", "f1", "f2", "f3", "f4")},
}
"""The sectors of the invariant block with their bases; the first carries G."""
SECTORS["113"] = SECTORS["88"]
SCALARS = ("across", "within")

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


def class_means(sentences: Sentences, d: int) -> np.ndarray:
    """(7, d): the special words, and the mean over the irrelevant words of each type (each of which occurs once)."""
    found = np.eye(7, d) * (np.arange(7) < 3)[:, None]
    for T in range(4):
        words = sentences.words[sentences.types == T]
        found[3 + T, words[words >= 3]] = 1 / np.sum(words >= 3)
    return found


def blocks_of(matrix: np.ndarray, sentences: Sentences) -> Blocks:
    """The blocks of the mean of a matrix over the group (exact if the matrix is invariant); absent scalars are 0."""
    means = class_means(sentences, len(matrix))
    basis = means.T / np.linalg.norm(means, axis=1)
    across, within = np.zeros(4), np.zeros(4)
    for T in range(4):
        rows = [row[row >= 3] for row in sentences.words[sentences.types == T]]
        words = np.concatenate(rows)
        of_samples = sum(matrix[np.ix_(row, row)].sum() / len(row) for row in rows)
        if len(rows) > 1:
            across[T] = (of_samples - basis[:, 3 + T] @ matrix @ basis[:, 3 + T]) / (len(rows) - 1)
        if len(words) > len(rows):
            within[T] = (matrix[words, words].sum() - of_samples) / (len(words) - len(rows))
    return Blocks(basis.T @ matrix @ basis, across, within)
