"""Lemmas 8–19: what the first gradient step does to A and W."""

import jax
import numpy as np

from flowsys.claims import Verdict, Word, judged
from flowsys.claims.conditions import current
from flowsys.systems.parity import data, hardness
from flowsys.systems.parity.claims.runs import (
    TRAINED,
    chosen,
    claim,
    frozen,
    lemma_rates,
    limit,
    off_target,
    sampled,
    sampled_at,
    scatter,
    signals,
    three_steps_at,
)
from flowsys.systems.parity.levels import check_size_of
from flowsys.systems.parity.weights import initial_signs, output_weights

TAKEN = "n k m rho batch"


def attention_does_not_move_in_the_first_step(step: int = 1) -> Verdict:
    largest = max(float(np.abs(frozen(run, step).a).max()) for run in (limit(), sampled()))
    return judged(
        largest == 0,
        "A = 0 after step 1",
        f"largest |score| after step {step}: {largest:.3g}",
        parameters=sampled_at(),
        values={"largest": largest},
    )


def the_first_gradient_of_the_neurons_is_on_their_secret(sigma: float = 0.0) -> Verdict:
    """∂L/∂q over all strings, by autodiff, against h_r/i Σ_b 1(ν > 0) (-1)^(b+b')/4 (1/2 at n+1) on S[i]."""
    place, key = chosen(n=6, k=3, m=16.0), jax.random.key(2)
    check_size_of(place, "L2", "enumerated")
    n, k, m = place["n"], place["k"], int(place["m"])
    problem = data.ascending(n, k)
    measured = np.asarray(hardness.population_gradient(key, problem, m, 1.0, sigma).q)
    active = np.asarray(initial_signs(jax.random.split(key, 3)[0], problem, m)) > 0
    expected = np.zeros_like(measured)
    for j in range(k):
        for b in (0, 1) if j else (0,):
            for bit in (0, 1):
                share = 0.25 if j else 0.5
                expected[:, 2 * j + bit] += (-1) ** (b + bit) * share / (n + 1 + j) * active[:, 2 * j + b]
    expected *= np.asarray(output_weights(m))[:, None]
    error = float(np.abs(measured - expected).max() / np.abs(expected).max())
    return judged(
        error < 1e-12,
        "h_r/i · 1(ν > 0) · α/B on S[i], 0 elsewhere",
        f"relative error {error:.2g}",
        tolerance=1e-12,
        parameters={"n": n, "k": k, "m": m},
        values={"error": error},
    )


def the_signal_after_the_first_step_is_lemma_18s(step: int = 1) -> Verdict:
    """κ on S[i] over η_0/(32mi), and over η_0/(16m(n+1)) at n+1; sampled neurons scatter by about m^(-1/2)."""
    place = three_steps_at()
    n, m, tolerance = place["n"], place["m"], max(0.05, scatter(place))
    η, i = lemma_rates(n, m, place["rho"]).eta_0, np.arange(n + 1, n + place["k"] + 1)
    ratio = signals(sampled(), step) / (η / (np.where(i == n + 1, 16, 32) * m * i))
    later = bool(np.abs(ratio[1:] - 1).max(initial=0) < tolerance)
    word = (Word.HOLDS if abs(ratio[0] - 1) < tolerance else Word.IN_PART) if later else Word.FAILS
    return Verdict(
        word,
        "η_0/(32mi) for i >= n+2, η_0/(16m(n+1)) at n+1",
        f"ratio {ratio[0]:.3f} at n+1, {ratio[1:].min():.3f} … {ratio[1:].max():.3f} after",
        "at n+1 the signal is twice the lemma's: the query token (n+1, 0) occurs always, and its own overlap adds to "
        "the common mode",
        tolerance=tolerance,
        parameters=sampled_at(),
        values={"ratio": ratio.tolist()},
    )


def there_is_no_output_off_target_after_the_first_step(common: float = 1.0) -> Verdict:
    """(-1)^b' K on the tokens of S[n+1] at later positions over the signal there, infinite width and sampled."""
    place, run = three_steps_at(), limit(common=common)
    exact, rest = off_target(run, 1)
    relative, where = exact / signals(run, 1)[1:], current().level or "limit"
    formula = -lemma_rates(place["n"], place["m"], place["rho"]).eta_0 / (16 * place["m"] * (place["n"] + 1))
    ratio = off_target(sampled(), 1)[0] / formula
    return judged(
        bool(np.abs(relative).max() < 0.1),
        "≈ 0 off target",
        f"on S[n+1] at every i > n+1: {relative.min():.2f} … {relative.max():.2f} of the signal ({where}); sampled "
        f"{ratio.min():.2f} … {ratio.max():.2f} of -η_0/(16m(n+1)); elsewhere "
        f"{rest / np.abs(signals(run, 1)).min():.1g} of the signal",
        note="b[n+1] = 0 always, so the sum over the query's bit does not cancel; harmless for three steps, not for "
        "gradient flow (see one_hot_at_n2)",
        tolerance=0.1,
        parameters=sampled_at() | {"common": common},
        values={"relative": relative.tolist(), "ratio": ratio.tolist(), "formula": formula},
    )


CLAIMS = (
    claim("lemma_8", "Lemmas 8, 9", "attention does not move in the first step",
          attention_does_not_move_in_the_first_step, control={"step": 2},
          regime="Assumption 1, infinite width and sampled neurons; control: the second step", levels=TRAINED,
          takes=TAKEN),
    claim("lemma_12", "Lemmas 12-14", "the first gradient of W lives on S[i] alone",
          the_first_gradient_of_the_neurons_is_on_their_secret, control={"sigma": 0.5},
          regime="population, by autodiff on every string; control: attention that is not uniform",
          takes="n k m"),
    claim("lemma_18", "Lemma 18", "after the first step the signal on S[i] is η_0/(32mi), and η_0/(16m(n+1)) at n+1",
          the_signal_after_the_first_step_is_lemma_18s, control={"step": 2},
          regime="sampled neurons, m = 4000; control: after the second step", levels=TRAINED, takes=TAKEN),
    claim("lemma_19", "Lemmas 18, 19", "after the first step there is no output off target",
          there_is_no_output_off_target_after_the_first_step, control={"common": 0.0},
          regime="infinite width, and sampled neurons; control, which holds: gates of different query tokens that "
          "share nothing", levels=TRAINED, takes=TAKEN),
)  # fmt: skip
