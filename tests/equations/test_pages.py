"""Pages of equations: every symbol defined, formulas that KaTeX sets, slopes that are those of the program."""

import re

import numpy as np
import pytest
import sympy as sp
from katex import fetched, refused
from signal_page import MODEL

from flowsys.equations import FORMATS
from flowsys.equations.found import symbol_and_words
from flowsys.equations.matrices import Pair, pair_of
from flowsys.equations.notation import Notation
from flowsys.equations.page import Page, page_of
from flowsys.program.arrays import arguments, vector_field
from flowsys.symbolic.assemble import assemble
from flowsys.symbolic.derivation import Derivation
from flowsys.symbolic.flow import Gram
from flowsys.symbolic.render import written_out
from flowsys.symbolic.written import Written
from flowsys.system import System
from flowsys.systems import load
from flowsys.systems.cooccurrence.statement import limit_statement as cooccurrence
from flowsys.systems.lego.statement import stage_1_statement, stage_2_statement, structure
from flowsys.systems.mixture.statement import limit_statement as mixture
from flowsys.systems.parity.statement import block_statement, position_statement
from flowsys.systems.prompt.statement import population_statement

STATEMENTS = {
    "mixture": ("mixture", "22", mixture),
    "mixture, self-scores eliminated": ("mixture", "10", lambda: mixture(eliminate_self_scores=True)),
    "cooccurrence": ("cooccurrence", "88", lambda: cooccurrence("88")),
    "lego": ("lego", "isotropic", lambda: stage_2_statement(structure(4, "azl"))),
    "lego, stage 1": ("lego", "isotropic", lambda: stage_1_statement(structure(4, "azl", "smooth"))),
    "parity": ("parity", "limit", position_statement),
    "parity, block": ("parity", "limit", block_statement),
    "prompt": ("prompt", "symmetric", lambda: population_statement(2)),
}


def stated(statement) -> Derivation:
    """A derivation without the search for its lumping."""
    return Derivation(assemble(statement), {}, {}, "here", 4, 4, ("c1, c2 are alike",), (), 1e-16, 1.0, (), 1e-16, 0.1,
                      statement=statement)  # fmt: skip


@pytest.fixture(scope="module")
def pages() -> dict[str, tuple[System, Derivation, Page]]:
    found = {}
    for name, (system, variant, statement) in STATEMENTS.items():
        derivation = stated(statement())
        found[name] = (
            load(system),
            derivation,
            page_of(load(system), load(system).setup(), derivation, variant, load(system).mode(None)),
        )
    derivation = MODEL.derive(MODEL.setup(), "found")
    found["own model"] = MODEL, derivation, page_of(MODEL, MODEL.setup(), derivation, "found", MODEL.mode(None))
    return found


@pytest.fixture(scope="module")
def katex(tmp_path_factory):
    return fetched(tmp_path_factory.mktemp("katex"))


def test_every_symbol_of_the_right_hand_side_is_defined_on_its_page(pages):
    for name, (system, derivation, page) in pages.items():
        written = Written(derivation.statement)
        notation = Notation(written, lambda name, system=system: symbol_and_words(system.names, name)[0])
        values = [d.value for d in (*written.forward, *written.backward)]
        values += [v for _, v in written.loss] + [v for pairs in written.terms.values() for _, v in pairs]
        values += [rate for _, rate in written.rates()]
        used = {notation.of(s) for v in values for s in sp.sympify(v).free_symbols}
        defined = {symbol for section in page.sections for symbol, _ in section.symbols}
        heads = [formula.partition(" = ")[0] for section in page.sections for formula in section.formulas]
        formulas = [f for section in page.sections for f in section.formulas if r" = \begin{bmatrix}" in f]
        matrices = {entry for f in formulas for entry in re.split(r" & | \\\\ |bmatrix} | \\end", f)}
        softmaxes = tuple(head for head in heads if head.startswith(r"\mathsf{p}^"))
        missing = {s for s in used - defined - set(heads) if not s.startswith(softmaxes or "no softmax")}
        assert not missing - matrices, f"{name}: {sorted(missing)}"


def test_every_formula_has_a_head_and_no_two_the_same(pages):
    for name, (_, _, page) in pages.items():
        for section in page.sections:
            heads = [formula.partition("=")[0].strip() for formula in section.formulas if section.title != "Start"]
            assert all(heads) and r"\frac{d }" not in "".join(heads), f"{name}: {section.title}"
            assert section.title == "Conserved quantities" or len({*heads}) == len(heads), f"{name}: {section.title}"


def test_the_matrices_of_a_flow_are_defined(pages):
    for name, (system, derivation, page) in pages.items():
        formulas = [formula for section in page.sections for formula in section.formulas]
        defined = {formula.partition(" = ")[0] for formula in formulas}
        defined |= {symbol for section in page.sections for symbol, _ in section.symbols}
        for pair in pairs_of(derivation.statement):
            assert {*pair.symbols(system.names.symbol)} <= defined, name


