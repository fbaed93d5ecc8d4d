"""How many examples a test prompt needs: Theorem 2 by exact plurality counting, Theorem 3 and Condition 1."""

from functools import lru_cache
from typing import Any

import numpy as np

from flowsys.claims import Verdict, judged, listed
from flowsys.claims.conditions import remembered
from flowsys.systems.prompt import plurality, transitions
from flowsys.systems.prompt.claims.attention import LATE
from flowsys.systems.prompt.claims.attention import tested as random_patterns
from flowsys.systems.prompt.claims.runs import SIZE, TRAINED, claim, exponent_verdict, fitted, horizon, setup
from flowsys.systems.prompt.testing import limit_errors

TASK = transitions.shifting_task(10, 3)
LENGTHS = (20, 80, 320)


ALPHAS = (0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4)
TAUS = (0.07, 0.1, 0.15, 0.2, 0.3)
STEP_PROBABILITIES = (0.08, 0.1, 0.15, 0.2, 0.3)
PRIMACIES = (0.12, 0.14, 0.16, 0.18, 0.2)


@remembered(256)
def _chain(**given: float) -> float:
    """Examples for which a chain of three votes succeeds, with uniform errors, for given α' and τ."""
    there = setup(**given)
    step = there["tau"] ** (1 / 3)
    return (
        plurality.examples_needed(there["success"], step, there["M_test"], 3, there["alpha_test"], n_most=250) or np.nan
    )


def _row(p: float, rho: float) -> np.ndarray:
    """One step: right with p, the runner-up with (1-ρ) p, enough other patterns share the rest to stay below it."""
    runner_up = (1 - rho) * p
    rest = 1 - p - runner_up
    n = max(8, int(np.ceil(2 * rest / runner_up)))
    return np.array([p, runner_up, *[rest / n] * n])


@lru_cache(maxsize=256)
def _vote(p: float, rho: float, success: float) -> float:
    """Matching examples for which one vote is right with probability `success`."""
    missed = np.flatnonzero(plurality.win_table(_row(p, rho), 0, 600).sum(axis=1) < success)
    return float(missed[-1] + 1) if missed[-1] < 600 else np.nan


def examples_fall_with_alpha(predicted: float = -2.0) -> Verdict:
    """Eq. (23): l_ts ∝ α'^-2."""
    return exponent_verdict("alpha_test", ALPHAS, [_chain(alpha_test=a) for a in ALPHAS], predicted, 0.15,
                            "an upper bound (theorem_2_length), not the law: about α'^-1, exactly for one step, where "
                            "only the number α' l of matching examples counts; a little less for a chain: examples "
                            "that stray onto it help its later steps",
                            {"tau": 0.5, "success": 0.99, "errors": "uniform, equal steps"})  # fmt: skip


def examples_fall_with_tau(predicted: float = -2.0) -> Verdict:
    """Eq. (23): l_ts ∝ τ^-2, equal steps."""
    return exponent_verdict("tau", TAUS, [_chain(tau=t) for t in TAUS], predicted, 0.2,
                            "an upper bound (theorem_2_length), not the law: margin and count change together here, "
                            "and the exponent with them",
                            {"alpha_test": 0.8, "success": 0.99, "errors": "uniform, equal steps"})  # fmt: skip


def examples_fall_with_one_steps_probability(predicted: float = -2.0) -> Verdict:
    """Eq. (23): l_ts ∝ τ^-2, one noisy step of fixed primacy."""
    return exponent_verdict("tau", STEP_PROBABILITIES, [_vote(p, 0.6, 0.99) for p in STEP_PROBABILITIES], predicted,
                            0.1, "an upper bound (theorem_2_length); the law is p^-1",
                            {"rho": 0.6, "success": 0.99})  # fmt: skip


def examples_fall_with_primacy(predicted: float = -2.0) -> Verdict:
    """Eq. (23): l_ts ∝ ρ^-2, at the smallest ρ for which votes are counted exactly.

    The tolerance is what is left of the limit there: 1/(√p - √r)² has local exponents down to -2.11 at ρ = 0.2.
    """
    rate = [plurality.chernoff_exponent(0.5, 0.5 * (1 - rho)) for rho in PRIMACIES]
    limit = fitted(PRIMACIES, 1 / np.array(rate)).slope
    return exponent_verdict("rho", PRIMACIES, [_vote(0.5, r, 0.9) for r in PRIMACIES], predicted, 0.15,
                            f"-2 as ρ → 0: the Chernoff exponent of the vote gives {limit:.3f} over the same ρ",
                            {"p": 0.5, "success": 0.9})  # fmt: skip


