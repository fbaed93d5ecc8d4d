"""What a system is: its parameters, levels, events and observables, and the problems it hands to solvers."""

from flowsys.system.calls import asked as asked
from flowsys.system.calls import system_of as system_of
from flowsys.system.definition import Source as Source
from flowsys.system.definition import System as System
from flowsys.system.definition import Variants as Variants
from flowsys.system.lazy import LazyMapping as LazyMapping
from flowsys.system.lazy import LazySequence as LazySequence
from flowsys.system.lazy import late as late
from flowsys.system.lazy import late_form as late_form
from flowsys.system.lazy import late_reading as late_reading
from flowsys.system.lazy import late_value as late_value
from flowsys.system.lazy import packaged as packaged
from flowsys.system.parameters import FINITE as FINITE
from flowsys.system.parameters import FINITE_PARAMETERS as FINITE_PARAMETERS
from flowsys.system.parameters import LEVELS as LEVELS
from flowsys.system.parameters import Parameter as Parameter
from flowsys.system.parameters import Setup as Setup
from flowsys.system.parameters import t_max as t_max
