"""What several claims measure: rates along a run, samples, scores and attention of a head from the limit's entries."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flowsys.claims import Kit
from flowsys.integrate.multistep import numpy_observer
from flowsys.runs.asking import field
from flowsys.runs.solving import double_precision
from flowsys.runs.trajectory import Trajectory
from flowsys.systems.mixture import SYSTEM
from flowsys.systems.mixture.margin import head_features
from flowsys.systems.mixture.observables import CLASSES, OBSERVE, block_of

SEEN = ("loss", *OBSERVE)
ENTRIES = tuple(CLASSES)
MATRICES = tuple(name.removesuffix("_same") for name in CLASSES if name.endswith("_same"))
SCORES = MATRICES[:4]


def rates(there: Trajectory, stage: int) -> dict[str, np.ndarray]:
    """d/dt of w_c, w_v and all entries in a stage: they are linear in the state, so what is observed of its rate."""
    origin = there.origin
    flow = field(SYSTEM, SYSTEM.setup(origin.mode, **origin.parameters), level=origin.level, variant=origin.variant,
                 mode=origin.mode, stage=stage)  # fmt: skip
    with double_precision(flow.problem):
        see, arguments = numpy_observer(flow.problem.field, ENTRIES), flow.problem.stages[stage].arguments
        rows = [np.asarray(see(rate, arguments)) for rate in flow(there.states)]
    return dict(zip(ENTRIES, np.array(rows).T))


def stage_2(run: Kit) -> Trajectory:
    """The course of stage 2, T_1 excluded; in simultaneous training all of (0, T_2]."""
    return run.course(0.0 if run.mode == "simultaneous" else "T_1", "T_2", observe=SEEN)


def exactly(tolerance: float = 1e-9):
    """The tolerance of an exact identity of the limit; a random start adds of the order of ω² m^-1/2, here 10 times."""
    return lambda run: tolerance + (10 * run.p.omega**2 / run.p.width**0.5 if run.is_finite else 0.0)


def slope_of_loss(f: Any) -> Any:
    """g = 1 / (1 + e^(y f))."""
    return 1 / (1 + np.exp(f))


def all_samples(K: int, L: int):
    """The declared samples of a size."""
    return SYSTEM.concrete(SYSTEM.setup(K=K, L=L), "L2", "simultaneous").populations[0].samples


def matrix_of(v: Mapping[str, float], K: int, head: int = 1, name: str = "S") -> np.ndarray:
    """The 2K × 2K matrix of a head from the limit's entries; the negative head has its v-signs flipped."""
    return block_of(name, v, K)[0 if head == 1 else 1]


def neurons_of(v: Mapping[str, float], K: int, head: int = 1) -> np.ndarray:
    """w_± from the limit's w_c and w_v."""
    return block_of("w", v, K)[0 if head == 1 else 1]


def row_of(there: Trajectory, row: int) -> dict[str, float]:
    """The observables of one row."""
    return {name: there[name][row] for name in there}


def outputs(X, heads: Mapping[int, tuple[np.ndarray, np.ndarray]], b: float) -> tuple[np.ndarray, dict]:
    """f of every sample, and H_± + b, of the heads' (neurons, scores)."""
    H = {h: head_features(X, S) @ w + b for h, (w, S) in heads.items()}
    return np.maximum(H[1], 0) - np.maximum(H[-1], 0), H
