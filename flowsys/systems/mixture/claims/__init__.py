"""The claims of the paper, one function each, in the order of its argument."""

from flowsys.systems.mixture.claims import (
    attention,
    constructions,
    descent,
    many_groups,
    remarks,
    separability,
    stage_1,
    stage_2,
    stage_3,
    width,
)

PARTS = (stage_1, separability, stage_2, attention, stage_3, width, descent, many_groups, constructions, remarks)
CLAIMS = [claim for part in PARTS for claim in part.CLAIMS]
