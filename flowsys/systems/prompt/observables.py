"""What is observed of the model, each number declared once for every level.

A `Seen` holds what a level knows: a, b, H and entries of W as means over orbits of relabelling, gradients those of the
loss, losses and attention masses by the query's step. `readings` are the names, their meanings and how each is read
off it: by the stated limit (`statement`) from its symbols, by levels that follow prompts from these. Measures are taken
of recorded states: how well unseen tasks are solved, and errors on test prompts (`testing`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from flowsys.model import numeric
from flowsys.system.names import observables
from flowsys.systems.prompt import testing
from flowsys.systems.prompt.model import MASSES, mass_rates, masses, prompt_attention, prompt_loss, shown
from flowsys.systems.prompt.symmetric import Orbits, mean_column_gradients
from flowsys.systems.prompt.tasks import unseen
from flowsys.systems.prompt.transitions import Law

ENTRIES = {"A_s": "input × same", "A_d": "input × other", "B_s": "output × same", "B_d": "output × other"}
KINDS = tuple(MASSES)


@dataclass(frozen=True)
class Seen:
    """What is known of the model at a state, by the query's step; each part is found when it is asked for."""

    masses: Callable[[], Any]  # K × 4, `MASSES`
    rate: Callable[[], Any] = lambda: None  # of mass_other_same
    scores: Callable[[], Any] = lambda: None  # SymmetricScores
    losses: Callable[[], Any] = lambda: None  # K
    entries: Callable[[], Any] = lambda: None  # Orbits
    gradients: Callable[[], Any] = lambda: None  # Orbits


class Readings(dict[str, Callable]):
    """Observables by name, as functions of (ops, Seen); the meaning of one is its docstring."""

    def declare(self, name: str, meaning: str, read: Callable, **labels: Any) -> None:
        self.update(observables(name, meaning, lambda *at: lambda ops, s: read(ops, s, *at), **labels))


def mean(values: Sequence) -> Any:
    return sum(values) / len(values)


def mass_readings() -> Readings:
    """What is read off the four masses at every query step; 1 - p is summed, so that it stays exact near 0."""
    found = Readings()
    parts = lambda s, *kinds: [sum(x[i] for i in kinds) for x in s.masses()]
    found.declare("mass_<kind>", "attention on <kind>, mean over query steps",
                  lambda ops, s, kind: mean(parts(s, KINDS.index(kind))), kind=MASSES)  # fmt: skip
    found.declare("mass_other_step", "attention on other steps, mean over query steps",
                  lambda ops, s: mean(parts(s, 1, 3)))  # fmt: skip
    found.declare("mass_other_step_max", "attention on other steps, largest over query steps (T_1)",
                  lambda ops, s: ops.largest(parts(s, 1, 3)))  # fmt: skip
    found.declare("log_other_step_max", "its logarithm", lambda ops, s: ops.log(ops.largest(parts(s, 1, 3))))
    found.declare("p_min", "attention on the query's pattern and step, smallest over query steps (T_2)",
                  lambda ops, s: ops.smallest(parts(s, 0)))  # fmt: skip
    found.declare("log_missed_max", "log(1 - p_min) without cancellation (T_3)",
                  lambda ops, s: ops.log(ops.largest(parts(s, 1, 2, 3))))  # fmt: skip
    found.declare("purity", "p/(p + q): share of the query's pattern in the attention on its step, alpha while "
                  "unlearnt", lambda ops, s: mean(parts(s, 0)) / mean(parts(s, 0, 2)))  # fmt: skip
    return found


