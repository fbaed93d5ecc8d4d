"""A program as vector code: the field, what is watched, and the velocity of the switching functions.

All functions share one signature, `f(y, a, b, constants, gates, scratch, layout, indices)`, on vectors of lanes:

    field      a ← dy/dt
    watched    a ← dy/dt, b ← watched observables, then all switching functions
    velocity   b ← ∇h · a of all switching functions h, for a given direction a
    tangent    b ← J a, the derivative of dy/dt along a given direction a

The last two are forward differentiation: every value carries its derivative along `a` (none where it is zero).
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from flowsys.kernels.expressions import Expressions, Value
from flowsys.kernels.functions import UNARY
from flowsys.kernels.host import Host
from flowsys.kernels.layout import Places
from flowsys.kernels.passes import Schedule, schedule
from flowsys.kernels.writer import Writer
from flowsys.program import Line, Program
from flowsys.program.arrays import Kinks
from flowsys.program.parsing import called, variable

ARGUMENTS = ", ".join(f"ptr noalias {name}" for name in "%y %a %b %constants %gates %scratch %layout %indices".split())


# from these numbers on, code size counts for more than calls saved
_MANY_CALLS, _MANY_OPERATIONS = 150, 1_500


@dataclass(frozen=True)
class Request:
    """What a function computes: dy/dt stored to `a` (its derivative, in a directional one, to `b`), scalars and row
    values stored to `b`."""

    name: str
    derivatives: bool
    observed: tuple[str, ...]
    switching: bool
    directional: bool = False


class Emitter(Expressions):
    """Writes one function of a program."""

    def __init__(self, program: Program, kinks: Kinks, request: Request, host: Host, slots: int, outlined: bool):
        self.program, self.kinks, self.request, self.slots = program, kinks, request, slots
        super().__init__(Writer(host.lanes, host.fused), request.directional, outlined)
        self.places = Places(program)
        self.schedule: Schedule = schedule(program, outputs(program, request))
        self.row = self.over = ""

    def text(self) -> str:
        """The function."""
        self._inputs()
        for level in self.schedule.passes:
            for line in level.scalars:
                self.values[line.name] = self.expression(line.tree)
                self._kink_output(line.name)
            for table, lines in level.loops:
                self._loop(table, lines)
        for i, name in enumerate(self.program.derivatives if self.request.derivatives else ()):
            if self.request.directional:
                self.w.store(self.values[name].tangent or self.w.constant(0.0), "%b", i)
            else:
                self.w.store(self.values[name].primal, "%a", i)
        for i, name in enumerate(self.request.observed):
            self.w.store(self.values[name].primal, "%b", i)
        for name in self.program.kinks:
            if name in self.program.state or name in self.program.parameters:
                self._kink_output(name)
        self.w.do("ret void")
        return self.w.function(self.request.name, ARGUMENTS, attributes="nounwind")

    def _inputs(self) -> None:
        w, directional = self.w, self.request.directional
        for i, name in enumerate(self.program.state):
            self.values[name] = Value(w.load("%y", i), w.load("%a", i) if directional else None)
        for i, name in enumerate(self.program.parameters):
            self.values[name] = Value(w.load("%constants", i))
        self.kink_width = w.load("%constants", self.places.kink_width)

    def _kink_output(self, name: str) -> None:
        if not (self.request.switching and name in self.program.kinks):
            return
        w = self.w
        place = w.load_integer("%layout", self.places.kinks[name])
        if self.over:
            place = w.integer_value("add", place, self.row)
        place = w.integer_value("add", place, len(self.request.observed))
        value = self.values[name]
        out = (value.tangent or w.constant(0.0)) if self.request.directional else value.primal
        w.store(out, "%b", place)

    # -- loops over rows ----------------------------------------------------------------------------------------

    def _slot(self, table: str, row: str, name: str) -> str:
        """The scratch place of a stored row value; its derivative, if any, is the next one."""
        w, first = self.w, self.w.load_integer("%layout", self.places.tables[table] + 2)
        slot = self.schedule.stored[table].index(name) * (2 if self.request.directional else 1)
        here = w.integer_value("add", first, w.integer_value("mul", row, self.slots))
        return w.integer_value("add", here, slot)

    def _stored(self, table: str, row: str, name: str) -> Value:
        w, place = self.w, self._slot(table, row, name)
        if not self.request.directional:
            return Value(w.load("%scratch", place))
        return Value(w.load("%scratch", place), w.load("%scratch", w.integer_value("add", place, 1)))

    def _loaded(self, cells: Sequence[str]) -> Value:
        """A value from the cell that holds it and, along a direction, that of its derivative."""
        found = [self.w.load(cell) for cell in cells]
        return Value(found[0], found[1] if len(found) > 1 else None)

    def _loop(self, table: str, lines: tuple[Line, ...]) -> None:
        w, program, outside = self.w, self.program, dict(self.values)
        rows = w.load_integer("%layout", self.places.tables[table])
        summed = [line.name for line in lines if line.name in self.schedule.totals]
        cells = {name: [w.local(w.vector) for _ in range(1 + self.request.directional)] for name in summed}
        for places in cells.values():
            for place in places:
                w.store(w.constant(0.0), place)
        with w.loop(0, rows) as row:
            self.row, self.over = row, table
            reads = {name for line in lines for name in line.reads}
            own = {line.name for line in lines}
            first = w.load_integer("%layout", self.places.tables[table] + 1)
            columns = program.tables[table]
            here = w.integer_value("add", first, w.integer_value("mul", row, len(columns)))
            for i, column in enumerate(columns):
                if column in reads:
                    self.values[column] = Value(w.load("%constants", w.integer_value("add", here, i)))
            linked = self._linked_values(table, lines)
            for name in self.schedule.stored[table]:
                if name in reads and name not in own and name not in self.values and name not in linked:
                    self.values[name] = self._stored(table, row, name)
            self.crossed = linked
            for line in lines:
                self.values[line.name] = self.expression(line.tree)
                self._kink_output(line.name)
                if line.name in self.schedule.stored[table]:
                    self._keep(table, row, line.name)
            for name in summed:
                value = self.values[name]
                for place, part in zip(cells[name], value[:2]):
                    if part is not None:
                        w.store(w.add(w.load(place), part), place)
        self.row = self.over = ""
        self.values = outside
        for name, places in cells.items():
            self.values[f"total {name}"] = self._loaded(places)

    def _keep(self, table: str, row: str, name: str) -> None:
        w, value, place = self.w, self.values[name], self._slot(table, row, name)
        w.store(value.primal, "%scratch", place)
        if self.request.directional:
            w.store(value.tangent or w.constant(0.0), "%scratch", w.integer_value("add", place, 1))

    def _linked_values(self, table: str, lines: tuple[Line, ...]) -> dict[str, Value]:
        """All sums over links that a row needs: one loop over the row's entries per link and direction."""
        wanted: dict[tuple[str, str, int], dict[str, None]] = {}
        for line in lines:
            for node in ast.walk(line.tree):
                if isinstance(node, ast.Call) and called(node) in ("linked", "spread"):
                    name = variable(node.args[0])
                    other = self.program.table_of[name]
                    if called(node) == "linked":
                        key = (f"{other}_to_{table}", other, 1)
                    else:
                        key = (f"{table}_to_{other}", other, 3)
                    wanted.setdefault(key, {})[name] = None
        found: dict[str, Value] = {}
        for (link, other, direction), names in wanted.items():
            found |= self._sums(link, other, direction, tuple(names))
        return found

    def _sums(self, link: str, other: str, direction: int, names: Sequence[str]) -> dict[str, Value]:
        w, place, parts = self.w, self.places.links[link], 1 + self.request.directional
        cells = {name: [w.local(w.vector) for _ in range(parts)] for name in names}
        for places in cells.values():
            for cell in places:
                w.store(w.constant(0.0), cell)
        coefficients = w.load_integer("%layout", place)
        starts = w.load_integer("%layout", place + direction)
        pairs = w.load_integer("%layout", place + direction + 1)
        begin = w.integer_value("add", starts, self.row)
        start = w.load_integer("%indices", begin)
        stop = w.load_integer("%indices", w.integer_value("add", begin, 1))
        with w.loop(start, stop) as entry:
            pair = w.integer_value("add", pairs, w.integer_value("mul", entry, 2))
            source = w.load_integer("%indices", pair)
            which = w.load_integer("%indices", w.integer_value("add", pair, 1))
            coefficient = w.load("%constants", w.integer_value("add", coefficients, which))
            for name in names:
                value = self._stored(other, source, name)
                for cell, part in zip(cells[name], (value.primal, value.tangent)):
                    assert part is not None, "a direction has both"
                    w.store(w.fma(coefficient, part, w.load(cell)), cell)
        return {name: self._loaded(cells[name]) for name in names}

    # -- kinks and crossings ------------------------------------------------------------------------------------

    def _special(self, node: ast.Call) -> Value:
        name = called(node)
        if name == "total":
            return self.values[f"total {variable(node.args[0])}"]
        if name in ("linked", "spread"):
            return self.crossed[variable(node.args[0])]
        return self._kink(name, variable(node.args[0]))

    def _kink(self, function: str, name: str) -> Value:
        """relu or step of a bare name, in the reading the kernel was asked for."""
        w, x = self.w, self.values[name]
        zero, one = w.constant(0.0), w.constant(1.0)
        if self.kinks == "frozen":
            place = w.load_integer("%layout", self.places.kinks[name])
            if name in self.program.table_of:
                place = w.integer_value("add", place, self.row)
            gate = Value(w.load("%gates", place))
            return gate if function == "step" else self._product(gate, x)
        if self.kinks == "smooth":
            scaled = self._quotient(x, Value(self.kink_width))
            if function == "step":
                return self._unary("sigmoid", scaled)
            return self._product(Value(self.kink_width), self._unary("softplus", scaled))
        is_open = w.compare("ogt", x.primal, zero)
        if function == "step":
            return Value(w.select(is_open, one, zero))
        return Value(w.maximum(x.primal, zero), w.select(is_open, x.tangent, zero) if x.tangent else None)


