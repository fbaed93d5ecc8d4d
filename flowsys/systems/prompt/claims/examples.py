"""How many examples a test prompt needs: Theorem 2 by exact counting, Theorem 3 and Condition 1, Figs. 2–4."""

from functools import lru_cache
from typing import Any

import numpy as np

from flowsys.claims import Claim, Condition, Experiment, Identity, Inequality, Kit, Order, Path, Regime, Sides
from flowsys.errors import InputError
from flowsys.systems.prompt import examples, plurality
from flowsys.systems.prompt.examples import law_of
from flowsys.systems.prompt.testing import limit_errors, one_step_error

MOST_OF_A_CHAIN = 250
COUNTED = "M_test success"
"""Parameters of exact counting, with all attention on matching examples."""


def examples_of_chain(run: Kit, power: float = 0.0) -> float:
    """l_ts for which a chain of votes is right at every step with probability `success`, uniform errors."""
    p = run.p
    found = plurality.examples_needed(p, n_most=MOST_OF_A_CHAIN)
    if np.isnan(found):
        raise InputError(f"alpha_test = {p.alpha_test:g}, tau = {p.tau:g}: a chain that succeeds with probability "
                         f"{p.success:g} needs more than the {MOST_OF_A_CHAIN} examples that are counted.")  # fmt: skip
    return found * (p.alpha_test * p.tau) ** -power


def chain_order(p) -> float:
    """(α' τ ρ)^-2 log M of (23), with the primacy of uniform errors."""
    step = p.tau ** (1 / p.K)
    return float((p.alpha_test * p.tau * (1 - (1 - step) / ((p.M_test - 1) * step))) ** -2 * np.log(p.M))


def row_of(p: float, rho: float) -> np.ndarray:
    """One step: right with p, the runner-up with (1-ρ) p, enough other patterns share the rest to stay below it."""
    runner_up = (1 - rho) * p
    rest = 1 - p - runner_up
    if rest < 0:
        raise InputError(f"tau = {p:g}, rho = {rho:g} is no law of one step: the runner-up's (1 - rho) tau leaves less "
                         "than nothing.")  # fmt: skip
    n = max(8, int(np.ceil(2 * rest / runner_up)))
    return np.array([p, runner_up, *[rest / n] * n])


@lru_cache(maxsize=64)
def least_votes(row: tuple[float, ...], correct: int, success: float) -> float:
    """The number of labels drawn from `row` from which on a vote among them is right with probability `success`."""
    n = plurality.N_MOST_EXAMPLES
    missed = np.flatnonzero(plurality.win_table(row, correct, n).sum(axis=1) < success)
    if missed[-1] == n:
        raise InputError(f"a vote that is right with probability {success:g} needs more than the {n} matching "
                         "examples that are counted.")  # fmt: skip
    return float(missed[-1] + 1)


def votes_needed(run: Kit, power: float = 0.0) -> float:
    """Matching examples for which one vote with p = τ and primacy ρ is right with probability 0.9."""
    p = run.p
    return least_votes(tuple(row_of(p.tau, p.rho)), 0, 0.9) * (p.tau * p.rho) ** -power


def failure_rate(run: Kit, shift: float = 0.0) -> Sides:
    """The exponential rate at which a vote among n examples fails, and (√p - √r)², r the runner-up."""
    p, n = run.p, np.arange(120, 401, 40)
    wrong = 1 - plurality.win_table(row_of(p.tau, p.rho), 0, 400).sum(axis=1)[n]
    seen = wrong > 1e-12
    rate = -np.polyfit(n[seen], np.log(wrong[seen] * np.sqrt(n[seen])), 1)[0]
    return Sides(rate, (np.sqrt(p.tau) - np.sqrt((1 - p.rho) * p.tau + shift)) ** 2)


def one_step_errors(run: Kit) -> float:
    """ICL error by exact counting, which Condition 1 is asked of."""
    law = law_of(run.setup)
    run.note(condition_1="holds" if law.satisfies_condition_1 else "fails")
    return one_step_error(run.setup, law)


def chain_errors(run: Kit, n_matching: int = 480) -> Sides:
    """CoT error of a vote among so many matching examples where Condition 1 fails, and 0.05."""
    length = int(np.ceil(n_matching / run.p.alpha_test))
    run.note(l_ts=length)
    return Sides(limit_errors({**run.setup, "n_prompts": 300, "l_ts": length}).cot, 0.05)


def one_step_needed(run: Kit, power: float = 0.0) -> float:
    """l_ts for which ICL errs at most 0.01 under Condition 1, runner-up errors."""
    law, p = law_of(run.setup), run.p
    needed = least_votes(tuple(law.composed[0]), int(law.targets[-1][0]), 0.99)
    return needed / p.alpha_test * p.tau**-power


def one_step_order(p) -> float:
    """(α' τ_o ρ_o)^-2 log M of (25)."""
    law = law_of(p)
    return float((p.alpha_test * law.output_probability * law.output_primacy) ** -2 * np.log(p.M))


