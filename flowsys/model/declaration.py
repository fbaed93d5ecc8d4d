"""What a model is declared with: parameters, blocks of weights, samples, events and stages, as plain values.

    fs.Size(3, 1, 8)                  an integer; the derivation is made for one value of it
    fs.Real(0.1, 0, 0.5)              a number; the derived program serves every value of it
    fs.Direct(tokens, start=0.0)      weights used as they are
    fs.Pair(tokens, tokens, scale=ω)  two factors W_K, W_Q that share the inner width: the loss reads W_Kᵀ W_Q
    fs.Samples(keys=…, y=…)           the data; every array has one row a sample

Nothing here computes: `flowsys.model.definition.Model` puts it together, `flowsys.model.concrete` reads it at numbers.
"""

import hashlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.system.parameters import LEVELS, Parameter

Axis = int | Sequence[Any]


@dataclass(frozen=True)
class Size:
    """An integer parameter between `low` and `high`, both allowed: a number of tokens, a length, a dimension.

    Defaults by a function, `infinite` and `levels` are as those of `Real`.
    """

    default: float | Callable[[Mapping[str, Any]], float]
    low: int
    high: int
    meaning: str = ""
    default_text: str = ""
    levels: tuple[str, ...] = LEVELS
    infinite: bool = False

    def parameter(self, name: str) -> Parameter:
        return Parameter(
            name, self.default, self.meaning, low=self.low, high=self.high, integer=True,
            default_text=self.default_text, levels=self.levels, infinite=self.infinite,
        )  # fmt: skip


@dataclass(frozen=True)
class Real:
    """A real parameter between `low` and `high`, both allowed; `log` if its natural scale is logarithmic.

    A default may be a function of the values of the parameters before it; `default_text` then says which. `open_low`
    leaves `low` itself out, `open_high` leaves out `high`, `infinite` lets it be ∞. `levels` are those that read it.
    What `shapes` the weights or the samples (a share of them, a size that a stated limit takes as a real number) is a
    value in the loss, never a symbol: a derivation is made for one value of it, as for a size.
    """

    default: float | Callable[[Mapping[str, Any]], float]
    low: float
    high: float
    meaning: str = ""
    log: bool = False
    default_text: str = ""
    open_low: bool = False
    open_high: bool = False
    levels: tuple[str, ...] = LEVELS
    infinite: bool = False
    shapes: bool = False

    def __post_init__(self):
        if self.log and not self.low > 0:
            raise InputError(f"a Real with log=True needs low > 0, not low = {self.low}.")

    def parameter(self, name: str) -> Parameter:
        return Parameter(
            name, self.default, self.meaning, low=self.low, high=self.high, log=self.log,
            default_text=self.default_text, open_low=self.open_low, open_high=self.open_high, levels=self.levels,
            infinite=self.infinite,
        )  # fmt: skip


class Choice:
    """A parameter with a few named values; the first is the default.

    It may be open: `reads` makes a value of another text, such as the name of a file, or gives None; `reads_text` says
    which texts those are. `words` is what pictures say of a value, {value: words}, instead of its name.
    """

    def __init__(
        self,
        default: str,
        *others: str,
        meaning: str = "",
        levels: tuple[str, ...] = LEVELS,
        reads: Callable[[str], Any] | None = None,
        reads_text: str = "",
        words: Mapping[str, str] | None = None,
    ):
        self.values, self.meaning, self.levels = (str(default), *map(str, others)), meaning, levels
        self.reads, self.reads_text, self.words = reads, reads_text, dict(words or {})
        if len(set(self.values)) < len(self.values):
            raise InputError(f"Choice{self.values!r} names one value twice.")

    def __repr__(self) -> str:
        return f"Choice{self.values!r}"

    def parameter(self, name: str) -> Parameter:
        return Parameter(
            name, self.values[0], self.meaning, choices=self.values, levels=self.levels, reads=self.reads,
            reads_text=self.reads_text, words=self.words,
        )  # fmt: skip


class Direct:
    """Weights used as they are: an array over labelled axes (none: one number).

    `start` is a number, an array, or a function of a NumPy generator; a random start needs its `limit`, the start at
    infinite width. `rate` multiplies the learning rate. `read` is a linear map, what the loss sees of the block: a
    function, a matrix that acts on the last axis, or a tuple with a matrix (or None) for each axis.
    """

    def __init__(
        self,
        *axes: Axis,
        start: float | np.ndarray | Callable[[np.random.Generator], Any] = 0.0,
        limit: Any = None,
        trains: bool = True,
        rate: float = 1.0,
        read: Any = None,
    ):
        self.axes, self.start, self.limit = axes, start, limit
        self.trains, self.rate, self.read = bool(trains), rate, read

    def __repr__(self) -> str:
        return f"Direct({', '.join(map(repr, self.axes))})"


class Pair:
    """Two factors with a common inner width m, entries N(0, scale²/m); the loss reads their product W_Kᵀ W_Q.

    `scales` gives each factor its own scale, `heads` a leading axis. `start` may give the factors instead: (W_K, W_Q),
    or a function of a NumPy generator that returns them; a random one needs its `limit`, {"S": …, "KK": …, "QQ": …} by
    the names of the product and the self-products. `rates` multiply the factors' learning rates. `read` is a linear
    map on the last axis of each factor, or a pair of them: what the loss sees.
    """

    def __init__(
        self,
        keys: Axis,
        queries: Axis,
        scale: float = 1.0,
        scales: tuple[float, float] | None = None,
        heads: Axis | None = None,
        factors: tuple[str, str] = ("W_K", "W_Q"),
        selfs: tuple[str, str] = ("KK", "QQ"),
        start: Any = None,
        trains: bool = True,
        rates: tuple[float, float] = (1.0, 1.0),
        read: Any = None,
        limit: Mapping[str, Any] | None = None,
    ):
        self.keys, self.queries, self.heads = keys, queries, heads
        self.scales = (scale, scale) if scales is None else tuple(scales)
        self.factors, self.selfs, self.start, self.limit = tuple(factors), tuple(selfs), start, limit
        self.trains, self.rates, self.read = bool(trains), tuple(rates), read

    def __repr__(self) -> str:
        return f"Pair({self.keys!r}, {self.queries!r})"


