"""Random starts (Appendix D), and the first rates of the flow (Lemmas 4.1, 4.2, E.6): finite width, t = 0.

Statements with probability 1 - δ are judged by the failure rate over starts. Starts are drawn as the package draws
them; the signs of the output weights are put into the neurons, w_j standing for a_j w_j.
"""

from collections.abc import Iterable, Iterator
from math import log
from typing import NamedTuple

import jax
import numpy as np

from flowsys.claims import Claim, Erratum, HighProbability, Identity, Inequality, Kit, Order, Path, Sides
from flowsys.model import ops
from flowsys.model.starts import own_weights
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence.claims.places import (
    CONDITION_1,
    MODE,
    PLACE,
    STARTS,
    sigma_0_squared,
    value_scale,
)
from flowsys.systems.cooccurrence.model import outputs
from flowsys.systems.cooccurrence.sentences import LABELS, filled, shares_of

SMALL = {"m": 256.0, "m1": 16, "L": 5, "n": 66}
WIDER = Path("m", (64.0, 256.0, 1024.0, 4096.0))
CALM = {"n": 66, "m1": 16, "L": 5, "kappa": 0.01}
SEEDS = 24
FINITE = "L2"
DELTAS = HighProbability((0.1, 0.5), starts=100, most_starts=800)


class Start(NamedTuple):
    """Weights of one seed, the sentences, and the scales."""

    W: np.ndarray
    V: np.ndarray
    K: np.ndarray
    Q: np.ndarray
    words: np.ndarray
    y: np.ndarray
    sigma_0: float
    sigma_1: float


def drawn(run: Kit, seeds: Iterable[int]) -> Iterator[Start]:
    """The starts of many seeds at one place."""
    p = run.p
    width, σ_0 = int(p.m), sigma_0_squared(p) ** 0.5
    setup = SYSTEM.setup(n=p.n, L=p.L, m1=p.m1, alpha=1.0, beta=float(width), width=width)
    concrete = SYSTEM.concrete(setup, "L2", "limit")
    words, types, _ = filled(int(p.n), int(p.L), shares_of(setup))
    d = int(words.max()) + 1
    for seed in seeds:
        w = own_weights(concrete, seed)  # entries of variance 1/m, and 1/m1 for the neurons
        V, K, Q = (σ_0 * width**0.5 * w[name][:, :d] for name in ("W_V", "W_K", "W_Q"))
        yield Start(w["W"], V, K, Q, words, np.array(LABELS)[types], σ_0, float(p.m1) ** -0.5)


def attention(start: Start) -> np.ndarray:
    """p(0) [sentence, query, key]."""
    S = start.K.T @ start.Q / len(start.W) ** 0.5
    scores = np.exp(S[start.words[:, None, :], start.words[:, :, None]])
    return scores / scores.sum(axis=-1, keepdims=True)


def attended(start: Start) -> np.ndarray:
    """X p of every sentence and query, as weights of words."""
    n, L = start.words.shape
    found = np.zeros((n, L, start.V.shape[1]))
    for i, (words, p) in enumerate(zip(start.words, attention(start))):
        np.add.at(found[i].T, words, p.T)
    return found.reshape(n * L, -1)


def off_diagonal(M: np.ndarray) -> np.ndarray:
    return np.abs(M - np.diag(np.diag(M))).max()


def deviation(m: float, terms: float, delta: float) -> float:
    """√(4/m log(terms/δ)) + 4/m log(terms/δ)."""
    x = 4 / m * log(terms / delta)
    return x**0.5 + x


def key_query_correlations(run: Kit, tighter: float = 1.0) -> np.ndarray:
    """D.1: key-query, key and query correlations of different words over σ_0² m (√(4/m log 2d/δ) + 4/m log 2d/δ)."""
    found = []
    for s in drawn(run, run.starts):
        bound = s.sigma_0**2 * run.p.m * deviation(run.p.m, 2 * s.V.shape[1], run.delta)
        largest = max(np.abs(s.K.T @ s.Q).max(), off_diagonal(s.K.T @ s.K), off_diagonal(s.Q.T @ s.Q))
        found.append(largest / bound)
    return tighter * np.array(found)


