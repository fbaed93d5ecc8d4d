"""What is observed of the model, each number declared once for every level.

A `Seen` holds what a level knows: a, b, H and entries of W as means over orbits of relabelling, gradients those of the
loss, losses and attention masses by the query's step. `readings` are the names, their meanings and how each is read
off it: by the stated limit (`statement`) from its symbols, by levels that follow prompts from these. Measures are taken
of recorded states: how well unseen tasks are solved, and errors on test prompts (`testing`).
"""

from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from flowsys.system.names import observables
from flowsys.systems.prompt import testing
from flowsys.systems.prompt.model import MASSES, prompt_loss, prompt_mass_rates, prompt_masses
from flowsys.systems.prompt.symmetric import Orbits, SymmetricScores, mean_column_gradients
from flowsys.systems.prompt.tasks import unseen
from flowsys.systems.prompt.transitions import Law

ENTRIES = {"A_s": "input × same", "A_d": "input × other", "B_s": "output × same", "B_d": "output × other"}
KINDS = tuple(MASSES)


class Seen(NamedTuple):
    """What is known of the model at a state; each part is found when it is asked for."""

    scores: Callable[[], SymmetricScores]
    losses: Callable[[], Sequence]  # K
    masses: Callable[[], Sequence]  # K × 4, `MASSES`
    entries: Callable[[], Orbits]
    gradients: Callable[[], Orbits]
    rate: Callable[[], Any]  # of mass_other_same


def mean(values: Sequence) -> Any:
    return sum(values) / len(values)


def mass_readings() -> dict[str, Callable]:
    """What is read off the four masses at every query step; 1 - p is summed, so that it stays exact near 0."""
    parts = lambda m, *kinds: [sum(x[i] for i in kinds) for x in m]
    largest = lambda ops, values: ops.largest(values) if len(values) > 1 else values[0]
    smallest = lambda ops, values: ops.smallest(values) if len(values) > 1 else values[0]
    declared: dict[str, tuple[str, Callable]] = {
        "mass_other_step": ("attention on other steps, mean over query steps", lambda ops, m: mean(parts(m, 1, 3))),
        "mass_other_step_max": ("attention on other steps, largest over query steps (T_1)",
                                lambda ops, m: largest(ops, parts(m, 1, 3))),
        "log_other_step_max": ("its logarithm", lambda ops, m: ops.log(largest(ops, parts(m, 1, 3)))),
        "p_min": ("attention on the query's pattern and step, smallest over query steps (T_2)",
                  lambda ops, m: smallest(ops, parts(m, 0))),
        "log_missed_max": ("log(1 - p_min) without cancellation (T_3)",
                           lambda ops, m: ops.log(largest(ops, parts(m, 1, 2, 3)))),
        "purity": ("p/(p + q): share of the query's pattern in the attention on its step, alpha while unlearnt",
                   lambda ops, m: mean(parts(m, 0)) / mean(parts(m, 0, 2))),
    }  # fmt: skip
    found = observables("mass_<kind>", "attention on <kind>, mean over query steps",
                        lambda kind: lambda ops, m: mean(parts(m, KINDS.index(kind))), kind=MASSES)  # fmt: skip
    for name, (meaning, read) in declared.items():
        found |= observables(name, meaning, lambda read=read: read)
    return found


