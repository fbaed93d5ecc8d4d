"""The paper's numbering: places like "Lemma E.1" read from citations, their numbers, and what kind of place it is."""

import re
from collections.abc import Sequence

_KINDS = {
    "Theorem": "Theorem", "Lemma": "Lemma", "Corollary": "Corollary", "Corollaries": "Corollary",
    "Proposition": "Proposition", "Observation": "Observation", "Definition": "Definition", "Condition": "Condition",
    "Assumption": "Assumption", "Fact": "Fact", "Claim": "Claim", "Remark": "Remark", "Algorithm": "Algorithm",
    "Induction": "Induction", "Eq": "Eq.", "Equation": "Eq.", "Fig": "Fig.", "Figure": "Fig.", "Sec": "Sec.",
    "Section": "Sec.", "Appendix": "Appendix", "App": "Appendix", "Table": "Table",
}  # fmt: skip
_SOURCES = {
    "Theorem": "theorem", "Proposition": "theorem", "Lemma": "lemma", "Corollary": "lemma", "Fact": "lemma",
    "Claim": "lemma", "Observation": "lemma", "Induction": "proof step", "Definition": "display", "Eq.": "display",
    "Condition": "display", "Assumption": "display", "Algorithm": "display", "Fig.": "figure", "Table": "figure",
    "Remark": "remark", "Sec.": "remark", "Appendix": "remark",
}  # fmt: skip
_NUMBER = r"\(?(?:[A-Z](?:\.\d+)*|\d+(?:\.\d+)*[a-z]?)\)?(?![A-Za-z\d])"
_KIND = "|".join(sorted(_KINDS, key=len, reverse=True))
PLACE = re.compile(rf"({_KIND})s?\.? ({_NUMBER}(?:(?:, (?:and )?| and |[-–]){_NUMBER})*)")


def places(text: str) -> tuple[str, ...]:
    """("Lemma C.2", "Lemma C.3", "Eq. 11") from "Lemmas C.2–C.3, Eq. (11)"."""
    found = []
    for kind, numbers in PLACE.findall(text):
        for part in re.split(r", (?:and )?| and ", numbers.strip(" ,-–")):
            found += [f"{_KINDS[kind]} {number}" for number in _expanded(part)]
    return tuple(dict.fromkeys(found))


def numbers_of(text: str, of_statements: bool = False) -> tuple[str, ...]:
    """("C.2", "C.3", "11") from the same; without those of sections and appendices, if only `of_statements`."""
    found = [place.split() for place in places(text)]
    return tuple(dict.fromkeys(n for kind, n in found if not of_statements or kind not in ("Sec.", "Appendix")))


def source_of(text: str) -> str:
    """What the first place of a citation is: theorem, lemma, display, figure, remark …; prose is a remark."""
    first = next(iter(places(text)), "Remark 0")
    return "display" if "display" in text.lower() else _SOURCES[first.split()[0]]


def _expanded(part: str) -> list[str]:
    """["D.1", "D.2", "D.3"] from "D.1–D.3"."""
    ends = [end.strip("()") for end in re.split(r"[-–]", part)]
    if len(ends) == 1:
        return [ends[0]] if ends[0] else []
    first, last = (re.fullmatch(r"(.*?)(\d+)", end) for end in ends)
    if not first or not last:
        raise ValueError(f"{part} is not a range of numbers")
    return [f"{first[1]}{n}" for n in range(int(first[2]), int(last[2]) + 1)]


def shortened(found: Sequence[str]) -> str:
    """ "Lemma B.1–B.3, Lemma B.5" from the four places."""
    runs: list[tuple[str, int, int]] = []
    for place in found:
        match = re.fullmatch(r"(.*?)(\d*)[a-z]?", place)
        stem, number = match.groups() if match else (place, "")
        if runs and number and runs[-1][0] == stem and runs[-1][2] == int(number) - 1:
            runs[-1] = (stem, runs[-1][1], int(number))
        else:
            runs.append((stem, int(number or 0), int(number or 0)))
    return ", ".join(
        f"{stem}{first}" if first == last else f"{stem}{first}–{stem.split()[-1]}{last}" for stem, first, last in runs
    )
