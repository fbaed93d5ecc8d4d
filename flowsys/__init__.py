"""Training dynamics of small transformers: reduced systems, finite-width training, and the theorems about them.

    import flowsys as fs
    system = fs.load("mixture")
    setup = system.setup(K=2, L=3, omega=0.1)
    theory = fs.solve(system, setup, at=["T_1", "T_2"])                    # a Trajectory, level L3
    trained = fs.train(system, setup, mode="simultaneous", steps=3000)     # a Trajectory, level L0, same names

Importing this package imports neither jax nor sympy nor matplotlib, and changes no setting of any of them.
"""

from importlib import import_module

from flowsys.claims.checking import check as check
from flowsys.claims.conditions import Conditions as Conditions
from flowsys.errors import InputError as InputError
from flowsys.ladder import compare as compare
from flowsys.runs.solving import solve as solve
from flowsys.runs.training import train as train
from flowsys.runs.trajectory import Trajectory as Trajectory
from flowsys.runs.trajectory import load as load_trajectory
from flowsys.system import Setup as Setup
from flowsys.system import System as System
from flowsys.system.references import Paper as Paper
from flowsys.system.references import Ref as Ref
from flowsys.systems import load as load
from flowsys.systems import names as names
from flowsys.version import VERSION as __version__

__all__ = [
    "Conditions",
    "InputError",
    "Paper",
    "Ref",
    "Setup",
    "System",
    "Trajectory",
    "__version__",
    "check",
    "compare",
    "load",
    "load_trajectory",
    "names",
    "solve",
    "train",
]


_LATER = {
    "plot": ("flowsys.plot", None),
    "sweeps": ("flowsys.sweeps", None),
    "attention_entropy": ("flowsys.systems.parity.entropy", "attention_entropy"),
}


def __getattr__(name: str):
    """Names that bring heavy libraries along are imported when first used."""
    if name not in _LATER:
        raise AttributeError(f"module 'flowsys' has no attribute {name!r}")
    module, attribute = _LATER[name]
    found = import_module(module)
    return getattr(found, attribute) if attribute else found
