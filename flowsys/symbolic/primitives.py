"""The functions a model may use, on NumPy object arrays of sympy expressions: `flowsys.model.ops` read symbolically.

Softmax averages, softplus, ReLU and their kin are *opaque*: sympy knows their derivatives but never their insides,

    ∂(Σ_i p_i v_i)/∂s_j = p_j (v_j - Σ_i p_i v_i),    ∂ log Σ_i n_i e^(s_i) / ∂s_j = p_j,    relu' = step, step' = 0,

so expressions stay small and `flowsys.symbolic.lower` writes each with stable numerics.
"""

import numpy as np
import sympy as sp
from sympy.core.function import ArgumentIndexError


class _Opaque(sp.Function):
    """A function of real arguments that sympy differentiates but does not evaluate."""

    is_real = True

    @classmethod
    def eval(cls, *args):
        return None


class Sigmoid(_Opaque):
    """1 / (1 + e^-x)."""

    nargs = 1

    def fdiff(self, argindex=1):
        return self * Sigmoid(-self.args[0])


class Softplus(_Opaque):
    """log(1 + e^x)."""

    nargs = 1

    def fdiff(self, argindex=1):
        return Sigmoid(self.args[0])


class Relu(_Opaque):
    """max(x, 0): a kink, located and followed by the solver."""

    nargs = 1

    def fdiff(self, argindex=1):
        return Step(self.args[0])


class Step(_Opaque):
    """1 where x > 0, else 0: the gate of a ReLU."""

    nargs = 1

    def fdiff(self, argindex=1):
        return sp.S.Zero


class Magnitude(_Opaque):
    """|x| as sympy writes √(x²): with slope x/|x|, not a kink; a model's own |x| is 2 relu(x) - x."""

    nargs = 1

    def fdiff(self, argindex=1):
        return self.args[0] / self


class PowerRelu(_Opaque):
    """0 | x^q / (q ϱ^(q-1)) on (0, ϱ] | x - ϱ (1 - 1/q), stored as (x, ϱ, q): once differentiable, so not a kink."""

    nargs = 3

    def fdiff(self, argindex=1):
        if argindex != 1:
            raise ArgumentIndexError(self, argindex)
        return PowerReluSlope(*self.args)


class PowerReluSlope(_Opaque):
    """The derivative of `PowerRelu`: (x/ϱ, cut to [0, 1]) to the power q - 1."""

    nargs = 3


class Positive(_Opaque):
    """1 where x > 0, else 0, for counting only: never differentiated, never a kink."""

    nargs = 1

    def fdiff(self, argindex=1):
        return sp.S.Zero


class Largest(_Opaque):
    """The largest of its arguments, for observing only: never differentiated."""


class Smallest(_Opaque):
    """The smallest of its arguments, for observing only: never differentiated."""


class Named(_Opaque):
    """An expression with a name of its own in the derived program; mathematically the identity."""

    nargs = 2

    def fdiff(self, argindex=2):
        if argindex != 2:
            raise ArgumentIndexError(self, argindex)
        return sp.S.One


class Softmax(_Opaque):
    """p_i = n_i e^(s_i) / Σ_j n_j e^(s_j), stored flat as (i, s_1 … s_n, n_1 … n_n)."""

    @property
    def size(self) -> int:
        return (len(self.args) - 1) // 2

    @property
    def group(self) -> tuple[tuple[sp.Expr, ...], tuple[sp.Expr, ...]]:
        """The scores and the counts, which all entries of one softmax share."""
        return self.args[1 : 1 + self.size], self.args[1 + self.size :]

    def fdiff(self, argindex):
        j = argindex - 2
        if not 0 <= j < self.size:
            raise ArgumentIndexError(self, argindex)
        return self * (int(self.args[0] == j) - Softmax(j, *self.args[1:]))


class AttentionMean(_Opaque):
    """Σ_i p_i v_i with p = Softmax(s, n), stored flat as (v_1 … v_n, s_1 … s_n, n_1 … n_n)."""

    @property
    def size(self) -> int:
        return len(self.args) // 3

    def weight(self, i: int) -> Softmax:
        return Softmax(i, *self.args[self.size :])

    def fdiff(self, argindex):
        j = argindex - 1
        if j < self.size:
            return self.weight(j)
        if j < 2 * self.size:
            return self.weight(j - self.size) * (self.args[j - self.size] - self)
        raise ArgumentIndexError(self, argindex)


class LogSumExp(_Opaque):
    """log Σ_i n_i e^(s_i), stored flat as (s_1 … s_n, n_1 … n_n)."""

    @property
    def size(self) -> int:
        return len(self.args) // 2

    def fdiff(self, argindex):
        if argindex > self.size:
            raise ArgumentIndexError(self, argindex)
        return Softmax(argindex - 1, *self.args)


OPAQUE = (
    Sigmoid, Softplus, Relu, Step, Magnitude, PowerRelu, PowerReluSlope, Positive, Largest, Smallest,
    Named, Softmax, AttentionMean, LogSumExp,
)  # fmt: skip


def _elementwise(function):
    """Apply a scalar sympy function to every entry of an array (or to a bare expression)."""
    over_entries = np.frompyfunc(lambda x: function(sp.sympify(x)), 1, 1)

    def apply(x):
        return over_entries(np.asarray(x, dtype=object)) if isinstance(x, np.ndarray) else function(sp.sympify(x))

    return apply


