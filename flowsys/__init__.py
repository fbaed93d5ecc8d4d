"""Training dynamics of small transformers: reduced systems, finite-width training, and the theorems about them.

    import flowsys as fs
    theory = fs.solve("mixture", omega=0.2, until=300)                     # a Trajectory, level L3
    trained = fs.train("mixture", omega=0.2, until=300, width=200)         # a Trajectory, level L0, same names
    theory.plot(["w_c", "S_cv_same"]), theory.events, theory(12.5)["w_c"]
    fs.sweep("mixture", omega=[0.05, 0.1, 0.2]).plot("S_cv_same")          # one curve a value
    fs.phase("mixture", x="b=0.05:3:40", y="T_1=1:100:40:log", observable="T_2-T_1", t_max=2e4).plot()
    fs.derive("mixture"), fs.compare("mixture"), fs.check("mixture")       # equations, ladder, claims

A system is named, loaded (`fs.load`) or declared (`fs.Model`); parameters are keywords, or a setup (`system.setup(…)`,
`setup.replace(…)`). Importing this package imports neither jax nor sympy nor matplotlib, and changes no setting of any
of them.
"""

from importlib import import_module

from flowsys.claims import Claim as Claim
from flowsys.claims import Condition as Condition
from flowsys.claims import Erratum as Erratum
from flowsys.claims import Existence as Existence
from flowsys.claims import Experiment as Experiment
from flowsys.claims import HighProbability as HighProbability
from flowsys.claims import Identity as Identity
from flowsys.claims import Inequality as Inequality
from flowsys.claims import Kit as Kit
from flowsys.claims import Limit as Limit
from flowsys.claims import Order as Order
from flowsys.claims import Path as Path
from flowsys.claims import Regime as Regime
from flowsys.claims import Series as Series
from flowsys.claims import Sides as Sides
from flowsys.claims import Sign as Sign
from flowsys.claims import Verdict as Verdict
from flowsys.claims.checking import check as check
from flowsys.claims.conditions import Conditions as Conditions
from flowsys.errors import InputError as InputError
from flowsys.ladder import compare as compare
from flowsys.model.declaration import Choice as Choice
from flowsys.model.declaration import Crossing as Crossing
from flowsys.model.declaration import Direct as Direct
from flowsys.model.declaration import Mark as Mark
from flowsys.model.declaration import Pair as Pair
from flowsys.model.declaration import Real as Real
from flowsys.model.declaration import Samples as Samples
from flowsys.model.declaration import Size as Size
from flowsys.model.declaration import Stage as Stage
from flowsys.model.definition import Model as Model
from flowsys.model.together import together as together
from flowsys.runs.asking import derive as derive
from flowsys.runs.asking import field as field
from flowsys.runs.asking import start as start
from flowsys.runs.solving import solve as solve
from flowsys.runs.training import train as train
from flowsys.runs.trajectory import Trajectory as Trajectory
from flowsys.runs.trajectory import load as load_trajectory
from flowsys.system import Setup as Setup
from flowsys.system import System as System
from flowsys.system.files import json_file as json_file
from flowsys.system.references import Paper as Paper
from flowsys.systems import load as load
from flowsys.systems import names as names
from flowsys.version import VERSION as __version__

__all__ = [
    "Choice",
    "Claim",
    "Condition",
    "Conditions",
    "Crossing",
    "Direct",
    "Erratum",
    "Existence",
    "Experiment",
    "Family",
    "HighProbability",
    "Identity",
    "Inequality",
    "InputError",
    "Kit",
    "Limit",
    "Mark",
    "Model",
    "Order",
    "Pair",
    "Paper",
    "Path",
    "PhaseDiagram",
    "Real",
    "Regime",
    "Samples",
    "Series",
    "Setup",
    "Sides",
    "Sign",
    "Size",
    "Stage",
    "System",
    "Trajectory",
    "Verdict",
    "__version__",
    "analyse",
    "check",
    "compare",
    "derive",
    "explore",
    "field",
    "json_file",
    "load",
    "load_trajectory",
    "names",
    "phase",
    "plot",
    "prove",
    "solve",
    "start",
    "sweep",
    "together",
    "train",
]


_LATER = {
    "analyse": ("flowsys.analysis.asking", "analyse"),
    "Family": ("flowsys.sweeps.family", "Family"),
    "PhaseDiagram": ("flowsys.sweeps.diagram", "PhaseDiagram"),
    "explore": ("flowsys.explorer.asked", "explore"),
    "phase": ("flowsys.sweeps.asked", "phase"),
    "sweep": ("flowsys.sweeps.family", "sweep"),
    "prove": ("flowsys.proof.proving", "prove"),
    "plot": ("flowsys.plot", None),
    "sweeps": ("flowsys.sweeps", None),
    "attention_entropy": ("flowsys.analysis.attention", "attention_entropy"),
}


def __getattr__(name: str):
    """Names that bring heavy libraries along are imported when first used."""
    if name not in _LATER:
        raise AttributeError(f"module 'flowsys' has no attribute {name!r}")
    module, attribute = _LATER[name]
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name != "flint":
            raise
        raise InputError(f"fs.{name} needs python-flint: install flowsys with its extra `proof`.") from None
    return getattr(found, attribute) if attribute else found


def __dir__() -> list[str]:
    return sorted(__all__)
