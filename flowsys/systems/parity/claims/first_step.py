"""Lemmas 6–17: balance of a batch, what the first gradient step does to A and W, and which gates it leaves.

Batches are of orthonormal tokens; slopes are by autodiff. δ = 0.1.
"""

from math import log

import numpy as np

from flowsys.claims import Claim, Condition, HighProbability, Identity, Inequality, Kit, Regime, Sides
from flowsys.claims.claim import Erratum
from flowsys.errors import InputError
from flowsys.systems.parity.claims.gradients import gradient
from flowsys.systems.parity.claims.regimes import DELTA, FARTHEST
from flowsys.systems.parity.data import all_bits, ascending, rows, sequences
from flowsys.systems.parity.model import LARGEST_N

BATCH = {"n": 12, "k": 3, "m": 8.0, "epsilon": 1.0, "tokens": "all"}
B, MOST_PAIRS, MOST_SIGNS = 512, 1500, 6_000_000
MOST_SECRETS, MOST_EMBEDDED = 500, 10**7


def sizes(run: Kit) -> tuple[int, int]:
    """n and k; hundreds of batches are drawn and counted pair of positions by pair."""
    n, k = run.p.n, run.p.k
    if k * (n + k) > MOST_PAIRS:
        raise InputError(
            f"n = {n}, k = {k} is not allowed here: batches are counted at every pair of positions, so k (n + k) <= "
            f"{MOST_PAIRS}."
        )
    return n, k


def means_given_the_past(run: Kit, apart: bool = True) -> Sides:
    """Lemma 6: E[(-1)^b[i+1] | b[j], b[n+1 … i]] over all strings, at every i and j ≤ i; j = S[i] if not `apart`."""
    n, k = sizes(run)
    if n > LARGEST_N:
        raise InputError(f"n = {n} is not allowed here: all 2^n strings are written out, so n <= {LARGEST_N}.")
    b, largest = sequences(ascending(n, k), all_bits(n)), 0.0
    for i in range(n, n + k):  # counted from 0; the secret of i is i - n
        for j in set(range(i + 1)) - {i - n} if apart else {i - n}:
            past = b[:, [j, *range(n, i + 1)]] @ (1 << np.arange(i - n + 2))
            sums = np.bincount(past, weights=1 - 2 * b[:, i + 1])
            largest = max(largest, float(np.abs(sums).max() / 2**n))
    return Sides(largest, 0.0)


def drawn(run: Kit, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (B, sizes(run)[0]))


