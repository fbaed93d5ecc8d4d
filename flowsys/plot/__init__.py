"""Pictures of values: a function draws on a given Axes, or makes a Figure of several; nothing here computes or shows.

Theory is a line, simulation is dots with error bars over seeds, in every picture of the house; names are symbols
(`flowsys.system.names`).
"""

from flowsys.plot.beside import panels_beside as panels_beside
from flowsys.plot.beside import titled as titled
from flowsys.plot.curves import curves as curves
from flowsys.plot.diagrams import diagram as diagram
from flowsys.plot.diagrams import diagram_figure as diagram_figure
from flowsys.plot.experiments import Course as Course
from flowsys.plot.experiments import attention as attention
from flowsys.plot.experiments import courses as courses
from flowsys.plot.experiments import needed as needed
from flowsys.plot.family import family as family
from flowsys.plot.marks import dots as dots
from flowsys.plot.marks import grid as grid
from flowsys.plot.marks import heat as heat
from flowsys.plot.marks import lettered as lettered
from flowsys.plot.marks import line as line
from flowsys.plot.panels import panels as panels
from flowsys.plot.phase import phase as phase
from flowsys.plot.residuals import residuals as residuals
from flowsys.plot.trajectory import compared as compared
from flowsys.plot.trajectory import shown as shown
from flowsys.plot.trajectory import trajectory as trajectory
