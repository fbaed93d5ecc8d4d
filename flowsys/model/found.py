"""From a model's lumping to its program: the loss on class symbols, written once for each kind of sample.

Merged samples are rows whose weights are parameters of the program, and so is every entry of the data that varies with
a real parameter or the seed: one program serves all of their values, and stages differ only in these numbers.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from flowsys.errors import InputError
from flowsys.model.concrete import Population, Rows, View
from flowsys.model.keeping import Slots, Table
from flowsys.model.lumped import Motion, motions
from flowsys.model.lumping import Lumping
from flowsys.symbolic import primitives
from flowsys.symbolic.assemble import Level, Part, Statement, symbol
from flowsys.symbolic.flow import Given

_MOST_WRITTEN = 24  # kinds of samples that are written out; more of them become rows of tables


class SymbolicOps:
    """`flowsys.symbolic.primitives` for a model: a function it does not have is refused by its name."""

    def __getattr__(self, name: str):
        from flowsys.model.gates import OFFERED

        if name not in OFFERED:
            raise InputError(f"ops.{name} is not a function a model may use; there are {', '.join(OFFERED)}.")
        return _root if name == "sqrt" else getattr(primitives, name)


def exact(value: float) -> sp.Expr:
    """A number as sympy has it: whole numbers exactly, others as the double they are."""
    return sp.Integer(int(value)) if float(value).is_integer() and abs(value) < 2**53 else sp.Float(float(value))


def _root(x: Any) -> Any:
    """√x; what sympy makes of √(x²), an Abs, as a function that a program has."""
    return _replaced(primitives.sqrt(x), lambda e: e.replace(sp.Abs, primitives.Magnitude))


def _powers(values: Any) -> Any:
    """What a model computed, with the |x|^(2r) that sympy makes of (x²)^r in functions that a program has.

    An Abs alone is left to be refused: Python's abs(x) has a kink that no gate holds, ops.abs has one.
    """
    is_power = lambda e: e.is_Pow and isinstance(e.base, sp.Abs)
    return _replaced(values, lambda e: e.replace(is_power, lambda e: primitives.Magnitude(*e.base.args) ** e.exp))


def _replaced(values: Any, change) -> Any:
    """A number or an array of numbers with those that hold an Abs changed."""
    found = np.array(values, dtype=object)
    for at in np.ndindex(found.shape):
        value: Any = found[at]
        if isinstance(value, sp.Basic) and value.has(sp.Abs):
            found[at] = change(value)
    return found if isinstance(values, np.ndarray) else found[()]


def slots_of(lumping: Lumping) -> Slots:
    """Merged samples, and the entries of the data that differ between the draws; tables where there are many."""
    found, tables = [], []
    groups = lumping.groups
    for j, labels in enumerate(groups):
        rows = np.unique(labels, return_index=True)[1]
        if len(rows) > _MOST_WRITTEN:
            tables += _tables(lumping.concrete.populations[j], j, rows)
            continue
        drawn = [draw.concrete.populations[j].numbers() for draw in lumping.draws]
        for name, array in drawn[0].items():
            varies = np.any([other[name] != array for other in drawn[1:]], axis=0) if drawn[1:] else np.zeros(0)
            if np.any(varies):
                found += [(j, name, tuple(map(int, at))) for at in np.argwhere(varies) if at[0] in rows]
    return Slots(groups, tuple(found), tuple(tables))


def _tables(population: Population, j: int, rows: np.ndarray) -> list[Table]:
    """A table for each kind of sample: those whose whole numbers are the same."""
    kinds: dict[bytes, list[int]] = {}
    whole = list(population.whole_numbers().values())
    for g, row in enumerate(rows.tolist()):
        kinds.setdefault(b"|".join(array[row].tobytes() for array in whole), []).append(g)
    entries = tuple(
        (name, tuple(map(int, place)))
        for name, array in population.numbers().items()
        for place in np.ndindex(array.shape[1:])
    )
    return [Table(f"samples_{j}_{i}", j, tuple(members), entries) for i, members in enumerate(kinds.values())]


class FoundFlow:
    """The classes' motion, as a block of a statement."""

    def __init__(self, writer: "Writer"):
        self._writer = writer
        self.coordinates = tuple(writer.symbols)

    def derivatives(self, gradient) -> dict[sp.Symbol, sp.Expr]:
        return {z: self._writer.rate(c, gradient) for c, z in enumerate(self.coordinates)}


