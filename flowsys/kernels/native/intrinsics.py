"""What compiled functions call that is not written in the compiled subset: instructions, and the stepper's vector code.

Here are only their signatures; the bodies are written by `flowsys.kernels.restricted`, `stepper` and `newton`.
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


def transform(w: Workspace) -> None: ...


def gather(w: Workspace) -> None: ...


def fill(w: Workspace) -> None: ...


def eliminate(w: Workspace) -> None: ...


def residual(w: Workspace) -> None: ...


def substitute(w: Workspace) -> None: ...


def correct(w: Workspace) -> None: ...


def exponential(x: f64) -> f64: ...


def logarithm(x: f64) -> f64: ...


def node(i: i64) -> f64: ...


def estimate_weight(i: i64) -> f64: ...


def eigenvalue_re(q: i64) -> f64: ...


def eigenvalue_im(q: i64) -> f64: ...


def barycentric_weight(k: i64) -> f64: ...
