"""Small programs with known solutions."""

import numpy as np

from flowsys.kernels import Batch, StageBatch, kernel
from flowsys.kernels.host import Host, plain_host, this_host
from flowsys.program import Program

WITHOUT_512 = {"AVX2": Host("", "+avx2,+fma", 4, True)} if this_host().lanes == 8 else {}
HOSTS = {"host": this_host(), **WITHOUT_512, "baseline": plain_host()}
"""Processors whose machine code runs here: this one, and narrower ones of its kind."""


def program(text: str) -> Program:
    """A program from its text, indented as is convenient."""
    rows = [row.strip() for row in text.strip().splitlines()]
    heads = ("state", "parameters", "table", "link", "once:", "for each", "derivative", "observe")
    return Program.parse("\n".join(row if row.startswith(heads) else f"    {row}" for row in rows))


OSCILLATOR = program(
    """
    state x v
    parameters k
    once:
    dx = v
    dv = -k*x
    derivative x = dx
    derivative v = dv
    observe x = x
    observe v = v
    """
)

# dx/dt = c where the gate is open (x > 0), d where it is closed
GATED = program(
    """
    state x z
    parameters c d
    once:
    gate = step(x)
    dx = d + (c - d)*gate
    dz = 1 + x
    derivative x = dx
    derivative z = dz
    observe x = x
    observe z = z
    """
)

GROWTH = program(
    """
    state x
    parameters a p
    once:
    dx = a*x**2 + p*x
    derivative x = dx
    observe x = x
    """
)

STIFF = program(
    """
    state x z
    parameters rate
    once:
    dx = -rate*(x - z)
    dz = -z
    derivative x = dx
    derivative z = dz
    observe x = x
    observe z = z
    """
)


def batch_of(initial, parameters, **options) -> Batch:
    """A batch of one stage."""
    return Batch(
        np.atleast_2d(np.asarray(initial, dtype=float)), [StageBatch(np.asarray(parameters, float))], **options
    )


def kernel_of(text_program: Program, *watched: str, **options):
    return kernel(text_program, watched, **options)
