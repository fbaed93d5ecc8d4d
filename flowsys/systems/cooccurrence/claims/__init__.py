"""What the paper claims, measured: identities, starts, phase 1, phase 2, the end of training, the experiment."""

from flowsys.systems.cooccurrence.claims import experiment, identities, late, phase_1, phase_2, starts

CLAIMS = (
    *identities.CLAIMS,
    *starts.CLAIMS,
    *phase_1.CLAIMS,
    *phase_2.CLAIMS,
    *late.CLAIMS,
    *experiment.CLAIMS,
)
