"""LLVM assembly as text: one function at a time, names for values handed out in order.

Values are written on `lanes` trajectories at once, as `<lanes x double>`; scalars of the drivers are `double` and
`i64`. Floating-point operations carry no fast-math flags, so a value has one meaning, bit for bit: multiplications and
additions are fused only where `fma` is written.
"""

from collections.abc import Sequence
from struct import pack, unpack


def bits(x: float) -> str:
    """A double as LLVM writes it exactly."""
    return f"0x{unpack('>Q', pack('>d', float(x)))[0]:016X}"


class Writer:
    """The body of one function under way."""

    def __init__(self, lanes: int, fused: bool):
        self.lanes, self.fused = lanes, fused
        self.vector = f"<{lanes} x double>"
        self.integers = f"<{lanes} x i64>"
        self.booleans = f"<{lanes} x i1>"
        self.entry: list[str] = []
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self._count = 0

    # -- plain text ---------------------------------------------------------------------------------------------

    def fresh(self, stem: str = "v") -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def value(self, text: str) -> str:
        """A new value, defined by an instruction."""
        name = "%" + self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def local(self, kind: str) -> str:
        """A mutable local variable of a kind; the optimiser turns it into registers."""
        name = "%" + self.fresh("p")
        align = f", align {8 * self.lanes}" if kind == self.vector else ""
        self.entry.append(f"  {name} = alloca {kind}{align}")
        return name

    def function(self, name: str, arguments: str, result: str = "void", attributes: str = "") -> str:
        """The whole function; arguments are written out, `ptr %y, …`."""
        head = f"define {result} @{name}({arguments}) {attributes} {{\nentry:\n"
        return head + "\n".join([*self.entry, *self.lines]) + "\n}\n"

    # -- vectors ------------------------------------------------------------------------------------------------

    def constant(self, x: float) -> str:
        return f"<{', '.join([f'double {bits(x)}'] * self.lanes)}>"

    def integer(self, n: int) -> str:
        signed = (n + 2**63) % 2**64 - 2**63
        return f"<{', '.join([f'i64 {signed}'] * self.lanes)}>"

    def binary(self, operation: str, a: str, b: str) -> str:
        return self.value(f"{operation} {self.vector} {a}, {b}")

    def add(self, a: str, b: str) -> str:
        return self.binary("fadd", a, b)

    def sub(self, a: str, b: str) -> str:
        return self.binary("fsub", a, b)

    def mul(self, a: str, b: str) -> str:
        return self.binary("fmul", a, b)

    def div(self, a: str, b: str) -> str:
        return self.binary("fdiv", a, b)

    def neg(self, a: str) -> str:
        return self.value(f"fneg {self.vector} {a}")

    def fma(self, a: str, b: str, c: str) -> str:
        """a·b + c, rounded once where the host can."""
        return self.intrinsic("fma", a, b, c) if self.fused else self.add(self.mul(a, b), c)

    def intrinsic(self, name: str, *arguments: str) -> str:
        full = f"llvm.{name}.v{self.lanes}f64"
        self.declared.add(f"declare {self.vector} @{full}({', '.join([self.vector] * len(arguments))})")
        return self.value(f"call {self.vector} @{full}({', '.join(f'{self.vector} {a}' for a in arguments)})")

    def compare(self, relation: str, a: str, b: str) -> str:
        return self.value(f"fcmp {relation} {self.vector} {a}, {b}")

    def select(self, condition: str, a: str, b: str) -> str:
        return self.value(f"select {self.booleans} {condition}, {self.vector} {a}, {self.vector} {b}")

    def maximum(self, a: str, b: str) -> str:
        """max(a, b); a itself where it is not a number. The sign of a zero is left open: then it is one instruction."""
        return self._extreme("ugt", a, b)

    def minimum(self, a: str, b: str) -> str:
        return self._extreme("ult", a, b)

    def _extreme(self, relation: str, a: str, b: str) -> str:
        chosen = self.compare(f"nsz {relation}", a, b)
        return self.value(f"select nsz {self.booleans} {chosen}, {self.vector} {a}, {self.vector} {b}")

    def as_integers(self, a: str) -> str:
        return self.value(f"bitcast {self.vector} {a} to {self.integers}")

    def as_doubles(self, a: str) -> str:
        return self.value(f"bitcast {self.integers} {a} to {self.vector}")

    def integer_operation(self, operation: str, a: str, b: str) -> str:
        return self.value(f"{operation} {self.integers} {a}, {b}")

    # -- memory -------------------------------------------------------------------------------------------------

    def at(self, pointer: str, index: str | int, kind: str | None = None) -> str:
        """The address of the index-th value of a kind (vectors if none is given)."""
        return self.value(f"getelementptr inbounds {kind or self.vector}, ptr {pointer}, i64 {index}")

    def load(self, pointer: str, index: str | int = 0) -> str:
        where = pointer if index == 0 else self.at(pointer, index)
        return self.value(f"load {self.vector}, ptr {where}, align {8 * self.lanes}")

    def spread(self, pointer: str, index: str | int) -> str:
        """One double, at its own index among doubles, in all lanes."""
        return self.in_all_lanes(self.value(f"load double, ptr {self.at(pointer, index, 'double')}"))

    def in_all_lanes(self, number: str) -> str:
        """A scalar in all lanes."""
        first = self.value(f"insertelement {self.vector} poison, double {number}, i64 0")
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        return self.value(f"shufflevector {self.vector} {first}, {self.vector} poison, {zeros}")

    def different(self, numbers: Sequence[float]) -> str:
        """A constant with its own number in each lane; 0 where there are fewer numbers than lanes."""
        padded = [*numbers, *[0.0] * (self.lanes - len(numbers))]
        return f"<{', '.join(f'double {bits(x)}' for x in padded)}>"

    def store(self, value: str, pointer: str, index: str | int = 0) -> None:
        where = pointer if index == 0 else self.at(pointer, index)
        self.do(f"store {self.vector} {value}, ptr {where}, align {8 * self.lanes}")

    def load_integer(self, pointer: str, index: str | int) -> str:
        return self.value(f"load i64, ptr {self.at(pointer, index, 'i64')}")

    def integer_value(self, operation: str, a: str | int, b: str | int) -> str:
        return self.value(f"{operation} i64 {a}, {b}")

    def loop(self, start: str | int, stop: str):
        """A counted loop: `with writer.loop(0, n) as i:`."""
        return _Loop(self, start, stop)


class _Loop:
    def __init__(self, writer: Writer, start: str | int, stop: str):
        self.writer, self.start, self.stop = writer, start, stop

    def __enter__(self) -> str:
        w = self.writer
        self.head, self.body, self.end = (w.fresh(x) for x in ("head", "body", "end"))
        self.counter = w.local("i64")
        w.do(f"store i64 {self.start}, ptr {self.counter}")
        w.do(f"br label %{self.head}")
        w.label(self.head)
        self.index = w.value(f"load i64, ptr {self.counter}")
        more = w.value(f"icmp slt i64 {self.index}, {self.stop}")
        w.do(f"br i1 {more}, label %{self.body}, label %{self.end}")
        w.label(self.body)
        return self.index

    def __exit__(self, *_) -> None:
        w = self.writer
        w.do(f"store i64 {w.integer_value('add', self.index, 1)}, ptr {self.counter}")
        w.do(f"br label %{self.head}")
        w.label(self.end)
