"""The page of a derived system: set-up, variables, loss, slopes, flow, start, what is conserved, lumping, certificate.

A page is a list of sections of texts, formulas and tables of symbols; `flowsys.equations.pages` writes it down. Every
symbol is a parameter, a variable, a column of data, or defined by a formula of the page.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile

import numpy as np
import sympy as sp

from flowsys.equations.found import symbol_and_words
from flowsys.equations.matrices import Pair, pair_of, written
from flowsys.equations.notation import FUNCTIONS, Notation, functions_in
from flowsys.equations.posing import posed
from flowsys.errors import InputError
from flowsys.symbolic.derivation import Derivation
from flowsys.symbolic.flow import Gram
from flowsys.symbolic.primitives import AttentionMean, LogSumExp, Softmax
from flowsys.symbolic.written import Definition, Written
from flowsys.system import Setup, System
from flowsys.system.names import Clock, assignments, in_symbols, told, typeset
from flowsys.system.problem import Problem


@dataclass
class Section:
    """A part of a page: texts (formulas between dollars), display formulas, rows of symbols with their words."""

    title: str
    texts: list[str] = field(default_factory=list)
    formulas: list[str] = field(default_factory=list)
    symbols: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Page:
    """What `flowsys derive` shows of a system."""

    title: str
    sections: tuple[Section, ...]


def page_of(system: System, setup: Setup, derivation: Derivation, variant: str, mode: str) -> Page:
    """The page of a derivation of the system."""
    if derivation.statement is None:
        raise InputError(f"the derivation of {system.name} keeps no statement to write down; its program can be shown.")
    try:
        mode, problem = posed(system, setup, variant, mode)
    except InputError:  # a form that is derived, but posed in no mode
        problem = None
    writer = _Writer(system, derivation, system.names.clock(mode))
    title = f"{system.name}: {system.summary}"
    sections = [
        _setting(system, setup, writer.clock),
        writer.variables(),
        writer.parameters(),
        writer.entries(),
        writer.loss(),
        writer.slopes(),
        writer.flow(),
        _start(system, derivation, problem),
        writer.conserved(),
        _lumping(derivation),
    ]
    return Page(title, tuple(s for s in sections if s.texts or s.formulas or s.symbols))


def _setting(system: System, setup: Setup, clock: Clock) -> Section:
    """The first paragraphs of the system's own description, and the values the derivation was run at."""
    paragraphs = [part for part in _description(system).split("\n| ")[0].split("\n\n") if part.strip()]
    prose = takewhile(lambda part: not part.startswith("    "), paragraphs)
    texts = [in_symbols(said, system.names) for paragraph in prose if (said := _sentences(paragraph))]
    texts = texts or [f"{system.summary[:1].upper()}{system.summary[1:]}."]
    if system.paper.venue:
        texts.append(f"Paper: {system.paper.title} ({system.paper.venue}).")
    shown = {p.name: setup[p.name] for p in system.parameters[:6] if not p.choices}
    texts.append(f"Shown at {', '.join(assignments(shown, {k: system.names.symbol(k) for k in shown}))}.")
    texts.append(f"Time {typeset(clock.symbol)}: {in_symbols(clock.words, system.names)}.")
    return Section("Set-up", texts)


def _description(system: System) -> str:
    """What the file that declares a system says of it."""
    loss = getattr(getattr(system, "declaration", None), "loss", None)
    home = system.package or getattr(getattr(loss, "function", None), "__module__", None)
    module = sys.modules.get(home) if home and home != "__main__" else None
    return (module.__doc__ or "").strip("\n") if module else ""


def _sentences(paragraph: str) -> str:
    """A paragraph's whole sentences without those that speak of modules."""
    found = re.split(r"(?<=\.) ", " ".join(paragraph.split()))
    return " ".join(s for s in found if "`" not in s and s.endswith("."))


def _start(system: System, derivation: Derivation, problem: Problem | None) -> Section:
    """The initial values, coordinates of one value together."""
    if problem is None:
        return Section("Start")
    initial = dict(zip(problem.field.names, np.asarray(problem.initial, dtype=float)))
    by_value: dict[float, list[str]] = {}
    for name in derivation.program.state:
        if name in initial:
            by_value.setdefault(float(initial[name]), []).append(system.names.symbol(name))
    formulas = [rf"{', '.join(names)} = {told(value).strip('$')}" for value, names in by_value.items()]
    return Section("Start", ["At $t = 0$, at the parameters above:"] if formulas else [], formulas)


