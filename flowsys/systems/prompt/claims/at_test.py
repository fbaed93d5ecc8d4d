"""The trained model at test: attention on matching examples (Proposition 1), any pattern of the span, noise."""

from functools import partial
from math import ceil, log

import numpy as np

from flowsys.claims import Claim, Erratum, Experiment, Identity, Inequality, Kit, Limit, Order, Path, Sides
from flowsys.systems.prompt import testing
from flowsys.systems.prompt.claims import printed
from flowsys.systems.prompt.claims.regimes import LEARNT, PROOFS
from flowsys.systems.prompt.inference import Scorer, Tested

AT_TEST = "M_test alpha_test tau rho style beta noise test_task"
INSIDE = {"M": 250}
"""The paper's K = 3 and α = 0.4 with the patterns that the proofs ask for."""
LATE = 1e7
MOST_COLUMNS = 1_800_000  # in all prompts of a place
EPSILONS = (0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6)


def tested(run: Kit, t: float, overlap: float | None = None, **changes) -> Tested:
    """The model at time t on test prompts."""
    kit = run.at(**changes)
    there = kit.run(float(t), observe=("loss",))
    state = there.states[-1] if not kit.is_finite else there.blocks(there.t[-1])["W"]
    return testing.tested(dict(kit.setup), np.asarray(state), overlap)


def length(p) -> int:
    """(α' τ ρ)^-2 log M of (23)."""
    return ceil((p.alpha_test * p.tau * p.rho) ** -2 * log(p.M))


def missed(run: Kit, power: float = 1.0, overlap: float | None = None) -> float:
    """1 - attention on S_k*, largest over the steps, after T(ε) of Theorem 1, on prompts of the length of (23)."""
    p = run.p
    t = float(printed.training_time(p.epsilon**power, p.M, p.K, p.alpha))
    n = min(300, ceil(MOST_COLUMNS / 10 / p.K / length(p)))
    return float(1 - tested(run, t, overlap, n_prompts=n, l_ts=length(p)).attention.min())


def attention_at_overlap(run: Kit, times: float = 1e8) -> Sides:
    """Attention on matching examples at step 1 for a pattern of overlap λ at t = 1e8 M, and 0.9."""
    return Sides(tested(run, times * run.p.M, run.p.overlap, n_prompts=200).attention[0], 0.9)


def error_at_overlap(run: Kit, t: float = LATE) -> Sides:
    """CoT error of a pattern of overlap λ at the length of (23), and 0.05."""
    found = tested(run, t, run.p.overlap, n_prompts=40, l_ts=length(run.p))
    run.note(l_ts=length(run.p))
    return Sides(found.cot, 0.05)


def chain_error(run: Kit, t: float = LATE) -> float:
    """CoT error at a multiple of the length of (23)."""
    l_ts = ceil(run.p.times * length(run.p))
    return tested(run, t, n_prompts=min(2000, ceil(MOST_COLUMNS / run.p.K / l_ts)), l_ts=l_ts).cot


def noise_score(run: Kit, overlap: float | None = None) -> Sides:
    """The largest change of a score over a by noise orthogonal to the test patterns, not the training ones; and 0."""
    p, y = run.p, run.run(LATE, observe=("loss",)).states[-1]
    entries = testing.frame_entries(y, p.M, testing.blind_direction(run.setup, overlap))
    felt = Scorer.of(entries, np.eye(p.M_test, p.M_test + 1)).input_noise
    return Sides(p.noise * np.abs(felt).max() / y[0], 0.0)


def error_with_noise(run: Kit, loud: float = 0.7) -> Sides:
    """The difference of CoT errors with and without noise, and four standard errors of it."""
    errors = [tested(run, 1e4, n_prompts=3000, noise=level).cot for level in (0.0, loud)]
    error = float(np.clip(np.mean(errors), 1e-3, 1 - 1e-3))
    return Sides(abs(errors[1] - errors[0]), 4 * np.sqrt(2 * error * (1 - error) / 3000 / run.p.K))


def figure_5(run: Kit, end: float = 1e5) -> dict[str, bool]:
    """Attention on the four kinds of testing columns along training."""
    times = np.geomspace(1.0, end, 16)
    masses = np.array([tested(run, t, n_prompts=300).masses.mean(axis=0) for t in times])
    same, other_steps = masses[:, 0], masses[:, 1] + masses[:, 3]
    return {"the query's pattern and step: to around 1": bool(same[-1] > 0.95),
            "increasing along the training": bool((np.diff(same) > -0.01).all()),
            "other steps: to 0": bool(other_steps[-1] < 0.01),
            "other steps fall first": bool(times[np.argmax(other_steps < 0.1 * other_steps[0])]
                                           < times[np.argmax(same > 0.9)])}  # fmt: skip


