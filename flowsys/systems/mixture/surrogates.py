"""L4: what the paper (and a sharper guess) says in closed form about stage 2, for L = 3.

linear   the paper's 3×3 bound (Lemma 5.5 / E.2): x = (S_cv, KK_cc, QQ_vv) ≥ the solution of
         dx/dt = β [[0, 1, 1], [1, 0, 0], [1, 0, 0]] x,  x(T_1) = (0, ω², ω²), with β = w_c(T_1) / (9K), the value the
         best constant takes at T_1:  x = ω²/2 [e^(√2βt)(√2, 1, 1) + e^(-√2βt)(-√2, 1, 1)].
sinh     attention frozen at 1/3 and the loss slope at 1/2 [ours]: S_cv_difference = ω² sinh(2γt),
         S_vc_difference = -ω² sinh(γt), γ = w_c(T_1) / (9(K-1)), and S_same = (K-1)/K S_difference.

Neurons follow the exact stage-1 closed form up to T_1 and rest afterwards. Each is integrated as the linear flow it
solves.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from flowsys.errors import InputError
from flowsys.model.stated import stated_problem
from flowsys.system import Setup
from flowsys.system.problem import FunctionField, Problem
from flowsys.systems.mixture import SYSTEM
from flowsys.systems.mixture.limits import onset_of_group_signal, stage_1_neurons

STATE = {
    "linear": ("S_cv_same", "KK_cc_same", "QQ_vv_same", "w_c", "w_v"),
    "sinh": ("S_cv_difference", "cosh_cv", "S_vc_difference", "cosh_vc", "w_c", "w_v"),
}
SEEN = {"linear": STATE["linear"], "sinh": ("S_cv_same", "S_cv_diff", "S_vc_same", "S_vc_diff", "w_c", "w_v")}


class LinearFlow(NamedTuple):
    """dx/dt = generator x; what is observed is `seen` x."""

    generator: Any
    seen: Any


@lru_cache(maxsize=2)
def _field(variant: str) -> FunctionField:
    observed = lambda x, a: dict(zip(SEEN[variant], a.seen @ x))
    return FunctionField(STATE[variant], lambda x, a: a.generator @ x, observed, SEEN[variant])


def linear_flow(variant: str, w_c: float, K: int) -> LinearFlow:
    """The flow of stage 2, neurons at rest."""
    n = len(STATE[variant])
    generator, seen = np.zeros((n, n)), np.eye(n)
    if variant == "linear":
        generator[[0, 0, 1, 2], [1, 2, 0, 0]] = w_c / (9 * K)
        return LinearFlow(generator, seen)
    generator[[0, 1, 2, 3], [1, 0, 3, 2]] = np.array([2, 2, -1, -1]) * w_c / (9 * (K - 1))
    seen[:4, :4] = np.kron(np.eye(2), [[(K - 1) / K, 0], [-1 / K, 0]])
    return LinearFlow(generator, seen)


def surrogate_problem(variant: str, setup: Setup, mode: str) -> Problem:
    """Stage 2 by a surrogate, from the exact end of stage 1."""
    for name, value, needed in (("L", setup["L"], 3), ("mode", mode, "three_stage")):
        if value != needed:
            raise InputError(
                f"{name} = {value} is not allowed at level L4: the surrogates are stated for {name} = {needed}."
            )
    w_c, w_v = stage_1_neurons(setup["T_1"], setup["K"], setup["b"])
    flow, ω2 = linear_flow(variant, w_c, setup["K"]), setup["omega"] ** 2
    initial = np.array([*((0.0, ω2, ω2) if variant == "linear" else (0.0, ω2, 0.0, ω2)), w_c, w_v])
    rests = flow._replace(generator=0 * flow.generator)
    problem = stated_problem(SYSTEM.declaration, setup, mode, _field(variant), initial,
                             lambda stage: flow if stage.where else rests, scale=ω2)  # fmt: skip
    marks = {"T_0.5": onset_of_group_signal(setup["K"], setup["b"]), **problem.marks}
    return replace(problem, stages=problem.stages[:2], marks=marks, default_at=("T_1", "T_2"))
