"""A parameter's value that is read from a file: what it is computed with, found again by name and content.

    def targets(table, path): …    # checks what the file holds, and makes a value of it or raises InputError
    parameters={"target": fs.Choice("near", "far", reads=fs.json_file(targets), reads_text="FILE.json")}

`--set target=FILE.json` then makes `p.target` a `FromFile`, whose `value` is what `targets` made.
"""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from flowsys.errors import InputError


class FromFile(str):
    """The name of a file with the value that was made of its text; equal where names and texts are.

    What is computed for it and found again by its name is not found for what the file holds later.
    """

    value: Any
    digest: str

    def __new__(cls, path: str, digest: str, value: Any):
        self = super().__new__(cls, path)
        self.value, self.digest = value, digest
        return self

    def __getnewargs__(self):
        return str(self), self.digest, self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FromFile) and (str(self), self.digest) == (str(other), other.digest)

    def __ne__(self, other: object) -> bool:
        return not self == other  # a text has its own

    def __hash__(self) -> int:
        return hash((str(self), self.digest))

    def __repr__(self) -> str:
        return f"FromFile({str(self)!r}, {self.digest})"


def json_file(make: Callable[[Any, str], Any]) -> Callable[[str], FromFile | None]:
    """What an open choice `reads`: the name of a JSON file, of whose content and name `make` makes a value."""

    def reads(path: str) -> FromFile | None:
        if not path.endswith(".json"):
            return None
        try:
            text = Path(path).read_text()
            content = json.loads(text)
        except OSError as error:
            raise InputError(f"it cannot be read, {error.strerror}.") from None
        except ValueError as error:
            raise InputError(f"it is not a JSON file, {error}.") from None
        return FromFile(path, sha256(text.encode()).hexdigest()[:16], make(content, path))

    return reads
