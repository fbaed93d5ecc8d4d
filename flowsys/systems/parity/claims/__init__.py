"""The claims of the paper, and of its gradient flow, each with a measurement that can fail."""

from flowsys.systems.parity.claims import (
    experiments,
    first_step,
    flow,
    gates,
    hypotheses,
    pairs,
    representation,
    samples,
    three_steps,
)

CLAIMS = tuple(
    claim
    for part in (representation, hypotheses, first_step, three_steps, flow, pairs, gates, samples, experiments)
    for claim in part.CLAIMS
)
