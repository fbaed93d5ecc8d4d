"""A system without dynamics, for claims whose truth is known: what is measured is a formula in its parameters."""

from flowsys.claims import Claim
from flowsys.claims.conditions import Conditions
from flowsys.system import Parameter, System, Variants, t_max
from flowsys.system.references import Paper

PARAMETERS = (
    Parameter("x", 100.0, "a large parameter", low=1, high=1e6),
    Parameter("w", 0.1, "a small parameter", low=1e-6, high=1),
    Parameter("n", 60, "a size", low=2, high=10_000, integer=True),
    Parameter("L", 5, "another size", low=2, high=40, integer=True),
    Parameter("seed", 0, "a seed", low=0, high=10**9, integer=True),
    t_max(1e6),
)


def synthetic(*claims: Claim) -> System:
    """A system that has these claims."""

    def build(*what):
        raise NotImplementedError

    return System(
        "synthetic", Paper("synthetic", "Formulas", "nowhere"), "formulas", PARAMETERS, {"only": "the one mode"},
        {"L3": Variants(("only",), ("formulas",))}, {}, {}, build, claims=claims,
    )  # fmt: skip


def verdict(kind, measure, more=None, asked=None):
    """The verdict of a claim of this kind."""
    claim = Claim("c", "Lemma 1", "a formula", kind, measure, **(more or {}))
    return claim.check(synthetic(claim), Conditions(parameters=tuple((asked or {}).items())))