def readings(K: int) -> Readings:
    """Every name of the population system of K steps."""
    found, steps, row = Readings(), "123456789"[:K], lambda step: int(step) - 1
    lead = lambda H: (H.trace() - (H.sum() - H.trace()) / (K - 1)) / K
    add = found.declare
    add("a", "score gained by a column whose input is the query's pattern", lambda ops, s: s.scores().a)
    add("b", "score gained by a column whose label is the query's pattern", lambda ops, s: s.scores().b)
    add("H_<i><k>", "score of a column of step <i> for a query at step <k>",
        lambda ops, s, i, k: s.scores().H[row(i), row(k)], i=steps, k=steps)  # fmt: skip
    add("g", "score of the query's step over other steps, mean over query steps", lambda ops, s: lead(s.scores().H))
    add("loss_<k>", "population loss of queries at step <k>", lambda ops, s, k: s.losses()[row(k)], k=steps)
    found.update(mass_readings())
    add("mass_<kind>_<k>", "attention on <kind>, query at step <k>",
        lambda ops, s, kind, k: s.masses()[row(k)][KINDS.index(kind)], kind=MASSES, k=steps)  # fmt: skip
    add("rate_mass_other_same", "time derivative of mass_other_same (T_peak)", lambda ops, s: s.rate())
    add("<x>", "<x> query pattern entry of W", lambda ops, s, x: getattr(s.entries(), x), x=ENTRIES)
    add("C_<i>", "step <i> × query pattern entry of W", lambda ops, s, i: s.entries().C[row(i)], i=steps)
    add("G_<i><k>", "step <i> × query step <k> entry of W", lambda ops, s, i, k: s.entries().G[row(i), row(k)],
        i=steps, k=steps)  # fmt: skip
    add("gamma_<x>", "loss gradient of the <x> query pattern entry", lambda ops, s, x: getattr(s.gradients(), x),
        x=ENTRIES)  # fmt: skip
    add("Gamma_<kind>", "gradient of Lemmas F.5 and F.7 for a column of <kind>, mean",
        lambda ops, s, kind: mean_column_gradients(s.gradients())[KINDS.index(kind)], kind=MASSES)  # fmt: skip
    return found


# -- at levels that follow prompts ------------------------------------------------------------------------------------


def orbit_means(S: Any, M: int) -> Orbits:
    """Orbit means of the frame entries S (2M + K, M + K)."""

    def same_and_other(block: Any) -> tuple[Any, Any]:
        same = (np.eye(M, dtype=int) * block).sum() / M
        return same, (block.sum() - M * same) / (M * (M - 1))

    C = S[2 * M :, :M].sum(axis=1) / M
    return Orbits(*same_and_other(S[:M, :M]), *same_and_other(S[M : 2 * M, :M]), C=C, G=S[2 * M :, M:])


def seen(ops: Any, w: Any, X: Any, p: Any) -> Seen:
    """What prompts show of a model: means over them, by the query's step."""
    prompts, π = lambda: shown(w, X, p), lambda: prompt_attention(ops, w, X, p)
    of_step = lambda values: [(p.K * (X.step == k) * X.weight * values.T).T.sum(axis=0) for k in range(p.K)]
    rates = lambda: mass_rates(ops, π(), w.rates.W, prompts())[:, KINDS.index("other_same")]
    return Seen(
        masses=lambda: w.once("masses by step", X, lambda: of_step(masses(ops, π(), prompts()))),
        rate=lambda: (X.weight * rates()).sum(),
        scores=lambda: orbit_means(w.W, p.M).scores,
        losses=lambda: w.once("losses by step", X, lambda: of_step(prompt_loss(ops, w, X, p))),
        entries=lambda: orbit_means(w.W, p.M),
        gradients=lambda: orbit_means(-w.rates.W, p.M),
    )


def _pattern_spread(ops: Any, w: Any, X: Any, p: Any) -> Any:
    d = (np.eye(p.M, dtype=int) * w.W[: p.M, : p.M]).sum(axis=1)
    return ops.sqrt(((d - d.sum() / p.M) ** 2).sum() / p.M)


def observe(p: Any) -> dict[str, Callable]:
    """Everything the population system of K steps reports, and the spread over patterns."""
    of = lambda read: lambda ops, w, X, p: read(ops, seen(ops, w, X, p))
    found = observables("sd_A_s", "standard deviation of the input × same query pattern entries over patterns; 0 in "
                        "the population", lambda: partial(_pattern_spread))  # fmt: skip
    for name, read in readings(p.K).items():
        found |= observables(name, read.__doc__ or "", partial(of, read))
    return found


# -- measures ---------------------------------------------------------------------------------------------------------


def _on_unseen(w: Any, X: Any, p: Any, read: Callable) -> float:
    """What is read off the prompts of unseen random tasks."""
    return float(read(numeric, seen(numeric, w, unseen(p), p)))


def measures(law: Law | None) -> dict[str, Callable]:
    """What is measured of recorded states, test prompts drawn from a law or by the parameters."""
    of_unseen, loss = lambda read: partial(_on_unseen, read=read), lambda ops, s: mean(s.losses())
    of_test = lambda name: lambda w, X, p: testing.value(name, p, w.W, law)
    found = observables("loss_test", "finite levels: loss on unseen random tasks", lambda: of_unseen(loss))
    found |= observables("mass_same_same_test", "finite levels: attention on the query's pattern and step on unseen "
                         "random tasks", lambda: of_unseen(mass_readings()["mass_same_same"]))  # fmt: skip
    for name, (meaning, _) in testing.TESTED.items():
        found |= observables(name, meaning, partial(of_test, name))
    return found
