"""L4: what the paper (and a sharper guess) says in closed form about stage 2, for L = 3.

linear   the paper's 3×3 bound (Lemma 5.5 / E.2): x = (S_cv, KK_cc, QQ_vv) ≥ the solution of
         dx/dt = β [[0, 1, 1], [1, 0, 0], [1, 0, 0]] x,  x(T_1) = (0, ω², ω²), with β = w_c(T_1) / (9K), the value the
         best constant takes at T_1:  x = ω²/2 [e^(√2βt)(√2, 1, 1) + e^(-√2βt)(-√2, 1, 1)].
sinh     attention frozen at 1/3 and the loss slope at 1/2 [ours]: S_cv_difference = ω² sinh(2γt),
         S_vc_difference = -ω² sinh(γt), γ = w_c(T_1) / (9(K-1)), and S_same = (K-1)/K S_difference.

Neurons follow the exact stage-1 closed form up to T_1 and rest afterwards. Each is integrated as the linear flow it
solves.
"""

from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from flowsys.errors import InputError
from flowsys.system import Setup
from flowsys.system.problem import Event, FunctionField, Problem, Stage
from flowsys.systems.mixture.limits import onset_of_group_signal, stage_1_neurons

NAMES = {
    "linear": ("S_cv_same", "KK_cc_same", "QQ_vv_same"),
    "sinh": ("S_cv_difference", "cosh_cv", "S_vc_difference", "cosh_vc"),
}


class SurrogateArguments(NamedTuple):
    """The rates of the surrogate, whether stage 2 is on, and what turns sector values into entries."""

    rate: Any
    moves: Any
    K: Any
    w_c: Any
    w_v: Any


def _linear_rhs(y, a):
    S, KK, QQ = y
    import jax.numpy as jnp

    return a.moves * a.rate * jnp.stack([KK + QQ, S, S])


def _sinh_rhs(y, a):
    import jax.numpy as jnp

    S_cv, cosh_cv, S_vc, cosh_vc = y
    return a.moves * a.rate * jnp.stack([2 * cosh_cv, 2 * S_cv, -cosh_vc, -S_vc])


def _linear_observed(y, a):
    return dict(zip(NAMES["linear"], y)) | {"w_c": a.w_c, "w_v": a.w_v}


def _sinh_observed(y, a):
    same, diff = (a.K - 1) / a.K, -1 / a.K
    return {
        "S_cv_same": same * y[0], "S_cv_diff": diff * y[0], "S_vc_same": same * y[2], "S_vc_diff": diff * y[2],
        "w_c": a.w_c, "w_v": a.w_v,
    }  # fmt: skip


@lru_cache(maxsize=2)
def _field(variant: str) -> FunctionField:
    rhs, observed, names = {
        "linear": (_linear_rhs, _linear_observed, (*NAMES["linear"], "w_c", "w_v")),
        "sinh": (_sinh_rhs, _sinh_observed, ("S_cv_same", "S_cv_diff", "S_vc_same", "S_vc_diff", "w_c", "w_v")),
    }[variant]
    return FunctionField(NAMES[variant], rhs, observed, names)


def surrogate_problem(variant: str, setup: Setup, mode: str) -> Problem:
    """Stage 2 by a surrogate, from the exact end of stage 1."""
    K, T_1 = setup["K"], setup["T_1"]
    if setup["L"] != 3:
        raise InputError(f"L = {setup['L']} is not allowed at level L4: the surrogates are stated for L = 3.")
    if mode != "three_stage":
        raise InputError(f"mode = {mode} is not allowed at level L4: the surrogates are stated for three_stage.")
    w_c, w_v = stage_1_neurons(T_1, K, setup["b"])
    rate = w_c / (9 * K) if variant == "linear" else w_c / (9 * (K - 1))
    ω2 = setup["omega"] ** 2
    initial = np.array([0.0, ω2, ω2] if variant == "linear" else [0.0, ω2, 0.0, ω2])
    arguments = partial(SurrogateArguments, np.float64(rate), K=np.float64(K), w_c=np.float64(w_c), w_v=np.float64(w_v))
    return Problem(
        field=_field(variant),
        initial=initial,
        stages=(
            Stage("stage 1", arguments(moves=np.float64(0.0)), until=T_1),
            Stage("stage 2", arguments(moves=np.float64(1.0)), ends_on="T_2"),
        ),
        events=(Event("T_2", "S_cv_same", setup["s_star"], +1, "S_cv_same reaches s_star"),),
        marks={"T_0.5": onset_of_group_signal(K, setup["b"]), "T_1": T_1},
        scale=ω2,
        t_max=setup["t_max"],
        default_at=("T_1", "T_2"),
    )
