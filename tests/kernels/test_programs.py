"""Machine code against the NumPy printer: every function, every reading of kinks, tables, links, rows written out."""

import dataclasses

import numpy as np
import pytest
from toys import HOSTS, program

from flowsys.kernels import StageBatch, kernel, observe
from flowsys.kernels.built_in import built_in_tables
from flowsys.kernels.emit import module_text
from flowsys.kernels.host import this_host
from flowsys.kernels.passes import schedule
from flowsys.program import Program
from flowsys.program.arrays import arguments, observed

EVERYTHING = program(
    """
    state x q z
    parameters a b
    table kinds: count sign
    table rows: weight shift
    link kinds -> rows
    once:
    u = exp(-x) + log(2 + q**2) + sqrt(a + z**2) + tanh(x*q)
    s = sinh(x/3) + cosh(q/2) + sigmoid(z) + softplus(-x) + x**-2 + (a + x**2)**(3/2) + b**-1
    w = erf(x - q) + asin(tanh(q)/2) + sin(3*x)*cos(z - q)
    m = max(x, q, z*b, 0) - min(x, -q) + positive(x - 1/1000) + +z
    p = relu(x)*2 + step(q)
    for each kinds:
    k1 = exp(masked(-x**2, count)) + sign*u
    k2 = k1*x - count**3
    once:
    between = 2*u - total(k2)
    for each rows:
    l1 = linked(k1) + shift*s + weight*w
    l2 = linked(k2) - l1/(1 + l1**2)
    h = l1 - 20*weight*x - q
    r = relu(h) + step(h)*between
    grad = r*weight
    for each kinds:
    back = spread(grad)*k1
    once:
    dx = -total(grad) + m
    dq = total(back) - p + total(l2)/between
    dz = x - z**3/(1 + z**4)
    derivative x = dx
    derivative q = dq
    derivative z = dz
    observe dx = dx
    observe dq = dq
    observe dz = dz
    observe s = s
    observe w = w
    observe between = between
    """
)
TABLES = {
    "kinds": np.array([[0, 1, 2, 0.0, 3], [1, -1, 1, 1, -1]]),
    "rows": np.random.default_rng(1).normal(size=(2, 7)),
}
LINKS = {"kinds_to_rows": np.random.default_rng(2).integers(0, 3, size=(7, 5)).astype(float)}
STAGE = StageBatch(np.array([0.7, -1.3]), TABLES, LINKS)
STATES = np.random.default_rng(3).normal(size=(9, 3))
NAMES = tuple(EVERYTHING.observables)


def by_numpy(states, kinks, width=0.3):
    columns = {t: dict(zip(EVERYTHING.tables[t], TABLES[t])) for t in TABLES}
    given = arguments(EVERYTHING, dict(zip("ab", STAGE.parameters)), columns, LINKS, width)
    return np.array([observed(EVERYTHING, NAMES, kinks, np)(y, given) for y in states])


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
@pytest.mark.parametrize("kinks", ["exact", "smooth"])
@pytest.mark.parametrize("stages", [(), (STAGE,)], ids=["loops", "written out"])
def test_machine_code_agrees_with_the_array_printer(kinks, host, stages):
    native = kernel(EVERYTHING, NAMES, kinks, stages, host=host)
    assert (native.built_in is not None) == bool(stages)
    got = observe(native, STATES, [STAGE], kink_width=0.3)
    assert np.allclose(got, by_numpy(STATES, kinks), rtol=1e-12, atol=1e-12)


def test_tables_may_differ_between_trajectories():
    shifted = {"rows": TABLES["rows"] + np.linspace(0, 1, len(STATES))[:, None, None], "kinds": TABLES["kinds"]}
    native = kernel(EVERYTHING, NAMES, "exact")
    together = observe(native, STATES, [dataclasses.replace(STAGE, tables=shifted)])
    for i, state in enumerate(STATES):
        own = dataclasses.replace(STAGE, tables=shifted | {"rows": shifted["rows"][i]})
        assert np.array_equal(together[i], observe(native, [state], [own])[0])


def test_a_kernel_with_built_in_tables_refuses_others():
    native = kernel(EVERYTHING, NAMES, "exact", [STAGE])
    other = dataclasses.replace(STAGE, tables=TABLES | {"kinds": TABLES["kinds"] + 1})
    with pytest.raises(ValueError, match="differs from the values this kernel was built with"):
        observe(native, STATES, [other])


def test_scalars_that_need_no_loop_move_in_front_of_it():
    passes = schedule(EVERYTHING, EVERYTHING.derivatives).passes
    assert [len(p.loops) for p in passes] == [1, 1, 1, 0]
    assert {line.name for line in passes[0].scalars} >= {"u", "s", "w", "m", "p"}


def test_an_unknown_function_is_refused():
    odd = Program.parse("state x\nparameters \nonce:\n    dx = relu(x)\nderivative x = dx\n")
    bad = dataclasses.replace(odd, blocks=(dataclasses.replace(odd.blocks[0], lines=(_line("dx", "x % 2"),)),))
    with pytest.raises(ValueError, match="cannot read 'x % 2'"):
        kernel(bad)


def _line(name, expression):
    from flowsys.program import Line

    return Line(name, expression)


def large_program(n_lines):
    """Many coupled oscillators with a transcendental function each; the field's entries are known."""
    state = [f"s{i}" for i in range(n_lines)]
    lines = [
        f"    d{i} = tanh({a}) - exp(-{b}**2)*{a} + {a}*{b}" for i, (a, b) in enumerate(zip(state, state[1:] + state))
    ]
    ends = [f"derivative {s} = d{i}" for i, s in enumerate(state)] + [f"observe d{i} = d{i}" for i in range(n_lines)]
    return Program.parse("\n".join([f"state {' '.join(state)}", "parameters a", "once:", *lines, *ends]))


def test_a_large_program_compiles_in_little_code_and_computes_the_same():
    large = large_program(200)
    native = kernel(large, ("d0", "d199"), "exact")
    s = np.random.default_rng(0).normal(size=(3, 200))
    after = np.roll(s, -1, axis=1)
    expected = np.tanh(s) - np.exp(-(after**2)) * s + s * after
    got = observe(native, s, [StageBatch(np.array([0.0]))])
    assert np.allclose(got, expected[:, [0, 199]], rtol=1e-13, atol=1e-13)
    text = module_text(large, ("d0",), "exact", this_host())
    assert "@field = alias" in text and len(text.splitlines()) < 20 * 200


def test_rows_that_read_the_same_are_computed_once():
    stated = program(
        """
        state x
        parameters a
        table rows: kind weight
        for each rows:
        e = exp(-a*kind*x)
        part = e*weight
        once:
        dx = total(part)
        derivative x = dx
        observe dx = dx
        """
    )
    stage = StageBatch(np.array([2.0]), {"rows": np.array([[1, 3, 1, 3, 3.0], [1, 2, 3, 4, 5.0]])})
    lines = built_in_tables(stated, [stage]).written_out(stated).program.blocks[0].lines
    assert sum(line.expression.count("exp(") for line in lines) == 2
    compiled = kernel(stated, ("dx",), stages=[stage])
    wanted = np.exp(-0.4) * 4 + np.exp(-1.2) * 11
    assert observe(compiled, np.array([[0.2]]), [stage])[0, 0] == pytest.approx(wanted, rel=1e-14)
