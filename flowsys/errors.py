"""What can be wrong with what a user asks for."""

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Bad input, told in one sentence: what was got, what is allowed. The command line exits with code 2 on it."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """ " Did you mean w_c?" where a known name is near, else nothing: the end of a refusal."""
    by_letters = {_letters(x): x for x in known}
    near = [by_letters[x] for x in get_close_matches(_letters(name), by_letters, n=1)]
    return f" Did you mean {near[0]}?" if near else ""


def _letters(name: str) -> str:
    """What of a name is easily mistaken is left out."""
    return "".join(c for c in name.lower() if c.isalnum()) or name