CLAIMS = [
    Claim("prop_1", "Proposition 1, Eq. (10)", "after T(ε) of Theorem 1, attention on matching examples is 1 - O(ε)",
          Order("O", lambda p: p.epsilon), missed, at=INSIDE, path=Path("epsilon", EPSILONS),
          regime=PROOFS, levels="L3", takes=f"M K alpha {AT_TEST}", control=lambda run: missed(run) ** 2,
          erratum=Erratum("attention ≥ 1 - ε after T(ε)", "attention ≥ 1 - O(√ε): (54) asks for (1-p)² = ε, which is "
                          "what the loss needs", "affects a statement", "prop_1_root")),
    Claim("prop_1_root", "Proposition 1, Eq. (10)", "after T(ε) it is 1 - O(√ε), for patterns orthogonal to Σ_i μ_i",
          Order("O", lambda p: p.epsilon**0.5), partial(missed, overlap=0.0), at=INSIDE,
          path=Path("epsilon", (*EPSILONS, 1e-7, 1e-8)), sharpens="prop_1", regime=PROOFS, levels="L3",
          takes=f"M K alpha {AT_TEST}", control={"power": 0.3}),
    Claim("prop_1_span", "Proposition 1, Eqs. (10), (22)", "late, the same for every pattern of the span",
          Inequality(">="), attention_at_overlap,
          at=[{**INSIDE, "overlap": λ, "alpha_test": 0.2} for λ in (0.0, 0.5, 1.0)], regime=PROOFS, levels="L3",
          takes="M K alpha M_test tau rho", control={"times": 0.0},
          note="the sum of W over training patterns is conserved, so a pattern gains the less the more it overlaps "
          "with their sum; the sum itself keeps attention α' = {alpha_test:g} at all times"),
    Claim("theorem_2_error", "Theorem 2, Eqs. (11), (23)", "the CoT error is 0 with O((α' τ ρ)^-2 log M) examples",
          Limit(0.0, 5e-3), chain_error, at={**INSIDE, "times": 1.0},
          path=Path("times", (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)), regime=PROOFS, levels="L3",
          takes="M K alpha M_test alpha_test tau rho noise", control={"t": 0.0}),
    Claim("theorem_2_span", "Theorem 2, Eqs. (22), (23)", "at that length, for every pattern of the span",
          Inequality("<="), error_at_overlap,
          at=[{**INSIDE, "overlap": λ, "alpha_test": a} for λ in (0.0, 1.0) for a in (0.05, 0.1, 0.2)], regime=PROOFS,
          levels="L3", takes="M K alpha M_test tau rho", is_cheap=False, control={"at": [{**INSIDE, "overlap": 0.0}]},
          note="on the blind pattern examples vote under uniform attention, which errs where α' is no larger than the "
          "share of another pattern; the last length is {l_ts:g}"),
    Claim("Eq67", "Eqs. (66), (67)", "noise orthogonal to the test patterns changes no score", Identity(1e-6, False),
          noise_score, at=INSIDE, regime=PROOFS, levels="L3", takes="M K alpha M_test noise",
          control={"overlap": 0.0},
          erratum=Erratum("(δ, 0) ∇W p̃ = 0 for δ ⊥ M'", "= -(a/M)(δ·1)(μ'·1), 1 = Σ_i μ_i: 0 only for δ ⊥ M or "
                          "patterns without overlap with 1; of order M^-1/2 for random ones", "harmless", "noise")),
    Claim("noise", "Eq. (14)", "noise orthogonal to the test patterns is harmless: the CoT error stays",
          Inequality("<="), error_with_noise, sharpens="Eq67", regime=LEARNT, levels="L3",
          takes="M K alpha M_test tau rho", control={"loud": 10.0}),
    Claim("fig_5", "Fig. 5", "attention on testing columns: other steps vanish first, then other patterns",
          Experiment(), figure_5, levels="L3", takes=f"M K alpha l_ts {AT_TEST}", control={"end": 100.0},
          note="at the sizes of Appendix E"),
]  # fmt: skip
