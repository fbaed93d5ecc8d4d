"""The parameters as a model's functions see them, `p.omega`, and functions remembered by what they read of them."""

from collections.abc import Callable, Mapping
from typing import Any

from flowsys.errors import InputError


class Values:
    """Parameters by attribute; `reads` collects which were looked at, `refused` says why some may not be."""

    def __init__(
        self,
        values: Mapping[str, Any],
        refused: Mapping[str, str] | None = None,
        noted: set[str] | None = None,
    ):
        self._values, self._refused, self._noted = values, refused or {}, set() if noted is None else noted
        self._reads: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._refused:
            raise InputError(self._refused[name])
        if name not in self._values:
            raise InputError(f"p.{name} is not a parameter of the model; there are {', '.join(self._values)}.")
        self._noted.add(name)
        self._reads[name] = self._values[name]
        return self._values[name]

    def __getitem__(self, name: str) -> Any:
        """As a setup has it, so that one function reads both."""
        return getattr(self, name)

    @property
    def reads(self) -> dict[str, Any]:
        return self._reads


class Remembered:
    """A function of `p`, called once for every set of values that it looked at."""

    def __init__(self, function: Callable[[Values], Any], most: int = 256):
        self._function, self._most = function, most
        self._known: dict[tuple[str, ...], dict[tuple, Any]] = {}  # by the names that were read, then by their values

    def __call__(self, values: Mapping[str, Any], refused: Mapping[str, str] | None = None) -> Any:
        return self.with_reads(values, refused)[0]

    def with_reads(self, values: Mapping[str, Any], refused: Mapping[str, str] | None = None) -> tuple[Any, dict]:
        """The result and what was read for it."""
        for names, results in self._known.items():
            read = tuple(values[name] for name in names)
            if read in results:
                for name in names:
                    if refused and name in refused:
                        raise InputError(refused[name])
                return results[read], dict(zip(names, read))
        p = Values(values, refused)
        result = self._function(p)
        results = self._known.setdefault(tuple(p.reads), {})
        results[tuple(p.reads.values())] = result
        if len(results) > self._most:
            del results[next(iter(results))]
        return result, p.reads
