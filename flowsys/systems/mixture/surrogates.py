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

import numpy as np

from flowsys.errors import InputError
from flowsys.model.stated import stated_problem
from flowsys.program import written
from flowsys.program.arrays import arguments
from flowsys.system import Setup
from flowsys.system.problem import Problem, ProgramField
from flowsys.systems.mixture import SYSTEM
from flowsys.systems.mixture.limits import onset_of_group_signal, stage_1_neurons

PROGRAMS = {
    "linear": written(
        {"S_cv_same": "beta*(KK_cc_same + QQ_vv_same)", "KK_cc_same": "beta*S_cv_same", "QQ_vv_same": "beta*S_cv_same",
         "w_c": "0", "w_v": "0"},
        ("beta",),
    ),
    "sinh": written(
        {"S_cv": "2*gamma*cosh_cv", "cosh_cv": "2*gamma*S_cv", "S_vc": "-gamma*cosh_vc", "cosh_vc": "-gamma*S_vc",
         "w_c": "0", "w_v": "0"},
        ("gamma", "K"),
        observables={"w_c": "w_c", "w_v": "w_v"}
        | {f"S_{x}_{part}": text for x in ("cv", "vc")
           for part, text in (("same", f"(K - 1)/K*S_{x}"), ("diff", f"-S_{x}/K"))},
    ),
}  # fmt: skip


def surrogate_problem(variant: str, setup: Setup, mode: str) -> Problem:
    """Stage 2 by a surrogate, from the exact end of stage 1."""
    if setup["L"] != 3:
        raise InputError(f"L = {setup['L']} is not allowed at level L4: the surrogates are stated for L = 3.")
    K, ω2, program = setup["K"], setup["omega"] ** 2, PROGRAMS[variant]
    w_c, w_v = stage_1_neurons(setup["T_1"], K, setup["b"])
    initial = np.array([*((0.0, ω2, ω2) if variant == "linear" else (0.0, ω2, 0.0, ω2)), w_c, w_v])
    rates = {"beta": w_c / (9 * K), "gamma": w_c / (9 * (K - 1))}
    moves = lambda stage: {name: rate * (stage.where is not None) for name, rate in rates.items()}
    problem = stated_problem(SYSTEM.declaration, setup, mode, ProgramField(program), initial,
                             lambda stage: arguments(program, {"K": K} | moves(stage)), scale=ω2)  # fmt: skip
    marks = {"T_0.5": onset_of_group_signal(K, setup["b"]), **problem.marks}
    return replace(problem, stages=problem.stages[:2], marks=marks, default_at=("T_1", "T_2"))