def outputs(program: Program, request: Request) -> tuple[str, ...]:
    """The names a request needs."""
    derivatives = program.derivatives if request.derivatives else ()
    return (*derivatives, *request.observed, *(program.kinks if request.switching else ()))


def slots_of(program: Program, requests: Sequence[Request]) -> int:
    """How many scratch values a row needs at most."""
    most = 0
    for request in requests if program.tables else ():
        stored = schedule(program, outputs(program, request)).stored
        width = 2 if request.directional else 1
        most = max([most, *(width * len(names) for names in stored.values())])
    return most


def requests_of(program: Program, watched: Sequence[str], kinks: Kinks) -> tuple[Request, ...]:
    """The four functions of a kernel."""
    observed = tuple(program.observables[name] for name in watched)
    switching = kinks == "frozen" and bool(program.kinks)
    return (
        Request("field", True, (), False),
        Request("watched", True, observed, switching),
        Request("velocity", False, (), switching, directional=True),
        Request("tangent", True, (), False, directional=True),
    )


def module_text(program: Program, watched: Sequence[str], kinks: Kinks, host: Host) -> str:
    """LLVM assembly of field, watched and velocity.

    Large programs are kept small in code: exp and its kin are written once and called, and where watching costs little,
    the field is the watched function.
    """
    *requests, _ = requests_of(program, watched, kinks)
    shared = program.operations > _MANY_OPERATIONS and _watching_is_cheap(program, requests)
    alias = "@field = alias void (ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr), ptr @watched"
    text = _assembly(program, watched, kinks, host, requests[1:] if shared else requests)
    return f"{text}\n{alias}" if shared else text


