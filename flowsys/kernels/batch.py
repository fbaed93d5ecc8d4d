"""Trajectories to integrate together, and what became of them: values on NumPy arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

METHODS = ("auto", "explicit", "implicit")
Data = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class StageBatch:
    """One stage of all trajectories.

    `parameters` is (P,) or (n, P); `tables` maps a table to (columns, rows), `links` a link to (parent rows, child
    rows), each optionally with a leading axis n. The stage ends at `until` (a number or (n,)) or on the event with
    the index `ends_on`, whichever comes first; the last stage ends at t_max.
    """

    parameters: np.ndarray
    tables: Data = field(default_factory=dict)
    links: Data = field(default_factory=dict)
    until: np.ndarray | float | None = None
    ends_on: int | None = None


@dataclass(frozen=True)
class Batch:
    """Initial-value problems of one kernel.

    Event e is the crossing of the kernel's watched observable `watches[e]` (e, unless said otherwise): of `thresholds`
    (E,) or (n, E), upwards or downwards as `directions` (E,) says; `requested` (E,) tells which ones a trajectory must
    reach to be complete (all, unless said otherwise); a NaN threshold asks for nothing. `times` (T,) or (n, T),
    ascending, are hit exactly; NaN and inf at the end mean none.
    A trajectory ends once it has all it was asked for. `method` is one of `METHODS`; `alone` says that auto
    need not expect company, with which explicit steps are cheaper: a run of its own, not one of a sweep.
    """

    initial: np.ndarray
    stages: Sequence[StageBatch]
    thresholds: np.ndarray | Sequence[float] = ()
    directions: np.ndarray | Sequence[float] = ()
    watches: np.ndarray | Sequence[int] | None = None
    requested: np.ndarray | Sequence[bool] | None = None
    times: np.ndarray | Sequence[float] = ()
    t_max: np.ndarray | float = 1e6
    start: np.ndarray | float = 0.0
    rtol: np.ndarray | float = 1e-8
    atol: np.ndarray | float = 1e-12
    kink_width: np.ndarray | float = 0.0
    max_steps: int = 1_000_000
    max_kinks: int = 10_000
    method: str = "auto"
    alone: bool = False
    log_size: int = 0
    keeps_gates: bool = False


@dataclass(frozen=True)
class BatchResult:
    """What became of every trajectory; a NaN stands only beside an outcome that says why.

    `statistics` has the columns of `COLUMNS`. `log` rows are (kind, t, gates): a switch (0), on how many surfaces the
    flow slides from there on (-1: none any more), a change to implicit (-2; gates tells whether for stiffness) and back
    to explicit steps (-3), as many as `log_size` allows.
    """

    outcome: np.ndarray
    event_times: np.ndarray
    event_states: np.ndarray
    event_stages: np.ndarray
    event_slides: np.ndarray
    reached: np.ndarray
    times: np.ndarray
    time_states: np.ndarray
    time_stages: np.ndarray
    time_slides: np.ndarray
    final_t: np.ndarray
    final_state: np.ndarray
    final_stage: np.ndarray
    final_gates: np.ndarray
    statistics: np.ndarray
    log: np.ndarray
    log_counts: np.ndarray

    COLUMNS = ("steps", "rejected", "evaluations", "kinks", "slides", "trials", "implicit_steps")

    def statistic(self, name: str) -> np.ndarray:
        return self.statistics[:, self.COLUMNS.index(name)]
