"""Algorithm 2 round by round, each solved to its end: what tables of self-training are made of."""

from typing import NamedTuple

from flowsys.runs.solving import solve
from flowsys.systems import load
from flowsys.systems.lego.stage_2 import Scores

SYSTEM = load("lego")


class Round(NamedTuple):
    """One stage: its length, the scores before and after, τ spent, the share of self-labels that are right."""

    L: int
    start: Scores
    end: Scores
    tau: float
    label_accuracy: float


def rounds(**parameters) -> list[Round]:
    """Every round up to length L."""
    found: list[Round] = []
    lengths = [2**k for k in range(1, parameters["L"].bit_length())]
    for L in lengths:
        setup = SYSTEM.setup("algorithm_2", **parameters | {"L": L})
        problem = SYSTEM.problem(setup, mode="algorithm_2")
        run = solve(SYSTEM, setup, mode="algorithm_2", at=["loss_threshold"], rtol=1e-9,
                    observe=[*Scores._fields, "label_accuracy"])  # fmt: skip
        end = Scores(*(float(run[name][0]) for name in Scores._fields))
        start = Scores(*map(float, problem.initial))
        found.append(Round(L, start, end, run.t[0] - problem.start, run["label_accuracy"][0]))
    return found
