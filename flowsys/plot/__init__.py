"""Pictures of values: a function draws on a given Axes, or makes a Figure of several; nothing here computes or shows.

Theory is a line, simulation is dots, in every picture of the house.
"""

from flowsys.plot.panels import panels as panels
from flowsys.plot.phase import phase as phase
from flowsys.plot.residuals import residuals as residuals
from flowsys.plot.trajectory import trajectory as trajectory