def value_neuron_correlations(run: Kit, tighter: float = 1.0) -> np.ndarray:
    """D.3: value correlations of different words, and correlations of different neurons, over their bounds."""
    found = []
    for s in drawn(run, run.starts):
        values = s.sigma_0**2 * run.p.m * deviation(run.p.m, 2 * s.V.shape[1], run.delta)
        neurons = s.sigma_1**2 * run.p.m * deviation(run.p.m, 2 * run.p.m1**2, run.delta)
        found.append(max(off_diagonal(s.V.T @ s.V) / values, off_diagonal(s.W.T @ s.W) / neurons))
    return tighter * np.array(found)


def attended_norms(run: Kit, tighter: float = 1.0) -> np.ndarray:
    """D.4: |‖W_V X p‖² L/(σ_0² m) - 1| over √(4/m log 2nL/δ) + 4/m log 2nL/δ."""
    found = []
    for s in drawn(run, run.starts):
        norms = np.sum((s.V @ attended(s).T) ** 2, axis=0) * run.p.L / (s.sigma_0**2 * run.p.m)
        found.append(np.abs(norms - 1).max() / deviation(run.p.m, 2 * run.p.n * run.p.L, run.delta))
    return tighter * np.array(found)


def neuron_outputs(run: Kit, corrected: bool = False) -> list[float]:
    """D.5: |w_jᵀ W_V X p| over σ_1 σ_0 √(m/L log(m1 n L/δ)); corrected, √(2 log(2 m1 n L/δ)) and D.4's norm."""
    terms, found = run.p.m1 * run.p.n * run.p.L, []
    for s in drawn(run, run.starts):
        size = s.sigma_0 * s.sigma_1 * (run.p.m / run.p.L) ** 0.5
        root = (2 * log(2 * terms / run.delta)) ** 0.5 if corrected else log(terms / run.delta) ** 0.5
        stretch = (1 + deviation(run.p.m, 2 * run.p.n * run.p.L, run.delta)) ** 0.5 if corrected else 1.0
        found.append(np.abs(s.W.T @ (s.V @ attended(s).T)).max() / (size * root * stretch))
    return found


def counts_of_signs(run: Kit, tighter: float = 1.0) -> np.ndarray:
    """D.6: ||S_+| - m1/2| over m1 √(2 log(4/δ)/m1)."""
    m1 = int(run.p.m1)
    signs = [np.random.default_rng([seed, m1]).integers(0, 2, m1).sum() for seed in run.starts]
    return tighter * np.array([abs(x - m1 / 2) / (m1 * (2 * log(4 / run.delta) / m1) ** 0.5) for x in signs])


def network_outputs(s: Start) -> np.ndarray:
    G = s.W.sum(axis=1) @ s.V
    return np.einsum("nqk,nk->n", attention(s), G[s.words])


def initial_outputs(run: Kit, tighter: float = 1.0) -> np.ndarray:
    """D.8: max |F_i(0)| over 2 σ_0 σ_1 √(2 L m1 m log(2 L n/δ))."""
    p = run.p
    bound = lambda s: 2 * s.sigma_0 * s.sigma_1 * (2 * p.L * p.m1 * p.m * log(2 * p.L * p.n / run.delta)) ** 0.5
    return tighter * np.array([np.abs(network_outputs(s)).max() / bound(s) for s in drawn(run, run.starts)])


def mean_initial_output(run: Kit) -> Sides:
    """D.8: the mean over starts of max |F_i(0)|, against 0.01."""
    return Sides(np.mean([np.abs(network_outputs(s)).max() for s in drawn(run, range(SEEDS))]), 0.01)


def initial_values(run: Kit) -> float:
    """D.7: max over words of |G(0)|, the mean over starts."""
    return float(np.mean([np.abs(s.W.sum(axis=1) @ s.V).max() for s in drawn(run, range(SEEDS))]))


def initial_attention(run: Kit) -> float:
    """D.2: max |p(0) - 1/L|, the mean over starts."""
    return float(np.mean([np.abs(attention(s) - 1 / run.p.L).max() for s in drawn(run, range(SEEDS))]))


# -- first rates -----------------------------------------------------------------------------------------------------


