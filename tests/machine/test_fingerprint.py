"""Fingerprints: the same in every process, another one as soon as anything that is reachable changes."""

import functools
import os
import subprocess
import sys
import threading
import types
from dataclasses import dataclass

import numpy as np
import pytest

from flowsys.machine.fingerprint import fingerprint


def made(text: str, **known):
    """What a text calls `f`, as if it had been typed into a notebook."""
    space = {"__name__": "__main__", "np": np, "functools": functools, **known}
    exec(compile(text, "<notebook>", "exec"), space)
    return space["f"]


ALIKE = [
    ("f = lambda x: x + 1", "f = lambda x: x + 1  # a remark"),
    ("f = lambda x: x in {'a', 'b', 'c'}", "f = lambda x: x in {'c', 'b', 'a'}"),
    ("c = 1\nf = lambda x: x.c", "c = 2\nf = lambda x: x.c"),  # an attribute is no global of that name
    ("def g(x): return f(x)\ndef f(x): return g(x)", "def f(x): return g(x)\ndef g(x): return f(x)"),
]
DIFFERENT = [
    ("f = lambda x: x + 1", "f = lambda x: x + 2"),
    ("f = lambda x: x + 1", "f = lambda x: x - 1"),
    ("f = lambda x, a=1: x", "f = lambda x, a=2: x"),
    ("c = 1\nf = lambda x: x + c", "c = 2\nf = lambda x: x + c"),
    ("g = lambda x: 1\nf = lambda x: g(x)", "g = lambda x: 2\nf = lambda x: g(x)"),
    ("f = lambda x: (lambda y: y + 1)(x)", "f = lambda x: (lambda y: y + 2)(x)"),
    ("def h(c): return lambda x: x + c\nf = h(1)", "def h(c): return lambda x: x + c\nf = h(2)"),
    ("A = np.arange(3.0)\nf = lambda x: A", "A = np.array([0.0, 1.0, 2.5])\nf = lambda x: A"),
    ("A = np.zeros((2, 3))\nf = lambda x: A", "A = np.zeros((3, 2))\nf = lambda x: A"),
    ("f = lambda x: np.sin(x)", "f = lambda x: np.cos(x)"),
    ("class C:\n  def g(self): return 1\nf = C()", "class C:\n  def g(self): return 2\nf = C()"),
    ("@functools.cache\ndef f(x): return 1", "@functools.cache\ndef f(x): return 2"),
    ("f = functools.partial(pow, 2)", "f = functools.partial(pow, 3)"),
    ("f = 1", "f = 1.0"),
    ("f = 1", "f = True"),
    ("f = [1, 2]", "f = (1, 2)"),
    ("f = 0.0", "f = -0.0"),
    ("f = {'a': 1, 'b': 2}", "f = {'b': 2, 'a': 1}"),  # the order of blocks is the order of coordinates
]


@pytest.mark.parametrize(("first", "second"), ALIKE)
def test_what_does_the_same_is_alike(first, second):
    assert fingerprint(made(first)) == fingerprint(made(second))


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_what_does_something_else_differs(first, second):
    assert fingerprint(made(first)) != fingerprint(made(second))


def test_a_module_that_is_not_installed_counts_with_what_it_holds(monkeypatch):
    module = types.ModuleType("of_my_own")
    module.__file__ = "of_my_own.py"
    monkeypatch.setitem(sys.modules, "of_my_own", module)
    found = set()
    for module.scale in (1.0, 2.0):
        found.add(fingerprint(made("f = lambda x: m.scale * x", m=module)))
    assert len(found) == 2


def test_a_module_imported_inside_a_function_counts_with_its_text(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    found = set()
    for text in ("scale = 1", "scale = 2"):
        (tmp_path / "beside_of_my_own.py").write_text(text)
        found.add(fingerprint(made("def f(x):\n  from beside_of_my_own import scale\n  return scale")))
    assert len(found) == 2 and "beside_of_my_own" not in sys.modules


def test_caches_and_locks_do_not_count():
    @dataclass(frozen=True)
    class Kept:
        x: int
        lock: object

        @functools.cached_property
        def dear(self):
            return self.x**2

    value = Kept(2, threading.Lock())
    before = fingerprint(value)
    assert value.dear == 4 and fingerprint(value) == before == fingerprint(Kept(2, threading.Lock()))


PROBE = """
import sys
sys.path.insert(0, "tests/outside")
import jax.numpy as jnp, numpy as np
from decay import model
from flowsys.machine.fingerprint import fingerprint
from flowsys.sweeps import make_sweep, parse_axis
names = {"alpha", "beta", "gamma", "delta"}
f = lambda x: jnp.exp(x) if x in names else {"u", "v", "w"}
axes = [parse_axis("rate=1:2:3")]
print(fingerprint([f, jnp.arange(3), names, model]), model.digest)
print(*(make_sweep(model, axes, ["x@t=1"], level=level).digest for level in ("L0", "L1", "L3")))
"""


def test_every_process_finds_the_same():
    answers = {
        subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True,
                       env=os.environ | {"PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(answers) == 1


def test_packages_of_another_python_on_the_path_count_by_their_name(tmp_path, monkeypatch):
    folder = tmp_path / "other" / "site-packages"
    folder.mkdir(parents=True)
    (folder / "lent_package.py").write_text("value = 1\n\n\ndef f(x):\n    return x + value\n")
    monkeypatch.syspath_prepend(str(folder))
    import lent_package

    before = fingerprint(lent_package.f)
    monkeypatch.setattr(lent_package, "value", 2)
    assert fingerprint(lent_package.f) == before
