"""The program of a reduced system: what a derivation leaves behind, and what every back-end prints.

A program is straight-line arithmetic on named scalars, in blocks. A block runs `once`, or `for each` row of a table
(sample orbits, query kinds: data that depends on sizes such as K and L). Three functions cross between blocks:

    total(x)    Σ over the rows of x's table, in a block that runs once
    linked(x)   (C x)_parent row, x defined on the child table of a link with matrix C
    spread(x)   (Cᵀ x)_child row, x defined on the parent table: the reverse of `linked`

Kinks stay visible: `relu(x)` and `step(x)` take a bare name, so a back-end may freeze the gates, smooth them over
`kink_width`, or evaluate them as they are. The text form (`str(program)`, `Program.parse`) is what is committed.
"""

import ast
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from flowsys.program.parsing import called, parsed_expression, variable

FUNCTIONS = frozenset(
    "exp log sqrt tanh sigmoid softplus relu step max min masked total linked spread sinh cosh positive "
    "sin cos asin erf".split()
)
CROSSING = frozenset({"total", "linked", "spread"})
KINKED = frozenset({"relu", "step"})


@dataclass(frozen=True)
class Line:
    """One assignment, `name = expression`."""

    name: str
    expression: str

    @cached_property
    def tree(self) -> ast.expr:
        return parsed_expression(self.expression)

    @cached_property
    def reads(self) -> frozenset[str]:
        return frozenset(n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name) and n.id not in FUNCTIONS)

    @cached_property
    def operations(self) -> int:
        """Arithmetic operations and function calls; a call that crosses blocks counts as one."""
        counted = (ast.BinOp, ast.Call)
        negations = sum(
            isinstance(n, ast.UnaryOp) and not isinstance(n.operand, ast.Constant) for n in ast.walk(self.tree)
        )
        return negations + sum(isinstance(n, counted) for n in ast.walk(self.tree))


@dataclass(frozen=True)
class Block:
    """Lines that run once (`over` is empty) or for each row of the table `over`."""

    over: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Link:
    """A constant matrix C from the rows of `child` to the rows of `parent`; its entries are data."""

    child: str
    parent: str

    @property
    def name(self) -> str:
        return f"{self.child}_to_{self.parent}"


@dataclass(frozen=True)
class Spectrum:
    """A symmetric matrix M of state, its upper triangle by rows: the flow keeps the spectrum of M diag(signs)."""

    signs: tuple[int, ...]
    entries: tuple[str, ...]

    @classmethod
    def parse(cls, signs: str, entries: str) -> "Spectrum":
        return cls(tuple(1 if sign == "+" else -1 for sign in signs), tuple(entries.split()))

    def __str__(self) -> str:
        return f"{''.join('+' if sign > 0 else '-' for sign in self.signs)}: {' '.join(self.entries)}"


