"""What is observed of the model, each number declared once for every level.

`readings` are the names, their meanings and how each is read off what is seen of the model: a, b, H and entries of W as
means over orbits of relabelling, gradients those of the loss, losses and attention masses by the query's step. The
stated limits see them as symbols (`statement`), levels that follow prompts as means over these (`Seen`). Measures are
taken of recorded states: how well unseen tasks are solved, and errors on test prompts (`testing`).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from flowsys.model import numeric
from flowsys.system.names import observables
from flowsys.systems.prompt import testing
from flowsys.systems.prompt.examples import Law
from flowsys.systems.prompt.model import MASSES, loss, mass_rates, masses, shown
from flowsys.systems.prompt.symmetric import Orbits, mean_column_gradients
from flowsys.systems.prompt.tasks import unseen

ENTRIES = {"A_s": "input × same", "A_d": "input × other", "B_s": "output × same", "B_d": "output × other"}
KINDS = tuple(MASSES)


def mean(values: Sequence) -> Any:
    return sum(values) / len(values)


def _read(name: str, meaning: str, read: Callable, **labels: Any) -> dict[str, Callable]:
    """Observables by name, as functions of (ops, what is seen); the meaning of one is its docstring."""
    return observables(name, meaning, lambda *at: lambda ops, s: read(ops, s, *at), **labels)


def mass_readings() -> dict[str, Callable]:
    """What is read off the four masses at every query step; 1 - p is summed, so that it stays exact near 0."""
    parts = lambda s, *kinds: [sum(x[i] for i in kinds) for x in s.masses]
    return {
        **_read("mass_<kind>", "attention on <kind>, mean over query steps",
                lambda ops, s, kind: mean(parts(s, KINDS.index(kind))), kind=MASSES),
        **_read("mass_other_step", "attention on other steps, mean over query steps",
                lambda ops, s: mean(parts(s, 1, 3))),
        **_read("mass_other_step_max", "attention on other steps, largest over query steps (T_1)",
                lambda ops, s: ops.largest(parts(s, 1, 3))),
        **_read("log_other_step_max", "its logarithm", lambda ops, s: ops.log(ops.largest(parts(s, 1, 3)))),
        **_read("p_min", "attention on the query's pattern and step, smallest over query steps (T_2)",
                lambda ops, s: ops.smallest(parts(s, 0))),
        **_read("log_missed_max", "log(1 - p_min) without cancellation (T_3)",
                lambda ops, s: ops.log(ops.largest(parts(s, 1, 2, 3)))),
        **_read("purity", "p/(p + q): share of the query's pattern in the attention on its step, alpha while unlearnt",
                lambda ops, s: mean(parts(s, 0)) / mean(parts(s, 0, 2))),
    }  # fmt: skip


def readings(K: int) -> dict[str, Callable]:
    """Every name of the population system of K steps."""
    steps, row = "123456789"[:K], lambda step: int(step) - 1
    lead = lambda H: (H.trace() - (H.sum() - H.trace()) / (K - 1)) / K
    return {
        **_read("a", "score gained by a column whose input is the query's pattern", lambda ops, s: s.scores.a),
        **_read("b", "score gained by a column whose label is the query's pattern", lambda ops, s: s.scores.b),
        **_read("H_<i><k>", "score of a column of step <i> for a query at step <k>",
                lambda ops, s, i, k: s.scores.H[row(i), row(k)], i=steps, k=steps),
        **_read("g", "score of the query's step over other steps, mean over query steps",
                lambda ops, s: lead(s.scores.H)),
        **_read("loss_<k>", "population loss of queries at step <k>", lambda ops, s, k: s.losses[row(k)], k=steps),
        **mass_readings(),
        **_read("mass_<kind>_<k>", "attention on <kind>, query at step <k>",
                lambda ops, s, kind, k: s.masses[row(k)][KINDS.index(kind)], kind=MASSES, k=steps),
        **_read("rate_mass_other_same", "time derivative of mass_other_same (T_peak)", lambda ops, s: s.rate),
        **_read("<x>", "<x> query pattern entry of W", lambda ops, s, x: getattr(s.entries, x), x=ENTRIES),
        **_read("C_<i>", "step <i> × query pattern entry of W", lambda ops, s, i: s.entries.C[row(i)], i=steps),
        **_read("G_<i><k>", "step <i> × query step <k> entry of W", lambda ops, s, i, k: s.entries.G[row(i), row(k)],
                i=steps, k=steps),
        **_read("gamma_<x>", "loss gradient of the <x> query pattern entry", lambda ops, s, x: getattr(s.gradients, x),
                x=ENTRIES),
        **_read("Gamma_<kind>", "gradient of Lemmas F.5 and F.7 for a column of <kind>, mean",
                lambda ops, s, kind: mean_column_gradients(s.gradients)[KINDS.index(kind)], kind=MASSES),
    }  # fmt: skip


# -- at levels that follow prompts ------------------------------------------------------------------------------------


def orbit_means(S: Any, M: int) -> Orbits:
    """Orbit means of the frame entries S (2M + K, M + K)."""

    def same_and_other(block: Any) -> tuple[Any, Any]:
        same = (np.eye(M, dtype=int) * block).sum() / M
        return same, (block.sum() - M * same) / (M * (M - 1))

    C = S[2 * M :, :M].sum(axis=1) / M
    return Orbits(*same_and_other(S[:M, :M]), *same_and_other(S[M : 2 * M, :M]), C=C, G=S[2 * M :, M:])


class Seen:
    """What prompts show of a model: means over them, by the query's step; each part is found when it is asked for."""

    def __init__(self, ops: Any, w: Any, X: Any, p: Any):
        self.ops, self.w, self.X, self.p = ops, w, X, p

    shown = property(lambda self: shown(self.ops, self.w, self.X, self.p))
    entries = property(lambda self: orbit_means(self.w.W, self.p.M))
    gradients = property(lambda self: orbit_means(-self.w.rates.W, self.p.M))
    scores = property(lambda self: self.entries.scores)
    losses = property(lambda self: self._by_step("losses", lambda: loss(*self.shown)))
    masses = property(lambda self: self._by_step("masses", lambda: masses(self.ops, *self.shown)))

    @property
    def rate(self) -> Any:
        """Of mass_other_same."""
        attention, columns = self.shown
        moving = mass_rates(self.ops, attention, self.w.rates.W, columns)
        return (self.X.weight * moving[:, KINDS.index("other_same")]).sum()

    def _by_step(self, what: str, of_prompts: Callable) -> Any:
        X, K = self.X, self.p.K
        of_step = lambda values: [(K * (X.step == k) * X.weight * values.T).T.sum(axis=0) for k in range(K)]
        return self.w.once(f"{what} by step", X, lambda: of_step(of_prompts()))


