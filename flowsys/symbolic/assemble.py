"""A reduced system stated level by level, and the program that follows from it.

A population loss is a weighted sum over sample orbits, and what a sample computes may itself be a sum over query
kinds that many samples share. Each such table is a `Level`; a level may read *linked sums* of the level before it,
(C x)_row. `assemble` writes values forwards through the levels, adjoints backwards, and the flow of every block last.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import sympy as sp

from flowsys.program import Block, Line, Link, Program, Spectrum
from flowsys.symbolic.flow import Gram, Moving, chain_rule
from flowsys.symbolic.lower import Lowering
from flowsys.symbolic.primitives import OPAQUE
from flowsys.symbolic.refusals import refuse
from flowsys.symbolic.reverse import Tape


@dataclass(frozen=True)
class Level:
    """Values computed for each row of a table.

    `outputs` are named expressions in the entries, the parameters, the columns and the linked inputs; `linked` maps an
    input symbol to the output of the level before whose linked sum it is.
    """

    table: str
    columns: tuple[sp.Symbol, ...]
    outputs: Mapping[str, sp.Expr]
    linked: Mapping[sp.Symbol, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """Samples of one kind: rows of a table that share one expression.

    `loss` is the summand over its rows, `totals` further ones; all totals of a statement have names of their own.
    """

    level: Level
    loss: sp.Expr
    totals: Mapping[str, sp.Expr] = field(default_factory=dict)


@dataclass(frozen=True)
class Statement:
    """A reduced system, stated: its coordinates, its loss by levels, and what to observe.

    `entries` gives each entry symbol as an expression in state coordinates. `loss` is the summand over the rows of the
    last level, weights included; without levels it is the loss itself. `totals` are further such summands by name;
    `observables` are expressions in state, entries, parameters, the names of totals, the rates `d_x` of the state and
    the slopes `gradient_x` of the loss. `parts` are tables side by side whose losses are added to a loss without
    levels.
    """

    blocks: Sequence[Moving]
    parameters: tuple[sp.Symbol, ...]
    loss: sp.Expr
    entries: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)
    levels: tuple[Level, ...] = ()
    totals: Mapping[str, sp.Expr] = field(default_factory=dict)
    observables: Mapping[str, sp.Expr] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()

    @property
    def tables(self) -> tuple[Level, ...]:
        return (*self.levels, *(part.level for part in self.parts))

    @property
    def state(self) -> tuple[sp.Symbol, ...]:
        return tuple(x for block in self.blocks for x in block.coordinates)

    @property
    def differentiable(self) -> tuple[sp.Symbol, ...]:
        """What the loss may depend on: the entries, and state that is its own entry."""
        return tuple(dict.fromkeys((*self.entries, *self.state)))


def symbol(name: str) -> sp.Symbol:
    """The real symbol of that name; all symbols of a derivation are made here, so equal names are equal symbols."""
    return sp.Symbol(name, real=True)


def assemble(statement: Statement) -> Program:
    """The program of the stated system's gradient flow; InputError if the statement reads what it does not declare."""
    refuse(statement)
    scalars = Lowering(taken=set(map(str, (*statement.state, *statement.entries, *statement.parameters))))
    entries = {e: v for e, v in statement.entries.items() if e != v}
    blocks = [Block("", tuple(scalars.lines({}, entries)))] if entries else []
    if statement.levels:
        blocks += _through_levels(statement)
    elif statement.parts:
        blocks += _side_by_side(statement, scalars)
    else:
        blocks.append(_without_tables(statement, scalars))
    written = {line.name for block in blocks for line in block.lines}
    entry_gradient = {x: symbol(f"gradient_{x}") for x in statement.differentiable if f"gradient_{x}" in written}
    gradient = chain_rule(statement.entries, entry_gradient)
    flow: dict[sp.Symbol, sp.Expr] = {}
    for block in statement.blocks:
        flow |= block.derivatives(gradient)
    rates = {x: symbol(f"d_{x}") for x in statement.state}
    tape = Tape("observe_")
    # the rate of a coordinate that integrates an observable may hold what only a tape can write
    flow |= {x: tape.record(rate) for x, rate in flow.items() if sp.sympify(rate).has(*OPAQUE)}
    observed = {symbol(f"observe_{name}"): tape.record(v) for name, v in statement.observables.items()}
    outputs = {rates[x]: flow[x] for x in statement.state} | observed
    blocks.append(Block("", tuple(scalars.lines(tape.definitions, outputs))))
    return Program(
        state=tuple(map(str, statement.state)),
        parameters=tuple(map(str, statement.parameters)),
        blocks=tuple(_hoisted(blocks, statement)),
        derivatives=tuple(str(rates[x]) for x in statement.state),
        observables={name: f"observe_{name}" for name in statement.observables},
        tables={level.table: tuple(map(str, level.columns)) for level in statement.tables},
        links=tuple(Link(a.table, b.table) for a, b in zip(statement.levels, statement.levels[1:])),
        spectra=tuple(filter(None, (_kept(block, gradient) for block in statement.blocks))),
    )


def _kept(block: Moving, gradient: Callable[[sp.Symbol], sp.Expr]) -> Spectrum | None:
    """What a Gram block keeps: M J has a constant spectrum if Γ anticommutes with J, as the loss reads M across it."""
    if not isinstance(block, Gram) or not all(x.is_Symbol and x not in block.eliminated for x in block.matrix):
        return None
    M, n = block.matrix, block.matrix.rows
    moves = [[j for j in range(n) if gradient(M[i, j]) != 0] for i in range(n)]
    signs: dict[int, int] = {}
    for first in range(n if any(moves) else 0):
        waiting = [] if first in signs else [(first, 1)]
        while waiting:
            i, sign = waiting.pop()
            if signs.setdefault(i, sign) != sign:
                return None
            waiting += [(j, -sign) for j in moves[i] if signs.get(j) != -sign]
    names = (str(M[i, j]) for i in range(n) for j in range(i, n))
    return Spectrum(tuple(signs[i] for i in range(n)), tuple(names)) if signs else None


