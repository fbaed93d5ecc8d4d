"""Claims at random places: 200 draws of (claim, parameters) a system, at least half inside the claim's regime.

    python benchmarks/claims_by_draws.py [SYSTEM …] [--draws 200] [--seed 0]

Fails (exit code 1) on a crash, on a `holds` that rests on nothing, on a draw that takes longer than 10 s of CPU, and on
a `does not hold` of the paper's inside its regime that a finer run (rtol 1e-12) does not confirm.
"""

import argparse
import sys
import time
import traceback
from collections import Counter
from dataclasses import replace

import numpy as np

import flowsys as fs
from flowsys.claims import Word
from flowsys.claims.conditions import Conditions
from flowsys.claims.kit import Kit
from flowsys.claims.regime import Values, drawn_value
from flowsys.errors import InputError

LONGEST = 10.0
FINER = 1e-12


def draw(rng: np.random.Generator, system, claim, inside: bool) -> dict | None:
    """Values of one to three of the parameters that the claim takes; None if none is found on the side wanted."""
    takes = [p for p in system.parameters if p.name in claim.taken(system) and p.name != "t_max"]
    if not takes:
        return {}
    for _ in range(200):
        chosen = rng.choice(len(takes), size=min(len(takes), int(rng.integers(1, 4))), replace=False)
        given = {takes[i].name: drawn_value(takes[i], rng.random(), system.setup()[takes[i].name]) for i in chosen}
        try:
            p = Values(system.setup(claim.mode, **given))
        except InputError:
            continue
        if claim.regime.is_inside(p) or not inside:
            return given
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("systems", nargs="*")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    wrong = []
    for name in asked.systems or fs.names():
        system, rng = fs.load(name), np.random.default_rng(asked.seed)
        claims = [c for c in system.claims if c.is_declared and c.is_cheap]
        if not claims:
            print(f"{name}: no claim is declared by kind yet")
            continue
        words: Counter = Counter()
        n_inside = 0
        for number in range(asked.draws):
            claim = claims[int(rng.integers(len(claims)))]
            given = draw(rng, system, claim, inside=number % 2 == 0 or n_inside < asked.draws // 2)
            if given is None:
                continue
            conditions, start = Conditions(parameters=given), time.process_time()
            try:
                found = claim.check(system, conditions)
            except Exception:
                wrong.append(f"{name} {claim.id} {given}: {traceback.format_exc(limit=1)}")
                continue
            words[str(found.word)] += 1
            n_inside += found.inside is True
            took = time.process_time() - start
            if took > LONGEST:
                wrong.append(f"{name} {claim.id} {given}: {took:.1f} s")
            if found.holds and not found.measured:
                wrong.append(f"{name} {claim.id} {given}: holds on nothing")
            if found.word is Word.FAILS and found.inside and claim.whose == "paper":
                finer = _finer(system, claim, conditions)
                if finer is not Word.FAILS:
                    wrong.append(f"{name} {claim.id} {given}: does not hold, but a finer run says {finer}")
        print(
            f"{name}: {sum(words.values())} draws, {n_inside} inside: "
            + ", ".join(f"{n} {w}" for w, n in words.items())
        )
        if n_inside < asked.draws // 2:
            wrong.append(f"{name}: only {n_inside} of {asked.draws} draws lie inside a regime")
    print("\n".join(wrong) or "nothing wrong")
    return bool(wrong)


def _finer(system, claim, conditions) -> Word:
    """The word with every run solved to a finer tolerance."""
    measure = claim.measure
    finer = replace(
        claim, measure=lambda run, **more: measure(replace(run, rtol=FINER) if isinstance(run, Kit) else run, **more)
    )
    return finer.check(system, conditions).word


if __name__ == "__main__":
    sys.exit(main())
