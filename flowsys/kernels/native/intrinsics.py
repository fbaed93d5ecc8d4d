"""What compiled functions call that is not written in the compiled subset: instructions, and the stepper's vector code.

Here are only their signatures; `flowsys.kernels.restricted` and `flowsys.kernels.stepper` write the bodies.
"""

from flowsys.kernels.records import Workspace
from flowsys.kernels.restricted import Code, Doubles, Integers, f64, i64


def sqrt(x: f64) -> f64: ...


def fabs(x: f64) -> f64: ...


def fmax(a: f64, b: f64) -> f64: ...


def fmin(a: f64, b: f64) -> f64: ...


def take_next(counter: Integers) -> i64:
    """The counter's value, which is then one higher; safe between threads."""


def invoke(function: Code, *memory: Doubles | Integers) -> None:
    """Call one of a kernel's functions."""


def attempt(w: Workspace) -> None: ...


def stiffness(w: Workspace) -> None: ...


def dense_output(w: Workspace) -> None: ...


def interpolate(w: Workspace) -> None: ...
