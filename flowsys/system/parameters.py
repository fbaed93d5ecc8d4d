"""Parameters with their ranges, and a system's validated values of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from math import isfinite
from typing import Any

from flowsys.errors import InputError
from flowsys.system.files import FromFile
from flowsys.typeset.tables import html_table

LEVELS = ("L0", "L1", "L2", "L3", "L4")
FINITE = ("L0", "L1", "L2")


@dataclass(frozen=True)
class Parameter:
    """A named number (or choice) with its allowed range.

    `low` and `high` are inclusive unless `open_low` / `open_high`. A default may be a function of the values before
    it; `default_text` then says which. Besides its `choices` a parameter may take what `reads` makes of another text
    (None if it is not of that kind), which `reads_text` calls by its form. `words` is what a picture says of a choice.
    """

    name: str
    default: Any
    meaning: str
    low: float = float("-inf")
    high: float = float("inf")
    open_low: bool = False
    open_high: bool = False
    integer: bool = False
    choices: tuple[str, ...] = ()
    default_text: str = ""
    levels: tuple[str, ...] = LEVELS
    infinite: bool = False
    log: bool = False
    reads: Callable[[str], Any] | None = None
    reads_text: str = ""
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def allowed(self) -> str:
        """The range in words, for `show` and for errors."""
        if self.choices:
            return " | ".join([*self.choices, self.reads_text] if self.reads else self.choices)
        kind = "an integer" if self.integer else "a number"
        bounds = []
        if self.low != float("-inf"):
            bounds.append(f"{'>' if self.open_low else '>='} {_short(self.low)}")
        if self.high != float("inf"):
            bounds.append(f"{'<' if self.open_high else '<='} {_short(self.high)}")
        return " ".join([kind, " and ".join(bounds)]).strip() + (" (or inf)" if self.infinite else "")

    def check(self, value: Any) -> Any:
        """The value in its type, or an InputError that names it and what is allowed."""
        if self.choices:
            other = self._read(value) if self.reads and str(value) not in self.choices else None
            if other is None and str(value) not in self.choices:
                names = ", ".join(self.choices) + (f", or {self.reads_text}" if self.reads else "")
                raise InputError(f"{self.name} = {value!s} is not allowed: it must be one of {names}.")
            return str(value) if other is None else other
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise self._refusal(value) from None
        if not isfinite(number):
            if self.infinite and number > 0:
                return number
            raise self._refusal(value)
        if self.integer:
            if number != int(number):
                raise self._refusal(value)
            number = int(number)
        too_low = number <= self.low if self.open_low else number < self.low
        too_high = number >= self.high if self.open_high else number > self.high
        if too_low or too_high:
            raise self._refusal(value)
        return number

    def _read(self, value: Any) -> Any:
        """What is made of a text that is none of the choices; a value that was read before stands as it is."""
        assert self.reads is not None
        try:
            return value if isinstance(value, FromFile) else self.reads(str(value))
        except InputError as error:
            raise InputError(f"{self.name} = {value!s} is refused: {error}") from None

    def _refusal(self, value: Any) -> InputError:
        return InputError(f"{self.name} = {value!s} is not allowed: it must be {self.allowed}.")


def _short(bound: float) -> str:
    """A bound in few digits; an integer in all of them where few would be another number."""
    return str(bound) if isinstance(bound, int) and float(f"{bound:g}") != bound else f"{bound:g}"


FINITE_PARAMETERS = (
    Parameter("width", 500, "inner width m of the finite model", low=1, integer=True, levels=FINITE),
    Parameter("seed", 0, "seed of the random initial weights", low=0, high=2**31 - 1, integer=True, levels=FINITE),
    Parameter("learning_rate", 0.1, "step of gradient descent", low=0, open_low=True, levels=("L0",)),
)


def t_max(default: float, high: float = 1e15) -> Parameter:
    """The horizon every system has."""
    return Parameter("t_max", default, "integrate no further than this time", low=0, open_low=True, high=high)


@dataclass(frozen=True, repr=False)
class Setup(Mapping):
    """Validated parameter values of one system, defaults filled in; which of them were `given`, for which `mode`.

    `of` is the system that made it, and does not travel with it to other processes.

    >>> import flowsys as fs
    >>> setup = fs.load("mixture").setup(omega=0.2)
    >>> setup.replace(b=0.7)["b"], setup.replace(b=0.7)["omega"]
    (0.7, 0.2)
    """

    system: str
    values: Mapping[str, Any]  # type: ignore[assignment]  # a field in place of Mapping's method
    mode: str | None = field(default=None, compare=False)
    given: frozenset[str] = field(default=frozenset(), compare=False)
    of: Any = field(default=None, compare=False, repr=False)

    def replace(self, **changes: Any) -> "Setup":
        """The setup with some parameters changed; defaults that follow from them follow."""
        if self.of is None:
            raise InputError(
                f"this setup of {self.system} has lost its system: {self.system}.setup(…) makes a new one."
            )
        return self.of.setup(self.mode, **{**self.of.given_of(self), **changes})

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "of": None}

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={self.values[name]!r}" for name in self.values if name in self.given)
        rest = f"{len(self) - len(self.given)} defaults"
        return f"<Setup {self.system}{f' ({self.mode})' if self.mode else ''}: {given or 'nothing given'}; {rest}>"

    def _repr_html_(self) -> str:
        """Every parameter with its value; those that were given in bold."""
        meaning = {p.name: p.meaning for p in self.of.parameters} if self.of is not None else {}
        bold = lambda name, text: f"<b>{text}</b>" if name in self.given else text
        rows = [
            (bold(name, escape(name)), bold(name, escape(str(value))), escape(meaning.get(name, "")))
            for name, value in self.values.items()
        ]
        return f"<p>{escape(repr(self)[1:-1])}</p>" + html_table(("parameter", "value", "meaning"), rows)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def __iter__(self):
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)
