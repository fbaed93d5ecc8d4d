"""Infinite width: initial values, parameters and monitors of the limit's programs (L3).

The limit holds alpha = σ_0² m, beta = σ_1² m m1, m1 and the score scale fixed while m → ∞: then VV = KK = QQ = alpha·I,
c = beta, G = S = 0 at t = 0. With the score scale tied to m (1/√m, as in the paper) attention freezes instead, and the
limit is the bag of words (`surrogates`). n and L may be real numbers, n also infinite; the cost depends on neither.
"""

from collections.abc import Callable
from functools import lru_cache
from math import inf

import numpy as np

from flowsys.errors import InputError
from flowsys.model.conserved import pair_invariants
from flowsys.program import Program
from flowsys.program.arrays import Arguments, arguments, in_columns
from flowsys.system import Setup
from flowsys.system.problem import Problem, ProgramField, Stage
from flowsys.systems.cooccurrence.data import SPECIAL_WORDS
from flowsys.systems.cooccurrence.phases import DEFAULT, events_of, is_correct_from_the_start, marks_of
from flowsys.systems.cooccurrence.vocabulary import shares_of

TYPES = {"88": ("1", "23", "4"), "113": ("1", "23", "4"), "without_swap": ("1", "2", "3", "4")}
SECTORS = {
    "88": {"even": ("mu", "mu3", "f1", "f23", "f4"), "odd": ("mu", "f23")},
    "without_swap": {"all": ("mu1", "mu2", "mu3", "f1", "f2", "f3", "f4")},
}
SECTORS["113"] = SECTORS["88"]


@lru_cache(maxsize=4)
def program(variant: str) -> Program:
    """The committed program of a variant."""
    from flowsys.systems.cooccurrence import reduced

    text = {"88": reduced.PROGRAM_88, "113": reduced.PROGRAM_113, "without_swap": reduced.PROGRAM_WITHOUT_SWAP}
    return Program.parse(text[variant])


def inverse_copies(n: float, L: float, shares, types) -> dict[str, float]:
    """1/multiplicity of the scalar sectors: n_T - 1 and n_T (R_T - 1), twice that for two types as one; 0 if absent."""
    found = {}
    for name in types:
        T = int(name[0]) - 1
        samples, others = n * shares[T], L - len(SPECIAL_WORDS[T]) - 1
        within = 0.0 if others < 1e-12 else samples * others
        for kind, copies in (("across", samples - 1), ("within", within)):
            found[f"per_{kind}_{name}"] = 0.0 if copies < 1e-9 else 1 / (len(name) * copies)
    return found


def program_arguments(setup: Setup, variant: str) -> Arguments:
    """What the program reads: scales, sizes through 1/n, shares, inverse multiplicities."""
    n, L, shares = setup["n"], setup["L"], shares_of(setup)
    if variant != "without_swap" and shares[1] != shares[2]:
        raise InputError(
            f"share_2 = {shares[1]:g} is not allowed with {variant} variables: samples with μ1 alone and with μ2 alone "
            f"must be equally many (here {shares[2]:g}); use the variant without_swap."
        )
    values = {name: setup[name] for name in ("alpha", "beta", "m1", "score_scale", "L")}
    values |= {f"share_{name}": shares[int(name[0]) - 1] for name in TYPES[variant]}
    values |= {"inverse_n": 0.0 if n == inf else 1 / n} | inverse_copies(n, L, shares, TYPES[variant])
    return arguments(program(variant), values)


def initial_state(names: tuple[str, ...], setup: Setup) -> np.ndarray:
    """VV = KK = QQ = alpha·I, c = beta, G = S = 0 (or G(μ1) = -G(μ2) = split/2)."""

    def value(name: str) -> float:
        kind, *rest = name.split("_")
        if name == "u_u":
            return setup["beta"] / setup["m1"]
        if name in ("g_mu1", "g_mu2"):
            return (1 if name == "g_mu1" else -1) * setup["split"] / (2 * setup["m1"] ** 0.5)
        is_diagonal = rest[0] in ("across", "within") if len(rest) == 2 else rest[1:2] == rest[2:3]
        return setup["alpha"] if kind in ("VV", "KK", "QQ") and is_diagonal else 0.0

    return in_columns([0.0 if name in ("tau", "clock") else value(name) for name in names])