class Writer:
    """Writes the statement of a lumped model."""

    def __init__(self, lumping: Lumping, slots: Slots):
        self.lumping, self.slots, self.concrete = lumping, slots, lumping.concrete
        names, partition = lumping.coordinates.names, lumping.partition
        self.symbols = [symbol(names[i]) for i in partition.representatives]
        self.motions: dict[int, Motion] = motions(lumping)
        self._entries()

    def _entries(self) -> None:
        """What the loss is written on: class symbols, and a symbol for each slope class where a class has several."""
        partition, slopes, names = self.lumping.partition, self.lumping.slopes, self.lumping.coordinates.names
        padded = np.array([*self.symbols, sp.S.Zero], dtype=object)
        self.flat = partition.signs.astype(int).astype(object) * padded[partition.labels]
        self.entries: dict[sp.Symbol, sp.Expr] = {}
        self.slope_symbol: dict[int, sp.Symbol] = {}
        pairs = np.unique(np.stack([partition.labels, slopes.labels]), axis=1).T.tolist()
        of_class: dict[int, list[int]] = {}
        for c, k in pairs:
            of_class.setdefault(c, []).append(k)
        needed = set(self.lumping.needed_zeros.tolist())
        for c, labels in of_class.items():
            for k in labels:
                if k < 0 or (c < 0 and k not in needed):
                    continue
                if c >= 0 and len(labels) == 1:
                    self.slope_symbol[k] = self.symbols[c]
                    continue
                members = np.flatnonzero((slopes.labels == k) & (partition.labels == c))
                own = symbol(f"{names[members[0]]}_entry")
                self.slope_symbol[k] = own
                self.entries[own] = self.symbols[c] if c >= 0 else sp.S.Zero
                self.flat[members] = slopes.signs[members].astype(int).astype(object) * own

    def rate(self, c: int, gradient) -> sp.Expr:
        """dz_c/dt: γ_k is the slope in slope class k's symbol over the number of its members."""
        motion = self.motions[c]
        train = self._train(motion.block)
        terms = []
        for coefficient, rate, k, entry in motion.terms:
            γ = gradient(self.slope_symbol[k]) / sp.Integer(int(self.lumping.slopes.sizes[k]))
            z = sp.S.One if entry is None else self.symbols[entry]
            terms.append(exact(coefficient) * self._rate_symbol(rate) * γ * z)
        return -train * sp.Add(*terms)

    def _train(self, block: str) -> sp.Expr:
        """Whether a block trains: a number where all stages agree, else a parameter."""
        on = {self.concrete.trains(stage)[block] for stage in self.concrete.stages}
        return exact(on.pop()) if len(on) == 1 else symbol(f"train_{block}")

    def _rate_symbol(self, name: str) -> sp.Expr:
        rates = {k: r for block in self.concrete.blocks.values() for k, r in block.weight_rates().items()}
        drawn = [
            r for draw in self.lumping.draws for b in draw.concrete.blocks.values() for k, r in b.weight_rates().items()
            if k == name
        ]  # fmt: skip
        return exact(rates[name]) if set(drawn) == {1.0} else symbol(f"rate_{name}")

    # -- the loss -----------------------------------------------------------------------------------------------

    def seen(self) -> dict[str, np.ndarray]:
        return {name: self.flat[at] for name, at in self.lumping.coordinates.positions.items()}

    def p(self):
        return self.concrete.p({name: symbol(name) for name in self.concrete.reals()})

    def rows(self, j: int, population: Population, weight: Any, merged: bool = True) -> Rows | None:
        """A row for each kind of sample, numbers exact and varying ones as symbols."""
        if population.samples is None:
            return None
        chosen = self.slots.rows[j] if merged else np.arange(population.n)
        arrays: dict[str, Any] = {name: a[chosen] for name, a in population.whole_numbers().items()}
        varying = {
            (j, name, place): symbol(s) for (j, name, place), s in zip(self.slots.entries, self.slots.entry_names)
        }
        for name, array in population.numbers().items():
            made = np.empty((len(chosen), *array.shape[1:]), dtype=object)
            for place in np.ndindex(made.shape):
                at = (int(chosen[place[0]]), *place[1:])
                made[place] = varying.get((j, name, at)) or exact(array[at])
            arrays[name] = made
        return Rows(arrays, weight)

    def row(self, table: Table) -> Rows:
        """One row of a table, its numbers as columns."""
        population = self.concrete.populations[table.population]
        first = self.slots.rows[table.population][table.members[0]]
        arrays: dict[str, Any] = {name: a[first : first + 1] for name, a in population.whole_numbers().items()}
        for name, array in population.numbers().items():
            arrays[name] = np.empty((1, *array.shape[1:]), dtype=object)
        _, share, *data = map(symbol, table.columns)
        for column, (name, place) in zip(data, table.entries):
            arrays[name][(0, *place)] = column
        return Rows(arrays, np.array([share], dtype=object))

    def part(self, table: Table) -> Part:
        """A table with the loss of its rows, and its shares of the observables."""
        population, X = self.concrete.populations[table.population], self.row(table)
        weight = symbol(table.columns[0])
        (value,) = np.broadcast_to(np.asarray(self._called(population.loss, X), dtype=object), 1)
        totals: dict[str, sp.Expr] = {}
        for name in self.concrete.observable_names if table.population == 0 else ():
            function = population.loss if name == "loss" else self.concrete.observe[name]
            observed = self._called(function, X)
            if np.shape(observed) == (1,):
                totals[f"{name}_of_{table.name}"] = X.weight[0] * observed[0]
        return Part(Level(table.name, tuple(map(symbol, table.columns)), {}), weight * value, totals)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        return tuple(self.part(table) for table in self.slots.tables)

    def loss(self) -> sp.Expr:
        terms, in_tables = [], {table.population for table in self.slots.tables}
        for j, population in enumerate(self.concrete.populations):
            if j in in_tables:
                continue
            weights = [symbol(name) for name in self.slots.weight_names(j)]
            X = self.rows(j, population, np.array(weights, dtype=object))
            values = self._called(population.loss, X)
            terms += [w * x for w, x in zip(weights, np.broadcast_to(np.asarray(values, dtype=object), len(weights)))]
        return sp.Add(*terms)

    def _called(self, function, X) -> Any:
        return _powers(function(SymbolicOps(), View(self.seen(), self.moving), X, self.p()))

    def moving(self) -> dict[str, np.ndarray]:
        """The rates of what is seen, on the rates d_z of the classes."""
        partition = self.lumping.partition
        padded = np.array([*map(symbol, self.rate_names), sp.S.Zero], dtype=object)
        flat = partition.signs.astype(int).astype(object) * padded[partition.labels]
        return {name: flat[at] for name, at in self.lumping.coordinates.positions.items()}

    @property
    def rate_names(self) -> list[str]:
        return [f"d_{z}" for z in self.symbols]

    def observables(self) -> dict[str, sp.Expr]:
        """The declared observables, each one number."""
        if any(table.population == 0 for table in self.slots.tables):
            return {name: self._summed(name) for name in self.concrete.observable_names}
        found, population = {}, self.concrete.populations[0]
        shares = np.array([symbol(name) for name in self.slots.share_names], dtype=object)
        X = self.rows(0, population, shares)
        for name in self.concrete.observable_names:
            function = population.loss if name == "loss" else self.concrete.observe[name]
            value = self._called(function, X)
            value = (shares * value).sum() if np.shape(value) == np.shape(shares) and X is not None else value
            found[name] = sp.sympify(value) * (symbol("sample_total") if name == "loss" else 1)
        return found

    def _summed(self, name: str) -> sp.Expr:
        """An observable of samples that stand in tables."""
        names = {f"{name}_of_{table.name}" for table in self.slots.tables}
        found = [symbol(total) for part in self.parts for total in part.totals if total in names]
        if found:
            return sp.Add(*found) * (symbol("sample_total") if name == "loss" else 1)
        return sp.sympify(self._called(self.concrete.observe[name], None))

    def statement(self, events: Sequence[str]) -> Statement:
        """The lumped model, stated for `assemble`; entries that events watch are observed too."""
        declared = self.observables()
        integrals = {symbol(name): declared[o] for name, o in self.concrete.declaration.integrals.items()}
        observed = {str(z): z for z in (*self.symbols, *integrals)}
        for name in events:
            if name not in declared and name in self.lumping.coordinates.index:
                observed[name] = self.flat[self.lumping.coordinates.index[name]]
        loss = self.loss()
        blocks: list[Any] = [FoundFlow(self)] + ([Given(integrals)] if integrals else [])
        known = {*self.symbols, *self.entries, *integrals, *map(symbol, self.rate_names)}
        for part in self.parts:
            known |= {*part.level.columns, *map(symbol, part.totals)}
        of_parts = [expression for part in self.parts for expression in (part.loss, *part.totals.values())]
        everything = [
            loss,
            *of_parts,
            *declared.values(),
            *(self.rate(c, lambda x: x) for c in range(len(self.symbols))),
        ]
        read = {s for expression in everything for s in sp.sympify(expression).free_symbols}
        return Statement(
            blocks=blocks,
            parameters=tuple(sorted(read - known, key=str)),
            loss=loss,
            entries=self.entries,
            observables=declared | observed,
            parts=self.parts,
        )
