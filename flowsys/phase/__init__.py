"""Phase diagrams: sweeps of parameters over a system, as data that can be stored, resumed, refined and drawn."""

from flowsys.phase.axes import Axis as Axis
from flowsys.phase.axes import parse_axis as parse_axis
from flowsys.phase.diagram import PhaseDiagram as PhaseDiagram
from flowsys.phase.diagram import load as load
from flowsys.phase.refine import refined_sweep as refined_sweep
from flowsys.phase.sweep import Sweep as Sweep
from flowsys.phase.sweep import make_sweep as make_sweep
from flowsys.phase.sweep import run as run
