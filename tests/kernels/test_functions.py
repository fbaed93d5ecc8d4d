"""The kernel's own exp, log and their kin: accurate to the last bits, right at the ends of their ranges."""

import ctypes

import mpmath
import numpy as np
import pytest
from toys import HOSTS

from flowsys.kernels.functions import UNARY
from flowsys.kernels.host import this_host
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
BY_MPMATH = {"sin": mpmath.sin, "cos": mpmath.cos, "asin": mpmath.asin, "erf": mpmath.erf}
ON_HOSTS = pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)


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


@ON_HOSTS
@pytest.mark.parametrize("name", sorted(EXACT))
def test_functions_are_accurate_to_the_last_bits(name, host):
    x = arguments(name)
    with np.errstate(over="ignore", under="ignore"):
        exact = EXACT[name](x.astype(np.longdouble))
    got = native(name, x, host)
    error = np.abs(got.astype(np.longdouble) - exact) / np.spacing(np.abs(exact).astype(float))
    assert error.max() <= ULPS[name]


def errors(name, x, host):
    """Errors of machine code, and the exact values."""
    with mpmath.workprec(200):
        exact = [BY_MPMATH[name](mpmath.mpf(float(a))) for a in x]
        differences = [float(mpmath.mpf(float(got)) - e) for got, e in zip(native(name, x, host), exact)]
    return np.abs(differences), np.array([float(e) for e in exact])


def around_zero(rng, top):
    """Numbers of all sizes below one, of both signs."""
    return rng.choice([-1, 1], 1000) * 10.0 ** rng.uniform(-300, np.log10(top), 1000)


@ON_HOSTS
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine_are_accurate_up_to_a_million_and_next_to_their_zeros(name, host):
    rng = np.random.default_rng(0)
    turns = np.concatenate([np.arange(-50, 51), np.round(rng.uniform(-6e5, 6e5, 1000))])
    x = np.concatenate(
        [rng.uniform(-10, 10, 2000), rng.uniform(-1e6, 1e6, 2000), turns * np.pi / 2, around_zero(rng, 1)]
    )
    difference, exact = errors(name, x, host)
    assert (difference / np.spacing(np.abs(exact))).max() <= 1.0


@ON_HOSTS
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine_of_large_numbers_are_those_of_a_neighbour(name, host):
    x = np.random.default_rng(0).choice([-1, 1], 1000) * np.logspace(6, np.log10(2.0**40), 1000, endpoint=False)
    difference, _ = errors(name, x, host)
    assert (difference / np.abs(x)).max() <= 2.0**-52


@ON_HOSTS
def test_arcsine_is_accurate_from_zero_to_the_ends(host):
    rng = np.random.default_rng(0)
    ends = 1 - 10.0 ** rng.uniform(-16, -0.3, 1000)
    difference, exact = errors("asin", np.concatenate([rng.uniform(-1, 1, 4000), ends, around_zero(rng, 1)]), host)
    assert (difference / np.spacing(np.abs(exact))).max() <= 1.0


@ON_HOSTS
def test_error_function_is_accurate_near_zero_and_near_one(host):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-1, 1, 4000), rng.uniform(0.9, 6.5, 2000), around_zero(rng, 1)])
    difference, exact = errors("erf", x, host)
    assert (difference / np.spacing(np.abs(exact))).max() <= 1.5


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
        ("sin", [0.0, 2.0**41, -1e300, np.inf], [0, np.nan, np.nan, np.nan]),
        ("cos", [0.0, -(2.0**41), 1e300, -np.inf], [1, np.nan, np.nan, np.nan]),
        ("asin", [-1.0, 0.0, 1.0, 1 + 2.0**-52, -2.0, np.inf], [-np.pi / 2, 0, np.pi / 2, np.nan, np.nan, np.nan]),
        ("erf", [-np.inf, -1e300, -6.0, 0.0, 6.0, np.inf], [-1, -1, -1, 0, 1, 1]),
        ("sigmoid", [-1e300, 0.0, 1e300], [0, 0.5, 1]),
        ("softplus", [-1e300, 1e300], [0, 1e300]),
    ],
)
def test_functions_at_the_ends_of_their_range(name, x, expected):
    assert np.array_equal(native(name, np.array(x), this_host()), np.array(expected, dtype=float), equal_nan=True)


@pytest.mark.parametrize("name", sorted(UNARY))
def test_not_a_number_stays_not_a_number(name):
    assert np.isnan(native(name, np.array([np.nan, 1.0]), this_host())[0])
