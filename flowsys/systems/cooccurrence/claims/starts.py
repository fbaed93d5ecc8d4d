"""Claims about random finite-width starts: the first rates of the flow (Lemmas 4.1, 4.2, D.8).

Starts follow Condition 1 with σ_0 multiplied by kappa: at kappa = 1 the initial output is of order 1 at every width.
At t = 0 training and its flow are the same, so these claims have one answer at every finite level.
"""

from functools import lru_cache, partial
from typing import NamedTuple

import jax
import numpy as np

from flowsys.claims import Verdict, Word, judged
from flowsys.claims.conditions import at_level, chosen_parameters, remembered
from flowsys.errors import InputError
from flowsys.laws.fits import power_law
from flowsys.model import ops
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence.claims.runs import (
    FEW,
    PLACE,
    TRAINED,
    Place,
    asked,
    claim,
    limit,
    places,
    run,
)
from flowsys.systems.cooccurrence.model import outputs
from flowsys.systems.cooccurrence.scales import condition_1
from flowsys.systems.cooccurrence.sentences import LABELS, MIXTURE, distinct

SEEDS = 48
SIZES = {"n": 12, "L": 5, "m1": 16, "seed": 0}
STARTS = "L0 L2"
TAKES = "n L m1"
UNBALANCED = (2, 1, 1, 2)
"""Proportions of the types under which the common word moves at once, whatever the initial output."""
KAPPAS = (1.0, 0.3, 0.1, 0.03, 0.01)
WIDTHS = (64, 256, 1024, 4096)
MOST_WORDS = 200


class Start(NamedTuple):
    """First rates of many seeds (and neurons, in `per_neuron`), each over its own c + m1 α."""

    largest_output: np.ndarray
    target_rate: np.ndarray
    common_rate: np.ndarray
    per_neuron: np.ndarray
    largest_score: np.ndarray


@lru_cache(maxsize=4)
def _first_gradient(n: int, L: int, mixture):
    """(F, r) of many starts at once: outputs, and minus the loss's gradient in G, from (G, S, score scale)."""
    words, types, weights = distinct(n, L, _shares(mixture))
    y = np.array(LABELS)[types]

    def loss(G, S, score_scale):
        F = outputs(G[words][:, None, :], score_scale * S[words[:, None, :], words[:, :, None]], ops)
        return (weights * ops.softplus(-y * F)).sum(), F

    def one(G, S, score_scale):
        (_, F), slope = jax.value_and_grad(loss, has_aux=True)(G, S, score_scale)
        return F, -slope

    return jax.jit(jax.vmap(one, in_axes=(0, 0, None)))


def _shares(mixture) -> tuple[float, ...]:
    return tuple(share / sum(mixture) for share in mixture)


@lru_cache(maxsize=8)
def _unit_families(m: int, m1: int, d: int, seed: int) -> tuple[np.ndarray, ...]:
    """W W_V, W Wᵀ a, W_Vᵀ W_V, W_Kᵀ W_Q and a of many seeds, for weights of variance 1."""
    generator, families = np.random.default_rng(seed), []
    for _ in range(SEEDS):
        W, (V, K, Q) = generator.normal(size=(m1, m)), generator.normal(size=(3, m, d))
        a = generator.choice([-1.0, 1.0], size=m1)
        families.append((W @ V, W @ (W.T @ a), V.T @ V, K.T @ Q, a))
    return tuple(np.array(x) for x in zip(*families))