def readings(K: int) -> dict[str, Callable]:
    """Every name of the population system of K steps, as a function of what is seen; its meaning is its docstring."""
    found: dict[str, Callable] = {}
    steps, row = "123456789"[:K], lambda step: int(step) - 1

    def declare(name: str, meaning: str, read: Callable, **labels: Any) -> None:
        found.update(observables(name, meaning, lambda *at: lambda ops, s: read(s, *at), **labels))

    declare("a", "score gained by a column whose input is the query's pattern", lambda s: s.scores().a)
    declare("b", "score gained by a column whose label is the query's pattern", lambda s: s.scores().b)
    declare("H_<i><k>", "score of a column of step <i> for a query at step <k>",
            lambda s, i, k: s.scores().H[row(i), row(k)], i=steps, k=steps)  # fmt: skip
    lead = lambda H: (H.trace() - (H.sum() - H.trace()) / (K - 1)) / K
    declare("g", "score of the query's step over other steps, mean over query steps", lambda s: lead(s.scores().H))
    declare("loss_<k>", "population loss of queries at step <k>", lambda s, k: s.losses()[row(k)], k=steps)
    for name, read in mass_readings().items():
        found |= observables(name, read.__doc__ or "", lambda read=read: lambda ops, s: read(ops, s.masses()))
    declare("mass_<kind>_<k>", "attention on <kind>, query at step <k>",
            lambda s, kind, k: s.masses()[row(k)][KINDS.index(kind)], kind=MASSES, k=steps)  # fmt: skip
    declare("rate_mass_other_same", "time derivative of mass_other_same (T_peak)", lambda s: s.rate())
    declare("<x>", "<x> query pattern entry of W", lambda s, x: getattr(s.entries(), x), x=ENTRIES)
    declare("C_<i>", "step <i> × query pattern entry of W", lambda s, i: s.entries().C[row(i)], i=steps)
    declare("G_<i><k>", "step <i> × query step <k> entry of W", lambda s, i, k: s.entries().G[row(i), row(k)],
            i=steps, k=steps)  # fmt: skip
    declare("gamma_<x>", "loss gradient of the <x> query pattern entry", lambda s, x: getattr(s.gradients(), x),
            x=ENTRIES)  # fmt: skip
    declare("Gamma_<kind>", "gradient of Lemmas F.5 and F.7 for a column of <kind>, mean",
            lambda s, kind: mean_column_gradients(s.gradients())[KINDS.index(kind)], kind=MASSES)  # fmt: skip
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
    of_steps = [p.K * (1 * (X.step == k)) * X.weight for k in range(p.K)]
    masses = lambda: [(part.reshape(-1, 1) * prompt_masses(ops, w, X, p)).sum(axis=0) for part in of_steps]
    losses = lambda: [(part * prompt_loss(ops, w, X, p)).sum() for part in of_steps]
    return Seen(
        scores=lambda: orbit_means(w.W, p.M).scores,
        losses=lambda: w.once("loss by step", X, losses),
        masses=lambda: w.once("masses by step", X, masses),
        entries=lambda: orbit_means(w.W, p.M),
        gradients=lambda: orbit_means(-w.rates.W, p.M),
        rate=lambda: (X.weight * prompt_mass_rates(ops, w, X, p)[:, KINDS.index("other_same")]).sum(),
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


def _on_unseen(w: Any, X: Any, p: Any, of: Callable) -> float:
    """A mean over the prompts of unseen random tasks."""
    import jax

    from flowsys.model import ops

    with jax.enable_x64(True):
        return float(np.asarray(of(ops, w, unseen(p), p)).mean())


def measures(law: Law | None) -> dict[str, Callable]:
    """What is measured of recorded states, test prompts drawn from a law or by the parameters."""
    same_mass = lambda ops, w, X, p: prompt_masses(ops, w, X, p)[:, 0]
    of_test = lambda name: lambda w, X, p: testing.value(name, partial(getattr, p), w.W, law)
    found = {
        **observables("loss_test", "finite levels: loss on unseen random tasks",
                      lambda: partial(_on_unseen, of=prompt_loss)),
        **observables("mass_same_same_test", "finite levels: attention on the query's pattern and step on unseen "
                      "random tasks", lambda: partial(_on_unseen, of=same_mass)),
    }  # fmt: skip
    for name, (meaning, _) in testing.TESTED.items():
        found |= observables(name, meaning, partial(of_test, name))
    return found


def told(K: int) -> dict[str, str]:
    """The meaning of every name, for K steps; another K has the same names with its own step numbers."""
    of_levels = observe(SimpleNamespace(K=K)) | measures(None)
    return {
        "loss": "population loss (Eq. 3), mean over query steps",
        **{name: function.__doc__ or "" for name, function in of_levels.items()},
        "mass_chain_other": "planar: attention on the query's own chain at other steps",
        "s": "L4: the paper's exponent of the query's step",
        "u": "L4: the paper's exponent of the query's pattern, a lower bound on a",
    }
