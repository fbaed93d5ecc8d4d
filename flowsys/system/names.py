r"""How a system's names read: its symbol in LaTeX, its words, and the clock its times are told on.

A system declares symbols once (`latex={name: symbol}`) and, where a mode has a clock of its own, that (`clocks`).
Tables, pictures, equations, notebooks and the report ask here. A name without a symbol is spelled by rule: `w_c` is
w_c, `eta_0` is \eta_0, a word stays an upright word. Symbols are what KaTeX and matplotlib both set.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from flowsys.system.definition import System


class Clock(NamedTuple):
    """What time is: its symbol and what it measures."""

    symbol: str
    words: str


FLOW = Clock("t", "gradient-flow time of the loss as written (training: learning rate × steps)")

COMMON = {
    "loss": r"\mathcal{L}", "width": "m", "learning_rate": r"\eta", "t_max": r"t_{\max}", "t": "t",
    "accuracy": r"\mathrm{accuracy}", "seed": r"\mathrm{seed}",
}  # fmt: skip
_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega varpi varrho Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
).split()
_GREEK_LETTERS = "αβγδεζηθικλμνξπρστυφχψω"
_LETTERS = dict(zip(_GREEK_LETTERS + "ϖϱΓΔΘΛΞΠΣΦΨΩ", _GREEK))
_TO_WORDS = str.maketrans({letter: _LETTERS[letter] for letter in _GREEK_LETTERS})
_SMALL = {"of", "to", "at", "in", "on", "by", "is"}  # words that are no indices
_SIGNS = {"star": r"\star", "plus": "+", "minus": "-", "prime": r"\prime", "inf": r"\infty", "max": r"\max",
          "min": r"\min", "ell": r"\ell"}  # fmt: skip


class Names:
    """The names of one system."""

    def __init__(self, system: "System"):
        self._system = system

    def symbol(self, name: str) -> str:
        """The LaTeX of a parameter, event, observable or coordinate, without dollars."""
        return self._system.latex.get(name) or spelled(name)

    def words(self, name: str) -> str:
        """What a name means; nothing if it is none of the system's."""
        for meanings in (self._system.meanings, self._system.observables, self._system.events):
            if name in meanings:
                return meanings[name]
        return next((p.meaning for p in self._system.parameters if p.name == name), "")

    def clock(self, mode: str | None = None) -> Clock:
        """The clock that times and rates of a mode are told on."""
        return self._system.clocks.get(self._system.mode(mode), FLOW)

    def is_constant(self, name: str) -> bool:
        """Whether an observable is one that training does not move."""
        return name in self._system.constants

    def symbols(self, names: Iterable[str], mode: str | None = None) -> dict[str, str]:
        """Those of many names and of time, and the words for choices, for what travels without its system."""
        asked = [*names]
        told = {f"{p.name}={value}": words for p in self._system.parameters if p.name in asked
                for value, words in p.words.items()}  # fmt: skip
        return {name: self.symbol(name) for name in asked} | told | {"t": self.clock(mode).symbol}

    def meanings(self, names: Iterable[str]) -> dict[str, str]:
        """The words of those that have any."""
        return {name: words for name in names if (words := self.words(name))}


@lru_cache(maxsize=4096)
def spelled(name: str) -> str:
    r"""LaTeX of a name by rule: S_{\mathrm{plus},0} of S_plus_0, \eta_{0} of eta_0, an upright word of a word."""
    if name in COMMON:
        return COMMON[name]
    head, *labels = name.removesuffix("_").split("_")
    stem = head.rstrip("0123456789")
    if stem and stem != head:
        head, labels = stem, [head[len(stem) :], *labels]
    is_sentence = sum(len(text) > 2 and text not in _SIGNS and text not in _GREEK for text in labels) > 3
    has_indices = (
        bool(labels) and all(len(text) <= 2 or text[0].isdigit() for text in labels) and not _SMALL & {*labels}
    )
    if is_sentence or not (_is_symbol(head) or has_indices):
        return _upright(name.replace("_", " "))
    below = ",".join(_label(text) for text in labels if text)
    return f"{_head(head)}_{{{below}}}" if below else _head(head)


def _is_symbol(head: str) -> bool:
    return len(head) <= 2 or head in _GREEK or head in COMMON or head == "eps"


def _head(text: str) -> str:
    text = _LETTERS.get(text, text)
    if text in COMMON:
        return COMMON[text]
    if text in _GREEK or text == "eps":
        return r"\epsilon" if text == "eps" else f"\\{text}"
    if len(text) == 1 and text.isascii():
        return text
    return rf"\mathit{{{text}}}" if len(text) == 2 and text.isascii() else _upright(text)  # one symbol, not a product


def _label(text: str) -> str:
    text = _LETTERS.get(text, text)
    if text in _SIGNS:
        return _SIGNS[text]
    if text in _GREEK:
        return f"\\{text}"
    return text if text.isascii() and (len(text) <= 2 or text[0].isdigit()) else _upright(text)


def _upright(words: str) -> str:
    r"""Words in a formula; letters beyond ASCII stand in text alone."""
    if not words.isascii():
        return rf"\text{{{words}}}"
    return rf"\mathrm{{{words.replace(' ', chr(92) + ' ')}}}"


Labels = Iterable[str] | Mapping[str, str]
"""What stands for <x> in a family of names; of a mapping, its keys in the names and its values in what is said."""


