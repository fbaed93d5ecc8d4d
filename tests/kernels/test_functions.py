"""The kernel's own exp, log and their kin: accurate to the last bits, right at the ends of their ranges."""

import ctypes

import numpy as np
import pytest

from flowsys.kernels.functions import UNARY
from flowsys.kernels.host import plain_host, this_host
from flowsys.kernels.machine_code import compiled, loaded
from flowsys.kernels.packing import aligned
from flowsys.kernels.writer import Writer

EXACT = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
}
ULPS = {"exp": 1.5, "log": 1.5, "sqrt": 0.51, "tanh": 2.5, "sinh": 2.5, "cosh": 2.0, "sigmoid": 2.0, "softplus": 2.5}


def native(name, x, host):
    """A function applied to an array by machine code."""
    w = Writer(host.lanes, host.fused)
    with w.loop(0, "%n") as i:
        w.store(UNARY[name](w, w.load("%x", i)), "%out", i)
    w.do("ret void")
    text = "\n".join([*sorted(w.declared), w.function("apply", "ptr %x, ptr %out, i64 %n")])
    library = loaded(compiled(text, host), host)
    count = -(-len(x) // host.lanes)
    source, out = aligned(count * host.lanes), aligned(count * host.lanes)
    source[: len(x)] = x
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(library.address("apply"))
    call(source.ctypes.data, out.ctypes.data, count)
    return out[: len(x)]


def arguments(name):
    rng = np.random.default_rng(0)
    wide = np.concatenate([rng.uniform(-700, 700, 20_000), rng.uniform(-2, 2, 20_000), rng.normal(size=5000) * 1e-6])
    return np.exp(rng.uniform(-700, 700, 40_000)) if name in ("log", "sqrt") else wide


@pytest.mark.parametrize("host", [this_host(), plain_host()], ids=["host", "baseline"])
@pytest.mark.parametrize("name", sorted(UNARY))
def test_functions_are_accurate_to_the_last_bits(name, host):
    x = arguments(name)
    with np.errstate(over="ignore", under="ignore"):
        exact = EXACT[name](x.astype(np.longdouble))
    got = native(name, x, host)
    error = np.abs(got.astype(np.longdouble) - exact) / np.spacing(np.abs(exact).astype(float))
    assert error.max() <= ULPS[name]


def test_logarithm_is_accurate_near_one_and_for_subnormal_numbers():
    x = np.concatenate([1 + np.linspace(-1e-3, 1e-3, 4001), [5e-324, 1e-310, 2.3e-308]])
    exact = np.log(x.astype(np.longdouble))
    error = np.abs(native("log", x, this_host()) - exact) / np.spacing(np.maximum(np.abs(exact).astype(float), 1e-300))
    assert error.max() <= ULPS["log"]


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("exp", [-1e300, -np.inf, 800.0, np.inf, 0.0], [0, 0, np.inf, np.inf, 1]),
        ("log", [0.0, np.inf, -1.0, 1.0], [-np.inf, np.inf, np.nan, 0]),
        ("tanh", [-50.0, 0.0, 1e300, np.inf], [-1, 0, 1, 1]),
        ("sinh", [-800.0, 0.0, 800.0], [-np.inf, 0, np.inf]),
        ("cosh", [-800.0, 0.0, 800.0], [np.inf, 1, np.inf]),
        ("sigmoid", [-1e300, 0.0, 1e300], [0, 0.5, 1]),
        ("softplus", [-1e300, 1e300], [0, 1e300]),
    ],
)
def test_functions_at_the_ends_of_their_range(name, x, expected):
    assert np.array_equal(native(name, np.array(x), this_host()), np.array(expected, dtype=float), equal_nan=True)


@pytest.mark.parametrize("name", sorted(UNARY))
def test_not_a_number_stays_not_a_number(name):
    assert np.isnan(native(name, np.array([np.nan, 1.0]), this_host())[0])