def _lumping(derivation: Derivation) -> Section:
    texts = [f"At {derivation.size}: {derivation.n_coordinates} coordinates fall into {derivation.n_classes} classes."]
    texts += [f"{sentence}." for sentence in derivation.alike]
    texts += [f"{sentence[0].upper()}{sentence[1:]}." for sentence in derivation.certificates()]
    return Section("Lumping and certificate", [text.replace("_", r"\_") for text in texts])


class _Writer:
    """The sections that come from the statement."""

    def __init__(self, system: System, derivation: Derivation, clock: Clock):
        assert derivation.statement is not None
        self.clock = clock
        self.system, self.derivation, self.statement = system, derivation, derivation.statement
        self.written = Written(self.statement)
        self.notation = Notation(self.written, lambda name: symbol_and_words(system.names, name)[0])
        self.chained = self.written.chained()
        self.pairs: dict[int, Pair] = {}
        rule = lambda x: self._slope_of(x)
        for block in self.statement.blocks:
            if isinstance(block, Gram) and (pair := pair_of(block, rule, len(self.pairs) + 1)):
                self.pairs[id(block)] = pair

    def _slope_of(self, x: sp.Symbol) -> sp.Expr:
        if x in self.chained:
            return sp.Symbol(f"total_gradient_{x}", real=True)
        return self.written.slope.get(x, sp.S.Zero) if x not in self.statement.entries else sp.S.Zero

    def _row(self, x: sp.Symbol, otherwise: str) -> tuple[str, str]:
        words = symbol_and_words(self.system.names, str(x))[1] or otherwise
        more = self.derivation.data.get(str(x), "")
        whole = f"{words}: {more}" if more else words
        return self.notation.of(x), in_symbols(whole, self.system.names)

    def variables(self) -> Section:
        found = Section(f"Variables ({len(self.statement.state)})")
        found.symbols = [self._row(x, "a coordinate of the reduced system") for x in self.statement.state]
        return found

    def parameters(self) -> Section:
        """Parameters and columns of data that the formulas read."""
        found = Section("Parameters and data")
        read = self._read()
        found.symbols = [self._row(x, "a parameter") for x in self.statement.parameters if x in read]
        for level in self.statement.tables:
            there = f"column of the table of {_words(level.table)}: data that follows from the sizes"
            found.symbols += [self._row(c, there) for c in level.columns if c in read]
        return found

    def entries(self) -> Section:
        """What the loss reads, in the variables."""
        read = self._read()
        found = {x: value for x, value in self.statement.entries.items() if x != value and x in read}
        told = [(self.notation.of(x), self.notation.latex(v)) for x, v in found.items()]
        formulas = [f"{name} = {value}" for name, value in told if name != value]
        return Section("What the loss reads, in the variables", formulas=formulas)

    def _read(self) -> set[sp.Symbol]:
        """Everything that formulas of the page read."""
        values = [d.value for d in (*self.written.forward, *self.written.backward)]
        values += [value for _, value in self.written.loss]
        values += [value for pairs in self.written.terms.values() for _, value in pairs]
        values += [rate for _, rate in self.written.rates()]
        found = {s for value in values for s in sp.sympify(value).free_symbols} | set(self.written.terms)
        return found | {s for x, v in self.statement.entries.items() if x in found for s in sp.sympify(v).free_symbols}

    def loss(self) -> Section:
        found = Section("Loss")
        if place := self.system.places.get("loss"):
            found.texts.append(f"In the paper: {place}.")
        terms = [rf"{_sum_over(table)} {self.notation.latex(value)}".strip() for table, value in self.written.loss]
        found.formulas.append(r"\mathcal{L} = " + " + ".join(terms))
        found.formulas += self._groups()
        for d in self.written.forward:
            found.formulas += self._definition(d)
        for link in self.written.links:
            if not link.is_adjoint:
                found.formulas.append(self._linked(link))
        if self.notation.groups:
            found.texts.append(
                r"$\mathrm{softmax}$ takes scores (first row) with multiplicities (second row): "
                r"$\mathsf{p}_j = \frac{n_j e^{s_j}}{\sum_k n_k e^{s_k}}$, the attention probability of key $j$."
            )
        used = functions_in([d.value for d in (*self.written.forward, *self.written.backward)] +
                            [value for _, value in self.written.loss] +
                            [value for pairs in self.written.terms.values() for _, value in pairs])  # fmt: skip
        found.texts += [f"${FUNCTIONS[name][1]}$ ({FUNCTIONS[name][2]})." for name in used]
        return found

    def _groups(self) -> Iterator[str]:
        for (scores, counts), number in self.notation.groups.items():
            rows = [" & ".join(map(self.notation.latex, row)) for row in (scores, counts)]
            inside = r" \\ ".join(rows)
            yield rf"\mathsf{{p}}^{{({number})}} = \mathrm{{softmax}} \begin{{bmatrix}} {inside} \end{{bmatrix}}"

    def _definition(self, d: Definition) -> Iterator[str]:
        name, value = self.notation.of(d.symbol), d.value
        if isinstance(value, Softmax):
            return
        if isinstance(value, AttentionMean):
            number = self.notation.group(value.weight(0).group)
            weights = [sp.Symbol(f"p_{number}_{i}", real=True) for i in range(value.size)]
            spelled = {w: rf"\mathsf{{p}}^{{({number})}}_{{{i + 1}}}" for i, w in enumerate(weights)}
            terms = [rf"{spelled[w]} \left( {self.notation.latex(v)} \right)" if sp.sympify(v).args else
                     f"{spelled[w]} {self.notation.latex(v)}" for w, v in zip(weights, value.args)]  # fmt: skip
            yield f"{name} = {' + '.join(terms)}"
        elif isinstance(value, LogSumExp):
            scores, counts = value.args[: value.size], value.args[value.size :]
            inside = sp.Add(*[n * sp.exp(s) for s, n in zip(scores, counts)])
            yield rf"{name} = \log \left( {self.notation.latex(inside)} \right)"
        else:
            yield f"{name} = {self.notation.latex(value)}"

    def _linked(self, link) -> str:
        of, over = self.notation.of(link.of), _words(link.parent if link.is_adjoint else link.child)
        matrix = rf"C^{{\mathrm{{{_words(link.child)}}}}}"
        return rf"{self.notation.of(link.symbol)} = \sum_{{\mathrm{{{over}}}}} {matrix} \, {of}"

    def slopes(self) -> Section:
        """∂L/∂x of everything the loss reads, in attention probabilities, gates and loss slopes."""
        found = Section("Slopes of the loss")
        for d in self.written.backward:
            found.formulas += self._definition(d)
        found.formulas += [self._linked(link) for link in self.written.links if link.is_adjoint]
        for x, pairs in self.written.terms.items():
            terms = [rf"{_sum_over(table)} \left( {self.notation.latex(v)} \right)" if table else self.notation.latex(v)
                     for table, v in pairs]  # fmt: skip
            found.formulas.append(f"{self.notation.of(self.written.slope[x])} = {' + '.join(terms)}")
        for x, value in self.chained.items():
            total = sp.Symbol(f"total_gradient_{x}", real=True)
            if (name := self.notation.of(total)) != (whole := self.notation.latex(value)):
                found.formulas.append(f"{name} = {whole}")
        if any(link.is_adjoint for link in self.written.links) or self.written.links:
            found.texts.append("$C$ counts which rows of one table a row of the next is made of: data of the sizes.")
        bars = [d for d in self.written.backward if str(d.symbol).startswith("adjoint_")]
        if bars:
            found.texts.append(
                r"A bar marks the slope of the loss in a named part: $\bar{x} = \partial \mathcal{L} / \partial x$."
            )
        return found

    def flow(self) -> Section:
        found = Section("Flow")
        if place := self.system.places.get("flow"):
            found.texts.append(f"In the paper: {place}.")
        covered: set[sp.Symbol] = set()
        clock = self.clock.symbol
        for block in self.statement.blocks:
            if pair := self.pairs.get(id(block)):
                found.formulas += written(pair, self.notation.latex, self.system.names.symbol, clock)
                covered |= {*pair.left.free_symbols, *pair.product.free_symbols, *pair.right.free_symbols}
        for x, rate in self.written.rates():
            if x not in covered:
                found.formulas.append(rf"\frac{{d {self.notation.of(x)}}}{{d{clock}}} = {self.notation.latex(rate)}")
        return found

    def conserved(self) -> Section:
        found = Section("Conserved quantities")
        for pair in self.pairs.values():
            A, S, B = pair.symbols(self.system.names.symbol)
            rows = rf"{A} & -{S} \\ {{{S}}}^{{\top}} & -{B}"
            matrix = rf"\begin{{bmatrix}} {rows} \end{{bmatrix}}"
            found.formulas.append(rf"\mathrm{{spectrum}} {matrix} = \mathrm{{const}}")
        found.formulas += self.derivation.conserved
        return found


def _sum_over(table: str) -> str:
    return rf"\sum_{{\mathrm{{{_words(table)}}}}}" if table else ""


def _words(table: str) -> str:
    return table.replace("_", r"\ ")
