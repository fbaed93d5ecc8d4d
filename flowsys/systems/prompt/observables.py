"""What is observed of the model, each number declared once for every level.

Losses and attention masses are means over the prompts; a, b, H and entries of W are means over orbits of relabelling,
gradients those of the loss on the prompts. Measures are taken of recorded states: how well unseen tasks are solved, and
errors on test prompts (`testing`).
"""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from flowsys.systems.prompt import testing
from flowsys.systems.prompt.model import MASSES, attention, column_scores, prompt_loss, prompt_masses
from flowsys.systems.prompt.symmetric import Orbits, SymmetricScores, mean_column_gradients
from flowsys.systems.prompt.tasks import unseen
from flowsys.systems.prompt.transitions import Law

_ENTRY = {"A_s": "input × same", "A_d": "input × other", "B_s": "output × same", "B_d": "output × other"}


def orbit_means(S: Any, M: int) -> Orbits:
    """Orbit means of the frame entries S (2M + K, M + K)."""
    eye = np.eye(M, dtype=int)

    def same_and_other(block):
        same = (eye * block).sum() / M
        return same, (block.sum() - M * same) / (M * (M - 1))

    C = S[2 * M :, :M].sum(axis=1) / M
    return Orbits(*same_and_other(S[:M, :M]), *same_and_other(S[M : 2 * M, :M]), C=C, G=S[2 * M :, M:])


def symmetric_part(S: Any, M: int) -> SymmetricScores:
    """a, b, H of the frame entries."""
    mean = orbit_means(S, M)
    return SymmetricScores(mean.A_s - mean.A_d, mean.B_s - mean.B_d, mean.C.reshape(-1, 1) + mean.G)


def masses_by_step(ops: Any, w: Any, X: Any, p: Any) -> list:
    """The four masses of queries at step 1..K."""
    masses, K = prompt_masses(ops, w, X, p), p.K
    of_step = lambda k: (K * (1 * (X.step == k)) * X.weight).reshape(-1, 1)
    return [(of_step(k) * masses).sum(axis=0) for k in range(K)]


def rate_of_mass(ops: Any, w: Any, X: Any, p: Any) -> Any:
    """Of every prompt, how fast attention on other patterns of the query's step moves: dπ = π (ds - Σ π ds)."""
    n, K = X.origins.shape[:2]
    π, ds = attention(ops, w, X, p), column_scores(w.rates.W, X)
    moving = π * (ds - (π * ds).sum(axis=(1, 2)).reshape(n, 1, 1))
    other = 1 * (X.chains[:, :-1] != X.query.reshape(n, 1, 1))
    return (moving * other * (1 * (np.arange(K).reshape(1, K, 1) == X.step.reshape(n, 1, 1)))).sum(axis=(1, 2))


def _said(meaning: str, function: Callable) -> Callable:
    function.__doc__ = meaning
    return function


def _of_steps(reading: Callable) -> Callable:
    """An observable of the masses (K lists of four)."""
    return lambda ops, w, X, p: reading(ops, w.once("by step", X, lambda: masses_by_step(ops, w, X, p)))


def _mean(values: list) -> Any:
    return sum(values) / len(values)


def _other_steps(steps: list) -> list:
    return [m[1] + m[3] for m in steps]


def _step_lead(H: Any) -> Any:
    K = H.shape[0]
    return (H.trace() - (H.sum() - H.trace()) / (K - 1)) / K


def _pattern_spread(ops: Any, w: Any, X: Any, p: Any) -> Any:
    d = (np.eye(p.M, dtype=int) * w.W[: p.M, : p.M]).sum(axis=1)
    return ops.sqrt(((d - d.sum() / p.M) ** 2).sum() / p.M)


def of_events() -> dict[str, Callable]:
    """What stages end on; 1 - p is summed, so that it stays exact near 0."""
    missed = lambda steps: [m[1] + m[2] + m[3] for m in steps]
    purity = lambda steps: _mean([m[0] for m in steps]) / _mean([m[0] + m[2] for m in steps])
    return {
        "mass_other_step": _said("attention on other steps, mean over query steps",
                                 _of_steps(lambda ops, s: _mean(_other_steps(s)))),
        "mass_other_step_max": _said("attention on other steps, largest over query steps (T_1)",
                                     _of_steps(lambda ops, s: ops.largest(_other_steps(s)))),
        "log_other_step_max": _said("its logarithm", _of_steps(lambda ops, s: ops.log(ops.largest(_other_steps(s))))),
        "p_min": _said("attention on the query's pattern and step, smallest over query steps (T_2)",
                       _of_steps(lambda ops, s: ops.smallest([m[0] for m in s]))),
        "log_missed_max": _said("log(1 - p_min) without cancellation (T_3)",
                                _of_steps(lambda ops, s: ops.log(ops.largest(missed(s))))),
        "purity": _said("p/(p + q): share of the query's pattern in the attention on its step, alpha while unlearnt",
                        _of_steps(lambda ops, s: purity(s))),
    }  # fmt: skip


