"""Solutions in extended precision (80 bits): the reference of benchmarks/accuracy.py.

The program itself, printed in C on long doubles (a C compiler is needed), and Radau IIA of order 13 with Newton
iterations that go on until they change nothing, the error estimate (of order 7) held to 1e-12. Nothing of the native
code is in it but the method's table.
"""

import ast
import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import mpmath
import numpy as np
from scipy.linalg import lu_factor, lu_solve
from stiff_cases import Case

from flowsys.kernels.collocation import STAGES, collocation
from flowsys.program import Program

Number = np.longdouble
TOLERANCE = 1e-12
_ITERATIONS, _LAST_DIGIT = 40, 1e-18


@lru_cache(maxsize=1)
def _method() -> tuple[np.ndarray, np.ndarray, float]:
    """The matrix of the method, the weights of its error estimate, and the real eigenvalue of the inverse."""
    table = collocation()
    context = mpmath.MPContext()
    context.dps = 40
    polynomial = lambda x: context.legendre(STAGES, 2 * x - 1) - context.legendre(STAGES - 1, 2 * x - 1)
    nodes = [context.findroot(polynomial, c) for c in table.nodes[:-1]] + [context.mpf(1)]
    powers = context.matrix([[c**k for k in range(STAGES)] for c in nodes])
    integrals = context.matrix([[c ** (k + 1) / (k + 1) for k in range(STAGES)] for c in nodes])
    A = integrals * powers**-1
    entries = [[Number(mpmath.nstr(A[i, k], 25)) for k in range(STAGES)] for i in range(STAGES)]
    return np.array(entries), np.array(table.estimate, dtype=Number), table.eigenvalues[0].real


def reference(case: Case) -> np.ndarray:
    """The state at the end of a case."""
    field = _field(case)
    A, weights, eigenvalue = _method()
    y, t, h = np.asarray(case.problem.initial, dtype=Number), Number(0), Number(1e-6)
    end, n = Number(case.end), len(y)
    scale_at_zero = 1e-4 * case.problem.scale
    while t < end:
        h = min(h, end - t)
        J = _jacobian(field, y)
        factors = lu_factor(np.eye(n * STAGES) - np.kron(A.astype(float), float(h) * J))
        z = _stages(field, y, h, A, factors)
        error = np.inf
        if z is not None:
            right = field(y[:, None])[:, 0] + z @ weights / h
            estimate = np.linalg.solve(eigenvalue / float(h) * np.eye(n) - J, right.astype(float))
            error = np.sqrt(np.mean((estimate / (TOLERANCE * (scale_at_zero + np.abs(y)))) ** 2))
        if error <= 1:
            t, y = t + h, y + z[:, -1]
        h *= Number(0.25 if not np.isfinite(error) else np.clip(0.9 * max(error, 1e-12) ** -0.125, 0.25, 4))
    return y


_FUNCTIONS = """
#include <math.h>
#define exp expl
#define log logl
#define sqrt sqrtl
#define tanh tanhl
#define sinh sinhl
#define cosh coshl
typedef long double real;
static const real WIDTH = %s;
static real max(real a, real b) { return a > b ? a : b; }
static real min(real a, real b) { return a < b ? a : b; }
static real softplus(real x) { return max(x, 0) + log1pl(expl(-fabsl(x))); }
static real sigmoid(real x) { real e = expl(-fabsl(x)); return (x >= 0 ? 1 : e) / (1 + e); }
static real masked(real x, real count) { return count > 0 ? x : -INFINITY; }
static real positive(real x) { return x > 0; }
static real relu(real x) { return WIDTH > 0 ? WIDTH * softplus(x / WIDTH) : max(x, 0); }
static real step(real x) { return WIDTH > 0 ? sigmoid(x / WIDTH) : x > 0; }
"""


def _field(case: Case) -> Callable[[np.ndarray], np.ndarray]:
    """dy/dt at states (variables, n), compiled from C."""
    program, parameters = case.scalar
    with tempfile.TemporaryDirectory() as folder:
        source, built = Path(folder, "field.c"), Path(folder, "field.so")
        source.write_text(_c_text(program, case.kink_width))
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-w", "-o", built, source, "-lm"], check=True)
        run = ctypes.CDLL(str(built)).field
    given = parameters.astype(Number)

    def field(y: np.ndarray) -> np.ndarray:
        y = np.ascontiguousarray(y, dtype=Number)
        out = np.empty_like(y)
        run(*(ctypes.c_void_p(a.ctypes.data) for a in (y, given, out)), ctypes.c_long(y.shape[1]))
        return out

    return field


def _c_text(program: Program, kink_width: float) -> str:
    lines = [f"real {name} = y[{i} * n + k];" for i, name in enumerate(program.state)]
    lines += [f"real {name} = p[{i}];" for i, name in enumerate(program.parameters)]
    for block in program.needed_for(program.derivatives):
        lines += [f"real {line.name} = {_c(ast.parse(line.expression, mode='eval').body)};" for line in block.lines]
    lines += [f"dy[{i} * n + k] = {name};" for i, name in enumerate(program.derivatives)]
    head = "void field(const real *y, const real *p, real *dy, long n) { for (long k = 0; k < n; k++) {"
    return "\n".join([_FUNCTIONS % repr(float(kink_width)), head, *lines, "}}"])


def _c(node: ast.expr) -> str:
    """An expression of a program in C; `max` and `min` of several are nested."""
    match node:
        case ast.Constant(value=value):
            return f"{float(value)!r}L"
        case ast.Name(id=name):
            return name
        case ast.UnaryOp(op=ast.USub(), operand=x):
            return f"(-{_c(x)})"
        case ast.BinOp(left=a, op=ast.Pow(), right=b):
            return f"powl({_c(a)}, {_c(b)})"
        case ast.BinOp(left=a, op=operation, right=b):
            sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}[type(operation)]
            return f"({_c(a)} {sign} {_c(b)})"
        case ast.Call(func=ast.Name(id="max" | "min" as name), args=[first, second, third, *rest]):
            inner = ast.Call(ast.Name(name), [second, third, *rest], [])
            return f"{name}({_c(first)}, {_c(inner)})"
        case ast.Call(func=ast.Name(id=name), args=given):
            return f"{name}({', '.join(_c(x) for x in given)})"
    raise ValueError(f"{ast.unparse(node)} has no translation")


def _stages(field, y: np.ndarray, h: Number, A: np.ndarray, factors) -> np.ndarray | None:
    """The increments at the stages, or None where the iterations do not converge."""
    n, z, last = len(y), np.zeros((len(y), STAGES), dtype=Number), np.inf
    for _ in range(_ITERATIONS):
        with np.errstate(all="ignore"):
            defect = h * field(y[:, None] + z) @ A.T - z
        if not np.isfinite(defect).all():
            return None
        step = lu_solve(factors, defect.T.ravel().astype(float)).reshape(STAGES, n).T
        z, size = z + step, np.abs(step).max()
        if size <= _LAST_DIGIT * (1 + np.abs(y).max()) or (size >= last and size <= 1e-16 * (1 + np.abs(y).max())):
            return z
        if size > 2 * last:
            return None
        last = size
    return None


def _jacobian(field, y: np.ndarray) -> np.ndarray:
    """Central differences: 80 bits leave twelve digits."""
    width = 1e-7 * (1 + np.abs(y))
    moved = y[:, None, None] + np.diag(width)[:, :, None] * np.array([1, -1], dtype=Number)
    slopes = field(moved.reshape(len(y), -1)).reshape(len(y), len(y), 2)
    return ((slopes[..., 0] - slopes[..., 1]) / (2 * width)).astype(float)
