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

from flowsys.systems.prompt import testing
from flowsys.systems.prompt.model import MASSES, attention, column_scores, prompt_loss, prompt_masses
from flowsys.systems.prompt.symmetric import Orbits, SymmetricScores, mean_column_gradients
from flowsys.systems.prompt.tasks import unseen
from flowsys.systems.prompt.transitions import Law

ENTRIES = {"A_s": "input × same", "A_d": "input × other", "B_s": "output × same", "B_d": "output × other"}
Reading = tuple[str, Callable]


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


def step_readings() -> dict[str, Reading]:
    """What stages end on, from the four masses at every query step; 1 - p is summed, so that it stays exact near 0."""
    other = lambda steps: [m[1] + m[3] for m in steps]
    missed = lambda steps: [m[1] + m[2] + m[3] for m in steps]
    largest = lambda ops, values: ops.largest(values) if len(values) > 1 else values[0]
    smallest = lambda ops, values: ops.smallest(values) if len(values) > 1 else values[0]
    return {
        "mass_other_step": ("attention on other steps, mean over query steps", lambda ops, m: mean(other(m))),
        "mass_other_step_max": ("attention on other steps, largest over query steps (T_1)",
                                lambda ops, m: largest(ops, other(m))),
        "log_other_step_max": ("its logarithm", lambda ops, m: ops.log(largest(ops, other(m)))),
        "p_min": ("attention on the query's pattern and step, smallest over query steps (T_2)",
                  lambda ops, m: smallest(ops, [x[0] for x in m])),
        "log_missed_max": ("log(1 - p_min) without cancellation (T_3)",
                           lambda ops, m: ops.log(largest(ops, missed(m)))),
        "purity": ("p/(p + q): share of the query's pattern in the attention on its step, alpha while unlearnt",
                   lambda ops, m: mean([x[0] for x in m]) / (mean([x[0] for x in m]) + mean([x[2] for x in m]))),
    }  # fmt: skip


def readings(K: int) -> dict[str, Reading]:
    """Every name of the population system of K steps: its meaning, and how it is read off what is seen."""
    steps, kinds = range(1, K + 1), list(enumerate(MASSES.items()))
    lead = lambda H: (H.trace() - (H.sum() - H.trace()) / (K - 1)) / K

    def of_steps(name: str, meaning: str, read: Callable, rows: Sequence[int] = steps) -> dict[str, Reading]:
        """One name for every pair of steps of a (K, K) table."""
        return {f"{name}_{i}{k}": (meaning.format(i=i, k=k), lambda ops, s, i=i, k=k: read(s)[i - 1, k - 1])
                for i in rows for k in steps}  # fmt: skip

    found: dict[str, Reading] = {
        "a": ("score gained by a column whose input is the query's pattern", lambda ops, s: s.scores().a),
        "b": ("score gained by a column whose label is the query's pattern", lambda ops, s: s.scores().b),
        **of_steps("H", "score of a column of step {i} for a query at step {k}", lambda s: s.scores().H),
        "g": ("score of the query's step over other steps, mean over query steps", lambda ops, s: lead(s.scores().H)),
    }
    for k in steps:
        found[f"loss_{k}"] = f"population loss of queries at step {k}", lambda ops, s, k=k: s.losses()[k - 1]
    for i, (kind, where) in kinds:
        found[f"mass_{kind}"] = (f"attention on {where}, mean over query steps",
                                 lambda ops, s, i=i: mean([m[i] for m in s.masses()]))  # fmt: skip
        for k in steps:
            found[f"mass_{kind}_{k}"] = (f"attention on {where}, query at step {k}",
                                         lambda ops, s, i=i, k=k: s.masses()[k - 1][i])  # fmt: skip
    for name, (meaning, read) in step_readings().items():
        found[name] = meaning, lambda ops, s, read=read: read(ops, s.masses())
    found["rate_mass_other_same"] = "time derivative of mass_other_same (T_peak)", lambda ops, s: s.rate()
    for name, where in ENTRIES.items():
        found[name] = f"{where} query pattern entry of W", lambda ops, s, n=name: getattr(s.entries(), n)
    for i in steps:
        found[f"C_{i}"] = f"step {i} × query pattern entry of W", lambda ops, s, i=i: s.entries().C[i - 1]
        found |= of_steps("G", "step {i} × query step {k} entry of W", lambda s: s.entries().G, [i])
    for name, where in ENTRIES.items():
        found[f"gamma_{name}"] = (f"loss gradient of the {where} query pattern entry",
                                  lambda ops, s, n=name: getattr(s.gradients(), n))  # fmt: skip
    for i, (kind, where) in kinds:
        found[f"Gamma_{kind}"] = (f"gradient of Lemmas F.5 and F.7 for a column of {where}, mean",
                                  lambda ops, s, i=i: mean_column_gradients(s.gradients())[i])  # fmt: skip
    return found