Block = Direct | Pair


class Samples:
    """The data: arrays of one first length, read as attributes (`X.keys`), and the samples' weights.

    Weights sum to `total`; without them all samples weigh the same.
    """

    def __init__(self, weight: Any = None, total: float = 1.0, **arrays: Any):
        if not arrays and weight is None:
            raise InputError("Samples are empty: give at least one array, or weights.")
        if not (isinstance(total, int | float) and np.isfinite(total) and total > 0):
            raise InputError(f"Samples: total = {total!r} must be a positive number.")
        self.arrays = {name: _plain(name, values) for name, values in arrays.items()}
        lengths = {name: values.shape[0] for name, values in self.arrays.items()}
        if weight is not None:
            weight = _plain("weight", weight, float)
            if len(weight.shape) != 1:
                raise InputError(f"Samples: weight has shape {weight.shape}, but it must be one number a sample.")
        n = next(iter(lengths.values()), None) if weight is None else weight.shape[0]
        for name, length in lengths.items():
            if length != n:
                raise InputError(f"Samples: {name} has {length} rows, but there are {n} samples.")
        if n == 0:
            raise InputError("Samples are empty: the arrays have no rows.")
        self.total = total
        self.weight: Any = np.full(n, total / n) if weight is None and n is not None else weight
        if isinstance(self.weight, np.ndarray):
            self._check_weights()

    def _check_weights(self) -> None:
        if (self.weight < 0).any():
            where = int(np.argmin(self.weight))
            raise InputError(f"Samples: weight[{where}] = {self.weight[where]:g} must not be negative.")
        got = float(self.weight.sum())
        if abs(got - self.total) > 1e-9 * max(1.0, abs(self.total)):
            raise InputError(f"Samples: the weights sum to {got:.12g}, but total = {self.total:.12g}.")

    def __len__(self) -> int:
        return self.weight.shape[0]

    @cached_property
    def structure(self) -> tuple:
        """What is not data: whole numbers by content, other arrays by shape."""
        return tuple((name, a.shape, _digest(a) if a.dtype.kind == "i" else "") for name, a in self.arrays.items())

    @cached_property
    def data(self) -> str:
        """A digest of the arrays that are data."""
        return " ".join(_digest(a) for a in self.arrays.values() if a.dtype.kind == "f")

    def __getattr__(self, name: str) -> Any:
        arrays = self.__dict__.get("arrays", {})
        if name in arrays:
            return arrays[name]
        raise AttributeError(f"the samples have no array {name!r}; they have {', '.join([*arrays, 'weight'])}.")


def _digest(array: np.ndarray) -> str:
    return hashlib.blake2b(np.ascontiguousarray(array).data, digest_size=16).hexdigest()


def _plain(name: str, values: Any, dtype: Any = None) -> Any:
    """An array of integers or floats; booleans count as 0 and 1. What JAX traces (a batch) stays what it is."""
    if (jax := sys.modules.get("jax")) and isinstance(values, jax.core.Tracer):
        return values
    try:
        found = np.asarray(values, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise InputError(f"Samples: {name} is no array of numbers: {' '.join(str(error).split())}") from None
    if found.dtype == bool:
        found = found.astype(int)
    if found.dtype.kind not in "iuf":
        raise InputError(f"Samples: {name} holds {found.dtype.name}, but arrays hold integers or numbers.")
    if found.ndim == 0:
        raise InputError(f"Samples: {name} is one number, but an array has one row a sample.")
    if not np.isfinite(found).all():
        at = tuple(int(i[0]) for i in np.nonzero(~np.isfinite(found)))
        raise InputError(f"Samples: {name}[{', '.join(map(str, at))}] = {found[at]} must be finite.")
    return found.astype(float) if found.dtype.kind == "f" else found.astype(int)


@dataclass(frozen=True)
class Crossing:
    """An observable that crosses a threshold (as the time of a `Mark`), upwards (+1) or downwards (-1).

    `modes` are those that have it (None: all).
    """

    observable: str
    threshold: float | str | Callable[[Any], Any]
    direction: int
    meaning: str = ""
    modes: tuple[str, ...] | None = None

    def __post_init__(self):
        if self.direction not in (1, -1):
            raise InputError(f"Crossing of {self.observable}: direction = {self.direction} must be +1 or -1.")


@dataclass(frozen=True)
class Mark:
    """An event at a given time: a number, a parameter's name, or a function of the parameters `p`; see `Crossing`."""

    time: float | str | Callable[[Any], float]
    meaning: str = ""
    modes: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Stage:
    """A stretch of training: what trains, on which samples, with which loss, and when it ends.

    `trains` lists blocks (None: all that train), `where` names a 0/1 array of the samples whose weights are
    renormalised; `until` is a time or a parameter's name, `ends_on` an event. The last stage goes on to
    t_max, whatever its end. With `step` the stage is one gradient step of that rate (a number or a parameter's name):
    it moves along a straight line, at levels of flow for the time `step`, in descent for one learning rate, and its end
    is an event of its name.
    """

    name: str
    trains: Sequence[str] | None = None
    where: str | None = None
    samples: Callable | None = None
    loss: Callable | None = None
    until: float | str | None = None
    ends_on: str | None = None
    step: float | str | None = None
