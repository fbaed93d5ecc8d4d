"""Claims about the experiment of Appendix A: gradient descent on sentences with repeated words (Figure 1)."""

from functools import partial

import numpy as np

from flowsys.claims import Verdict, Word
from flowsys.claims.conditions import chosen_parameters
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence.claims.runs import claim

SCORES = ("S_12", "S_21", "S_31", "S_32")
NAMED = ("reading", "n", "L", "d", "width", "m1", "learning_rate", "seed", "data_seed")


def training_has_the_two_phases_of_figure_1(reading: str = "E", steps: int = 10_000) -> Verdict:
    """Types 2 and 3 rise before all losses fall; S_12, S_21 rise and S_31, S_32 fall, all but unmoved in phase 1."""
    from flowsys.runs.training import train
    from flowsys.systems.cooccurrence.figures import seen_in

    setup = SYSTEM.setup("data", **({"seed": 7, "reading": reading} | chosen_parameters({})))
    names = ("loss", "loss_type2", "loss_type3", "least_margin", *SCORES)
    run = train(SYSTEM, setup, variant="gram", mode="data", steps=steps, records=500, observe=names)
    seen, epoch = seen_in(run, setup["learning_rate"]), run.t / setup["learning_rate"]
    # a rise that is no single overshooting step: its top comes after many epochs, and before all samples are correct
    correct = seen.all_correct or 0
    rise = all(top > start + 0.02 and 100 < at < correct for start, top, at in seen.rises.values())
    quarter = int(np.searchsorted(epoch, correct / 4))
    early = max(abs(float(run[name][quarter] - run[name][0])) for name in SCORES)
    flat = early < 0.1 * max(abs(x) for x in seen.changes.values())
    signs = min(seen.changes["S_12"], seen.changes["S_21"]) > 0 > max(seen.changes["S_31"], seen.changes["S_32"])
    word = Word.HOLDS if signs and rise and flat else Word.IN_PART if signs else Word.FAILS
    return Verdict(word, "rise, then fall; signs + + - -",
                   f"{seen} Largest change by a quarter of phase 1: {early:.4f}; loss {run['loss'][-1]:.4f}.",
                   "Reading E of the initialisation (output weights uniform and fixed). With signs as output weights "
                   "phase 1 lasts 9 to 22 epochs (readings A, B, C, 16 starts), and a rise, if there is one, is over "
                   "within 5 epochs; the signs of the scores are the same.",
                   parameters={name: setup[name] for name in NAMED} | {"steps": steps},
                   values={"rise": seen.rises, "all_correct": correct, "change": seen.changes})  # fmt: skip


CLAIMS = (
    claim("Figure 1", training_has_the_two_phases_of_figure_1,
          partial(training_has_the_two_phases_of_figure_1, "A", 1000), "Appendix A", is_cheap=False,
          levels="L0", takes="n L d m1 reading data_seed share_1 share_4"),
)  # fmt: skip
