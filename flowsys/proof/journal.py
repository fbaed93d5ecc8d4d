"""A proof under way, kept on disk: a line for each advance, so that one that was broken off goes on without loss.

The file is that of one problem, one set of numbers and one state of the code. A line that is cut off, or that does not
follow on those before it, is passed over.
"""

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

from flowsys.machine.kept import digest_of_sources
from flowsys.proof.certificate import posed_content
from flowsys.proof.posing import Posed


class Journal:
    """The advances of one proof."""

    def __init__(self, directory: Path, posed: Posed, *settings: Any):
        text = json.dumps([posed_content(posed), str(posed.program), digest_of_sources(), *map(str, settings)])
        self.path = directory / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.jsonl"

    def entries(self) -> list[dict[str, Any]]:
        """What was kept, in order."""
        found: list[dict[str, Any]] = []
        n_pieces = 0
        with contextlib.suppress(OSError):
            for line in self.path.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    entry = json.loads(line)
                    if entry["after"] == n_pieces:
                        found.append(entry)
                        n_pieces += len(entry["pieces"])
        return found

    def add(self, entry: dict[str, Any]) -> None:
        """Keep an advance; a directory that cannot be written is no error, only slower next time."""
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")

    def forget(self) -> None:
        """The proof is done."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