def neuron_rates(s: Start) -> np.ndarray:
    """d(a_j w_jᵀ W_V μ)/dt at the start, (neurons, words), by Eq. (6): B a rᵀ + a (VV r)ᵀ with r = -∂L/∂G."""
    p, G = attention(s), s.W.sum(axis=1) @ s.V

    def loss(G):
        F = outputs(G[s.words][:, None, :], np.log(p), ops)
        return ops.softplus(-s.y * F).mean()

    with jax.enable_x64(True):
        r = -np.asarray(jax.grad(loss)(G))
    return np.outer(s.W.T @ s.W.sum(axis=1), r) + (s.V.T @ (s.V @ r))[None, :]


def rates_of_targets(run: Kit) -> dict[str, float]:
    """4.1: the least and the largest rate of a neuron's target values over (σ_0² + σ_1²) m, over starts."""
    rates = np.array([neuron_rates(s)[:, :2] for s in drawn(run, range(SEEDS))]) / value_scale(run.p)
    run.note(mean=float(rates.mean()))
    return {"least": float(rates.min()), "largest": float(rates.max())}


def rates_of_the_common_word(run: Kit, word: int = 2) -> float:
    """4.2: the largest rate of a neuron's common value over σ_1² √(m m1) + σ_0² √(m L) + σ_1² m F, the mean."""
    found = []
    for s in drawn(run, range(SEEDS)):
        F = np.abs(network_outputs(s)).max()
        scale = s.sigma_1**2 * (run.p.m * run.p.m1) ** 0.5 + s.sigma_0**2 * (run.p.m * run.p.L) ** 0.5
        found.append(np.abs(neuron_rates(s)[:, word]).max() / (scale + s.sigma_1**2 * run.p.m * F))
    return float(np.mean(found))


def rates_of_irrelevant_words(run: Kit, words: slice = slice(3, None)) -> float:
    """E.6: the largest rate of a neuron's irrelevant value over (σ_0² + σ_1²) m/n + σ_0² √(m L), the mean."""
    p, found = run.p, []
    for s in drawn(run, range(4)):
        scale = value_scale(p) / p.n + s.sigma_0**2 * (p.m * p.L) ** 0.5
        found.append(np.abs(neuron_rates(s)[:, words]).max() / scale)
    return float(np.mean(found))


def first_rates_in_the_limit(run: Kit, expected: float = 1 / 6) -> dict[str, Sides]:
    """[ours] At infinite width G(μ1) starts at (c + m1 α)/6, irrelevant words at ±3/n of that."""
    start = run.values(0.0)
    rate = start["d_G_mu1"]
    words = [start[f"d_G_r{T}"] / rate * run.p.n / 3 for T in (1, 2, 3, 4)]
    return {"targets": Sides(rate / start["d_clock"], expected), "irrelevant": Sides(words, LABELS)}


