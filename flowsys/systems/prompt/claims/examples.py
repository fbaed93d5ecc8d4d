"""How many examples a test prompt needs: Theorem 2 by exact plurality counting, Theorem 3 and Condition 1."""

from functools import lru_cache

import numpy as np

from flowsys.claims import Verdict, judged, word_of
from flowsys.systems.prompt import SYSTEM, plurality, surrogate, transitions
from flowsys.systems.prompt.claims.attention import LATE
from flowsys.systems.prompt.claims.attention import tested as random_patterns
from flowsys.systems.prompt.claims.runs import claim, exponent_verdict, listed, run
from flowsys.systems.prompt.testing import limit_errors

ROOT = 1 / 3  # of τ: equal steps, K = 3
TASK = transitions.shifting_task(10, 3)
LENGTHS = (20, 80, 320)


@lru_cache(maxsize=256)
def _chain(p_correct: float, alpha_test: float) -> float:
    return plurality.examples_needed(0.99, p_correct, 10, 3, alpha_test, n_most=200) or np.nan


def _row(p: float, rho: float) -> np.ndarray:
    """One step: right with p, the runner-up with (1-ρ) p, the other eight patterns share the rest."""
    return np.array([p, (1 - rho) * p, *[(1 - p - (1 - rho) * p) / 8] * 8])


@lru_cache(maxsize=256)
def _vote(p: float, rho: float, success: float) -> float:
    """Matching examples for which one vote is right with probability `success`."""
    missed = np.flatnonzero(plurality.win_table(_row(p, rho), 0, 600).sum(axis=1) < success)
    return float(missed[-1] + 1) if missed[-1] < 600 else np.nan


def examples_fall_with_alpha(predicted: float = -2.0) -> Verdict:
    """Eq. (23): l_ts ∝ α'^-2."""
    alphas = (0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8)
    return exponent_verdict("alpha_test", alphas, [_chain(0.5**ROOT, a) for a in alphas], predicted, 0.2,
                            "an upper bound: only the number α' l of matching examples counts, so the law is α'^-1",
                            {"tau": 0.5, "success": 0.99, "errors": "uniform, equal steps"})  # fmt: skip


def examples_fall_with_tau(predicted: float = -2.0) -> Verdict:
    """Eq. (23): l_ts ∝ τ^-2, equal steps."""
    taus = (0.1, 0.15, 0.2, 0.3, 0.4, 0.6)
    return exponent_verdict("tau", taus, [_chain(t**ROOT, 0.8) for t in taus], predicted, 0.2,
                            "an upper bound; margin and count change together here",
                            {"alpha_test": 0.8, "success": 0.99, "errors": "uniform, equal steps"})  # fmt: skip


def examples_fall_with_one_steps_probability(predicted: float = -2.0) -> Verdict:
    """Eq. (23): l_ts ∝ τ^-2, one noisy step of fixed primacy."""
    ps = (0.25, 0.3, 0.4, 0.5, 0.58)
    return exponent_verdict("tau", ps, [_vote(p, 0.3, 0.99) for p in ps], predicted, 0.2,
                            "an upper bound; the sharp law is p^-1", {"rho": 0.3, "success": 0.99})  # fmt: skip


def examples_fall_with_primacy(predicted: float = -2.0) -> Verdict:
    """Eq. (23): l_ts ∝ ρ^-2."""
    rhos = (0.12, 0.16, 0.2, 0.25, 0.3, 0.4)
    return exponent_verdict("rho", rhos, [_vote(0.5, r, 0.9) for r in rhos], predicted, 0.25,
                            "fitted for 0.12 ≤ ρ ≤ 0.4, where votes are counted exactly; the interval leaves out -2, "
                            "the local exponents approach it as ρ falls",
                            {"p": 0.5, "success": 0.9}, is_bound=False)  # fmt: skip


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


def _of_stated_length(ratios: dict[tuple, float], stated: str, constant: float) -> Verdict:
    """l needed over the stated length, point by point; more than is counted (nan) counts as exceeding it."""
    kept = {key: bool(r <= constant) for key, r in ratios.items()}
    best, exceeded = np.nanmax([*ratios.values()]), [key for key, ok in kept.items() if not ok]
    beyond = [key for key, r in ratios.items() if np.isnan(r)]
    return Verdict(word_of([*kept.values()]), f"l needed ≤ C {stated}, C = {constant:g}",
                   f"{sum(kept.values())} of {len(kept)} points keep it; ratio {np.nanmin([*ratios.values()]):.3g} to "
                   f"{best:.3g}",
                   f"the theorem leaves C open: C = {best:.2f} serves every point counted, C = {constant:g} is "
                   f"exceeded at {exceeded or 'none'}; beyond what is counted: {beyond or 'none'}",
                   parameters={"M": 20, "success": 0.99},
                   values={"ratios": [*map(float, ratios.values())], "best constant": float(best)})  # fmt: skip


