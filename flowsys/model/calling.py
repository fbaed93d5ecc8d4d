"""A model's own functions, called: what goes wrong inside one is told in a sentence with its name and its line."""

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flowsys.errors import InputError

_BRANCHES = "compares a real parameter or an entry, and no branch is followed: use ops.relu, ops.maximum or a Choice"
_TRACED = (
    "takes a number out of an array, or applies a function that is not one of ops: use those of ops "
    "(in batches, jax.numpy and jax.random)"
)
_HINTS = {
    "TracerBoolConversionError": _BRANCHES,
    "TracerArrayConversionError": _TRACED,
    "TracerIntegerConversionError": _TRACED,
    "ConcretizationTypeError": _TRACED,
}


class Told:
    """A function of the model under the words it is spoken of; equal to another of the same function."""

    def __init__(self, what: str, function: Callable):
        if not callable(function):
            raise InputError(f"{what} is a {type(function).__name__}, but it must be a function.")
        self.what, self.function, self.__doc__ = what, function, getattr(function, "__doc__", None)

    def __call__(self, *arguments: Any) -> Any:
        return called(self.what, self.function, *arguments)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Told) and self.function == other.function

    def __hash__(self) -> int:
        return hash(self.function)


def told(what: str, function: Callable | None) -> Told | None:
    """A function that a model may have or not."""
    return None if function is None else Told(what, function)


def called(what: str, function: Callable, *arguments: Any) -> Any:
    """What the function gives; InputError with its name and line if it fails."""
    try:
        return function(*arguments)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{what} {_said(error)} ({_place(function, error)}).") from error


def _said(error: Exception) -> str:
    kind, said = type(error).__name__, " ".join(str(error).split())[:200].rstrip(".")
    if kind in _HINTS:
        return _HINTS[kind]
    if isinstance(error, TypeError) and "truth value" in said:
        return _BRANCHES
    if isinstance(error, TypeError) and "ufunc" in said:
        return _TRACED
    if isinstance(error, IndexError):
        return f"uses an index beyond the labels: {said}"
    return f"cannot be evaluated: {kind}: {said}"


def _place(function: Callable, error: Exception) -> str:
    """The function's name, its file, and the line in that file where it went wrong."""
    name = getattr(function, "__name__", type(function).__name__)
    frames = traceback.extract_tb(error.__traceback__)[1:]
    if frames:
        here = [frame for frame in frames if frame.filename == frames[0].filename][-1]
        text = f": {here.line}" if here.line and len(here.line) <= 120 else ""
        return f"{name}, {Path(here.filename).name}, line {here.lineno}{text}"
    code = getattr(function, "__code__", None)
    return name if code is None else f"{name}, {Path(code.co_filename).name}, line {code.co_firstlineno}"