def _without_tables(statement: Statement, scalars: Lowering, prefix: str = "") -> Block:
    """Values and gradient of a loss that is written out in full."""
    tape = Tape("loss_")
    gradients = tape.gradient({tape.record(statement.loss): sp.S.One}, statement.differentiable)
    outputs = {symbol(f"{prefix}gradient_{x}"): g for x, g in gradients.items() if g != 0}
    outputs |= {symbol(name): tape.record(value) for name, value in statement.totals.items()}
    return Block("", tuple(scalars.lines(tape.definitions, outputs)))


def _side_by_side(statement: Statement, scalars: Lowering) -> list[Block]:
    """Tables beside each other, and what is written out in full: gradients and totals are added up."""
    own = _without_tables(statement, scalars, "own_")
    blocks = [own]
    slopes: dict[str, list[str]] = {f"gradient_{x}": [] for x in statement.differentiable}
    for line in own.lines:
        if line.name.removeprefix("own_") in slopes:
            slopes[line.name.removeprefix("own_")].append(line.name)
    for part in statement.parts:
        writer = LevelWriter(part.level)
        blocks.append(writer.forward())
        seeds = {writer.tape.record(part.loss): sp.S.One}
        block, names, sums = writer.backward(seeds, statement.differentiable, part.totals)
        blocks += [block, sums]
        for x, name in names.items():
            slopes[f"gradient_{x}"].append(f"total({name})")
    blocks.append(Block("", tuple(Line(name, " + ".join(terms)) for name, terms in slopes.items() if terms)))
    return [block for block in blocks if block.lines]


class LevelWriter:
    """Writes one level's forward and backward blocks; the two share a tape and its lowering."""

    def __init__(self, level: Level):
        self.level = level
        self.tape = Tape(f"{level.table}_")
        self.lowering = Lowering(level.table)
        self.outputs = {symbol(name): self.tape.record(value) for name, value in level.outputs.items()}

    def forward(self) -> Block:
        linked = [Line(str(s), f"linked({source})") for s, source in self.level.linked.items()]
        lines = self.lowering.lines(self.tape.definitions, self.outputs)
        self.written = set(self.tape.definitions) | set(self.outputs)
        self.tape.definitions |= self.outputs
        return Block(self.level.table, tuple(linked + lines))

    def backward(
        self, seeds: Mapping[sp.Expr, sp.Expr], wanted: Sequence[sp.Symbol], totals: Mapping[str, sp.Expr]
    ) -> tuple[Block, dict[sp.Symbol, str], Block]:
        """The block of this level's gradients, their names, and the sums over rows that go with it."""
        table = self.level.table
        gradients = self.tape.gradient(dict(seeds), [*wanted, *self.level.linked])
        names = {x: f"{table}_gradient_{x}" for x, g in gradients.items() if g != 0}
        rows = {symbol(names[x]): gradients[x] for x in names}
        rows |= {symbol(f"{table}_{name}"): self.tape.record(value) for name, value in totals.items()}
        fresh = {s: v for s, v in self.tape.definitions.items() if s not in self.written}
        incoming = [
            Line(str(seed), f"spread({str(seed).removeprefix('spread_')})") for seed in seeds.values() if seed.is_Symbol
        ]
        block = Block(table, tuple(incoming + self.lowering.lines(fresh, rows)))
        sums = Block("", tuple(Line(name, f"total({table}_{name})") for name in totals))
        return block, names, sums


def _through_levels(statement: Statement) -> list[Block]:
    """Values forwards, adjoints backwards, and every entry's gradient summed over all rows of all levels."""
    writers = [LevelWriter(level) for level in statement.levels]
    blocks = [writer.forward() for writer in writers]
    seeds = {writers[-1].tape.record(statement.loss): sp.S.One}
    parts: dict[sp.Symbol, list[str]] = {x: [] for x in statement.differentiable}
    for writer in reversed(writers):
        totals = statement.totals if writer is writers[-1] else {}
        block, names, sums = writer.backward(seeds, statement.differentiable, totals)
        blocks += [block, sums]
        for x in statement.differentiable:
            if x in names:
                parts[x].append(f"total({names[x]})")
        seeds = {}
        for linked, source in writer.level.linked.items():
            if linked in names:
                seeds[symbol(source)] = symbol(f"spread_{names[linked]}")
    blocks.append(Block("", tuple(Line(f"gradient_{x}", " + ".join(p)) for x, p in parts.items() if p)))
    return [block for block in blocks if block.lines]


def _hoisted(blocks: Sequence[Block], statement: Statement) -> list[Block]:
    """The same program with lines of table blocks that do not vary over rows moved in front of their block."""
    varying = {str(c) for level in statement.tables for c in level.columns}
    result: list[Block] = []
    for block in blocks:
        if not block.over:
            result.append(block)
            continue
        fixed, rows = [], []
        for line in block.lines:
            crosses = line.expression.startswith(("linked(", "spread("))
            if crosses or line.reads & varying:
                varying.add(line.name)
                rows.append(line)
            else:
                fixed.append(line)
        if fixed:
            result.append(Block("", tuple(fixed)))
        result.append(Block(block.over, tuple(rows)))
    return result