def smallest_scale(setup: Setup) -> float | np.ndarray:
    """The size scores reach while G grows: what the absolute tolerance must resolve."""
    scores = setup["score_scale"] * setup["alpha"] / (setup["beta"] * setup["L"])
    return np.minimum(min(1.0, setup["alpha"]), np.where(scores > 0, scores, 1.0))


def limit_problem(setup: Setup, variant: str) -> Problem:
    """The infinite-width flow under Assumption 2.3."""
    if setup["split"] and variant != "without_swap":
        raise InputError(f"split = {setup['split']:g} is not allowed with {variant} variables; use without_swap.")
    largest = (2 * setup["alpha"] * setup["beta"]) ** 0.5  # |G|² = |W_Vᵀu|² ≤ alpha c: beyond it no weights exist
    if abs(setup["split"]) > largest:
        raise InputError(
            f"split = {setup['split']:g} is not allowed: values of |v|² = alpha under |u|² = beta differ by at most "
            f"sqrt(2 alpha beta) = {largest:.4g}."
        )
    text = program(variant)
    marks = marks_of(setup)
    at_once = not setup["split"] and is_correct_from_the_start(setup["n"], setup["L"], shares_of(setup))
    if at_once:
        marks["T_1"] = 0.0
    return Problem(
        field=ProgramField(text),
        initial=initial_state(text.state, setup),
        stages=(Stage("training", program_arguments(setup, variant)),),
        events=events_of(setup, without=("T_1",) if at_once else ()),
        marks={name: t for name, t in marks.items() if t <= setup["t_max"]},
        conserved=spectra(text, variant),
        scale=smallest_scale(setup),
        t_max=setup["t_max"],
        default_at=DEFAULT,
    )


def spectra(text: Program, variant: str) -> Callable[[np.ndarray], np.ndarray]:
    """What the flow keeps: the spectra of [[KK, -S], [Sᵀ, -QQ]] in every sector and of [[VV, -G], [Gᵀ, -c]]."""
    index = {name: i for i, name in enumerate(text.state)}
    first, *_ = SECTORS[variant]

    def matrix(states: np.ndarray, name: str, sector: str) -> np.ndarray:
        basis = SECTORS[variant][sector]

        def entry(a, b):
            found = index.get(f"{name}_{sector}_{a}_{b}")
            return states[:, index[f"{name}_{sector}_{b}_{a}"] if found is None else found]

        return np.moveaxis(np.array([[entry(a, b) for b in basis] for a in basis]), -1, 0)

    def invariants(states: np.ndarray) -> np.ndarray:
        found = []
        for sector, basis in SECTORS[variant].items():
            KK, S, QQ = (matrix(states, name, sector) for name in ("KK", "S", "QQ"))
            found.append(pair_invariants(np.block([[KK, S], [np.swapaxes(S, 1, 2), QQ]]), len(basis)))
        for kind in ("across", "within"):
            for name in TYPES[variant]:
                KK, S, QQ = (states[:, index[f"{m}_{kind}_{name}"]] for m in ("KK", "S", "QQ"))
                found.append(np.stack([KK - QQ, KK * QQ - S**2], axis=-1))
        if "u_u" in index:
            VV, basis = matrix(states, "VV", first), SECTORS[variant][first]
            g = states[:, [index[f"g_{x}"] for x in basis]][:, :, None]
            corner = states[:, index["u_u"]][:, None, None]
            found.append(pair_invariants(np.block([[VV, g], [np.swapaxes(g, 1, 2), corner]]), len(basis)))
        return np.concatenate(found, axis=-1)

    return invariants
