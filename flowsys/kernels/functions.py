"""exp, log and their kin on vectors, written into the kernel: range reduction and a polynomial, no library call.

    exp x  = 2^n e^r,  n = round(x / ln 2), |r| ≤ ln 2 / 2;   e^r = 1 + r + r² q(r)
    log x  = n ln 2 + log m,  √½ ≤ m < √2;                    log m = 2 artanh s = 2s + s³ p(s²),  s = (m-1)/(m+1)
    erf x  = x + x c(x²) up to 1,  1 - e^-x² g(t) beyond,     t = (x-5/2)/(x+5/2)

q, p, c and g interpolate at Chebyshev nodes; their coefficients are found at build time in exact rational arithmetic.
The others follow from e^x and e^x - 1 on the half line where no digits cancel. Errors are below 2 ulp (softplus 3); e^x
below 2^-1021 is flushed to zero, sinh and cosh are infinite from |x| = 710 on. ln 2 is split as in W. J. Cody &
W. Waite, Software Manual for the Elementary Functions (1980).
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import factorial

from flowsys.kernels.circular import arcsin, cos, sin
from flowsys.kernels.polynomials import interpolant, polynomial, power_series, rounded
from flowsys.kernels.writer import Writer, bits

_LN2 = Fraction("0.693147180559945309417232121458176568075500134360255254120680009493393621969694715605863326996418687")
# the leading 32 bits of ln 2, so that n · _LN2_HIGH is exact for |n| < 2^20
_LN2_HIGH = float(Fraction(int(_LN2 * 2**32), 2**32))
_LN2_LOW = float(_LN2 - Fraction(_LN2_HIGH))
_ROOT_PI = Fraction("1.77245385090551602729816748334114518279754945612238712821380778985291128459103218137495065673854")
_ERF_MIDDLE = 2.5
_ROUND = 1.5 * 2.0**52
_EXP_TOP, _EXP_BOTTOM = 710.0, -708.4
_HYPERBOLIC_TOP = 710.0


@lru_cache(maxsize=1)
def exponential_tail() -> tuple[float, ...]:
    """q in e^r = 1 + r + r² q(r)."""
    half = float(_LN2) / 2 * 1.0001
    return interpolant(power_series(lambda k: Fraction(1, factorial(k + 2))), -half, half, 9)


@lru_cache(maxsize=1)
def logarithm_tail() -> tuple[float, ...]:
    """p in 2 artanh s = 2s + s³ p(s²)."""
    return interpolant(power_series(lambda k: Fraction(2, 2 * k + 3)), 0.0, 0.02944, 7)


@lru_cache(maxsize=1)
def error_function_core() -> tuple[float, ...]:
    """c in erf x = x + x c(x²), |x| < 1."""
    series = power_series(lambda k: 2 / _ROOT_PI * Fraction((-1) ** k, factorial(k) * (2 * k + 1)))
    return interpolant(lambda z: series(z) - 1, 0.0, 1.0, 12)


@lru_cache(maxsize=1)
def error_function_tail() -> tuple[float, ...]:
    """g in erf x = 1 - e^-x² g(t), x ≥ 1: thanks to the weight e^-x², nodes up to x = 4 serve beyond it too."""

    def value(t: Fraction) -> Fraction:
        # e^x² (1 - erf x) = Σ_k (-x)^k / Γ(1 + k/2)
        x = Fraction(_ERF_MIDDLE) * (1 + t) / (1 - t)
        terms, ratio = [Fraction(1), rounded(-2 * x / _ROOT_PI)], rounded(2 * x * x)
        for k in range(2, 200):
            terms.append(rounded(terms[-2] * ratio / k))
        return sum(terms, Fraction(0))

    low, high = ((x - _ERF_MIDDLE) / (x + _ERF_MIDDLE) for x in (1.0, 4.0))
    return interpolant(value, low, high, 14)


def _reduced_exponential(w: Writer, x: str) -> tuple[str, str]:
    """(e^r - 1, 2^(n-1)) for x = n ln 2 + r."""
    shifted = w.fma(x, w.constant(float(1 / _LN2)), w.constant(_ROUND))
    n = w.sub(shifted, w.constant(_ROUND))
    r = w.fma(n, w.constant(-_LN2_HIGH), x)
    r = w.fma(n, w.constant(-_LN2_LOW), r)
    tail = polynomial(w, exponential_tail(), r)
    minus_one = w.fma(w.mul(r, r), tail, r)
    exponent = w.integer_operation("shl", w.as_integers(shifted), w.integer(52))
    half_power = w.integer_operation("add", exponent, w.integer(1022 << 52))
    return minus_one, w.as_doubles(half_power)


def exp(w: Writer, x: str) -> str:
    # at the ends of the clamped range 2^(n-1) is exactly 0, and twice the half overflows: no further test is needed
    clamped = w.minimum(w.maximum(x, w.constant(_EXP_BOTTOM)), w.constant(_EXP_TOP))
    minus_one, half_power = _reduced_exponential(w, clamped)
    half = w.fma(minus_one, half_power, half_power)
    return w.add(half, half)


def log(w: Writer, x: str) -> str:
    """log x; -inf at 0, not a number below."""
    tiny = w.compare("olt", x, w.constant(2.0**-1022))
    normal = w.select(tiny, w.mul(x, w.constant(2.0**54)), x)
    raw = w.as_integers(normal)
    # subtracting the bits of √½ leaves n in the exponent field, and m = x 2^-n in [√½, √2)
    root = int(bits(0.5**0.5), 16)
    offset = w.integer_operation("sub", raw, w.integer(root))
    n_bits = w.integer_operation("and", offset, w.integer(-(1 << 52)))
    m = w.as_doubles(w.integer_operation("sub", raw, n_bits))
    # the signed exponent as a double, without an arithmetic 64-bit shift: biased to be positive, then the bias removed
    biased = w.integer_operation("add", n_bits, w.integer(2048 << 52))
    small = w.integer_operation("lshr", biased, w.integer(52))
    magic = w.integer_operation("or", small, w.integer(int(bits(2.0**52), 16)))
    n = w.sub(w.as_doubles(magic), w.constant(2.0**52 + 2048))
    n = w.sub(n, w.select(tiny, w.constant(54.0), w.constant(0.0)))
    f = w.sub(m, w.constant(1.0))
    s = w.div(f, w.add(m, w.constant(1.0)))
    z = w.mul(s, s)
    half_square = w.mul(w.mul(f, f), w.constant(0.5))
    remainder = w.mul(z, polynomial(w, logarithm_tail(), z))
    # log(1+f) = f - (f²/2 - s (f²/2 + R)), R = z p(z): the large parts f and f²/2 carry no error of s
    inner = w.fma(s, w.add(half_square, remainder), w.mul(n, w.constant(_LN2_LOW)))
    result = w.fma(n, w.constant(_LN2_HIGH), w.sub(f, w.sub(half_square, inner)))
    result = w.select(w.compare("oeq", x, w.constant(float("inf"))), x, result)
    at_zero = w.select(w.compare("oeq", x, w.constant(0.0)), w.constant(float("-inf")), w.constant(float("nan")))
    return w.select(w.compare("ogt", x, w.constant(0.0)), result, at_zero)


def sqrt(w: Writer, x: str) -> str:
    return w.intrinsic("sqrt", x)


def absolute(w: Writer, x: str) -> str:
    return w.intrinsic("fabs", x)


def with_sign_of(w: Writer, magnitude: str, x: str) -> str:
    return w.intrinsic("copysign", magnitude, x)


def sigmoid(w: Writer, x: str) -> str:
    """1 / (1 + e^-x), from e^-|x| so that nothing overflows."""
    e = exp(w, w.neg(absolute(w, x)))
    numerator = w.select(w.compare("olt", x, w.constant(0.0)), e, w.constant(1.0))
    return w.div(numerator, w.add(w.constant(1.0), e))


def softplus(w: Writer, x: str) -> str:
    """log(1 + e^x) = max(x, 0) + log(1 + u), u = e^-|x|; the digits of u lost in 1 + u are put back."""
    u = exp(w, w.neg(absolute(w, x)))
    total = w.add(w.constant(1.0), u)
    lost = w.sub(u, w.sub(total, w.constant(1.0)))
    logarithm = w.add(log(w, total), w.div(lost, total))
    return w.add(w.maximum(x, w.constant(0.0)), logarithm)


def _half_expm1(w: Writer, x: str) -> str:
    """(e^x - 1) / 2 for x ≥ 0."""
    minus_one, half_power = _reduced_exponential(w, x)
    return w.fma(minus_one, half_power, w.sub(half_power, w.constant(0.5)))


def tanh(w: Writer, x: str) -> str:
    """(e^2|x| - 1) / (e^2|x| + 1) with the sign of x."""
    magnitude = w.minimum(absolute(w, x), w.constant(20.0))
    half = _half_expm1(w, w.add(magnitude, magnitude))
    result = with_sign_of(w, w.div(half, w.add(half, w.constant(1.0))), x)
    return w.select(w.compare("uno", x, x), x, result)


def _beyond(w: Writer, size: str, result: str) -> str:
    """Infinity where |x| is too large for sinh and cosh."""
    return w.select(w.compare("ogt", size, w.constant(_HYPERBOLIC_TOP)), w.constant(float("inf")), result)


def sinh(w: Writer, x: str) -> str:
    """With E = (e^|x| - 1)/2: sinh |x| = E + E / (2E + 1)."""
    size = absolute(w, x)
    half = _half_expm1(w, size)
    result = w.add(half, w.div(half, w.fma(half, w.constant(2.0), w.constant(1.0))))
    return with_sign_of(w, _beyond(w, size, result), x)


def cosh(w: Writer, x: str) -> str:
    """With h = e^|x|/2: cosh x = h + 1/(4h)."""
    size = absolute(w, x)
    minus_one, half_power = _reduced_exponential(w, size)
    half = w.fma(minus_one, half_power, half_power)
    return _beyond(w, size, w.add(half, w.div(w.constant(0.25), half)))


def erf(w: Writer, x: str) -> str:
    """The error function, from |x|; 1 to the last bit from 6 on."""
    size = w.minimum(absolute(w, x), w.constant(6.0))
    square = w.mul(size, size)
    near = w.fma(size, polynomial(w, error_function_core(), square), size)
    t = w.div(w.sub(size, w.constant(_ERF_MIDDLE)), w.add(size, w.constant(_ERF_MIDDLE)))
    scaled = polynomial(w, error_function_tail(), t)
    far = w.sub(w.constant(1.0), w.mul(exp(w, w.neg(square)), scaled))
    return with_sign_of(w, w.select(w.compare("olt", size, w.constant(1.0)), near, far), x)


UNARY: dict[str, Callable[[Writer, str], str]] = {
    "exp": exp,
    "log": log,
    "sqrt": sqrt,
    "tanh": tanh,
    "sinh": sinh,
    "cosh": cosh,
    "sin": sin,
    "cos": cos,
    "asin": arcsin,
    "erf": erf,
    "sigmoid": sigmoid,
    "softplus": softplus,
}


def scalar_text(names: Mapping[str, str], fused: bool) -> tuple[str, set[str]]:
    """Functions of one double under the names given, as LLVM assembly, and the declarations they need."""
    texts, declared = [], set()
    for function, name in names.items():
        w = Writer(1, fused)
        result = UNARY[function](w, w.value(f"insertelement {w.vector} poison, double %x, i64 0"))
        w.do(f"ret double {w.value(f'extractelement {w.vector} {result}, i64 0')}")
        texts.append(w.function(name, "double %x", "internal double", "noinline nounwind"))
        declared |= w.declared
    return "\n".join(texts), declared
