"""Derived programs: the text that is committed and shipped, and the functions printed from it."""

from flowsys.program.committed import committed as committed
from flowsys.program.text import CROSSING as CROSSING
from flowsys.program.text import FUNCTIONS as FUNCTIONS
from flowsys.program.text import KINKED as KINKED
from flowsys.program.text import Block as Block
from flowsys.program.text import Line as Line
from flowsys.program.text import Link as Link
from flowsys.program.text import Program as Program
from flowsys.program.text import Spectrum as Spectrum
from flowsys.program.written import written as written