def votes_fail_exponentially(shift: float = 0.0) -> Verdict:
    """[ours] A vote among n examples fails like e^(-n (√p - √r)²), r the runner-up: l ≈ (α' τ)^-1 ρ^-2."""
    found = {}
    for p, rho in ((0.5, 0.3), (0.5, 0.4), (0.5, 0.6), (0.4, 0.4), (0.3, 0.5)):
        n = np.arange(120, 401, 40)
        wrong = 1 - plurality.win_table(_row(p, rho), 0, 400).sum(axis=1)[n]
        seen = wrong > 1e-12
        rate = -np.polyfit(n[seen], np.log(wrong[seen] * np.sqrt(n[seen])), 1)[0]
        found[p, rho] = float(rate / plurality.chernoff_exponent(p, (1 - rho) * p + shift))
    low, high = min(found.values()), max(found.values())
    return judged(low > 0.93 and high < 1.07, "rate (√p - √r)² with a factor n^-1/2", f"rate over it {low:.3f} to "
                  f"{high:.3f}", interval=(low, high), tolerance=0.07, parameters={"(p, rho)": tuple(found)},
                  values={"ratios": [*found.values()]})  # fmt: skip


def _of_stated_order(families: dict[str, list[tuple[float, float]]], stated: str) -> Verdict:
    """One constant serves if, along each family of (needed, stated), needed grows no faster to the hard end."""
    fits = {name: fitted(*zip(*[(s, n) for n, s in points])) for name, points in families.items()}
    ratios = {name: [n / s for n, s in points] for name, points in families.items()}
    best = max(max(row) for row in ratios.values())
    return judged(all(fit.slope <= 1.15 for fit in fits.values()), f"l needed ≤ C {stated}: no faster than it",
                  "; ".join(f"{name}: l ∝ stated^{fit}, l/stated {listed(ratios[name], '.3g')}"
                            for name, fit in fits.items()),
                  note=f"C = {best:.2f} serves every point", tolerance=0.15,
                  parameters={"M": 20, "success": "0.99; 0.9 along ρ"},
                  values={"ratios": ratios, "best constant": best}, fits=fits)  # fmt: skip


def theorem_2_length_suffices(power: float = -2.0) -> Verdict:
    """Eq. (23): of order (α' τ ρ)^-2 log M examples are enough."""
    order = lambda alpha, tau, rho: (alpha * tau * rho) ** power * np.log(20)
    uniform_rho = lambda p: 1 - (1 - p) / (9 * p)
    chain = lambda alpha, tau: (_chain(alpha_test=alpha, tau=tau), order(alpha, tau, uniform_rho(tau ** (1 / 3))))
    families = {
        "α' → 0": [chain(a, 0.5) for a in ALPHAS[::-1]],
        "τ → 0": [chain(0.8, t) for t in TAUS[::-1]],
        "ρ → 0": [(_vote(0.5, r, 0.9), order(1.0, 0.5, r)) for r in PRIMACIES[::-1]],
    }
    return _of_stated_order(families, "(α' τ ρ)^-2 log M")


def chains_succeed_with_long_prompts(t: float = LATE) -> Verdict:
    """Theorem 2: CoT error → 0 on erroneous examples (App. E: α' = 0.8, τ = 0.5, ρ = 0.8)."""
    lengths, t = (5, 10, 20, 40, 80), horizon(t)
    errors = [random_patterns(t, n_prompts=2000, l_ts=n)[0].cot for n in lengths]
    limit = [limit_errors(setup(n_prompts=3000, l_ts=n)).cot for n in lengths]
    return judged(errors[-1] < 0.003 and bool((np.diff(errors[:4]) < 0).all()), "decreasing to 0",
                  f"{listed(errors, '.4f')} at l_ts = {listed(lengths, 'g')}; all attention on matching examples: "
                  f"{listed(limit, '.4f')}", parameters={"t": t, "l_ts": lengths},
                  values={"errors": errors})  # fmt: skip


