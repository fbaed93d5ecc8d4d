"""The problem's field as scalar code for other engines: the program with its tables written out, compiled by numba."""

import math
from functools import lru_cache

import numba
from problem import WIDTH, problem

from flowsys.kernels import stages_of
from flowsys.kernels.built_in import built_in_tables
from flowsys.program import Program

# as a C compiler would: no check of divisors, products and sums fused
jit = numba.njit(error_model="numpy", fastmath={"contract"})


@lru_cache(maxsize=1)
def scalar_program() -> Program:
    """The program with its tables written out."""
    stated = problem()
    return built_in_tables(stated.field.program, stages_of(stated)).written_out(stated.field.program).program


def scalar_source(
    head: str, wanted: tuple[str, ...], replaced: dict[str, str] | None = None, program: Program | None = None
) -> str:
    """Python text of a function that writes the wanted values to its last argument; relu, exp … are left to it."""
    program, place = program or scalar_program(), head.rpartition(" ")[2].rstrip("):")
    text = [head]
    text += [f"    {name} = y[{i}]" for i, name in enumerate(program.state)]
    text += [f"    {name} = p[{i}]" for i, name in enumerate(program.parameters)]
    for block in program.needed_for(wanted):
        for line in block.lines:
            expression = line.expression
            for old, new in (replaced or {}).items():
                expression = expression.replace(old, new)
            text.append(f"    {line.name} = {expression}")
    return "\n".join([*text, *(f"    {place}[{i}] = {name}" for i, name in enumerate(wanted))])


@jit
def sigmoid(x):
    e = math.exp(-abs(x))
    return (1.0 if x >= 0 else e) / (1.0 + e)


@jit
def smooth_relu(x):
    z = x / WIDTH
    return WIDTH * (max(z, 0.0) + math.log1p(math.exp(-abs(z))))


@jit
def smooth_step(x):
    return sigmoid(x / WIDTH)


@jit
def exact_relu(x):
    return x if x > 0 else 0.0


@jit
def exact_step(x):
    return 1.0 if x > 0 else 0.0


@jit
def softplus(x):
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@jit
def masked(x, count):
    return x if count > 0 else -1e300


def _compiled(source: str, relu=exact_relu, step=exact_step):
    names = {"exp": math.exp, "log": math.log, "sqrt": math.sqrt, "tanh": math.tanh, "sinh": math.sinh,
             "cosh": math.cosh, "sigmoid": sigmoid, "softplus": softplus, "masked": masked, "relu": relu,
             "step": step}  # fmt: skip
    exec(compile(source, "<field>", "exec"), names)
    return jit(names["function"])


def smooth_field():
    """`function(y, p, dy)`, compiled: the field with every ReLU smoothed."""
    source = scalar_source("def function(y, p, dy):", scalar_program().derivatives)
    return _compiled(source, smooth_relu, smooth_step)


def field_of(program: Program, kink_width: float):
    """`function(y, p, dy)`, compiled: a program without tables, its ReLUs smoothed over a width or, at 0, exact."""
    source = scalar_source("def function(y, p, dy):", program.derivatives, program=program)
    if not kink_width:
        return _compiled(source)

    @jit
    def relu(x):
        return kink_width * softplus(x / kink_width)

    @jit
    def step(x):
        return sigmoid(x / kink_width)

    return _compiled(source, relu, step)


def exact_field():
    """`function(y, p, dy)`, compiled: the field with its ReLUs as they are."""
    return _compiled(scalar_source("def function(y, p, dy):", scalar_program().derivatives))


def frozen_field():
    """`function(y, p, gates, dy)`, compiled: the field with frozen gates, one for each kink of the program."""
    gates = {f"relu({name})": f"(gates[{i}] * {name})" for i, name in enumerate(scalar_program().kinks)}
    gates |= {f"step({name})": f"gates[{i}]" for i, name in enumerate(scalar_program().kinks)}
    return _compiled(scalar_source("def function(y, p, gates, dy):", scalar_program().derivatives, gates))


def switching_functions():
    """`function(y, p, values)`, compiled: the kinks' arguments, which switch their gates where they change sign."""
    return _compiled(scalar_source("def function(y, p, values):", scalar_program().kinks))


def operations() -> int:
    """Floating-point operations of one evaluation; an exponential counts as 20."""
    program = scalar_program()
    lines = [line for block in program.needed_for(program.derivatives) for line in block.lines]
    exponentials = sum(line.expression.count(f) for line in lines for f in ("exp(", "sigmoid(", "relu(", "step("))
    return sum(line.operations for line in lines) + 19 * exponentials
