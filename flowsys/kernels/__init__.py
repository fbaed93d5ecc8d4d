"""The native back-end: a program compiled to vector code, and whole problems integrated many at a time.

    kernel(program, watched, kinks)      compiled once per program and processor, kept on disk
    integrate(kernel, Batch(...))        every trajectory of a batch, on any number of threads
    run_problem(problem, ...)            one `Problem`, as the reference driver runs it
    Slope(kernel, stage)                 dy/dt at one state, for solvers that live in Python
    FrozenSlope(kernel, stage)           the same under given gates, and the switching functions

Nothing here imports jax; llvmlite is loaded when a kernel is.
"""

from flowsys.kernels.batch import Batch as Batch
from flowsys.kernels.batch import BatchResult as BatchResult
from flowsys.kernels.batch import StageBatch as StageBatch
from flowsys.kernels.host import cannot_compile as cannot_compile
from flowsys.kernels.integrate import integrate as integrate
from flowsys.kernels.integrate import observe as observe
from flowsys.kernels.kernel import Kernel as Kernel
from flowsys.kernels.kernel import kernel as kernel
from flowsys.kernels.outcomes import Code as Code
from flowsys.kernels.run import NativeRun as NativeRun
from flowsys.kernels.run import run_problem as run_problem
from flowsys.kernels.run import stages_of as stages_of
from flowsys.kernels.slope import FrozenSlope as FrozenSlope
from flowsys.kernels.slope import Slope as Slope
