"""The symmetric start under Assumption 2.3: word classes, and matrices as small blocks.

With equal initial correlations the flow commutes with permuting the irrelevant words of a sentence and the sentences of
a type, and (for n_2 = n_3) with the swap μ1 ↔ μ2, I_2 ↔ I_3. An invariant d × d matrix is then

    one 7 × 7 block on (μ1, μ2, μ3, f_1 … f_4), f_T the normalised sum of the irrelevant words of type T    (once),
    a scalar s_T on vectors that sum to zero over the samples of type T                               (n_T − 1 times),
    a scalar k_T on vectors that sum to zero within a sample of type T                            (n_T (R_T − 1) times),

so products of matrices are products of blocks, and each Gram block obeys dM_b/dt = −(Γ_b M_b + M_b Γ_b) with
Γ_b = (1/multiplicity)(∂L/∂M_b + transpose). With the swap, the 7 × 7 block is an even 5 × 5 block on
(μ_+, μ3, f_1, f_+, f_4) and an odd 2 × 2 block on (μ_−, f_−). n and L may be real numbers or symbols.
"""

from typing import Any

import numpy as np

TYPES = {"88": ("1", "23", "4"), "113": ("1", "23", "4"), "without_swap": ("1", "2", "3", "4")}
"""The types that a stated limit tells apart."""
SECTORS: dict[str, dict[str, tuple[str, ...]]] = {
    "88": {"even": ("mu", "mu3", "f1", "f23", "f4"), "odd": ("mu", "f23")},
    "without_swap": {"all": ("mu1", "mu2", "mu3", "f1", "f2", "f3", "f4")},
}
"""The sectors of the invariant block with their bases; the first carries G."""
SECTORS["113"] = SECTORS["88"]
SCALARS = ("across", "within")


def bases(variant: str, ops=np) -> dict[str, Any]:
    """{sector: (7, size)}: the basis of a sector in (μ1, μ2, μ3, f_1 … f_4); even and odd ones are halves of a swap."""
    if variant == "without_swap":
        return {"all": ops.array(np.eye(7, dtype=int))}
    h = 1 / ops.sqrt(ops.array(2))
    even, odd = np.zeros((7, 5), dtype=object), np.zeros((7, 2), dtype=object)
    even[[2, 3, 6], [1, 2, 4]] = 1
    for column, (first, second) in ((0, (0, 1)), (3, (4, 5))):
        even[first, column] = even[second, column] = odd[first, column // 3] = h
        odd[second, column // 3] = -h
    return {"even": ops.array(even.tolist()), "odd": ops.array(odd.tolist())}