def statistics(run: Kit, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """α_{i,j,b_1,b_2} (positions × j × b_1 × b_2), its mean ᾱ, and δ_{i,b} of a batch (Table 1)."""
    n, k = sizes(run)
    b = sequences(ascending(n, k), drawn(run, seed))
    sign = 1 - 2 * b[:, n + 1 :]
    one_hot = np.stack([b == 0, b == 1], axis=-1)[:, : n + k] * 1.0
    asking = one_hot[:, n : n + k]
    α = np.einsum("si,sjx,siy->ijxy", sign, one_hot, asking)
    causal = np.arange(n + k)[None, :] <= n + np.arange(k)[:, None]
    ᾱ = np.zeros_like(α)
    for i in range(k):
        for x in (0, 1):
            for y in (0, 1):
                ᾱ[i, i, x, y] = B / 4 * (-1) ** (x + y) if i else B / 2 * (-1) ** x * (y == 0)
    return α * causal[..., None, None], ᾱ, np.einsum("si,siy->iy", sign, asking)


def balance(run: Kit, off_target: bool = True) -> np.ndarray:
    """|α - ᾱ| over √(2B log(300nB/δ)) 1(j = S[i]): infinite off target, where the printed bound is 0."""
    bound = np.sqrt(2 * B * log(300 * run.p.n * B / DELTA))
    ratios = []
    for seed in run.starts:
        α, ᾱ, _ = statistics(run, seed)
        on = np.eye(run.p.k, run.p.n + run.p.k, dtype=bool)
        off = np.abs(α[~on]).max() if off_target else 0.0
        ratios.append(1e300 if off > 0 else np.abs(α - ᾱ)[on].max() / bound)
    return np.array(ratios)


def balance_everywhere(run: Kit, scale: float = 1.0) -> np.ndarray:
    """|α - ᾱ| over √(2B log(300nB/δ)) on and off target, and |δ| over √(B log(300nB/δ))."""
    bound = scale * np.sqrt(B * log(300 * run.p.n * B / DELTA))
    found = [statistics(run, seed) for seed in run.starts]
    return np.array([max(np.abs(α - ᾱ).max() / 2**0.5, np.abs(δ).max()) / bound for α, ᾱ, δ in found])


def sums_of_batch(run: Kit, scale: float = 1.0) -> np.ndarray:
    """The largest of |β|, |ψ|, |γ|, |ζ| (Table 1) over their bounds, for batches and signs ν of every start."""
    (n, k), m = sizes(run), run.p.width
    if m * max(k, 8) * (n + k) > MOST_SIGNS:
        raise InputError(
            f"width = {m} is not allowed here at n = {n}, k = {k}: hundreds of starts draw all neurons and count them "
            f"at every pair of positions, so width max(k, 8) (n + k) <= {MOST_SIGNS}."
        )
    i, same = n + 1.0 + np.arange(k), np.eye(2 * k).reshape(k, 2, k, 2)
    many, few = log(300 * m * n * B / DELTA), log(300 * n * B / DELTA)
    bounds = [np.sqrt(2 * B * k * few) / n, 2 * np.sqrt(B * k * many) / n, np.sqrt(2 * m * log(200 * n / DELTA)) / n,
              4 * m * np.sqrt(k * B * many) / n]  # fmt: skip
    ratios = []
    for seed in run.starts:
        α = statistics(run, seed)[0] * ~np.eye(k, n + k, dtype=bool)[..., None, None] / i[:, None, None, None]
        by_query = α.transpose(0, 3, 1, 2).reshape(2 * k, -1)  # (query, own bit) × (j, its bit)
        active = np.random.default_rng([seed, 1]).integers(0, 2, (2 * m, 2 * k)) * 1.0
        together = active.T @ active  # neurons active on both tokens
        γ = (together - ((1 + same) / 2 * m).reshape(2 * k, -1)) / np.repeat(i, 2)[:, None]
        found = α.sum(axis=(0, 3)), active @ by_query, γ, together @ by_query
        ratios.append(max(np.abs(x).max() / (scale * bound) for x, bound in zip(found, bounds)))
    return np.array(ratios)


def slopes_of_batch(run: Kit, seed: int = 0):
    slopes, at = gradient(run.setup, bits=drawn(run, seed))
    m = run.p.width
    return slopes, at["nu"] > 0, np.repeat([1.0, -1.0], m) / (2 * m)


def own_gradient(run: Kit, shift: int = 0) -> Sides:
    """Lemma 12: ∂L/∂W_{r,1:d} on (i, b) against h_r 1(ν > 0) δ_{i,b}/B."""
    slopes, active, h = slopes_of_batch(run)
    δ = statistics(run, shift)[2].reshape(-1)
    return Sides(slopes["W_own"].ravel(), (h[:, None] * active * δ / B).ravel())


def attended(run: Kit, seed: int, active: np.ndarray, h: np.ndarray, mean: bool) -> np.ndarray:
    """Lemma 14's gradient of W_{r,d+1:2d} on (j, b_1), with ᾱ (as printed) or α on S[i], and ψ off it."""
    α, ᾱ, _ = statistics(run, seed)
    n, k = run.p.n, run.p.k
    on = np.eye(k, n + k, dtype=bool)[..., None, None]
    used = np.where(on, ᾱ if mean else α, α) / (n + 1 + np.arange(k))[:, None, None, None]
    return h[:, None] / B * np.einsum("riy,ijxy->rjx", active.reshape(-1, k, 2) * 1.0, used).reshape(len(h), -1)


def attended_gradient(run: Kit, mean: bool = True) -> Sides:
    """Lemma 14 against autodiff."""
    slopes, active, h = slopes_of_batch(run)
    α, ᾱ, _ = statistics(run, 0)
    run.note(B=B, apart=float(np.abs(α - ᾱ)[np.eye(run.p.k, run.p.n + run.p.k, dtype=bool)].max() / B))
    return Sides(slopes["W_att"].ravel(), attended(run, 0, active, h, mean).ravel())


def attention_gradient(run: Kit, centred: bool = True) -> Sides:
    """Lemma 20 against autodiff at random q and a that leave the gates as they are: κ is -K; mean over a batch."""
    bits, m = drawn(run, 0), run.p.width
    slopes, at = gradient(run.setup, bits=bits, sigma=0.05)
    K = ((at["nu"] > 0) * np.repeat([1.0, -1.0], m)[:, None] / (2 * m)).T @ at["W_att"]
    X = rows(ascending(run.p.n, run.p.k), bits)
    s = X["counts"] * np.exp(at["A"].T[X["query"]])
    s /= s.sum(axis=-1, keepdims=True)
    K_seen = K[X["query"]]
    mean = (s * K_seen).sum(axis=-1, keepdims=True) if centred else 0.0
    by_query = X["sign"][..., None] * s * (K_seen - mean) / B
    asked = X["query"][..., None] == np.arange(2 * run.p.k)
    return Sides(slopes["A"].ravel(), np.einsum("sit,siq->tq", by_query, asked).ravel())


def own_bound(run: Kit, scale: float = 1.0) -> np.ndarray:
    """Lemma 13: the largest |⟨∂L/∂W_{r,1:d}, e⟩| over √log(300nB/δ)/(m√B)."""
    bound = scale * np.sqrt(log(300 * run.p.n * B / DELTA)) / (run.p.width * B**0.5)
    return np.array([np.abs(statistics(run, s)[2]).max() / (2 * run.p.width * B) / bound for s in run.starts])


def attended_bound(run: Kit, scale: float = 1.0) -> np.ndarray:
    """Lemma 15: the largest |⟨∂L/∂W_{r,d+1:2d}, e⟩| over 3/(2mn), on fresh batches."""
    bound, (_, active, h) = scale * 3 / (2 * run.p.width * run.p.n), slopes_of_batch(run)
    return np.array([np.abs(attended(run, seed, active, h, False)).max() / bound for seed in run.starts])


def still(run: Kit, step: str = "step_1") -> dict[str, Sides]:
    """Lemmas 8, 9: scores after the first step, sampled neurons on the population."""
    found = run.run(step, level="L2", variant="reduced", observe=("score_target_min", "score_other_max"))
    return {name: Sides(found[name][0], 0.0) for name in found}


def moved(run: Kit, rate: float = 1 / 120) -> dict[str, Sides]:
    """Lemmas 16, 17: the largest moves of a neuron's input after steps 1 and 2 over ε, with η = mnε/120 (5.4)."""
    p = run.p
    run.note(rate=rate * p.m * p.n)
    there = run.at(eta_0=rate * p.m * p.n * p.epsilon)
    slack = there.run("step_1", "step_2", level="L2", variant="reduced", observe=("gate_slack",))["gate_slack"]
    bounds = {"after step 1": 3 / 80, "after step 2": 3 / 40}
    return {name: Sides(1 - left / p.epsilon, bound) for left, (name, bound) in zip(slack, bounds.items())}


def kept(run: Kit, rho: float = 0.3) -> dict[str, Sides]:
    """[ours] No gate flips in three steps at the usable rates, sampled neurons with live gates."""
    there = run.at(rho=rho, eta_2=4 * run.p.m * run.p.epsilon / 3)
    found = there.run("step_1", "step_2", "step_3", level="L2", variant="reduced", observe=("flipped",))
    return {label: Sides(x, 0.0) for label, x in zip(found.labels, found["flipped"])}


def near_orthogonal(run: Kit, d: int | None = None) -> Sides:
    """Lemma 10: the largest |⟨W_{r,1:d}, e⟩ - ν| over ε, hypercube embeddings, against 1/100."""
    p, rng, worst = run.p, np.random.default_rng(run.p.seed), 0.0
    if p.k > MOST_SECRETS or p.k * (p.d + 2 * p.width) > MOST_EMBEDDED:
        raise InputError(
            f"k = {p.k}, d = {p.d:g} is not allowed here at width = {p.width}: tokens and neurons are drawn, so k <= "
            f"{MOST_SECRETS} and k (d + 2 width) <= {MOST_EMBEDDED}."
        )
    run.note(farthest=FARTHEST)
    for _ in range(8):
        E = rng.choice([-1.0, 1.0], (2 * p.k, d or p.d)) / (d or p.d) ** 0.5
        ν = rng.choice([-1.0, 1.0], (2 * p.width, 2 * p.k))
        worst = max(worst, float(np.abs(ν @ (E @ E.T) - ν).max()))
    return Sides(worst, 0.01)


STEP = {"n": 20, "k": 5, "m": 400.0, "epsilon": 1.0}
ORTHOGONAL = Condition("√(4k log(100Bm/δ)/d) ≤ 0.01",
                       lambda p: (0.01, (4 * p.k * log(100 * B * p.m / DELTA) / p.d) ** 0.5))  # fmt: skip
CLAIMS = (
    Claim("lemma_6", "Lemma 6", "E[(-1)^b[i+1] | b[j], b[n+1 … i]] = 0 for every j ≠ S[i]",
          Identity(0.0, relative=False), means_given_the_past, at={"n": 8, "k": 3, "tokens": "all"}, takes="n k",
          control={"apart": False}, note="every string; what makes the process of the lemma a martingale"),
    Claim("lemma_7", "Lemma 7", "|α - ᾱ| ≤ √(2B log(300nB/δ)) 1(j = S[i]) for all i, j with probability 1 - δ/10",
          HighProbability((DELTA / 10,), starts=40), balance, at=BATCH, takes="n k", control={"off_target": False},
          is_cheap=False,
          note="as printed the bound vanishes off S[i], where a batch is never balanced exactly", erratum=Erratum(
          "the factor 1(j = S[i])", "no such factor, as in Table 1", "harmless", "lemma_7_everywhere")),
    Claim("lemma_7_everywhere", "Lemma 7 [ours]", "|α - ᾱ| ≤ √(2B log(300nB/δ)) for all i, j, and |δ| ≤ √(B "
          "log(300nB/δ))",
          HighProbability((DELTA / 10,), starts=400), balance_everywhere, at=BATCH, sharpens="lemma_7", takes="n k",
          control={"scale": 0.3}),
    Claim("lemma_7_sums", "Lemma 7, Table 1", "|β| ≤ √(2Bk log(300nB/δ))/n, |ψ| ≤ 2√(Bk log(300mnB/δ))/n, |γ| ≤ √(2m "
          "log(200n/δ))/n, |ζ| ≤ 4m√(kB log(300mnB/δ))/n with probability 1 - δ/10",
          HighProbability((DELTA / 10,), starts=400), sums_of_batch, at=BATCH, takes="n k m", control={"scale": 0.3}),
    Claim("lemma_8", "Lemmas 8, 9", "attention does not move in the first step", Identity(0.0, relative=False), still,
          at=STEP, mode="three_step", takes="n k m seed", control={"step": "step_2"}),
    Claim("lemma_10", "Lemmas 10, 11", "|⟨W_{r,1:d}, e⟩ - ν| < ε/100 at the start: gates are decided by "
          "ν", Inequality(),
          near_orthogonal, at={"n": 10, "k": 1, "d": 10**6, "m": 4.0, "tokens": "all"}, regime=Regime(ORTHOGONAL),
          takes="n k m d seed", control={"d": 213},
          note="with the d of Assumption 2 the condition holds at no n up to log n = {farthest:.0e} (Lemma 5)"),
    Claim("lemma_12", "Lemma 12", "the first gradient of W_{r,1:d} is h_r 1(ν > 0) δ/B on (i, b)", Identity(1e-10),
          own_gradient, at=BATCH, takes="n k m", control={"shift": 1}),
    Claim("lemma_13", "Lemma 13", "it is at most √log(300nB/δ)/(m√B) with probability 1 - 0.13δ",
          HighProbability((0.13 * DELTA,), starts=400), own_bound, at=BATCH, takes="n k m", control={"scale": 0.1}),
    Claim("lemma_14", "Lemma 14", "the first gradient of W_{r,d+1:2d} has ᾱ/i on S[i] and ψ beside", Identity(1e-10),
          attended_gradient, at=BATCH, takes="n k m", control={"mean": False},
          note="a batch of {B} has α, which differs from its mean ᾱ by up to {apart:.2g} B: its own ψ leaves out S[i]",
          erratum=Erratum("ᾱ on S[i]", "α on S[i] (as the display before it has it)", "harmless",
                          "lemma_14_alpha")),
    Claim("lemma_14_alpha", "Lemma 14 [ours]", "with α in place of ᾱ it is an identity on every batch", Identity(1e-10),
          lambda run, mean=False: attended_gradient(run, mean), at=BATCH, sharpens="lemma_14", takes="n k m",
          control={"mean": True}),
    Claim("lemma_20", "Lemma 20", "the gradient in A of a string is (-1)^(b[i+1]+1) Σ_j ⟨κ, e_j⟩ ∂softmax_j/∂A",
          Identity(1e-9), attention_gradient, at=BATCH, takes="n k m", control={"centred": False},
          note="at random weights of the second layer and random scores, which flip no gate"),
    Claim("lemma_15", "Lemmas 15, 17", "it is at most 3/(2mn) with probability 1 - "
          "0.16δ", HighProbability((0.16 * DELTA,), 400),
          attended_bound, at=BATCH, takes="n k m", control={"scale": 0.1}, is_cheap=False),
    Claim("lemma_16", "Lemmas 16, 17", "inputs of neurons have moved by less than 3ε/80 after step 1, 3ε/40 after "
          "step 2", Inequality(),
          moved, at=STEP, mode="three_step", takes="n k m seed", control={"rate": 1.2}, note="the rate of the "
          "steps is {rate:.4g} ε, the largest that Lemma 5 allows on the population"),
    Claim("gates_in_three_steps", "Lemmas 16, 17 [ours]", "at η_0 = η_1 = 4ρmnε, ρ = 0.3, no gate flips in three steps",
          Identity(0.0, relative=False), kept, at=STEP, mode="three_step", takes="n k m seed", control={"rho": 3.0}),
)  # fmt: skip