def _attractor(p: float, beta: float, n: int, n_prompts: int) -> dict[str, Any]:
    """Test prompts whose errors go to an attractor."""
    return {"style": "attractor", "tau": p**3, "beta": beta, "l_ts": n, "n_prompts": n_prompts}


def _condition_1(p: float, beta: float) -> bool:
    return transitions.satisfies_condition_1(transitions.attractor_transitions(10, 3, p, beta), TASK)


def one_step_fails_without_condition_1(p: float = 0.6, beta: float = 0.9) -> Verdict:
    """Theorem 3a: where Condition 1 fails ICL keeps an error Ω(1); CoT on the same prompts succeeds.

    Judged with all attention on matching examples, and of the model at the end of its training.
    """
    end = horizon(LATE)
    voted = [limit_errors(setup(**_attractor(p, beta, n, 1500))) for n in LENGTHS]
    model = [random_patterns(end, **_attractor(p, beta, n, 800))[0] for n in LENGTHS]
    is_so = [min(e.icl for e in errors) > 0.5 and errors[-1].cot < 0.05 for errors in (voted, model)]
    column = lambda errors, name: [getattr(e, name) for e in errors]
    read = lambda errors: f"ICL {listed(column(errors, 'icl'), '.3f')}, CoT {listed(column(errors, 'cot'), '.3f')}"
    return judged(not _condition_1(p, beta) and all(is_so), "ICL error Ω(1), CoT → 0",
                  f"{read(voted)} at l_ts = {listed(LENGTHS, 'g')}; the model at t = {end:g}: {read(model)}",
                  note=f"attractor errors p = {p:g}, β = {beta:g}, Condition 1 "
                  + ("holds" if _condition_1(p, beta) else "fails"), parameters={"p": p, "beta": beta},
                  values={f"{name} {of}": column(errors, name) for name in ("icl", "cot")
                          for of, errors in (("voted", voted), ("model", model))})  # fmt: skip


def _icl_errors(A: np.ndarray) -> np.ndarray:
    """Exact ICL error of query 0 with 0 … 600 matching examples."""
    return 1 - plurality.win_table(transitions.composed(A)[0], 6, 600).sum(axis=1)


def one_step_succeeds_under_condition_1(cases=((0.8, 0.9), (0.6, 0.3), (0.75, 0.9))) -> Verdict:
    """Theorem 3b: where Condition 1 holds the ICL error goes to 0: it falls with every length, to less than half."""
    texts, good, lengths = [], [], (16, 64, 256, 600)
    for p, beta in cases:
        A = transitions.attractor_transitions(10, 3, p, beta)
        errors, ranked = _icl_errors(A), np.sort(transitions.composed(A)[0])[::-1]
        at = errors[list(lengths)]
        good.append(_condition_1(p, beta) and bool((np.diff(at) < 0).all() and at[-1] < at[0] / 2))
        texts.append(f"p = {p:g}, β = {beta:g} (B: {ranked[0]:.3f}, {ranked[1]:.3f}): {listed(at, '.3g')}")
    return judged(all(good), "ICL error → 0", f"matching examples {listed(lengths, 'g')}: {'; '.join(texts)}",
                  note="by exact counting; like e^(-n (√B_1 - √B_2)²), slow where ρ_o is small",
                  parameters={"(p, beta)": cases}, values={"good": good})  # fmt: skip


def theorem_3_length_suffices(power: float = -2.0) -> Verdict:
    """Eq. (25): of order (α' τ_o ρ_o)^-2 log M examples are enough for ICL under Condition 1."""
    points = []
    for tau in (0.8, 0.7, 0.6, 0.5, 0.4, 0.3):
        A = transitions.runner_up_transitions(10, 3, tau, 0.8, is_exact=False)
        missed = np.flatnonzero(_icl_errors(A) > 0.01)
        product = 0.8 * transitions.input_label_probability(A) * transitions.input_label_primacy(A)
        points.append((float(missed[-1] + 1) / 0.8, float(product**power * np.log(20))))
    return _of_stated_order({"τ_o, ρ_o → 0 (τ = 0.8 to 0.3)": points}, "(α' τ_o ρ_o)^-2 log M")