def observe(p: Any) -> dict[str, Callable]:
    """Everything the population system of K steps reports, and the spread over patterns."""
    steps = range(1, p.K + 1)
    of_scores = lambda read: lambda ops, w, X, p: read(symmetric_part(w.W, p.M))
    of_entries = lambda read: lambda ops, w, X, p: read(orbit_means(w.W, p.M))
    of_gradients = lambda read: lambda ops, w, X, p: read(orbit_means(-w.rates.W, p.M))
    mass = lambda ops, w, X, p, i, k: p.K * (1 * (X.step == k - 1)) * prompt_masses(ops, w, X, p)[:, i]
    found = {
        "a": _said("score gained by a column whose input is the query's pattern", of_scores(lambda y: y.a)),
        "b": _said("score gained by a column whose label is the query's pattern", of_scores(lambda y: y.b)),
    }
    for i in steps:
        for k in steps:
            meaning = f"score of a column of step {i} for a query at step {k}"
            found[f"H_{i}{k}"] = _said(meaning, of_scores(lambda y, i=i, k=k: y.H[i - 1, k - 1]))
    found["g"] = _said("score of the query's step over other steps, mean over query steps",
                       of_scores(lambda y: _step_lead(y.H)))  # fmt: skip
    for k in steps:
        of_step = lambda ops, w, X, p, k=k: p.K * (1 * (X.step == k - 1)) * prompt_loss(ops, w, X, p)
        found[f"loss_{k}"] = _said(f"population loss of queries at step {k}", of_step)
    for i, (kind, where) in enumerate(MASSES.items()):
        whole = lambda ops, w, X, p, i=i: prompt_masses(ops, w, X, p)[:, i]
        found[f"mass_{kind}"] = _said(f"attention on {where}, mean over query steps", whole)
        for k in steps:
            found[f"mass_{kind}_{k}"] = _said(f"attention on {where}, query at step {k}", partial(mass, i=i, k=k))
    found |= of_events()
    for name, where in _ENTRY.items():
        found[name] = _said(f"{where} query pattern entry of W", of_entries(lambda e, n=name: getattr(e, n)))
    for i in steps:
        found[f"C_{i}"] = _said(f"step {i} × query pattern entry of W", of_entries(lambda e, i=i: e.C[i - 1]))
        for k in steps:
            read = lambda e, i=i, k=k: e.G[i - 1, k - 1]
            found[f"G_{i}{k}"] = _said(f"step {i} × query step {k} entry of W", of_entries(read))
    for name, where in _ENTRY.items():
        read = lambda e, n=name: getattr(e, n)
        found[f"gamma_{name}"] = _said(f"loss gradient of the {where} query pattern entry", of_gradients(read))
    for i, (kind, where) in enumerate(MASSES.items()):
        read = lambda e, i=i: mean_column_gradients(e)[i]
        found[f"Gamma_{kind}"] = _said(f"gradient of Lemmas F.5 and F.7 for a column of {where}, mean",
                                       of_gradients(read))  # fmt: skip
    found["rate_mass_other_same"] = _said("time derivative of mass_other_same (T_peak)", rate_of_mass)
    found["sd_A_s"] = _said("standard deviation of the input × same query pattern entries over patterns; 0 in the "
                            "population", _pattern_spread)  # fmt: skip
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
    found = {
        "loss_test": _said("finite levels: loss on unseen random tasks", partial(_on_unseen, of=prompt_loss)),
        "mass_same_same_test": _said("finite levels: attention on the query's pattern and step on unseen random tasks",
                                     partial(_on_unseen, of=same_mass)),
    }  # fmt: skip
    return found | {k: _said(text, partial(testing.measured, name=k, law=law)) for k, text in testing.TESTED.items()}


def told(K: int) -> dict[str, str]:
    """The meaning of every name, for K steps; another K has the same names with its own step numbers."""
    sized = SimpleNamespace(K=K)
    said = {name: function.__doc__ for name, function in (observe(sized) | measures(None)).items()}
    return {"loss": "population loss (Eq. 3), mean over query steps"} | said


ELSEWHERE: dict[str, str] = {
    "mass_chain_other": "planar: attention on the query's own chain at other steps",
    "s": "L4: the paper's exponent of the query's step",
    "u": "L4: the paper's exponent of the query's pattern, a lower bound on a",
}