@remembered(32)
def starts(m: int, kappa: float = 1.0, mixture=MIXTURE, m1: int | None = None) -> Start:
    """The first rates at Condition 1 with σ_0 → kappa σ_0, for many seeds; widths share one compilation."""
    n, L, neurons, seed = _sizes()
    m1 = m1 or neurons
    scales = condition_1(m, m1, L, kappa)
    first, second = scales.beta / (m * m1), scales.alpha / m  # σ_1², σ_0²
    A, Ba, VV, S, a = _unit_families(m, m1, int(distinct(n, L, _shares(mixture)).words.max()) + 1, seed)
    A, Ba, VV, S = np.sqrt(first * second) * A, first * Ba, second * VV, second * S
    G = np.einsum("sj,sjw->sw", a, A)
    with jax.enable_x64(True):
        F, r = (np.asarray(x) for x in _first_gradient(n, L, mixture)(G, S, scales.score_scale))
    VVr = np.einsum("swx,sx->sw", VV, r)
    # Eq. (6): d(a_j w_jᵀ W_V μ)/dt = a_j (Ba)_j r_μ + (VV r)_μ
    per_neuron = (a * Ba)[:, :, None] * r[:, None, :] + VVr[:, None, :]
    size = np.sum(a * Ba, axis=1) + m1 * scales.alpha
    total = per_neuron.sum(axis=1) / size[:, None]
    score = scales.score_scale * np.abs(S).max(axis=(1, 2))
    return Start(np.abs(F).max(axis=1), total[:, 0], total[:, 2], per_neuron[:, :, 0] * m1 / size[:, None], score)


def _sizes() -> tuple[int, int, int, int]:
    """n, L, m1 and the seed, the claims' own or those asked for."""
    chosen = {name: asked(name, own) for name, own in SIZES.items()}
    there = SYSTEM.setup(**chosen)
    words = len(SYSTEM.concrete(there, "L2", "limit").blocks["S"].sides[0])  # which refuses what no data set has
    if words > MOST_WORDS:
        raise InputError(f"n = {there['n']:g}, L = {there['L']:g} is not allowed for {SEEDS} starts side by side: they "
                         f"hold {words} words, at most {MOST_WORDS} can be compared.")  # fmt: skip
    return tuple(int(there[name]) for name in SIZES)


def _measured_at(**more) -> dict:
    return dict(zip(SIZES, _sizes())) | {"seeds": SEEDS} | more


def targets_start_at_one_sixth(kappa: float = 0.01) -> Verdict:
    """At t = 0 every neuron's a_j w_jᵀ W_V μ1 grows at Θ((σ_0² + σ_1²) m); in the limit the constant is 1/6."""
    exact = float(limit(60, FEW, taus=[0.0], observe=["d_G_mu1"])["d_G_mu1"][0]) / (FEW.beta + 16 * FEW.alpha)
    m = asked("width", 1024)
    sums = {k: float(starts(m, k).target_rate.mean()) * 6 for k in (*KAPPAS[:-1], kappa)}
    error = 6 * float(starts(m).target_rate.std(ddof=1)) / SEEDS**0.5
    low, high = (float(f(starts(m).per_neuron)) for f in (np.min, np.max))
    calm = starts(m, kappa).per_neuron
    holds_in_sum = abs(exact * 6 - 1) < 1e-9 and abs(sums[kappa] - 1) < 0.01
    word = Word.FAILS if not holds_in_sum else Word.HOLDS if low > 0 else Word.IN_PART
    return Verdict(word, "1/6 of (σ_0² + σ_1²) m, per neuron",
                   f"limit {exact:.4f}; mean over seeds, times 6: "
                   + ", ".join(f"{sums[k]:.3f} (κ={k:g})" for k in sorted(sums, reverse=True))
                   + f", standard error {error:.3f} at κ=1"
                   + f"; per neuron {low:.2f} … {high:.2f} at κ=1, {calm.min():.2f} … {calm.max():.2f} at κ={kappa:g}",
                   "The sum over neurons has the constant 1/6 once F(0) is small (kappa ≪ 1, the hidden logarithms of "
                   "Condition 1); single neurons spread by √(m1/m) about it and at κ=1 some move the other way.",
                   parameters=_measured_at(m=m),
                   values={"limit": exact, "sums": sums, "per_neuron": (low, high)})  # fmt: skip


def the_common_word_starts_slower_by_the_initial_output(mixture=MIXTURE) -> Verdict:
    """At t = 0 the common word's rate is below the targets' by a factor of order max|F_i(0)|."""
    m, outputs, ratios = asked("width", 1024), [], []
    for kappa in KAPPAS:
        start = starts(m, kappa, mixture)
        outputs.append(float(start.largest_output.mean()))
        ratios.append(float(np.sqrt(np.mean(start.common_rate**2)) / start.target_rate.mean()))
    fit = power_law(outputs, ratios)
    return judged(abs(fit.slope - 1) < 0.1, "exponent 1 in F",
                  f"exponent {fit}; ratio {ratios[0]:.2f} at F = {outputs[0]:.2f}, "
                  f"{ratios[-1]:.4f} at {outputs[-1]:.3f}",
                  interval=fit.interval, tolerance=0.1, parameters=_measured_at(m=m, kappa=KAPPAS),
                  values={"F": outputs, "ratio": ratios, "exponent": fit.slope},
                  fits={"ratio of rates over max |F_i(0)|": fit})  # fmt: skip


