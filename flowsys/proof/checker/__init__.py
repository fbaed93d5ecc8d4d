"""The checker of certificates: small, on its own, without the integrator.

It reads a certificate and verifies every step (residual, logarithmic norms, error, gates), every passage and every
statement anew, from the program's text. It shares with the integrator the program's grammar, two lemmas about its
text (tops of softmaxes, choices as ReLUs) and the ring in which zeros are exact; it reads the program by itself.
"""

from flowsys.proof.checker.verify import Refused as Refused
from flowsys.proof.checker.verify import verify as verify
