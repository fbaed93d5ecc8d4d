"""The claims of the paper, one line each, in the order of its argument."""

from flowsys.systems.mixture.claims import (
    attention,
    constructions,
    descent,
    gradients,
    many_groups,
    near_symmetry,
    probability,
    separability,
    small_bias,
    stage_1,
    stage_2,
    stage_3,
    width,
)

PARTS = (
    stage_1, separability, stage_2, near_symmetry, attention, stage_3, gradients, width, probability, descent,
    many_groups, constructions, small_bias,
)  # fmt: skip
CLAIMS = [claim for part in PARTS for claim in part.CLAIMS]