def tangent_text(program: Program, watched: Sequence[str], kinks: Kinks, host: Host) -> str:
    """LLVM assembly of the tangent, a module of its own: it is compiled beside the others."""
    return _assembly(program, watched, kinks, host, requests_of(program, watched, kinks)[-1:])


def _assembly(program: Program, watched: Sequence[str], kinks: Kinks, host: Host, requests: Sequence[Request]) -> str:
    slots = slots_of(program, requests_of(program, watched, kinks))
    calls = sum(line.expression.count(f"{name}(") for b in program.blocks for line in b.lines for name in UNARY)
    outlined = calls > _MANY_CALLS
    emitters = [Emitter(program, kinks, request, host, slots, outlined) for request in requests]
    texts = [e.text() for e in emitters]
    declared = set().union(*(e.w.declared for e in emitters))
    if outlined:
        called = [name for name in UNARY if any(f"@{name}_of(" in text for text in texts)]
        for name in called:
            w = Writer(host.lanes, host.fused)
            w.do(f"ret {w.vector} {UNARY[name](w, '%x')}")
            texts.append(w.function(f"{name}_of", f"{w.vector} %x", f"internal {w.vector}", "noinline nounwind"))
            declared |= w.declared
    return "\n".join([*sorted(declared), *texts])


def _watching_is_cheap(program: Program, requests: Sequence[Request]) -> bool:
    field, watched = (
        sum(line.operations for block in program.needed_for(outputs(program, request)) for line in block.lines)
        for request in requests[:2]
    )
    return watched <= 1.2 * field
