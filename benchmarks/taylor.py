"""The written-out program for heyoka: expressions of its own, gates as parameters that events flip."""

import ast

import numpy as np
from problem import N, T, initial, parameters
from scalar_code import scalar_program, switching_functions

BATCH = 8


def expressions():
    """(state, derivative) pairs and the kinks' arguments, over heyoka's variables; gates follow the parameters.

    A softmax is written without its shift, which no Taylor series would survive: max is 0, and min leaves its argument.
    """
    import heyoka as hy

    program = scalar_program()
    state = hy.make_vars(*(f"y{i}" for i in range(len(program.state))))
    names = dict(zip(program.state, state))
    names |= {name: hy.par[i] for i, name in enumerate(program.parameters)}
    gates = {kink: hy.par[len(program.parameters) + i] for i, kink in enumerate(program.kinks)}
    functions = {
        "exp": hy.exp,
        "sigmoid": hy.sigmoid,
        "max": lambda *_: 0.0,
        "min": lambda x, _: x,
    }
    for block in program.needed_for((*program.derivatives, *program.kinks)):
        for line in block.lines:
            names[line.name] = _value(line.tree, names, functions, gates)
    as_expression = lambda x: x if isinstance(x, hy.expression) else hy.expression(x)
    pairs = [(y, as_expression(names[d])) for y, d in zip(state, program.derivatives)]
    return pairs, [names[kink] for kink in program.kinks]


def _value(node: ast.expr, names: dict, functions: dict, gates: dict):
    match node:
        case ast.Constant():
            return float(node.value)
        case ast.Name():
            return names[node.id]
        case ast.UnaryOp():
            return -_value(node.operand, names, functions, gates)
        case ast.Call(func=ast.Name(id="relu"), args=[ast.Name(id=kink)]):
            return gates[kink] * names[kink]
        case ast.Call(func=ast.Name(id="step"), args=[ast.Name(id=kink)]):
            return gates[kink]
        case ast.Call():
            return functions[node.func.id](*(_value(a, names, functions, gates) for a in node.args))
    a, b = (_value(x, names, functions, gates) for x in (node.left, node.right))
    match node.op:
        case ast.Add():
            return a + b
        case ast.Sub():
            return a - b
        case ast.Mult():
            return a * b
        case ast.Div():
            return a / b
    return a**b


def sweep():
    """A function of rtol that gives the states at T of all points: batches of 8, kinks located by heyoka's events."""
    import heyoka as hy

    pairs, kinks = expressions()
    n_parameters, n_gates = len(scalar_program().parameters), len(kinks)
    values_of = switching_functions()

    def flips(g: int):
        def callback(integrator, sign: int, lane: int) -> bool:
            integrator.pars[n_parameters + g, lane] = 1.0 if sign > 0 else 0.0
            return True

        return callback

    integrators = {}

    def integrator(rtol: float):
        if rtol not in integrators:
            events = [hy.t_event_batch(kink, callback=flips(g)) for g, kink in enumerate(kinks)]
            integrators[rtol] = hy.taylor_adaptive_batch(
                pairs,
                np.zeros((len(pairs), BATCH)),
                pars=np.zeros((n_parameters + n_gates, BATCH)),
                tol=rtol,
                t_events=events,
            )
        return integrators[rtol]

    def run(rtol: float):
        starts, given, out = initial(), parameters(), np.empty_like(initial())
        here, values = integrator(rtol), np.empty(n_gates)
        for first in range(0, N, BATCH):
            for lane in range(BATCH):
                values_of(starts[first + lane], given[first + lane], values)
                here.pars[:, lane] = [*given[first + lane], *(values > 0)]
            here.state[:] = starts[first : first + BATCH].T
            here.set_time(0.0)
            here.reset_cooldowns()
            here.propagate_until(T)
            out[first : first + BATCH] = here.state.T
        return out, N

    return run