def test_cooccurrence_and_mixture_have_pairs():
    assert len(pairs_of(cooccurrence("88"))) == 9 and len(pairs_of(mixture())) == 2


def test_every_row_has_words(pages):
    for name, (_, _, page) in pages.items():
        for section in page.sections:
            assert all(words for _, words in section.symbols), name
    vague = "a parameter", "a coordinate of the reduced system", "column of the table"
    rows = [row for _, _, page in pages.values() for section in page.sections for row in section.symbols]
    assert not [symbol for symbol, words in rows if words.startswith(vague)]


def test_pages_have_no_program_names(pages):
    for name, (_, _, page) in pages.items():
        for section in page.sections[:-1]:
            for formula in section.formulas:
                assert not re.search(r"[a-z]{3,}_[a-z]{2,}", re.sub(r"\\[a-zA-Z]+", " ", formula)), f"{name}: {formula}"


def test_fractions_are_reduced(pages):
    for section in pages["mixture"][2].sections:
        assert not any(re.search(r"\\frac\{2 [^{}]*\}\{2 K", formula) for formula in section.formulas)


def test_all_formats_are_written(pages):
    for _, _, page in pages.values():
        texts = {name: write(page) for name, write in FORMATS.items()}
        assert "\\" not in texts["text"].replace("\\_", "")
        assert (
            texts["html"].startswith("<!doctype html>")
            and "<math" in texts["html"]
            and "http-equiv" not in texts["html"]
        )
        assert not re.search(r'(src|href)="', texts["html"])  # nothing is fetched
        assert texts["latex"].count(r"\begin{longtable}") == texts["latex"].count(r"\end{longtable}")


def test_katex_sets_every_formula(pages, katex):
    formulas = [f for _, _, page in pages.values() for section in page.sections for f in section.formulas]
    formulas += [s for _, _, page in pages.values() for section in page.sections for s, _ in section.symbols]
    texts = [t for _, _, page in pages.values() for section in page.sections for t in section.texts]
    texts += [words for _, _, page in pages.values() for section in page.sections for _, words in section.symbols]
    formulas += [part for t in texts for part in t.split("$")[1::2]]
    assert refused(sorted(set(formulas)), katex) == []


@pytest.mark.parametrize("name", ["parity", "parity, block", "prompt", "cooccurrence"])
def test_what_the_page_says_is_what_the_program_does(name):
    statement = STATEMENTS[name][2]()
    program, written = assemble(statement), Written(statement)
    rng = np.random.default_rng(0)
    y = rng.standard_normal(len(program.state))
    given = dict.fromkeys(map(str, statement.parameters), 0.2)
    given |= {"n": 9.0, "m": 3.0, "i": 8.0, "query_bits": 2.0, "is_first": 1.0, "M": 9.0, "alpha": 0.3, "L": 6.0}
    values = dict(zip(statement.state, y)) | {p: given[str(p)] for p in statement.parameters}
    number = lambda expression: float(written_out(sp.sympify(expression)).xreplace(values))
    values |= {entry: number(value) for entry, value in statement.entries.items() if entry not in values}
    for d in (*written.forward, *written.backward):
        values[d.symbol] = number(d.value)
    for x, pairs in written.terms.items():
        values[written.slope[x]] = sum(number(v) for _, v in pairs)
    for x, value in written.chained().items():
        values[sp.Symbol(f"total_gradient_{x}", real=True)] = number(value)
    found = [number(rate) for _, rate in written.rates()]
    expected = vector_field(program, "exact", np)(
        y, arguments(program, {str(p): given[str(p)] for p in statement.parameters})
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    rate = dict(zip(map(sp.Symbol, program.state), expected))
    slope = lambda x: values.get(sp.Symbol(f"total_gradient_{x}", real=True), values.get(written.slope.get(x), 0.0))
    for pair in pairs_of(statement):
        A, B = (np.vectorize(number, otypes=[float])(part) for part in (pair.left, pair.right))
        G = np.vectorize(slope, otypes=[float])(pair.product)
        theirs = np.vectorize(lambda x: rate[sp.Symbol(str(x))], otypes=[float])(pair.product)
        np.testing.assert_allclose(-number(pair.factor) * (A @ G + G @ B), theirs, rtol=1e-10, atol=1e-13)


def pairs_of(statement) -> list[Pair]:
    """The Gram blocks of a statement that are pairs of factors; as many as the page has."""
    written = Written(statement)
    read = {*written.terms, *written.chained()}
    slope = lambda x: sp.Symbol(f"slope_of_{x}") if x in read else sp.S.Zero
    found: list[Pair] = []
    for block in statement.blocks:
        if isinstance(block, Gram) and (pair := pair_of(block, slope, len(found) + 1)):
            found.append(pair)
    return found
