"""The bars of proofs: how far every system is enclosed, to what, in how long.

    python benchmarks/proofs.py [--only mixture_20,lego,…]

Each line is one proof: the bound of every coordinate's error where it ends, the width of the event's bracket, and the
time, wall and CPU. Other bars are tests: random linear systems, closed forms, altered certificates (tests/proof), and
high-precision runs by other means (tests/proof/test_high_precision.py, slow).
"""

import argparse
import time
from dataclasses import dataclass

import flowsys as fs


@dataclass(frozen=True)
class Bar:
    """A proof, the error it has to reach, the seconds it may take (None: any)."""

    system: str
    at: str | float
    error: float
    seconds: float | None = None
    mode: str | None = None
    width: float | None = None  # of the event's bracket


BARS = {
    "mixture_20": Bar("mixture", 20.0, 1e-18, 10, "simultaneous"),
    "mixture_112": Bar("mixture", 112.0, 1e-15, 60, "simultaneous"),
    "mixture_300": Bar("mixture", 300.0, 1e-14, None, "simultaneous"),
    "mixture_T_2": Bar("mixture", "T_2", 1e-14, None, "three_stage", 1e-14),
    "prompt": Bar("prompt", "T_3", 1e-10, 180),
    "parity": Bar("parity", "margin_1", 1e-10, 180),
    "lego": Bar("lego", "stage_2_2", 1e-10, 180),
    "cooccurrence": Bar("cooccurrence", "T_star", 1e-10, 180),
}


def measured(bar: Bar) -> str:
    system = fs.load(bar.system)
    wall, processor = time.perf_counter(), time.process_time()
    proof = fs.prove(system, system.setup(bar.mode), mode=bar.mode, at=[bar.at], observe=[])
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    if proof.declined:
        return f"declined: {proof.declined}"
    (row,) = proof.rows
    width = float(row.high - row.low)
    is_met = row.radius <= bar.error and (bar.seconds is None or wall <= bar.seconds)
    is_met = is_met and (bar.width is None or width <= bar.width)
    said = (
        "met" if is_met else "NOT met" if bar.seconds is None or processor > bar.seconds else "met in CPU seconds only"
    )
    most = "" if bar.seconds is None else f", {bar.seconds:g} s"
    return (f"error {row.radius:.2g}, bracket {width:.2g}, {len(proof.pieces)} pieces, {wall:.1f} s wall, "
            f"{processor:.1f} s CPU; bar {bar.error:g}{most}: {said}")  # fmt: skip


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", default=",".join(BARS))
    for name in arguments.parse_args().only.split(","):
        print(f"{name:14}{measured(BARS[name])}", flush=True)


if __name__ == "__main__":
    main()
