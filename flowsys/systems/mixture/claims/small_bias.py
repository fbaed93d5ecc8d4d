"""A small bias with longer samples [ours]: what is learnt with exact and with smoothed kinks, and at finite width.

The paper takes b to be a sufficiently small constant, for K = 2 and L = 3. For L ≥ 4 simultaneous training can get
stuck with w_c < 0. There gates of different orbits share a surface up to about 1e-6, so that what happens depends on
whether the kinks are followed exactly or smoothed, and finite widths need not follow the limit.
"""

from typing import Any

import numpy as np

from flowsys.claims import Claim, Identity, Kit, Sides
from flowsys.systems.mixture.claims.measured import SEEN

SMOOTHED = 1e-3
KINKS = {"exact": None, "smoothed": SMOOTHED}
SHORT = [{"K": K, "L": 3, "b": b} for K in (2, 3, 4) for b in (0.1, 0.5)]
LONGER = [{"K": K, "L": L, "b": b} for K, L, b in ((2, 4, 0.1), (3, 4, 0.1), (4, 4, 0.1), (2, 5, 0.5), (3, 5, 0.5),
          (3, 6, 0.1))]  # fmt: skip
MORE = [{"K": K, "L": L, "b": b} for K, L, b in ((3, 3, 0.1), (4, 3, 0.1), (3, 3, 0.5), (4, 3, 0.5), (3, 4, 0.5),
        (4, 4, 0.5), (3, 4, 0.1), (4, 4, 0.1), (3, 5, 0.5), (3, 5, 1.0), (3, 6, 0.5), (3, 6, 0.1))]  # fmt: skip
FRAGILE = [{"K": 2, "L": 4, "b": b, "width": 500} for b in (0.1, 0.5)]


def _end(run: Kit, kink_width: float | None) -> dict[str, float]:
    """Simultaneous training at t = 800 K."""
    end = 800.0 * run.p.K
    return run.at(t_max=end, rtol=1e-8).values(end, observe=SEEN, kink_width=kink_width)


def accuracies(run: Kit) -> dict[str, Sides]:
    """The accuracy in the end, with exact and with smoothed kinks, against 1."""
    found = {}
    for kinks, width in KINKS.items():
        v = _end(run, width)
        run.note(**{kinks: [*run.noted.get(kinks, ()), (round(v["accuracy"], 4), round(v["w_c"], 2))]})
        found[kinks] = Sides(v["accuracy"], 1.0)
    return found


def signs_of_group_neuron(run: Kit) -> dict[str, Sides]:
    """sign w_c at t = 150 K of stage 1 alone, against its sign in the end of simultaneous training."""
    alone = run.at(mode="three_stage", T_1=150.0 * run.p.K).values("T_1", observe=SEEN)["w_c"]
    found = {kinks: Sides(np.sign(alone), np.sign(_end(run, width)["w_c"])) for kinks, width in KINKS.items()}
    for kinks, sides in found.items():
        run.note(**{kinks: run.noted.get(kinks, 0) + int(sides.left[0] == sides.right[0])})
    return found


def accuracy_at_finite_width(run: Kit, seeds: int = 2, level: str = "L2") -> Sides:
    """The accuracy at t = 150 of the finite-width flow from random starts, against the limit's."""
    limit = run.at(level="L3").values(150.0, observe=SEEN)["accuracy"]
    found = [kit.at(level=level, rtol=1e-8).values(150.0, observe=SEEN)["accuracy"] for kit in run.over_seeds(seeds)]
    run.note(limit=[*run.noted.get("limit", ()), limit], finite=[*run.noted.get("finite", ()), found])
    return Sides(found, limit)


COMMON: dict[str, Any] = {"mode": "simultaneous", "levels": "L3", "takes": ""}
CLAIMS = [
    Claim("small_bias", "Algorithm 1 [ours]", "with L = 3 a small bias lets simultaneous training learn every sample",
          Identity(1e-9), accuracies, at=SHORT, **COMMON, control={"at": LONGER}),
    Claim("small_bias-longer", "Algorithm 1 [ours]", "with L ≥ 4 it does so too", Identity(1e-9), accuracies, at=LONGER,
          **COMMON, control={"at": SHORT},
          note="(accuracy, w_c) with exact kinks {exact}, with smoothed ones {smoothed}"),
    Claim("phase_predictor", "Algorithm 1 [ours]", "the sign of w_c after stage 1 alone is that of training everything",
          Identity(1e-9), signs_of_group_neuron, at=MORE, **COMMON, control={"at": MORE[:4]},
          note="places that agree: {exact} with exact kinks, {smoothed} with smoothed ones"),
    Claim("longer_limit", "Definition 5.1 [ours]", "with L ≥ 4 finite widths follow the limit too", Identity(1e-9),
          accuracy_at_finite_width, at=FRAGILE, **COMMON, is_cheap=False, control={"level": "L3"},
          note="accuracy of the limit {limit}, at finite width {finite}"),
]  # fmt: skip
