"""A function of vector code on a workspace, with the shorthand that its bodies need."""

from flowsys.kernels.records import Workspace
from flowsys.kernels.restricted import record_fields
from flowsys.kernels.writer import Writer


class OnWorkspace:
    """A function `name(ptr %w)` under way."""

    def __init__(self, lanes: int, fused: bool):
        self.w = Writer(lanes, fused)
        self.fields = record_fields(Workspace)
        self.dim = self.number("dim")

    def _field(self, name: str, kind: str) -> str:
        position, _ = self.fields[name]
        return self.w.value(f"load {kind}, ptr {self.w.at('%w', position, 'i64')}")

    def pointer(self, name: str) -> str:
        return self._field(name, "ptr")

    def number(self, name: str) -> str:
        return self._field(name, "i64")

    def part(self, pointer: str, i: int) -> str:
        """Where the i-th of several state vectors begins."""
        return self.w.at(pointer, self.w.integer_value("mul", self.dim, i)) if i else pointer

    def text(self, name: str) -> str:
        self.w.do("ret void")
        return self.w.function(name, "ptr %w", "internal void", "nounwind")