def _pattern_spread(ops: Any, w: Any, X: Any, p: Any) -> Any:
    d = (np.eye(p.M, dtype=int) * w.W[: p.M, : p.M]).sum(axis=1)
    return ops.sqrt(((d - d.sum() / p.M) ** 2).sum() / p.M)


def observe(p: Any) -> dict[str, Callable]:
    """Everything the population system of K steps reports, and the spread over patterns."""
    of = lambda read: lambda ops, w, X, p: read(ops, Seen(ops, w, X, p))
    found = observables("sd_A_s", "standard deviation of the input × same query pattern entries over patterns; 0 in "
                        "the population", lambda: partial(_pattern_spread))  # fmt: skip
    for name, read in readings(p.K).items():
        found |= observables(name, read.__doc__ or "", partial(of, read))
    return found


# -- measures ---------------------------------------------------------------------------------------------------------


def _on_unseen(w: Any, X: Any, p: Any, read: Callable) -> float:
    """What is read off the prompts of unseen random tasks."""
    return float(read(numeric, Seen(numeric, w, unseen(p), p)))


def measures(law: Law | None) -> dict[str, Callable]:
    """What is measured of recorded states, test prompts drawn from a law or by the parameters."""
    of_unseen, mean_loss = lambda read: partial(_on_unseen, read=read), lambda ops, s: mean(s.losses)
    of_test = lambda name: lambda w, X, p: testing.value(name, p, w.W, law)
    found = observables("loss_test", "finite levels: loss on unseen random tasks", lambda: of_unseen(mean_loss))
    found |= observables("mass_same_same_test", "finite levels: attention on the query's pattern and step on unseen "
                         "random tasks", lambda: of_unseen(mass_readings()["mass_same_same"]))  # fmt: skip
    for name, (meaning, _) in testing.TESTED.items():
        found |= observables(name, meaning, partial(of_test, name))
    return found