def boundary(run: Kit, steps_less: int = 0) -> Sides:
    """The p at which Condition 1 changes for attractor errors, by bisection, and where r_K(p, β) = x_K(p, β)."""
    p = run.p
    task = examples.shifting_task(p.M_test, p.K)
    low, high = 0.3, 0.95
    for _ in range(30):
        middle = (low + high) / 2
        holds = examples.attractor_law(task, middle, p.beta).satisfies_condition_1
        low, high = (low, middle) if holds else (middle, high)
    return Sides(high, examples.attractor_boundary(p.beta, p.K - steps_less, p.M_test))


LENGTHS = (5, 10, 20, 40, 80)


def errors_fall(run: Kit, error: str, lengths: tuple[int, ...] = LENGTHS) -> dict[str, bool]:
    """Figs. 2 and 3: the error falls with l_ts, and at 20 examples it is the larger the smaller α', τ or ρ."""
    of = lambda **changes: getattr(limit_errors({**run.at(**changes).setup, "n_prompts": 3000}), error)
    found = {}
    for name, values, more in (("alpha_test", (0.2, 0.4, 0.8), {}), ("tau", (0.1, 0.3, 0.7), {}),
                               ("rho", (0.2, 0.4, 0.8), {"style": "one"})):  # fmt: skip
        course = [of(**{name: values[-1]}, **more, l_ts=n) for n in lengths]
        found[f"falls with l_ts, {name} = {values[-1]:g}"] = bool(course[-1] < 0.2 * course[0] + 0.01)
        at_20 = [of(**{name: x}, **more) for x in values]
        found[f"more examples needed at small {name}"] = bool((np.diff(at_20) < 0).all())
    return found


ATTRACTORS: list[dict[str, Any]] = [
    {"style": "attractor", "tau": 0.6**3, "beta": 0.9},
    {"style": "attractor", "tau": 0.65**3, "beta": 0.85},
    {"style": "equal", "tau": 0.45**3, "rho": 0.02},
]
"""Errors under which Condition 1 fails though every single step is right on average: two attractors, and a drift."""
SATISFIED: list[dict[str, Any]] = [
    {"style": "attractor", "tau": 0.8**3, "beta": 0.9},
    {"style": "attractor", "tau": 0.6**3, "beta": 0.3},
    {"style": "equal"},
]
"""Errors under which it holds, of four patterns or more: among fewer the second misleads."""
INFORMED = Regime(Condition("M' ≥ 4", lambda p: (p.M_test, 4)))
MATCHING = {"alpha_test": 1.0}


def figure_4(run: Kit, swap: bool = False) -> dict[str, bool]:
    """Fig. 4: τ_o = 0.4, ρ_o = 0.1, with Condition 1 and without."""
    found = {}
    for is_satisfied in (True, False):
        p, beta = examples.attractor_of(0.4, 0.1, is_satisfied is not swap)
        errors = [limit_errors({**run.at(style="attractor", tau=p**3, beta=beta, l_ts=n).setup, "n_prompts": 1500})
                  for n in (20, 80, 320)]  # fmt: skip
        icl, cot = [e.icl for e in errors], [e.cot for e in errors]
        if is_satisfied:
            found["with Condition 1 ICL improves with l_ts"] = bool(icl[-1] < icl[0] - 0.1)
        else:
            found["without it the ICL error remains large"] = bool(min(icl) > 0.5)
        found[f"CoT improves, Condition 1 {'holds' if is_satisfied else 'fails'}"] = bool(cot[-1] < 0.1 * cot[0])
    return found


