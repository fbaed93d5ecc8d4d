"""The experiment of Appendix A: gradient descent on sentences with repeated words (Figure 1).

Read with uniform, fixed output weights (reading E), the reading that shows both phases on the paper's axis. "Do not
change significantly in Phase 1" is read as: by the end of phase 1, by less than a quarter of the change over the run.
"""

from typing import NamedTuple

import numpy as np

from flowsys.claims import Claim, Experiment, Kit, Sides
from flowsys.runs.training import train
from flowsys.runs.trajectory import Trajectory

SCORES = ("S_12", "S_21", "S_31", "S_32")
OBSERVED = ("loss", "loss_type1", "loss_type2", "loss_type3", "loss_type4", "least_margin", *SCORES)


class Seen(NamedTuple):
    """What there is to see in a run of descent, at the epochs that were recorded."""

    all_correct: int | None
    """From which epoch on every sample is correct (None: not by the end)."""
    rises: dict[int, tuple[float, float, int]]
    """First and largest loss of types 2 and 3, and at which epoch it is largest."""
    changes: dict[str, float]
    """Changes of the scores Theorem 3.3 speaks of."""

    def __str__(self) -> str:
        rises = ", ".join(f"type {T} {a:.3f} to {b:.3f} (epoch {e})" if e else f"type {T} {a:.3f}, which is its largest"
                          for T, (a, b, e) in self.rises.items())  # fmt: skip
        correct = "not all correct" if self.all_correct is None else f"all correct from epoch {self.all_correct}"
        changes = ", ".join(f"{name} {x:+.3f}" for name, x in self.changes.items())
        return f"Rise of the losses before their fall: {rises}; {correct}; changes of scores: {changes}."


def seen_in(run: Trajectory, rate: float) -> Seen:
    """The phases of a run."""
    epoch = np.round(run.t / rate).astype(int)
    wrong = np.flatnonzero(run["least_margin"] <= 0)
    first = wrong[-1] + 1 if len(wrong) else 0
    rises = {}
    for T in (2, 3):
        loss = run[f"loss_type{T}"]
        top = int(loss.argmax())
        rises[T] = (float(loss[0]), float(loss[top]), int(epoch[top]))
    changes = {name: float(run[name][-1] - run[name][0]) for name in SCORES}
    return Seen(int(epoch[first]) if first < len(epoch) else None, rises, changes)


def two_phases(run: Kit, steps: int = 30_000) -> dict[str, bool | Sides]:
    """Figure 1: what its text says of (a) the scores and (b) the losses."""
    setup = run.setup
    trained = train(run.system, setup, variant="gram", mode="data", steps=steps, records=1500, observe=OBSERVED)
    seen, epoch = seen_in(trained, setup["learning_rate"]), trained.t / setup["learning_rate"]
    end = seen.all_correct or 0
    row = int(epoch.searchsorted(end))
    early = max(abs(float(trained[name][row] - trained[name][0])) for name in SCORES)
    whole = min(abs(change) for change in seen.changes.values())
    run.note(all_correct=end, early=early, whole=whole)
    falls = all(trained[f"loss_type{T}"][-1] < trained[f"loss_type{T}"][row] for T in (1, 2, 3, 4))
    return {
        "(a) scores in phase 1 below a quarter of their change": Sides(whole / 4, early),
        "(a) S_12, S_21 rise": min(seen.changes["S_12"], seen.changes["S_21"]) > 0,
        "(a) S_31, S_32 fall": max(seen.changes["S_31"], seen.changes["S_32"]) < 0,
        "(b) types 2 and 3 rise first": all(
            top > start + 0.02 and 0 < at < end for start, top, at in seen.rises.values()
        ),
        "(b) type 1 falls in phase 1": trained["loss_type1"][row] < trained["loss_type1"][0],
        "(b) all losses fall in phase 2": falls,
    }


CLAIMS = (
    Claim("Fig. 1", "Figure 1, Fig. 1",
          "two phases: scores flat, then + + - -; losses of types 2 and 3 rise, then all fall",
          Experiment(), two_phases, at={"reading": "E", "seed": 7}, mode="data", levels="L0", what="experiment",
          takes="n L d m1 reading data_seed share_1 share_4", control={"at": {"reading": "A", "seed": 7},
          "steps": 2000},
          is_cheap=False, note="all samples are correct from epoch {all_correct} on; scores moved by {early:.4f} until "
          "then, by {whole:.3f} at least over the run"),
)  # fmt: skip