@dataclass(frozen=True)
class Program:
    """A reduced system's right-hand side, kinks and observables, free of sympy and of any array library."""

    state: tuple[str, ...]
    parameters: tuple[str, ...]
    blocks: tuple[Block, ...]
    derivatives: tuple[str, ...]
    observables: Mapping[str, str]
    tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    spectra: tuple[Spectrum, ...] = ()

    def __post_init__(self) -> None:
        if len(self.state) != len(self.derivatives):
            raise ValueError(f"{len(self.state)} state names but {len(self.derivatives)} derivatives")
        defined: set[str] = set()
        columns = [f"{table}.{c}" for table, names in self.tables.items() for c in names]
        for name in (*self.state, *self.parameters, *(c.split(".")[1] for c in columns)):
            if name in defined or name in FUNCTIONS:
                raise ValueError(f"the name {name!r} is used twice in one program")
            defined.add(name)
        for block in self.blocks:
            for line in block.lines:
                if missing := line.reads - defined:
                    raise ValueError(f"{line.name} reads {sorted(missing)} before they are defined")
                if line.name in defined or line.name in FUNCTIONS:
                    raise ValueError(f"the name {line.name!r} is used twice in one program")
                defined.add(line.name)
        if absent := {*self.derivatives, *self.observables.values()} - defined:
            raise ValueError(f"outputs {sorted(absent)} are never defined")

    @cached_property
    def table_of(self) -> dict[str, str]:
        """The table a name is defined on; absent for scalars."""
        places = {column: table for table, columns in self.tables.items() for column in columns}
        places |= {line.name: block.over for block in self.blocks if block.over for line in block.lines}
        return places

    @cached_property
    def kinks(self) -> tuple[str, ...]:
        """The arguments of relu and step, in order of appearance: the switching functions."""
        found: dict[str, None] = {}
        for block in self.blocks:
            for line in block.lines:
                for node in ast.walk(line.tree):
                    if isinstance(node, ast.Call) and called(node) in KINKED:
                        if not isinstance(node.args[0], ast.Name):
                            raise ValueError(f"{line.name}: relu and step take a bare name in a program")
                        found[variable(node.args[0])] = None
        return tuple(found)

    @cached_property
    def operations(self) -> int:
        """How many operations the text holds (a table row's are counted once)."""
        return sum(line.operations for block in self.blocks for line in block.lines)

    @cached_property
    def operations_over(self) -> dict[str, int]:
        """How many operations each table's rows take, by table; those that run once under an empty name."""
        found: dict[str, int] = {}
        for block in self.blocks:
            found[block.over] = found.get(block.over, 0) + sum(line.operations for line in block.lines)
        return found

    @cached_property
    def digest(self) -> str:
        """A key for caches of compiled code: equal programs have equal digests."""
        return hashlib.sha256(str(self).encode()).hexdigest()[:16]

    def needed_for(self, outputs: Iterable[str]) -> tuple[Block, ...]:
        """The blocks with only the lines that the named values depend on."""
        needed = set(outputs)
        kept: list[Block] = []
        for block in reversed(self.blocks):
            lines = []
            for line in reversed(block.lines):
                if line.name in needed:
                    needed |= line.reads
                    lines.append(line)
            if lines:
                kept.append(Block(block.over, tuple(reversed(lines))))
        return tuple(reversed(kept))

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        text = [f"state {' '.join(self.state)}", f"parameters {' '.join(self.parameters)}"]
        text += [f"table {name}: {' '.join(columns)}" for name, columns in self.tables.items()]
        text += [f"link {link.child} -> {link.parent}" for link in self.links]
        text += [f"spectrum {spectrum}" for spectrum in self.spectra]
        for block in self.blocks:
            text.append(f"for each {block.over}:" if block.over else "once:")
            text += [f"    {line.name} = {line.expression}" for line in block.lines]
        text += [f"derivative {s} = {d}" for s, d in zip(self.state, self.derivatives)]
        text += [f"observe {name} = {value}" for name, value in self.observables.items()]
        return "\n".join(text) + "\n"

    @classmethod
    def parse(cls, text: str) -> "Program":
        """The program whose `str` is `text`."""
        state: tuple[str, ...] = ()
        parameters: tuple[str, ...] = ()
        tables: dict[str, tuple[str, ...]] = {}
        links: list[Link] = []
        spectra: list[Spectrum] = []
        derivatives: dict[str, str] = {}
        observables: dict[str, str] = {}
        blocks: list[tuple[str, list[Line]]] = []
        for row in text.strip().splitlines():
            word, _, rest = row.partition(" ")
            if row.startswith("    "):
                name, expression = row.strip().split(" = ", 1)
                blocks[-1][1].append(Line(name, expression))
            elif row == "once:":
                blocks.append(("", []))
            elif row.startswith("for each "):
                blocks.append((row.removeprefix("for each ").rstrip(":"), []))
            elif word == "state":
                state = tuple(rest.split())
            elif word == "parameters":
                parameters = tuple(rest.split())
            elif word == "table":
                name, columns = rest.split(":")
                tables[name] = tuple(columns.split())
            elif word == "link":
                links.append(Link(*rest.split(" -> ")))
            elif word == "spectrum":
                spectra.append(Spectrum.parse(*rest.split(":")))
            elif word == "derivative":
                name, _, derivatives[name] = rest.partition(" = ")
            elif word == "observe":
                name, _, observables[name] = rest.partition(" = ")
            else:
                raise ValueError(f"not a line of a program: {row!r}")
        return cls(
            state=state,
            parameters=parameters,
            blocks=tuple(Block(over, tuple(lines)) for over, lines in blocks),
            derivatives=tuple(derivatives[s] for s in state),
            observables=observables,
            tables=tables,
            links=tuple(links),
            spectra=tuple(spectra),
        )