CLAIMS = [
    Claim("theorem_2_alpha", "Theorem 2, Eq. (23)", "l_ts = O((α' τ ρ)^-2 log M) examples suffice: in α'",
          Order("O", chain_order), examples_of_chain, path=Path("alpha_test", (0.8, 0.4, 0.2, 0.1, 0.07, 0.05)),
          levels="L3", takes=f"tau {COUNTED}", control={"power": 3.0}),
    Claim("theorem_2_tau", "Theorem 2, Eq. (23)", "the same: in τ, equal steps", Order("O", chain_order),
          examples_of_chain, path=Path("tau", (0.5, 0.3, 0.2, 0.15, 0.1, 0.07)), levels="L3",
          takes=f"alpha_test {COUNTED}", control={"power": 1.5}),
    Claim("theorem_2_rho", "Theorem 2, Eq. (23)", "the same: in ρ, one noisy step", Order("O", lambda p: p.rho**-2),
          votes_needed, path=Path("rho", (0.5, 0.35, 0.25, 0.18, 0.14, 0.12)), levels="L3", takes="tau",
          control={"power": 1.0}),
    Claim("remark_1_alpha", "Remark 1; Sec. 3, P2", "the examples needed are of the order of α'^-2",
          Order("Θ", lambda p: p.alpha_test**-2), examples_of_chain,
          path=Path("alpha_test", (0.8, 0.4, 0.2, 0.1, 0.07, 0.05)), levels="L3", takes=f"tau {COUNTED}",
          control={"power": 1.0}, note="a bound, not the order: what counts is the number α' l of matching examples"),
    Claim("remark_1_tau", "Remark 1; Sec. 3, P2", "the examples needed are of the order of τ^-2, one noisy step",
          Order("Θ", lambda p: p.tau**-2), votes_needed, at={"rho": 0.6},
          path=Path("tau", (0.4, 0.3, 0.2, 0.15, 0.1, 0.08, 0.06)), levels="L3", takes="", control={"power": 1.0},
          note="a bound, not the order: a vote of n examples fails exponentially in n p, so n p is what is needed"),
    Claim("remark_1_rho", "Remark 1; Sec. 3, P2", "the examples needed are of the order of ρ^-2, one noisy step",
          Order("Θ", lambda p: p.rho**-2), votes_needed, path=Path("rho", (0.5, 0.35, 0.25, 0.18, 0.14, 0.12)),
          levels="L3", takes="tau", control={"power": 1.0}),
    Claim("chernoff", "Theorem 2 [ours]", "votes fail like n^-1/2 e^(-n (√p - √r)²)", Identity(0.07), failure_rate,
          at=[{"tau": p, "rho": r} for p, r in ((0.5, 0.3), (0.5, 0.4), (0.5, 0.6), (0.4, 0.4), (0.3, 0.5))],
          levels="L3", takes="", control={"shift": 0.03}),
    Claim("theorem_3a", "Theorem 3a", "if Condition 1 fails the ICL error is Ω(1) at every length", Order("Ω"),
          one_step_errors, at=[{**x, **MATCHING} for x in ATTRACTORS], path=Path("l_ts", (20, 60, 180, 360, 600)),
          levels="L3", takes="M_test", control={"at": [{**x, **MATCHING} for x in SATISFIED[1:2]]},
          note="the condition {condition_1}"),
    Claim("theorem_3a_cot", "Remark 2", "where Condition 1 fails CoT still succeeds with more examples",
          Inequality("<="), chain_errors, at=ATTRACTORS[:2], levels="L3", takes="M_test alpha_test",
          control={"n_matching": 8}, note="at the last place with {l_ts:g} examples"),
    Claim("theorem_3b", "Theorem 3b", "if Condition 1 holds the ICL error goes to 0",
          Order("O", lambda p: p.l_ts**-0.5), one_step_errors, at=[{**x, **MATCHING} for x in SATISFIED],
          path=Path("l_ts", (20, 60, 180, 360, 600)),
          regime=INFORMED, levels="L3", takes="M_test", control={"at": [{**x, **MATCHING} for x in ATTRACTORS[:1]]},
          note="the condition {condition_1}; the error falls faster than this"),
    Claim("theorem_3b_length", "Theorem 3b, Eq. (25)", "l_ts = O((α' τ_o ρ_o)^-2 log M) examples suffice for ICL",
          Order("O", one_step_order), one_step_needed, path=Path("tau", (0.8, 0.7, 0.6, 0.5, 0.4, 0.3)), levels="L3",
          takes="M_test alpha_test", control={"power": 6.0}),
    Claim("remark_2_alpha", "Remark 2", "ICL needs examples linear in α'^-2", Order("Θ", lambda p: p.alpha_test**-2),
          one_step_needed, path=Path("alpha_test", (0.8, 0.4, 0.2, 0.1, 0.05, 0.02)), levels="L3", takes="tau M_test",
          control=lambda run: one_step_needed(run) / run.p.alpha_test,
          note="a bound, not the order: only the number α' l of matching examples counts"),
    Claim("condition_1", "Condition 1, Eq. (24) [ours]", "for attractor errors it changes where r_K(p, β) = x_K(p, β)",
          Identity(1e-6), boundary, at=[{"beta": b} for b in (0.3, 0.5, 0.7, 0.9)], levels="L3", takes="",
          control={"steps_less": 1}),
    Claim("fig_2", "Fig. 2", "the CoT error falls with l_ts, more slowly for small α', τ, ρ", Experiment(),
          lambda run, lengths=LENGTHS: errors_fall(run, "cot", lengths), levels="L3", takes="M_test",
          control={"lengths": (80, 40, 5)}),
    Claim("fig_3", "Fig. 3", "the ICL error falls with l_ts, more slowly for small α', τ_o, ρ_o", Experiment(),
          lambda run, lengths=LENGTHS: errors_fall(run, "icl", lengths), levels="L3", takes="M_test",
          control={"lengths": (80, 40, 5)}),
    Claim("fig_4", "Fig. 4", "with Condition 1 ICL improves, without it ICL fails; CoT improves", Experiment(),
          figure_4, levels="L3", takes="", control={"swap": True}),
]  # fmt: skip
