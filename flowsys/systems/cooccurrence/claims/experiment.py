"""Claims about the experiment of Appendix A: gradient descent on sentences with repeated words (Figure 1)."""

from functools import partial

import numpy as np

from flowsys.claims import Verdict, Word
from flowsys.systems.cooccurrence.claims.runs import claim

SCORES = ("S_12", "S_21", "S_31", "S_32")


def training_has_the_two_phases_of_figure_1(reading: str = "E", steps: int = 10_000) -> Verdict:
    """Types 2 and 3 rise before all losses fall; S_12, S_21 rise and S_31, S_32 fall, all but unmoved in phase 1."""
    from flowsys.systems.cooccurrence import SYSTEM
    from flowsys.train import train

    setup = SYSTEM.setup(m1=256, seed=7, reading=reading)
    names = ("loss", "loss_type2", "loss_type3", "least_margin", *SCORES)
    run = train(SYSTEM, setup, variant="gram", mode="data", steps=steps, records=500, observe=names)
    epoch = np.round(run.t / setup["learning_rate"]).astype(int)
    rise = {T: float(run[f"loss_type{T}"].max() - run[f"loss_type{T}"][0]) for T in (2, 3)}
    wrong = np.flatnonzero(run["least_margin"] <= 0)
    correct = int(epoch[wrong[-1] + 1]) if len(wrong) and wrong[-1] + 1 < len(epoch) else 0
    change = {name: float(run[name][-1] - run[name][0]) for name in SCORES}
    early = max(abs(float(run[name][np.searchsorted(epoch, correct // 4)] - run[name][0])) for name in SCORES)
    signs = min(change["S_12"], change["S_21"], -change["S_31"], -change["S_32"]) > 0
    both = min(rise.values()) > 0.02
    flat = early < 0.1 * max(abs(x) for x in change.values())
    word = Word.HOLDS if signs and both and flat else Word.IN_PART if signs else Word.FAILS
    return Verdict(word, "rise, then fall; signs + + - -",
                   f"types 2, 3 rise by {rise[2]:.3f}, {rise[3]:.3f}; all correct from epoch {correct}; changes of "
                   f"{', '.join(f'{k} {v:+.3f}' for k, v in change.items())}, {early:.4f} by a quarter of phase 1; "
                   f"loss {run['loss'][-1]:.4f}",
                   "Reading E of the initialisation (output weights uniform and fixed). With signs as output weights "
                   "phase 1 lasts about 20 epochs: reading A rises briefly for some seeds, B and C do not.",
                   parameters={"reading": reading, "steps": steps, "n": 60, "L": 5, "d": 64, "m": 128, "m1": 256,
                               "learning_rate": 0.01, "seed": 7},
                   values={"rise": rise, "all_correct": correct, "change": change})  # fmt: skip


CLAIMS = (
    claim("Figure 1", training_has_the_two_phases_of_figure_1,
          partial(training_has_the_two_phases_of_figure_1, "C", 1000), "Appendix A", is_cheap=False),
)  # fmt: skip