def theorem_2_length_suffices(constant: float = 1.0) -> Verdict:
    """Eq. (23): of order (α' τ ρ)^-2 log M examples are enough."""
    ratios = {}
    for alpha, tau in ((0.1, 0.5), (0.2, 0.5), (0.4, 0.5), (0.8, 0.5), (0.8, 0.1), (0.8, 0.2), (0.4, 0.3), (0.8, 0.7)):
        p = tau**ROOT
        rho = 1 - (1 - p) / (9 * p)
        ratios[alpha, tau, round(rho, 3)] = _chain(p, alpha) / surrogate.examples_needed(20, alpha, tau, rho)
    for p, rho in ((0.5, 0.2), (0.5, 0.4), (0.3, 0.3)):
        ratios[1.0, p, rho] = _vote(p, rho, 0.99) / surrogate.examples_needed(20, 1.0, p, rho)
    return _of_stated_length(ratios, "(α' τ ρ)^-2 log M", constant)


def chains_succeed_with_long_prompts(t: float = LATE) -> Verdict:
    """Theorem 2: CoT error → 0 on erroneous examples (App. E: α' = 0.8, τ = 0.5, ρ = 0.8)."""
    lengths = (5, 10, 20, 40, 80)
    errors = [random_patterns(t, n_prompts=2000, l_ts=n)[0].cot for n in lengths]
    limit = [limit_errors(SYSTEM.setup(n_prompts=3000, l_ts=n)).cot for n in lengths]
    return judged(errors[-1] < 0.003 and bool((np.diff(errors[:4]) < 0).all()), "decreasing to 0",
                  f"{listed(errors, '.4f')} at l_ts = {listed(lengths, 'g')}; all attention on matching examples: "
                  f"{listed(limit, '.4f')}", parameters={"t": t, "l_ts": lengths},
                  values={"errors": errors})  # fmt: skip


@lru_cache(maxsize=64)
def _attractor(p: float, beta: float, n: int, n_prompts: int = 1500):
    return limit_errors(SYSTEM.setup(style="attractor", tau=p**3, beta=beta, l_ts=n, n_prompts=n_prompts))


def _condition_1(p: float, beta: float) -> bool:
    return transitions.satisfies_condition_1(transitions.attractor_transitions(10, 3, p, beta), TASK)


def one_step_fails_without_condition_1(p: float = 0.6, beta: float = 0.9) -> Verdict:
    """Theorem 3a: where Condition 1 fails ICL keeps an error Ω(1); CoT on the same prompts succeeds."""
    errors = [_attractor(p, beta, n) for n in LENGTHS]
    icl, cot = [e.icl for e in errors], [e.cot for e in errors]
    setup = {"style": "attractor", "tau": p**3, "beta": beta, "l_ts": 80, "n_prompts": 800}
    model = run(LATE, observe=("cot_error", "icl_error"), **setup)
    return judged(not _condition_1(p, beta) and min(icl) > 0.5 and cot[-1] < 0.05, "ICL error Ω(1), CoT → 0",
                  f"ICL {listed(icl, '.3f')}, CoT {listed(cot, '.3f')} at l_ts = {listed(LENGTHS, 'g')}; the model at "
                  f"t = 2e5, l_ts = 80: {model['icl_error'][0]:.3f} and {model['cot_error'][0]:.3f}",
                  note=f"attractor errors p = {p:g}, β = {beta:g}, Condition 1 "
                  + ("holds" if _condition_1(p, beta) else "fails"), parameters={"p": p, "beta": beta},
                  values={"icl": icl, "cot": cot})  # fmt: skip


def one_step_succeeds_under_condition_1(cases=((0.8, 0.9), (0.6, 0.3), (0.75, 0.9))) -> Verdict:
    """Theorem 3b: where Condition 1 holds the ICL error goes to 0."""
    texts, good = [], []
    for p, beta in cases:
        lengths = (*LENGTHS, 1000)
        icl = [_attractor(p, beta, n, 1000).icl for n in lengths]
        good.append(_condition_1(p, beta) and icl[-1] < 0.75 * icl[0] and bool((np.diff(icl) < 0.02).all()))
        texts.append(f"p = {p:g}, β = {beta:g}: {listed(icl, '.3f')}")
    return judged(all(good), "ICL error → 0", f"l_ts = 20, 80, 320, 1000: {'; '.join(texts)}",
                  note="slow where ρ_o is small", parameters={"(p, beta)": cases}, values={"good": good})  # fmt: skip


