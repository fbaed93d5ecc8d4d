"""The paper's six families (Appendix C): the flow of A = W W_V and B = W Wᵀ neuron by neuron, with VV, S, KK, QQ.

The same network as `model.blocks` declares, of which everything is seen: the loss reads G = aᵀA, so a is no longer a
part of what is seen of W. Its flow closes by itself (Eqs. 6, 7; Lemmas C.1 to C.4), and projects to the small one.
"""

from functools import wraps

import flowsys as fs
from flowsys.system import Setup
from flowsys.system.problem import Problem
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence.model import sample_loss, score_pair, value_pair
from flowsys.systems.cooccurrence.observables import OBSERVE
from flowsys.systems.cooccurrence.scales import output_weights


class ThroughOutput:
    """What is seen of the network when neurons are summed with a: G = aᵀA, c = aᵀBa."""

    def __init__(self, w, a=None):
        self._w, self._a = w, w.a if a is None else a

    def __getattr__(self, name: str):
        w, a = self._w, self._a
        if name == "G":
            return (a[:, None] * w.A).sum(axis=0)[None, :]
        if name == "UU":
            return (a[:, None] * a[None, :] * w.B).sum().reshape(1, 1)
        return ThroughOutput(w.rates, a) if name == "rates" else getattr(w, name)


def _summed(function):
    """A function of the small network as one of the six families."""
    return wraps(function)(lambda ops, w, X, p: function(ops, ThroughOutput(w), X, p))


def blocks(p) -> dict[str, fs.Direct | fs.Pair]:
    """As `model.blocks`, with every neuron seen, and the fixed output weights."""
    a = output_weights(p)
    return {"a": fs.Direct(len(a), start=a, trains=False), "A": value_pair(p, "B"), "S": score_pair(p)}


FAMILIES = fs.Model(
    "six_families",
    **SYSTEM.given[1] | {"blocks": blocks, "loss": _summed(sample_loss), "variants": None,
                         "observe": {name: _summed(function) for name, function in OBSERVE.items()}},
)  # fmt: skip


def families_problem(setup: Setup, mode: str) -> Problem:
    """The flow of the six families from the same weights of the seed."""
    return FAMILIES.started(setup, "L2", "reduced", mode, SYSTEM.start(setup, "L1", mode))
