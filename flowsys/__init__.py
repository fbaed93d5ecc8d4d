"""Training dynamics of small transformers: reduced systems, finite-width training, and the theorems about them.

    import flowsys as fs
    system = fs.load("mixture")
    setup = system.setup(K=2, L=3, omega=0.1)
    theory = fs.solve(system, setup, at=["T_1", "T_2"])                    # a Trajectory, level L3
    trained = fs.train(system, setup, mode="simultaneous", steps=3000)     # a Trajectory, level L0, same names

Importing this package imports neither jax nor sympy nor matplotlib, and changes no setting of any of them.
"""

from importlib import import_module

from flowsys.checking import check as check
from flowsys.compare import compare as compare
from flowsys.conditions import Conditions as Conditions
from flowsys.errors import InputError as InputError
from flowsys.references import Paper as Paper
from flowsys.references import Ref as Ref
from flowsys.solve import solve as solve
from flowsys.system import Setup as Setup
from flowsys.system import System as System
from flowsys.systems import load as load
from flowsys.systems import names as names
from flowsys.train import train as train
from flowsys.trajectory import Trajectory as Trajectory
from flowsys.trajectory import load as load_trajectory
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
    "phase": ("flowsys.phase", None),
    "attention_entropy": ("flowsys.systems.parity.entropy", "attention_entropy"),
}


def __getattr__(name: str):
    """Names that bring heavy libraries along are imported when first used."""
    if name not in _LATER:
        raise AttributeError(f"module 'flowsys' has no attribute {name!r}")
    module, attribute = _LATER[name]
    found = import_module(module)
    return getattr(found, attribute) if attribute else found
