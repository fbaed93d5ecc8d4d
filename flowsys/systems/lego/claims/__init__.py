"""The claims of the LEGO paper, by subject: one list, in the order of the paper."""

from flowsys.systems.lego.claims import (
    attention,
    copying,
    experiment,
    features,
    gradients,
    lengths,
    neurons,
    self_training,
    symmetry,
)

PARTS = (copying, gradients, neurons, features, attention, symmetry, lengths, self_training, experiment)
CLAIMS = [claim for part in PARTS for claim in part.CLAIMS]