def theorem_3_length_suffices(constant: float = 1.0) -> Verdict:
    """Eq. (25): of order (α' τ_o ρ_o)^-2 log M examples are enough for ICL under Condition 1."""
    ratios = {}
    for tau in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7):
        A = transitions.runner_up_transitions(10, 3, tau, 0.8, is_exact=False)
        tau_o, rho_o = transitions.input_label_probability(A), transitions.input_label_primacy(A)
        missed = np.flatnonzero(plurality.win_table(transitions.composed(A)[0], 6, 600).sum(axis=1) < 0.99)
        needed = (missed[-1] + 1) / 0.8 if missed[-1] < 600 else np.nan
        ratios[tau, round(tau_o, 3), round(rho_o, 3)] = float(needed / surrogate.examples_needed(20, 0.8, tau_o, rho_o))
    return _of_stated_length(ratios, "(α' τ_o ρ_o)^-2 log M", constant)


def condition_1_has_an_analytic_boundary(K: int = 3) -> Verdict:
    """[ours] For attractor errors Condition 1 changes at p^K = x_K(p, β); one step misleads below p = (1-p) β."""
    off = []
    for beta in (0.3, 0.5, 0.7, 0.9):
        grid = np.arange(0.3, 0.95, 0.005)
        first = next(p for p in grid if _condition_1(p, beta) and _condition_1(p + 0.02, beta))
        off.append(abs(float(first) - transitions.attractor_boundary(beta, K)))
    word = word_of([x < 0.02 for x in off])
    steps = transitions.primacy(transitions.attractor_transitions(10, 3, 0.6, 0.9), TASK)
    return Verdict(word, "p^K = x_K(p, β)", f"off by {listed(off, '.3f')} at β = 0.3, 0.5, 0.7, 0.9; at "
                  f"(0.6, 0.9), where it fails, every step has primacy {steps:.2f}",
                  note="returns to the right chain are neglected: they matter at small β", tolerance=0.02,
                  values={"differences": off})  # fmt: skip


COUNTED = "all attention on matching examples, M' = 10, exact counting"
CLAIMS = [
    claim("theorem_2_alpha", "Theorem 2, Eq. (23)", "l_ts grows like α'^-2", examples_fall_with_alpha,
          control={"predicted": -0.5}, regime=COUNTED),
    claim("theorem_2_tau", "Theorem 2, Eq. (23)", "l_ts grows like τ^-2 (equal steps)", examples_fall_with_tau,
          control={"predicted": -0.5}, regime=COUNTED),
    claim("theorem_2_one_step", "Theorem 2, Eq. (23)", "l_ts grows like τ^-2 (one noisy step, ρ fixed)",
          examples_fall_with_one_steps_probability, control={"predicted": -0.5}, regime=COUNTED, is_cheap=False),
    claim("theorem_2_rho", "Theorem 2, Eq. (23)", "l_ts grows like ρ^-2", examples_fall_with_primacy,
          control={"predicted": -1.0}, regime=COUNTED, is_cheap=False),
    claim("chernoff", "Theorem 2 [ours]", "votes fail like e^(-n (√p - √r)²)", votes_fail_exponentially,
          control={"shift": 0.03}, regime=COUNTED),
    claim("theorem_2_length", "Theorem 2, Eq. (23)", "l_ts of order (α' τ ρ)^-2 log M suffices",
          theorem_2_length_suffices, control={"constant": 0.02}, regime=COUNTED, is_cheap=False),
    claim("theorem_2_error", "Theorem 2", "the CoT error on erroneous examples goes to 0",
          chains_succeed_with_long_prompts, control={"t": 0.0}, regime="App. E, t = 2e5"),
    claim("theorem_3a", "Theorem 3a", "if Condition 1 fails the ICL error is Ω(1), and CoT's goes to 0",
          one_step_fails_without_condition_1, control={"p": 0.8}, regime="attractor errors, queries off the attractor"),
    claim("theorem_3b", "Theorem 3b", "if Condition 1 holds the ICL error goes to 0",
          one_step_succeeds_under_condition_1, control={"cases": ((0.6, 0.9),)}, regime="attractor errors",
          is_cheap=False),
    claim("theorem_3b_length", "Theorem 3b, Eq. (25)", "l_ts of order (α' τ_o ρ_o)^-2 log M suffices for ICL",
          theorem_3_length_suffices, control={"constant": 0.02}, regime="runner-up errors, equal steps"),
    claim("condition_1", "Condition 1, Eq. (24) [ours]", "for attractor errors it changes at p^K = x_K(p, β)",
          condition_1_has_an_analytic_boundary, control={"K": 2}, regime="M' = 10, K = 3"),
]  # fmt: skip
