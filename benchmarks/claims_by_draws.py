"""Claims at random places: 200 draws of (claim, parameters) a system, and on until 100 lie inside the claim's regime.

    python benchmarks/claims_by_draws.py [SYSTEM …] [--draws 200] [--seed 0]

A draw lies inside if one of the claim's own places, with what was drawn in it, does. Fails (exit code 1) on a crash, on
a `holds` that rests on nothing, on a draw that takes longer than 10 s of CPU, and on a `does not hold` or `in part` of
the paper's inside its regime that a finer run (rtol 1e-12, or 1e-11 where rounding ends that) does not confirm; those
that it does are listed, to be read.
"""

import argparse
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

import flowsys as fs
from flowsys.claims import Word
from flowsys.claims.conditions import Conditions
from flowsys.claims.judging import places_of
from flowsys.claims.kit import Kit
from flowsys.claims.regime import drawn_value
from flowsys.errors import InputError

LONGEST = 10.0
FINER = (1e-12, 1e-11)


def draw(rng: np.random.Generator, system, claim, inside: bool) -> dict | None:
    """Values of one to three of the parameters that the claim takes; None if none is found on the side wanted."""
    takes = [p for p in system.parameters if p.name in claim.taken(system) and p.name != "t_max"]
    if not takes:
        return {}
    for _ in range(200):
        chosen = rng.choice(len(takes), size=min(len(takes), int(rng.integers(1, 4))), replace=False)
        given = {takes[i].name: drawn_value(takes[i], rng.random(), system.setup()[takes[i].name]) for i in chosen}
        kit = Kit(system, given, None, claim.mode, claim.variants)
        try:
            is_inside = any(claim.regime.is_inside(kit.at(**sets).p) for _, _, sets in places_of(claim, kit, given))
        except InputError:
            continue
        if is_inside or not inside:
            return given
    return None


@dataclass
class Found:
    """What the draws of a system gave: words, how many lie inside, how many faults; what is to be read is told."""

    words: Counter = field(default_factory=Counter)
    n_inside: int = 0
    longest: float = 0.0
    n_wrong: int = 0

    def wrong(self, sentence: str) -> None:
        self.n_wrong += 1
        print(f"  wrong: {sentence}", flush=True)


def drawn(name: str, draws: int, seed: int) -> Found:
    """At least so many draws of a system, and on until half as many lie inside; twice as many at most."""
    system, rng, found = fs.load(name), np.random.default_rng(seed), Found()
    claims = [claim for claim in system.claims if claim.is_declared and claim.is_cheap]
    for _ in range(2 * draws):
        n = found.words.total()
        if n >= draws and found.n_inside >= draws // 2:
            break
        claim = claims[int(rng.integers(len(claims)))]
        given = draw(rng, system, claim, inside=n % 2 == 0 or found.n_inside < draws // 2)
        if given is not None:
            judge(found, system, claim, given)
    if found.n_inside < draws // 2:
        found.wrong(f"only {found.n_inside} of {found.words.total()} draws lie inside a regime")
    return found


def judge(found: Found, system, claim, given: dict) -> None:
    """Check a claim at what was drawn, and the verdict for what must not be."""
    conditions, start, where = Conditions(parameters=tuple(given.items())), time.process_time(), f"{claim.id} {given}"
    try:
        verdict = claim.check(system, conditions)
    except Exception:
        found.words["crash"] += 1
        found.wrong(f"{where}: {traceback.format_exc(limit=1)}")
        return
    took = time.process_time() - start
    found.words[str(verdict.word)] += 1
    found.n_inside += verdict.inside is True
    found.longest = max(found.longest, took)
    if took > LONGEST:
        found.wrong(f"{where}: {took:.1f} s")
    if verdict.holds and not any(map(str.isdigit, verdict.measured)):
        found.wrong(f"{where}: holds on nothing")
    if verdict.word in (Word.FAILS, Word.IN_PART) and verdict.inside and claim.whose == "paper":
        finer = _finer(system, claim, conditions)
        sentence = f"{where}: {verdict.word} ({verdict.measured})"
        if finer is verdict.word:
            print(f"  confirmed by a finer run: {sentence}", flush=True)
        else:
            found.wrong(f"{sentence}, but a finer run says {finer}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    is_wrong = False
    for name in asked.systems or fs.names():
        found = drawn(name, asked.draws, asked.seed)
        words = ", ".join(f"{n} {word}" for word, n in found.words.most_common())
        print(
            f"{name}: {found.words.total()} draws, {found.n_inside} inside, the longest {found.longest:.1f} s: {words}"
        )
        is_wrong |= found.n_wrong > 0
    return int(is_wrong)


def _finer(system, claim, conditions) -> Word:
    """The word with every run solved to the finest tolerance at which something can be measured."""
    measure, word = claim.measure, Word.NOT_TESTABLE
    for rtol in FINER:
        finer = replace(
            claim,
            measure=lambda run, rtol=rtol, **more: measure(
                replace(run, rtol=rtol) if isinstance(run, Kit) else run, **more
            ),
        )
        word = finer.check(system, conditions).word
        if word is not Word.NOT_TESTABLE:
            break
    return word


if __name__ == "__main__":
    sys.exit(main())
