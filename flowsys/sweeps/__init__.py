"""Phase diagrams: sweeps of parameters over a system, as data that can be stored, resumed, refined and drawn."""

from flowsys.sweeps.axes import Axis as Axis
from flowsys.sweeps.axes import parse_axis as parse_axis
from flowsys.sweeps.diagram import PhaseDiagram as PhaseDiagram
from flowsys.sweeps.diagram import load as load
from flowsys.sweeps.points import run as run
from flowsys.sweeps.refine import refined_sweep as refined_sweep
from flowsys.sweeps.sweep import Sweep as Sweep
from flowsys.sweeps.sweep import make_sweep as make_sweep