exp = _elementwise(sp.exp)
log = _elementwise(sp.log)
sqrt = _elementwise(sp.sqrt)
tanh = _elementwise(sp.tanh)
sin = _elementwise(sp.sin)
cos = _elementwise(sp.cos)
arcsin = _elementwise(sp.asin)
erf = _elementwise(sp.erf)
sigmoid = _elementwise(Sigmoid)
softplus = _elementwise(Softplus)
relu = _elementwise(Relu)
is_positive = _elementwise(Positive)
concatenate = np.concatenate
stack = np.stack


def einsum(subscripts, *arrays):
    """Einstein's sums over object arrays."""
    found = np.einsum(subscripts, *(np.asarray(a, dtype=object) for a in arrays), dtype=object)
    return found[()] if isinstance(found, np.ndarray) else found


def array(x):
    """An object array of exact sympy entries."""
    return np.vectorize(sp.sympify, otypes=[object])(np.asarray(x, dtype=object))


def largest(values):
    """The largest of a list of expressions; of one, itself."""
    first, *more = map(sp.sympify, values)
    return Largest(first, *more) if more else first


def smallest(values):
    """The smallest of a list of expressions; of one, itself."""
    first, *more = map(sp.sympify, values)
    return Smallest(first, *more) if more else first


def smooth_relu(x, width):
    return width * softplus(x / width)


def power_relu(x, width, power):
    width, power = sp.sympify(width), sp.Integer(power)
    return _elementwise(lambda entry: PowerRelu(entry, width, power))(x)


def hinge(margin):
    return relu(1 - margin)


def clip_above(x, upper):
    return upper - relu(upper - x)


def abs(x):
    return 2 * relu(x) - x


def maximum(x, y):
    return y + relu(x - y)


def minimum(x, y):
    return x - relu(x - y)


def _along(axis, function, *arrays):
    """Call `function` on the 1-D slices of equally shaped object arrays along `axis`; one result a slice."""
    moved = [np.moveaxis(a, axis, -1) for a in np.broadcast_arrays(*[np.asarray(a, dtype=object) for a in arrays])]
    shape = moved[0].shape[:-1]
    results = [function(*slices) for slices in zip(*[m.reshape(-1, m.shape[-1]) for m in moved])]
    return results, shape


def _counts_like(scores, counts):
    return np.ones(np.shape(scores), dtype=object) if counts is None else counts


def attend(values, scores, counts=None, axis=-1):
    """Σ_i p_i v_i along `axis`, p = softmax of the scores with multiplicities."""
    results, shape = _along(axis, _attention_mean, values, scores, _counts_like(scores, counts))
    return np.array(results, dtype=object).reshape(shape)[()]


def _canonical_order(scores, counts) -> list[int]:
    """An order of keys that depends only on what they are, so that equal softmaxes are equal expressions."""
    keys = [(sp.sympify(s).sort_key(), sp.sympify(n).sort_key()) for s, n in zip(scores, counts)]
    return sorted(range(len(keys)), key=keys.__getitem__)


def _attention_mean(values, scores, counts) -> sp.Expr:
    """The mean over keys in canonical order, equal keys merged; under equal scores a plain mean."""
    merged: dict[tuple, sp.Expr] = {}
    for v, s, n in zip(values, scores, counts):
        key = (sp.sympify(v), sp.sympify(s))
        merged[key] = merged.get(key, 0) + sp.sympify(n)
    merged = {key: n for key, n in merged.items() if n != 0}
    v, s, n = [k[0] for k in merged], [k[1] for k in merged], list(merged.values())
    if len(set(s)) == 1:
        return sp.Add(*(x * count for x, count in zip(v, n))) / sp.Add(*n)
    order = _canonical_order(s, n)
    return AttentionMean(*(v[i] for i in order), *(s[i] for i in order), *(n[i] for i in order))


def _softmax(scores, counts) -> list[sp.Expr]:
    present = [i for i in range(len(scores)) if counts[i] != 0]
    order = [present[k] for k in _canonical_order([scores[i] for i in present], [counts[i] for i in present])]
    group = (*(scores[i] for i in order), *(counts[i] for i in order))
    return [Softmax(order.index(i), *group) if i in order else sp.S.Zero for i in range(len(scores))]


def softmax(scores, counts=None, axis=-1):
    results, shape = _along(axis, _softmax, scores, _counts_like(scores, counts))
    return np.moveaxis(np.array(results, dtype=object).reshape(*shape, -1), -1, axis)


def log_sum_exp(scores, counts=None, axis=-1):
    results, shape = _along(axis, lambda s, n: LogSumExp(*s, *n), scores, _counts_like(scores, counts))
    return np.array(results, dtype=object).reshape(shape)[()]


def cross_entropy(logits, target, counts=None, axis=-1):
    moved = np.moveaxis(np.asarray(logits, dtype=object), axis, -1)
    shape, n = moved.shape[:-1], np.broadcast_to(_counts_like(moved, counts), moved.shape)

    def loss(F, n, k):
        others = [j for j in range(len(F)) if j != k]
        return Softplus(LogSumExp(*(F[j] - F[k] for j in others), *(n[j] for j in others)))

    rows = (array.reshape(-1, moved.shape[-1]) for array in (moved, n))
    return np.array([*map(loss, *rows, np.broadcast_to(target, shape).ravel())], dtype=object).reshape(shape)[()]


def name(label, x):
    """Give an expression (or every entry of an array) a name in the derived program."""
    if isinstance(x, np.ndarray):
        entries = [Named(sp.Symbol(f"{label}_{i}"), sp.sympify(e)) for i, e in enumerate(x.ravel())]
        return np.array(entries, dtype=object).reshape(x.shape)
    return Named(sp.Symbol(label), sp.sympify(x))
