"""The compiled subset of Python: it computes what Python computes, and refuses what it does not know."""

import ctypes
import types

import pytest

from flowsys.kernels.host import this_host
from flowsys.kernels.machine_code import compiled, loaded
from flowsys.kernels.restricted import Compiler

SOURCE = '''
from flowsys.kernels.restricted import Doubles, Integers, f64, i64

LIMIT = 7


def collatz(n: i64) -> i64:
    """Steps until 1."""
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def mean_below(x: Doubles, n: i64, bound: f64) -> f64:
    total = 0.0
    count = 0
    for i in range(1, n):
        if x[i] > bound or not (x[i] >= 0.0):
            continue
        if count == LIMIT:
            break
        total += x[i]
        count += 1
    return total / count if count > 0 else -1.0


def once(counter: Integers) -> i64:
    counter[0] += 1
    return counter[0]


def counted(counter: Integers, is_asked: i64) -> f64:
    """Only the side that is chosen is evaluated; the sides may be of two types."""
    return once(counter) if is_asked != 0 else 0.5
'''


def module(source, monkeypatch):
    made = types.ModuleType("made")
    exec(source, vars(made))
    monkeypatch.setattr("inspect.getsource", lambda _: source)
    return made


def test_compiled_functions_compute_what_python_computes(monkeypatch):
    python = module(SOURCE, monkeypatch)
    text, declared = Compiler([python], {}, {}, True).text({"collatz", "mean_below"})
    library = loaded(compiled("\n".join([*declared, text]), this_host()), this_host())
    collatz = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.address("collatz"))
    assert all(collatz(n) == python.collatz(n) for n in range(1, 50))
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_int64, ctypes.c_double)
    mean = kind(library.address("mean_below"))
    x = (ctypes.c_double * 12)(*[9, 1, 2, -3, 4, 8, 5, 1, 1, 2, 2, 30])
    for bound in (0.5, 4.5, 100.0):
        assert mean(ctypes.addressof(x), 12, bound) == python.mean_below(x, 12, bound)


@pytest.mark.parametrize("body", ["x = [1]", "with n: pass", "return n @ n", "f'{n}'", "return unknown(n)"])
def test_what_is_not_in_the_subset_is_refused(body, monkeypatch):
    source = f"from flowsys.kernels.restricted import i64\n\n\ndef f(n: i64) -> i64:\n    {body}\n"
    with pytest.raises((SyntaxError, KeyError)):
        Compiler([module(source, monkeypatch)], {}, {}, True).text({"f"})


def test_only_the_side_that_is_chosen_is_evaluated(monkeypatch):
    text, declared = Compiler([module(SOURCE, monkeypatch)], {}, {}, True).text({"counted"})
    library = loaded(compiled("\n".join([*declared, text]), this_host()), this_host())
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_int64)
    counted, counter = kind(library.address("counted")), (ctypes.c_int64 * 1)(0)
    assert [counted(ctypes.addressof(counter), asked) for asked in (0, 1, 0, 1)] == [0.5, 1.0, 0.5, 2.0]
    assert counter[0] == 2


def test_a_name_that_means_two_things_is_refused(monkeypatch):
    made = module(SOURCE, monkeypatch)
    with pytest.raises(SyntaxError, match="collatz is a function of made and of made"):
        Compiler([made, made], {}, {}, True)
    with pytest.raises(SyntaxError, match="collatz is a function of the code that is given and of made"):
        Compiler([made], {}, {"collatz": (("i64",), "i64")}, True)
    other = types.ModuleType("other")
    other.LIMIT = 8
    monkeypatch.setattr("inspect.getsource", lambda m: SOURCE if m is made else "")
    with pytest.raises(SyntaxError, match="LIMIT is 7 elsewhere, but 8 in other"):
        Compiler([made, other], {}, {}, True)
    assert Compiler([made, other], {"LIMIT": 9}, {}, True).constants["LIMIT"] == 9