def condition_1_has_an_analytic_boundary(M_test: float = 10) -> Verdict:
    """[ours] For attractor errors Condition 1 changes where right and wrong chain end equally often."""
    betas, step = (0.3, 0.5, 0.7, 0.9), 0.0005
    found = []
    for beta in betas:
        grid = np.arange(0.3, 0.95, step)
        found.append(float(next(p for p in grid if _condition_1(p, beta) and _condition_1(p + 0.02, beta))))
    stated, plain = ([transitions.attractor_boundary(b, 3, M) for b in betas] for M in (M_test, np.inf))
    off = np.subtract(found, stated)
    primacy = transitions.primacy(transitions.attractor_transitions(10, 3, 0.6, 0.9), TASK)
    return judged(bool((np.abs(off) <= 1.01 * step).all()), "r_K(p, β) = x_K(p, β)",
                  f"changes at p = {listed(found, '.4f')} for β = {listed(betas, 'g')}, stated "
                  f"{listed(stated, '.4f')}; p^K = x_K, without returns to the right chain: {listed(plain, '.4f')}",
                  note=f"at (0.6, 0.9), where it fails, every step has primacy {primacy:.2f}", tolerance=step,
                  parameters={"beta": betas, "K": 3}, values={"found": found, "stated": stated})  # fmt: skip


COUNTED = "all attention on matching examples, M' = 10, exact counting"
CLAIMS = [
    claim("theorem_2_alpha", "Theorem 2, Eq. (23)", "as a law: l_ts grows like α'^-2", examples_fall_with_alpha,
          control={"predicted": -0.8}, regime=COUNTED, takes="M_test tau success"),
    claim("theorem_2_tau", "Theorem 2, Eq. (23)", "as a law: l_ts grows like τ^-2 (equal steps)",
          examples_fall_with_tau, control={"predicted": -1.2}, regime=COUNTED, takes="M_test alpha_test success"),
    claim("theorem_2_one_step", "Theorem 2, Eq. (23)", "as a law: l_ts grows like τ^-2 (one noisy step)",
          examples_fall_with_one_steps_probability, control={"predicted": -1.0}, regime=COUNTED),
    claim("theorem_2_rho", "Theorem 2, Eq. (23)", "as a law: l_ts grows like ρ^-2", examples_fall_with_primacy,
          control={"predicted": -1.0}, regime=COUNTED),
    claim("chernoff", "Theorem 2 [ours]", "votes fail like e^(-n (√p - √r)²)", votes_fail_exponentially,
          control={"shift": 0.03}, regime=COUNTED),
    claim("theorem_2_length", "Theorem 2, Eq. (23)", "l_ts of order (α' τ ρ)^-2 log M suffices",
          theorem_2_length_suffices, control={"power": -1.0}, regime=COUNTED),
    claim("theorem_2_error", "Theorem 2", "the CoT error on erroneous examples goes to 0",
          chains_succeed_with_long_prompts, control={"t": 0.0}, regime="App. E, t = 2e5", levels=TRAINED,
          takes=f"{SIZE} M_test alpha_test tau rho style beta noise"),
    claim("theorem_3a", "Theorem 3a", "if Condition 1 fails the ICL error is Ω(1), and CoT's goes to 0",
          one_step_fails_without_condition_1, control={"p": 0.8}, regime="attractor errors, queries off the attractor",
          levels=TRAINED, takes="M alpha alpha_test noise"),
    claim("theorem_3b", "Theorem 3b", "if Condition 1 holds the ICL error goes to 0",
          one_step_succeeds_under_condition_1, control={"cases": ((0.6, 0.9),)},
          regime="attractor errors, exact counting"),
    claim("theorem_3b_length", "Theorem 3b, Eq. (25)", "l_ts of order (α' τ_o ρ_o)^-2 log M suffices for ICL",
          theorem_3_length_suffices, control={"power": -1.0}, regime="runner-up errors, equal steps"),
    claim("condition_1", "Condition 1, Eq. (24) [ours]", "for attractor errors it changes where r_K = x_K",
          condition_1_has_an_analytic_boundary, control={"M_test": np.inf}, regime="M' = 10, K = 3"),
]  # fmt: skip