def _choices(name: str, text: str, labels: Mapping[str, Labels]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    said = [of if isinstance(of, Mapping) else {x: x for x in of} for of in labels.values()]
    for chosen in product(*said):
        one_name, one_text = name, text
        for label, of, x in zip(labels, said, chosen):
            one_name, one_text = one_name.replace(f"<{label}>", x), one_text.replace(f"<{label}>", of[x])
        yield one_name, one_text, chosen


def family(name: str, text: str, **labels: Labels) -> dict[str, str]:
    """{name: symbol or words} of names alike: family("S_<x>", "S_{<x>}", x={"one": "1"}) is {"S_one": "S_{1}"}."""
    return {one: said for one, said, _ in _choices(name, text, labels)}


def observables(name: str, meaning: str, make: Callable[..., Callable], **labels: Labels) -> dict[str, Callable]:
    """The observables of a family of names: make(*labels) is the function of one, its meaning is put on it."""
    found = {}
    for one, said, chosen in _choices(name, meaning, labels):
        found[one] = make(*chosen)
        found[one].__doc__ = said
    return found


def enclosed(symbol: str) -> str:
    """A symbol as a factor, or where an argument follows: a sum or a quotient in parentheses."""
    depth = 0
    for place, sign in enumerate(symbol):
        depth += (sign in "{(") - (sign in "})")
        if sign in "+-/" and not depth and place:
            return rf"({symbol})"
    return symbol


def typeset(symbol: str) -> str:
    """A symbol for a label of a picture."""
    return f"${symbol}$"


def number(value: float) -> str:
    r"""A number in LaTeX: 300, 10^{4}, 3\times 10^{-5}."""
    text = f"{value:g}"
    if "e" not in text:
        return text
    digits, power = text.split("e")
    return (rf"{digits}\times " if digits != "1" else "") + f"10^{{{int(power)}}}"


def told(value: Any) -> str:
    """A value as a label has it: in few digits, as LaTeX where it has a power or is infinite."""
    if not isinstance(value, int | float):
        return str(value)
    if value == float("inf"):
        return r"$\infty$"
    text = number(float(f"{value:.4g}")) if isinstance(value, float) else str(value)
    return typeset(text) if "\\" in text or "^" in text else text


def assignments(values: Mapping[str, Any], symbols: Mapping[str, str]) -> list[str]:
    """What is fixed in a picture, in symbols: "$K$ = 2", "$\\omega$ = 0.1"; a choice in its words, if it has any."""
    named = lambda k, v: f"{typeset(symbols.get(k) or spelled(k))} = {told(v)}"
    return [symbols.get(f"{k}={v}") or named(k, v) for k, v in values.items()]


def in_lines(parts: Iterable[str], width: int = 80, between: str = ", ") -> str:
    """Parts with commas (or what else) between them, in lines that a title has room for."""
    lines: list[str] = []
    for part in filter(None, parts):
        if lines and breadth(lines[-1] + between + part) < width:
            lines[-1] += between + part
        else:
            lines.append(part)
    return f"{between.rstrip()}\n".join(lines)


def wrapped(text: str, width: int = 80) -> str:
    """Text in lines of so many letters, broken between words and never inside a formula or beside an equals sign."""
    word = r"(?:\$[^$]*\$|[^\s$])+"
    return "\n".join(in_lines(re.findall(rf"{word}(?: [=≤≥] {word})*", line), width, " ") for line in text.splitlines())


def breadth(text: str) -> int:
    """About how many letters a label is wide: formulas count as they are set."""
    return len(re.sub(r"\\mathrm|\\,|[${}^_]", "", re.sub(r"\\(?!mathrm)[A-Za-z]+ ?", "x", text)))


_NAME = re.compile(
    rf"(?<!(?!ᵀ)[\w$\\'.])[A-Za-z{_GREEK_LETTERS}](?:(?![ᵀ¹²³])\w)*(?:(?<=_\d)\.\d|(?<=_)[+−-](?![\w(])|(?<=_)\{{[^{{}}]*\}})?"
)


def in_symbols(text: str, names: Names) -> str:
    """Words with the names in them that no reader takes for words (n_x, m1, xi, t, μ1, w_+, x_{k-1}) as symbols.

    What stands between dollars stays; so does all of a text with a dollar that has no other one.
    """

    def symbol(found: re.Match) -> str:
        word, after = found[0].translate(_TO_WORDS), found.string[found.end() :]
        if word.endswith("}"):
            head, _, below = word.partition("_")
            return typeset(f"{spelled(head)}_{below}")
        is_article = word in ("A", "I") or (word == "a" and not re.match("[,)]| [=≤≥]| of ", after))
        is_label = re.fullmatch(r"L\d+", word) or re.match(r"\.\d", after)  # a level, a place in a paper
        is_name = "_" in word or word.rstrip("0123456789") in _GREEK or re.fullmatch(r"[A-Za-z]{1,2}\d+|[A-Za-z]", word)
        return typeset(names.symbol(word)) if is_name and not is_label and not is_article else found[0]

    parts = text.split("$")
    if len(parts) % 2 == 0:
        return text
    parts[::2] = [_NAME.sub(symbol, part).replace("= inf", r"= $\infty$") for part in parts[::2]]
    return "$".join(parts)
