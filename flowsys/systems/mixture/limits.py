"""Infinite width: initial values, stages and the program of the limit (L3).

At infinite width the initial inner products are their means (Lemma C.1): S = 0, KK = QQ = ω²I, w = 0. Stage 1 has a
closed form [ours]: with τ = 2t/K,

    T_0.5 = K/2 [b + (e^(2b) - 1)/2],   F + e^F = 2b + e^(2b) + 5/8 (τ - τ_0.5),   F = w_c + 2 w_v + b.
"""

from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from flowsys.model.coordinates import Coordinates
from flowsys.model.declaration import Stage
from flowsys.model.stated import stated_problem
from flowsys.program import Program, committed
from flowsys.program.arrays import Arguments, arguments, in_columns, observed
from flowsys.system import Setup
from flowsys.system.lazy import Computed
from flowsys.system.problem import Problem, ProgramField
from flowsys.systems.mixture import SYSTEM
from flowsys.systems.mixture.margin import limit_margin
from flowsys.systems.mixture.observables import CLASSES, block_of
from flowsys.systems.mixture.population import orbit_tables


def program(variant: str) -> Program:
    """The committed program with 22 or 10 variables."""
    return committed("flowsys.systems.mixture", f"PROGRAM_{variant}")


@lru_cache(maxsize=128)
def _population(variant: str, K: int, L: int, hard: bool) -> Arguments:
    """The data all points of equal sizes share; only the parameters are left to fill in."""
    text = program(variant)
    return arguments(text, dict.fromkeys(text.parameters, 0.0), *orbit_tables(K, L, hard))


def initial_state(names: tuple[str, ...], ω: float | np.ndarray) -> np.ndarray:
    """Lemma C.1: all inner products 0 but KK = QQ = ω²I, which is ω²I in both sectors; a row for every ω given."""
    on_diagonal = [float(name.startswith(("KK_cc", "KK_vv", "QQ_cc", "QQ_vv"))) for name in names]
    return np.multiply.outer(ω * ω, np.array(on_diagonal))


def limit_problem(variant: str, setup: Setup, mode: str) -> Problem:
    """The infinite-width flow with exact population by orbits; single entries are their classes up to sign."""
    K, text, coordinates = setup["K"], program(variant), entries(setup["K"])

    def stage_arguments(stage: Stage) -> Arguments:
        trains = lambda block: float(stage.trains is None or block in stage.trains)
        values = dict(setup) | {"train_neurons": trains("w"), "train_attention": trains("S")}
        parameters = in_columns([values[name] for name in text.parameters])
        return _population(variant, K, setup["L"], stage.where is not None)._replace(parameters=parameters)

    data = stage_arguments(SYSTEM.declaration.stages[mode][0])

    def entry(name: str, y: np.ndarray) -> float:
        if name == "score_spread":
            return 0.0
        classes = dict(zip(CLASSES, observed(text, tuple(CLASSES), "exact", np)(y, data)))
        blocks = {block: block_of(block, classes, K) for block in ("w", "S", "KK", "QQ")}
        if name == "max_margin":
            return limit_margin(SimpleNamespace(**blocks), K, setup["L"], setup["b"])
        return float(coordinates.join(blocks)[coordinates.index[name]])

    return stated_problem(
        SYSTEM.declaration, setup, mode, ProgramField(text), initial_state(text.state, setup["omega"]), stage_arguments,
        derived=Computed(("max_margin", "score_spread", *coordinates.names), lambda name: partial(entry, name)),
        dear=frozenset(coordinates.names),
        scale=setup["omega"] * setup["omega"],
    )  # fmt: skip


@lru_cache(maxsize=16)
def entries(K: int) -> Coordinates:
    """The entries of w, S, KK and QQ of both heads, by the names they have at finite width."""
    blocks = SYSTEM.declaration.concrete_blocks({"K": K, "omega": 1.0, "sigma_w": 1.0, "mode": "simultaneous"})
    return SYSTEM.declaration.coordinates_of(blocks)


# -- stage 1 in closed form (L = 3) ----------------------------------------------------------------------------------


def onset_of_group_signal(K: int, b: Any) -> Any:
    """T_0.5, when the gate of the wrong head closes on consistent samples and w_c starts to grow."""
    return K / 2 * (b + (np.exp(2 * b) - 1) / 2)


def stage_1_neurons(t: float, K: int, b: float) -> tuple[float, float]:
    """(w_c, w_v) at time t of stage 1, under uniform attention."""
    τ, τ_half = 2 * t / K, 2 / K * onset_of_group_signal(K, b)
    if τ <= τ_half:
        # dw_v/dτ = ½ / (1 + e^(4 w_v)):  4 w_v + e^(4 w_v) = 2τ + 1
        return 0.0, _plus_exponential(2 * τ + 1) / 4
    F = _plus_exponential(2 * b + np.exp(2 * b) + 5 / 8 * (τ - τ_half))
    return (F - 2 * b) / 5, b / 2 + 2 / 5 * (F - 2 * b)


def stage_1_group_signal(t: float, K: int, b: float) -> float:
    """The integral of w_c over [0, t], neurons as in stage 1: what drives the scores while they are small."""
    w_c, _ = stage_1_neurons(t, K, b)
    # with F = 2b + 5 w_c:  dt = K/2 · 8/5 (1 + e^F) dF
    x = 5 * w_c
    return 4 * K / 25 * (x**2 / 2 + np.exp(2 * b) * ((x - 1) * np.exp(x) + 1))


def _plus_exponential(c: float) -> float:
    """The solution F of F + e^F = c."""
    from scipy.special import wrightomega

    return float(np.log(wrightomega(c)))  # ω + log ω = c with ω = e^F
