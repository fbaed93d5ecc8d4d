"""Infinite width: initial values, parameters and monitors of the limit's programs (L3).

The limit holds alpha = σ_0² m, beta = σ_1² m m1, m1 and the score scale fixed while m → ∞: then VV = KK = QQ = alpha·I,
c = beta, G = S = 0 at t = 0. With the score scale tied to m (1/√m, as in the paper) attention freezes instead, and the
limit is the bag of words (`surrogates`). n and L may be real numbers, n also infinite; the cost depends on neither.
"""

import numpy as np

from flowsys.errors import InputError
from flowsys.model.stated import stated_problem
from flowsys.program import Program, committed
from flowsys.program.arrays import Arguments, arguments, in_columns
from flowsys.system import Setup
from flowsys.system.problem import Problem, ProgramField, decided
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence.phases import correct_from_the_start
from flowsys.systems.cooccurrence.sectors import SCALARS, SECTORS, TYPES
from flowsys.systems.cooccurrence.sentences import SPECIAL_WORDS, shares_of


def program(variant: str) -> Program:
    """The committed program of a variant."""
    return committed("flowsys.systems.cooccurrence", f"PROGRAM_{variant.upper()}")


def program_arguments(setup: Setup, variant: str) -> Arguments:
    """What the program reads: scales, sizes through 1/n, shares, and 1/multiplicity of the scalar sectors.

    These are n_T - 1 and n_T (R_T - 1) times there, twice that for two types as one; an absent one gets 0.
    """
    n, L, shares = setup["n"], setup["L"], shares_of(setup)
    if variant != "without_swap" and decided(shares[1] != shares[2]):
        raise InputError(
            f"share_2 = {np.ravel(shares[1])[0]:g} is not allowed with {variant} variables: samples with μ1 alone and "
            f"with μ2 alone must be equally many (here {np.ravel(shares[2])[0]:g}); use the variant without_swap."
        )
    values = {name: setup[name] for name in ("alpha", "beta", "m1", "score_scale", "L")}
    values["inverse_n"] = 1 / n
    for name in TYPES[variant]:
        T = int(name[0]) - 1
        values[f"share_{name}"], others = shares[T], L - len(SPECIAL_WORDS[T]) - 1
        within = np.where(others < 1e-12, 0.0, n * shares[T] * others)
        for kind, copies in (("across", n * shares[T] - 1), ("within", within)):
            values[f"per_{kind}_{name}"] = (copies >= 1e-9) / (len(name) * np.maximum(copies, 1e-9))
    return arguments(program(variant), values)


def initial_state(names: tuple[str, ...], setup: Setup, variant: str) -> np.ndarray:
    """VV = KK = QQ = alpha·I, c = beta, G = S = 0 (or G(μ1) = -G(μ2) = split/2); the clocks at 0."""
    diagonal = [f"{sector}_{x}_{x}" for sector, basis in SECTORS[variant].items() for x in basis]
    diagonal += [f"{kind}_{T}" for kind in SCALARS for T in TYPES[variant]]
    values = {f"{name}_{at}": setup["alpha"] for name in ("VV", "KK", "QQ") for at in diagonal}
    half = setup["split"] / (2 * setup["m1"] ** 0.5)
    values |= {"u_u": setup["beta"] / setup["m1"], "g_mu1": half, "g_mu2": -half}
    return in_columns([values.get(name, 0.0) for name in names])


def smallest_scale(setup: Setup) -> float | np.ndarray:
    """The size scores reach while G grows: what the absolute tolerance must resolve."""
    scores = setup["score_scale"] * setup["alpha"] / (setup["beta"] * setup["L"])
    return np.minimum(np.minimum(1.0, setup["alpha"]), np.where(scores > 0, scores, 1.0))


def limit_problem(variant: str, setup: Setup, mode: str) -> Problem:
    """The infinite-width flow under Assumption 2.3."""
    split = setup["split"]
    if decided(split != 0) and variant != "without_swap":
        raise InputError(f"split = {np.ravel(split)[0]:g} is not allowed with {variant} variables; use without_swap.")
    largest = (2 * setup["alpha"] * setup["beta"]) ** 0.5  # |G|² = |W_Vᵀu|² ≤ alpha c: beyond it no weights exist
    if decided(abs(split) > largest):
        raise InputError(
            f"split = {np.ravel(split)[0]:g} is not allowed: values of |v|² = alpha under |u|² = beta differ by at "
            f"most sqrt(2 alpha beta) = {np.ravel(largest)[0]:.4g}."
        )
    text = program(variant)
    problem = stated_problem(
        SYSTEM.declaration, setup, mode, ProgramField(text), initial_state(text.state, setup, variant),
        lambda stage: program_arguments(setup, variant), scale=smallest_scale(setup),
    )  # fmt: skip
    return problem if decided(split != 0) else correct_from_the_start(problem, setup)