MORE = Path("n", (66.0, 132.0, 264.0, 528.0))
CLAIMS = (
    Claim("D.1", "Lemma D.1", "key and query correlations of different words stay below their bound", DELTAS,
          key_query_correlations, at=SMALL, mode=MODE, regime=CONDITION_1, levels=FINITE,
          control={"tighter": 4.0}, is_cheap=False),
    Claim("D.2", "Corollary D.2", "p(0) = 1/L ± Õ(1/(L m))", Order("Õ", lambda p: 1 / (p.L * p.m)),
          initial_attention, at={"n": 66, "m1": 16, "L": 5}, path=WIDER, mode=MODE, regime=CONDITION_1, levels=FINITE,
          control={"kind": Order("Õ", lambda p: p.m**-2)}),
    Claim("D.3", "Lemma D.3", "value correlations of different words and correlations of different neurons are small",
          DELTAS, value_neuron_correlations, at=SMALL, mode=MODE, regime=CONDITION_1, levels=FINITE,
          control={"tighter": 4.0}, is_cheap=False),
    Claim("D.4", "Lemma D.4", "‖W_V X p‖² = σ_0² m/L (1 ± √(4/m log 2nL/δ) ± 4/m log 2nL/δ)", DELTAS, attended_norms,
          at=SMALL, mode=MODE, regime=CONDITION_1, levels=FINITE, control={"tighter": 4.0},
          is_cheap=False),
    Claim("D.5", "Corollary D.5", "|w_jᵀ W_V X p| ≤ σ_1 σ_0 √(m/L log(m1 n L/δ))", DELTAS, neuron_outputs, at=SMALL,
          mode=MODE, regime=CONDITION_1, levels=FINITE, control={"corrected": True}, is_cheap=False,
          erratum=Erratum("σ_1 σ_0 √(m/L log(m1 n L/δ))", "σ_1 σ_0 √(2 m/L log(2 m1 n L/δ))", "harmless", "D.5-root")),
    Claim("D.5-root", "Corollary D.5 [ours]", "|w_jᵀ W_V X p| ≤ σ_1 σ_0 √(2 m/L log(2 m1 n L/δ)) with Lemma D.4's norm",
          DELTAS, lambda run, corrected=True: neuron_outputs(run, corrected), at=SMALL, mode=MODE, regime=CONDITION_1,
          levels=FINITE, control={"corrected": False}, is_cheap=False),
    Claim("D.6", "Lemma D.6", "the output weights have m1 (1/2 ± √(2 log(4/δ)/m1)) positive signs", DELTAS,
          counts_of_signs, at=SMALL, mode=MODE, regime=CONDITION_1, levels=FINITE,
          control={"tighter": 4.0}),
    Claim("D.7", "Lemma D.7", "|G(0)(μ)| ≤ Õ(σ_1 σ_0 √(m m1))",
          Order("Õ", lambda p: (sigma_0_squared(p) / p.m1 * p.m * p.m1) ** 0.5), initial_values,
          at={"n": 66, "m1": 16, "L": 5}, path=WIDER, mode=MODE, regime=CONDITION_1, levels=FINITE,
          control={"kind": Order("Õ", lambda p: p.m**-0.5)}),
    Claim("D.8", "Lemma D.8", "|F_i(0)| ≤ 2 σ_0 σ_1 √(2 L m1 m log(2 L n/δ))", DELTAS, initial_outputs, at=SMALL,
          mode=MODE, regime=CONDITION_1, levels=FINITE, control={"tighter": 4.0},
          is_cheap=False),
    Claim("D.8-small", "Lemma D.8", "with σ_0 smaller by powers of log m the bound can be made ≤ 0.01",
          Inequality("<="),
          mean_initial_output, at={"n": 66, "m1": 16, "L": 5, "logs": 3.0}, path=Path("m", (1024.0, 4096.0, 16384.0)),
          mode=MODE, regime=CONDITION_1, levels=FINITE, control={"at": {"n": 66, "m1": 16, "L": 5, "logs": 0.0}},
          is_cheap=False),
    Claim("4.1", "Lemma 4.1, Lemma E.4", "every neuron's a_j w_jᵀ W_V μ1, μ2 starts at Θ((σ_0² + σ_1²) m)", Order("Θ"),
          rates_of_targets, at=CALM, path=Path("m", (256.0, 1024.0, 4096.0)), mode=MODE,
          regime=STARTS.with_constant("k", 0.01), levels=FINITE, control={"at": CALM | {"kappa": 1.0},
          "regime": CONDITION_1},
          note="the mean is {mean:.4f}", is_cheap=False),
    Claim("4.1-law", "Lemma E.4, Lemma E.6",
          "at infinite width G(μ1) starts at (c + m1 α)/6, irrelevant words at ±3/n of it",
          Identity(1e-9), first_rates_in_the_limit, at=PLACE, mode=MODE, sharpens="4.1", levels="L3",
          control={"expected": 1 / 5}),
    Claim("4.2", "Lemma 4.2, Lemma E.16", "the common word's neurons start at Õ(σ_1² √(m m1) + σ_0² √(m L) + σ_1² m F)",
          Order("Õ"), rates_of_the_common_word, at={"n": 66, "m1": 16, "L": 5, "m": 1024.0},
          path=Path("kappa", (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)), mode=MODE, regime=CONDITION_1, levels=FINITE,
          control={"kind": Order("Ω")}, is_cheap=False),
    Claim("E.6", "Lemma E.6", "irrelevant words' neurons start at O((σ_0² + σ_1²) m/n + σ_0² √(m L))", Order("O"),
          rates_of_irrelevant_words, at={"m1": 16, "L": 5, "m": 256.0, "kappa": 0.01}, path=MORE, mode=MODE,
          regime=CONDITION_1, levels=FINITE, control={"words": slice(0, 2)}, is_cheap=False),
)  # fmt: skip