def the_initial_output_is_small(kappa: float = 1.0) -> Verdict:
    """|F_i(0)| ≤ 0.01 for every sample."""
    wanted = asked("width", None)
    widths = (wanted,) if wanted else WIDTHS
    outputs = [float(starts(m, kappa).largest_output.mean()) for m in widths]
    calm = float(starts(1024, 0.003).largest_output.mean())
    return judged(max(outputs) <= 0.01, "≤ 0.01",
                  f"mean of max|F_i(0)|: {', '.join(f'{x:.3g} (m={m})' for m, x in zip(widths, outputs))}",
                  note="Condition 1 without its logarithms gives F(0) of order 1 at every width; "
                  f"σ_0 smaller by 0.003 gives {calm:.4f}.",
                  parameters=_measured_at(kappa=kappa),
                  values={"outputs": outputs, "at_kappa_0.003": calm})  # fmt: skip


def attention_starts_uniform(tied: bool = True) -> Verdict:
    """p(0) = 1/L ± Õ(1/(L m)): the scaled scores at the start are of order 1/m."""
    chosen_parameters({"width": WIDTHS})  # another width is refused
    scores = [float(starts(m).largest_score.mean()) * (1 if tied else np.sqrt(m)) for m in WIDTHS]
    fit = power_law(WIDTHS, scores)
    return judged(abs(fit.slope + 1) < 0.1, "exponent -1 in m", f"exponent {fit}", interval=fit.interval, tolerance=0.1,
                  parameters=_measured_at(m=WIDTHS),
                  values={"scores": scores, "exponent": fit.slope}, fits={"largest score over m": fit})  # fmt: skip


def irrelevant_words_start_at_three_over_n(**shares: float) -> Verdict:
    """At t = 0 irrelevant words move at O(1/n) of the targets' rate; in the limit at ±3/n exactly."""
    (place,) = places((Place(60, FEW),))
    if np.isinf(place.n):
        raise InputError("n = inf is not allowed here: irrelevant words then do not move.")
    names = ("d_G_mu1", *(f"d_G_r{T}" for T in (1, 2, 3, 4)))
    found = run(place, taus=(0.0,), observe=names, **shares)
    ratios = [float(found[name][0] / found["d_G_mu1"][0]) * place.n / 3 for name in names[1:]]
    # at Condition 1 a random start has outputs of order 1, which change the constants but not the order
    tolerance = at_level(1e-9, 1.0)
    return judged(bool(np.allclose(ratios, [1, -1, -1, -1], atol=tolerance)), "n/3 · ratio = 1, -1, -1, -1",
                  ", ".join(f"{r:.6f}" for r in ratios), tolerance=tolerance, parameters=place.parameters(**shares),
                  values={"ratios": ratios})  # fmt: skip


CLAIMS = (
    claim("Lemma 4.1, Lemma E.4", targets_start_at_one_sixth, partial(targets_start_at_one_sixth, 3.0),
          levels=STARTS, takes=TAKES),
    claim("Lemma 4.2, Lemma E.16", the_common_word_starts_slower_by_the_initial_output,
          partial(the_common_word_starts_slower_by_the_initial_output, UNBALANCED), levels=STARTS, takes=TAKES),
    claim("Lemma D.8", the_initial_output_is_small, partial(the_initial_output_is_small, 0.003), levels=STARTS,
          takes=TAKES),
    claim("Corollary D.2", attention_starts_uniform, partial(attention_starts_uniform, False), levels=STARTS,
          takes=TAKES),
    claim("Lemma E.6, Theorem E.15", irrelevant_words_start_at_three_over_n,
          partial(irrelevant_words_start_at_three_over_n, share_1=0.6), levels=TRAINED, takes=PLACE),
)  # fmt: skip