# -- at levels that follow prompts ------------------------------------------------------------------------------------


def orbit_means(S: Any, M: int) -> Orbits:
    """Orbit means of the frame entries S (2M + K, M + K)."""

    def same_and_other(block: Any) -> tuple[Any, Any]:
        same = (np.eye(M, dtype=int) * block).sum() / M
        return same, (block.sum() - M * same) / (M * (M - 1))

    C = S[2 * M :, :M].sum(axis=1) / M
    return Orbits(*same_and_other(S[:M, :M]), *same_and_other(S[M : 2 * M, :M]), C=C, G=S[2 * M :, M:])


def rate_of_mass(ops: Any, w: Any, X: Any, p: Any) -> Any:
    """How fast attention on other patterns of the query's step moves, by prompt: dπ = π (ds - Σ π ds)."""
    n, K = X.origins.shape[:2]
    π, ds = attention(ops, w, X, p), column_scores(w.rates.W, X)
    moving = π * (ds - (π * ds).sum(axis=(1, 2)).reshape(n, 1, 1))
    other = 1 * (X.chains[:, :-1] != X.query.reshape(n, 1, 1))
    return (moving * other * (1 * (np.arange(K).reshape(1, K, 1) == X.step.reshape(n, 1, 1)))).sum(axis=(1, 2))


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
        rate=lambda: (X.weight * rate_of_mass(ops, w, X, p)).sum(),
    )


def _pattern_spread(ops: Any, w: Any, X: Any, p: Any) -> Any:
    d = (np.eye(p.M, dtype=int) * w.W[: p.M, : p.M]).sum(axis=1)
    return ops.sqrt(((d - d.sum() / p.M) ** 2).sum() / p.M)


def _said(meaning: str, function: Callable) -> Callable:
    function.__doc__ = meaning
    return function


def observe(p: Any) -> dict[str, Callable]:
    """Everything the population system of K steps reports, and the spread over patterns."""
    of = lambda read: lambda ops, w, X, p: read(ops, seen(ops, w, X, p))
    found = {name: _said(meaning, of(read)) for name, (meaning, read) in readings(p.K).items()}
    spread = "standard deviation of the input × same query pattern entries over patterns; 0 in the population"
    return found | {"sd_A_s": _said(spread, _pattern_spread)}


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
    return {
        "loss_test": _said("finite levels: loss on unseen random tasks", partial(_on_unseen, of=prompt_loss)),
        "mass_same_same_test": _said("finite levels: attention on the query's pattern and step on unseen random tasks",
                                     partial(_on_unseen, of=same_mass)),
        **{name: _said(meaning, of_test(name)) for name, (meaning, _) in testing.TESTED.items()},
    }  # fmt: skip


def told(K: int) -> dict[str, str]:
    """The meaning of every name, for K steps; another K has the same names with its own step numbers."""
    said = {name: function.__doc__ or "" for name, function in (observe(SimpleNamespace(K=K)) | measures(None)).items()}
    return {
        "loss": "population loss (Eq. 3), mean over query steps",
        **said,
        "mass_chain_other": "planar: attention on the query's own chain at other steps",
        "s": "L4: the paper's exponent of the query's step",
        "u": "L4: the paper's exponent of the query's pattern, a lower bound on a",
    }
