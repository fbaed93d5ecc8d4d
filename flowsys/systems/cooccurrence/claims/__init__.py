"""What the paper claims, measured: starts, phase 1, gradient balance, scores, late times, the experiment."""

from flowsys.systems.cooccurrence.claims import experiment, gradients, identities, late, phase_1, scores, starts

CLAIMS = (
    *identities.CLAIMS,
    *starts.CLAIMS,
    *phase_1.CLAIMS,
    *gradients.CLAIMS,
    *scores.CLAIMS,
    *late.CLAIMS,
    *experiment.CLAIMS,
)
