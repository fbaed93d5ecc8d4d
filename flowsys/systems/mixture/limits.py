"""Infinite width: initial values, stages and the program of the limit (L3); the surrogates beyond it (L4).

At infinite width the initial inner products are their means (Lemma C.1): S = 0, KK = QQ = ω²I, w = 0. Stage 1 has a
closed form [ours]: with τ = 2t/K,

    T_0.5 = K/2 [b + (e^(2b) - 1)/2],   F + e^F = 2b + e^(2b) + 5/8 (τ - τ_0.5),   F = w_c + 2 w_v + b.
"""

from functools import lru_cache

import numpy as np
from scipy.special import lambertw

from flowsys.conserved import pair_invariants
from flowsys.printers.arrays import Arguments, arguments
from flowsys.problem import Problem, ProgramField
from flowsys.program import Program
from flowsys.system import Setup
from flowsys.systems.mixture.margin import limit_margin
from flowsys.systems.mixture.population import hard_weights, orbit_tables
from flowsys.systems.mixture.stages import default_events, events_of, marks_of, stages_of

PARTS = ("mean", "difference")


@lru_cache(maxsize=4)
def program(variant: str) -> Program:
    """The committed program with 22 or 10 variables."""
    from flowsys.systems.mixture import reduced

    return Program.parse({"22": reduced.PROGRAM_22, "10": reduced.PROGRAM_10}[variant])


def initial_state(names: tuple[str, ...], ω: float) -> np.ndarray:
    """Lemma C.1: all inner products 0 but KK = QQ = ω²I, which is ω²I in both sectors."""
    on_diagonal = {f"{M}_{xx}_{part}" for M in ("KK", "QQ") for xx in ("cc", "vv") for part in PARTS}
    return np.array([ω**2 if name in on_diagonal else 0.0 for name in names])


def limit_problem(setup: Setup, variant: str, mode: str) -> Problem:
    """The infinite-width flow with exact population by orbits."""
    K, L = setup["K"], setup["L"]
    text = program(variant)
    tables, links = orbit_tables(K, L)

    def stage_arguments(trains_neurons: bool, trains_attention: bool, hard_only: bool) -> Arguments:
        here = dict(tables)
        if hard_only:
            here["samples"] = tables["samples"] | {"weight": hard_weights(K, L)}
        values = {
            "K": K,
            "omega": setup["omega"],
            "b": setup["b"],
            "train_neurons": trains_neurons,
            "train_attention": trains_attention,
        }
        return arguments(text, values, here, links)

    stages = stages_of(mode, setup, stage_arguments)
    initial = initial_state(text.state, setup["omega"])
    return Problem(
        field=ProgramField(text),
        initial=initial,
        stages=stages,
        events=events_of(setup),
        marks=marks_of(setup),
        derived={"max_margin": lambda y: limit_margin(text, y, stages[0].arguments, K)},
        conserved=sector_spectra(text) if variant == "22" else None,
        scale=setup["omega"] ** 2,
        t_max=setup["t_max"],
        default_at=default_events(mode),
    )


def sector_spectra(text: Program):
    """The spectral invariants of [[KK, -S], [Sᵀ, -QQ]] in both sectors."""
    index = {name: i for i, name in enumerate(text.state)}

    def blocks(states: np.ndarray, name: str, part: str) -> np.ndarray:
        pick = lambda x, y: states[:, index[f"{name}_{x}{y}_{part}"]]
        lower = ("c", "v") if name != "S" else ("v", "c")
        rows = [[pick("c", "c"), pick("c", "v")], [pick(*lower), pick("v", "v")]]
        return np.moveaxis(np.array(rows), -1, 0)

    def spectra(states: np.ndarray) -> np.ndarray:
        found = []
        for part in PARTS:
            KK, S, QQ = (blocks(states, name, part) for name in ("KK", "S", "QQ"))
            found.append(pair_invariants(np.block([[KK, S], [np.swapaxes(S, 1, 2), QQ]]), 2))
        return np.concatenate(found, axis=-1)

    return spectra


def onset_of_group_signal(K: int, b: float) -> float:
    """T_0.5, when the gate of the wrong head closes on consistent samples and w_c starts to grow (L = 3)."""
    return K / 2 * (b + (np.exp(2 * b) - 1) / 2)


def stage_1_neurons(t: float, K: int, b: float) -> tuple[float, float]:
    """(w_c, w_v) at time t of stage 1, in closed form (L = 3, uniform attention)."""
    τ, τ_half = 2 * t / K, 2 / K * onset_of_group_signal(K, b)
    if τ <= τ_half:
        # dw_v/dτ = ½ / (1 + e^(4 w_v)):  4 w_v + e^(4 w_v) = 2τ + 1
        return 0.0, _plus_exponential(2 * τ + 1) / 4
    F = _plus_exponential(2 * b + np.exp(2 * b) + 5 / 8 * (τ - τ_half))
    return (F - 2 * b) / 5, b / 2 + 2 / 5 * (F - 2 * b)


def _plus_exponential(c: float) -> float:
    """The solution F of F + e^F = c."""
    return float(c - np.real(lambertw(np.exp(c)))) if c < 500 else float(np.log(c - np.log(c)))
