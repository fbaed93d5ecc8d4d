"""Exported right-hand sides are the program's, at random points, in Python, JAX and C; Julia text is well-formed."""

import ctypes
import re
import shutil
import subprocess

import jax
import numpy as np
import pytest
from signal_page import MODEL

from flowsys.equations import LANGUAGES, exported
from flowsys.errors import InputError
from flowsys.program.arrays import vector_field
from flowsys.systems import load

SYSTEMS = {
    name: (load(name), {}) for name in ("mixture", "cooccurrence", "lego", "parity", "prompt")
} | {"long sentences": (load("mixture"), {"L": 5}), "own model": (MODEL, {})}  # fmt: skip
N_POINTS, TOLERANCE = 100, 1e-13


@pytest.fixture(scope="module", params=SYSTEMS)
def case(request):
    """What is exported, random points, and the program's rates there."""
    system, given = SYSTEMS[request.param]
    this = exported(request.param, system.problem(system.setup(**given)))
    points = this.start + 0.7 * np.random.default_rng(3).standard_normal((N_POINTS, len(this.start)))
    field = vector_field(this.program, "exact", np)
    with np.errstate(all="ignore"):
        rates = np.array([field(y, this.arguments) for y in points])
    return this, points, rates


def agree(found, rates) -> None:
    scale = np.abs(rates).max(axis=1, keepdims=True)
    assert np.isfinite(rates).all() and (np.abs(found - rates) <= TOLERANCE * scale).all()


def module(text: str) -> dict:
    namespace: dict = {}
    exec(compile(text, "<exported>", "exec"), namespace)
    return namespace


def test_python(case):
    this, points, rates = case
    rhs = module(LANGUAGES["python"](this))["rhs"]
    with np.errstate(all="ignore"):
        agree(np.array([rhs(0.0, y) for y in points]), rates)


def test_jax(case):
    this, points, rates = case
    with jax.enable_x64(True):
        rhs = jax.jit(module(LANGUAGES["jax"](this))["rhs"])
        agree(np.array([rhs(0.0, y) for y in points]), rates)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is at hand")
def test_c(case, tmp_path):
    this, points, rates = case
    (tmp_path / "rhs.c").write_text(LANGUAGES["c"](this))
    command = ["cc", "-std=c99", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "rhs.c", "-o", "rhs.so", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "rhs.so"))
    vector = ctypes.POINTER(ctypes.c_double)
    library.rhs.argtypes = [ctypes.c_double, vector, vector, vector]
    parameters = np.array(list(this.parameters.values()) or [0.0])
    found = np.empty_like(rates)
    for y, row in zip(points, found):
        library.rhs(0.0, *(a.ctypes.data_as(vector) for a in (np.ascontiguousarray(y), row, parameters)))
    agree(found, rates)


def test_parameters_can_be_given_anew(case):
    this, points, rates = case
    rhs = module(LANGUAGES["python"](this))["rhs"]
    changed = {name: 1.5 * value for name, value in this.parameters.items()}
    with np.errstate(all="ignore"):
        assert np.abs(rhs(0.0, points[0], changed) - rates[0]).max() > 1e-6


def test_julia_has_every_definition_before_its_use(case):
    this, *_ = case
    text = LANGUAGES["julia"](this)
    assert "**" not in text and text.count("function ") == 1 and text.rstrip().endswith("end")
    known = {*re.findall(r"^(?:const )?(\w+)(?:\(.*?\))? =", text, re.MULTILINE), "_y", "_p", "_dy", "_t"}
    known |= set("exp log sqrt tanh sinh cosh sin cos asin erf max min sum log1p abs Inf".split())
    body = text[text.index("function ") :]
    for line in body.splitlines()[1:-2]:
        name, _, value = line.strip().partition(" = ")
        assert set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", re.sub(r"\d+e[-+]?\d+", "", value))) <= known, line
        known.add(name)


def test_what_is_no_program_is_refused():
    system = load("parity")
    with pytest.raises(InputError, match="not a program"):
        exported("x", system.problem(system.setup(n=6, k=2), "L1", "weights"))
