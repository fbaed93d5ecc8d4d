"""Random neurons in stage 1 (Definition B.3, Theorem B.1): which neuron learns which combination.

n_x = ∞, m = 4 n_y neurons a class, σ_0 = d^(-1/2), b = σ_0 log d, no clip, to t = min(10 d, 10¹¹). The combination
(j, y) stands for all g with g(y) = j; its feature in a neuron is the mean over them.
"""

from typing import Any, NamedTuple

import numpy as np

from flowsys.claims import Claim, Condition, Identity, Inequality, Kit, Path, Regime, Sides
from flowsys.runs.asking import field
from flowsys.systems.lego.groups import named, sizes

SEEDS = {"C3": (0, 1, 2), "S3": (0, 1, 2), "C4": (0, 1)}
LEARNT = 1.0


class Layer(NamedTuple):
    """V(g) (n_y, m, n_g) and V(y) (n_y, m, n_y) of the classes in Y."""

    V_g: np.ndarray
    V_y: np.ndarray


def _tables(state: np.ndarray, n_g: int, n_y: int, m: int) -> Layer:
    V_g, V_y = np.split(state[: n_y * m * (n_g + n_y)], [n_y * m * n_g])
    return Layer(V_g.reshape(n_y, m, n_g), V_y.reshape(n_y, m, n_y))


def random_layer(run: Kit, seed: int, *times: float) -> list[Layer]:
    """Features at the start and at the end, or at the start and at given times."""
    d, (n_g, n_y) = float(run.p.d), sizes(run.p.group)
    there = run.at(bias=small_bias(d), width=4 * n_y, seed=seed, clip="none", rtol=1e-8)
    start = field(run.system, there.setup, level="L3", variant="many_variables", mode="stage_1").start
    later = there.run(*(times or (end_of(d),)), level="L3", variant="many_variables", observe=("loss",)).states
    return [_tables(state, n_g, n_y, 4 * n_y) for state in (start, *later)]


def small_bias(d: float) -> float:
    """b = μ = σ_0 log d."""
    return float(d**-0.5 * np.log(d))


def end_of(d: float) -> float:
    return min(10 * float(d), 1e11)


def combinations(layer: Layer, group: str) -> np.ndarray:
    """V of every combination in every neuron: (class j, neuron, y)."""
    action = named(group)
    mean = lambda j, y: layer.V_g[j][:, action.fibre(j, y)].mean(axis=1) / 2 + layer.V_y[j][:, y] / 2
    return np.array([np.stack([mean(j, y) for y in range(action.n_y)], axis=1) for j in range(action.n_y)])


def curriculum(V: np.ndarray) -> np.ndarray:
    """Definitions B.3, C.4: the neuron of each (j, y): largest feature first, its neuron and combination excluded."""
    left, chosen = V.copy(), np.zeros((V.shape[0], V.shape[2]), dtype=int)
    for _ in range(chosen.size):
        j, r, y = np.unravel_index(np.nanargmax(left), left.shape)
        chosen[j, y] = r
        left[j, r, :] = np.nan
        left[j, :, y] = np.nan
    return chosen


def course(run: Kit, times: np.ndarray, seed: int = 0) -> np.ndarray:
    """V of the curriculum's features in its order, those of the start first: (features, 1 + times)."""
    V = np.array([combinations(layer, run.p.group) for layer in random_layer(run, seed, *times)])
    chosen = curriculum(V[0])
    j, y = np.indices(chosen.shape)
    grown = V[:, j.ravel(), chosen.ravel(), y.ravel()].T
    return grown[np.argsort(-grown[:, 0])]


def arrivals(run: Kit, power: float = 0.25, seed: int = 0, rounds: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """When features of the curriculum, in its order, reach d^power μ and log(d)/2, each to about 1e-7 of the time."""
    d = float(run.p.d)
    levels = np.array([d**power * small_bias(d), np.log(d) / 2])
    times = np.geomspace(1e-6 * d, end_of(d), 80)
    for _ in range(rounds):
        passed = course(run, times, seed)[:, None, 1:] > levels[None, :, None]
        at = np.clip(passed.argmax(axis=2), 1, None)  # of features and levels: the first look beyond
        low, high = times[at - 1], times[at]
        times = np.unique(np.concatenate([x.ravel() for x in np.linspace(low, high, 9)]))
    return high[:, 0], high[:, 1]


def one_after_the_other(run: Kit, is_reversed: bool = False) -> Sides:
    """Inductions B.1 (b), C.1 (b): when the next feature leaves d^(1/4) μ against when this one is at log(d)/2."""
    leaves, arrives = arrivals(run)
    pair = leaves[1:], arrives[:-1]
    return Sides(*(pair[::-1] if is_reversed else pair))


def least_feature(run: Kit, minus: float = 0.0) -> Sides:
    """Inductions B.1 (a), C.1 (a): the least V + b of the curriculum's features, ever, against μ."""
    d = float(run.p.d)
    grown = course(run, np.geomspace(1e-6 * d, end_of(d), 80))
    return Sides(grown.min() + (1 - minus) * small_bias(d), small_bias(d))


def later_features(run: Kit, factor: float = 1.0) -> Sides:
    """Induction B.2 (d): features that come later in the curriculum, over μ, when one leaves d^(1/4) μ."""
    leaves, _ = arrivals(run)
    grown = course(run, np.unique(leaves))
    at = 1 + np.searchsorted(np.unique(leaves), leaves)
    largest = [grown[k + 1 :, at[k]].max() for k in range(len(leaves) - 1)]
    return Sides(factor * np.array(largest), small_bias(run.p.d) * float(run.p.d) ** 0.25)


def other_tokens(run: Kit, factor: float = 1.0) -> Sides:
    """Induction B.2 (a): V(g'), V(y') of a winner off its combination when it leaves d^0.01 μ, against μ."""
    leaves, _ = arrivals(run, 0.01)
    times, action = np.unique(leaves), named(run.p.group)
    layers = random_layer(run, 0, *times)
    chosen, largest = curriculum(combinations(layers[0], run.p.group)), []
    V_0 = combinations(layers[0], run.p.group)
    order = sorted(np.ndindex(chosen.shape), key=lambda jy: -V_0[jy[0], chosen[jy], jy[1]])
    for (j, y), t in zip(order, leaves):
        there, r = layers[1 + int(np.searchsorted(times, t))], chosen[j, y]
        off = np.delete(there.V_g[j, r], action.fibre(j, y)), np.delete(there.V_y[j, r], y)
        largest.append(max(x.max() for x in off))
    return Sides(factor * np.array(largest), small_bias(run.p.d))


def winners(run: Kit, excludes: bool = True) -> Sides:
    """The share of combinations whose winner is the curriculum's, of every seed, against 1."""
    shares = []
    for seed in SEEDS.get(run.p.group, (0,)):
        start, end = (combinations(layer, run.p.group) for layer in random_layer(run, seed))
        expected = curriculum(start) if excludes else start.argmax(axis=1)
        shares.append(float((end.argmax(axis=1) == expected).mean()))
    run.note(told=run.noted.get("told", "") + f"; {run.p.group}: " + ", ".join(f"{share:.3f}" for share in shares))
    return Sides(shares, 1.0)


def one_neuron(run: Kit, threshold: float = LEARNT) -> dict[str, Sides]:
    """Section 6.1.2: how many neurons have learnt a combination, and how many combinations a neuron has learnt."""
    of_combination, of_neuron = [], []
    for seed in SEEDS.get(run.p.group, (0,)):
        learnt = combinations(random_layer(run, seed)[1], run.p.group) > threshold
        of_combination.append(learnt.sum(axis=1).ravel())
        of_neuron.append(learnt.sum(axis=2).max())
    return {"neurons of a combination": Sides(np.concatenate(of_combination), 1.0),
            "combinations of a neuron": Sides(of_neuron, 1.0)}  # fmt: skip


def conserved(run: Kit, weight: float = 1.0) -> Sides:
    """B.7: Σ_g V(g) - Σ_y V(y) of every neuron at the end and at the start."""
    sums = lambda layer: (layer.V_g.sum(axis=2) - weight * layer.V_y.sum(axis=2)).ravel()
    start, end = random_layer(run, 0)
    return Sides(sums(end) - sums(start), 0.0)


def action_and_value(run: Kit, share: float = 1.0) -> Sides:
    """B.7: |V(g) - V(y)| of winners against (|Σ V(g) - Σ V(y)| + 4 (n_y - 1) δ)/n_y, δ the largest confounder."""
    n_y, action = sizes(run.p.group)[1], named(run.p.group)
    start, end = random_layer(run, 0)
    gaps, bounds = [], []
    for (j, y), r in np.ndenumerate(combinations(end, run.p.group).argmax(axis=1)):
        g, V_g, V_y = action.fibre(j, y)[0], end.V_g[j, r], end.V_y[j, r]
        others = np.concatenate([np.delete(V_g, g) + V_y[y], V_g[g] + np.delete(V_y, y)]) / 2
        drift = abs(start.V_g[j, r].sum() - start.V_y[j, r].sum())
        gaps.append(abs(V_g[g] - V_y[y]))
        bounds.append(share * (drift + 4 * (n_y - 1) * np.abs(others).max()) / n_y)
    return Sides(gaps, bounds)


REGIME = Regime(Condition("d ≥ D", lambda p, D: (p.d, D)), D=1e12)
"""The gaps of order σ_0 between initial features have to decide before the linear phase begins: d → ∞."""
DRAWS: dict[str, Any] = {"mode": "stage_1", "takes": "group d rho q"}
PLACES = [{"group": g, "d": 1e12} for g in SEEDS]
STEP: dict[str, Any] = {
    "at": [{"group": g, "d": 1e12} for g in ("C3", "S3")], "regime": REGIME, **DRAWS, "what": "proof step",
    "is_cheap": False,
}  # fmt: skip
CLAIMS = [
    Claim("B.1_a", "Inductions B.1, C.1", "(a) V + b ≥ Ω(μ) of the curriculum's features, for all t",
          Inequality(">=", 0.5), least_feature, **STEP, control={"kind": Inequality(">=", 2.0)}),
    Claim("B.1_b", "Inductions B.1, C.1", "(b) one feature at a time, in the curriculum's order: from d^(1/4) μ to "
          "log(d)/2 no two overlap", Inequality(">="), one_after_the_other, **STEP, control={"is_reversed": True}),
    Claim("B.2_a", "Induction B.2", "(a) V(g'), V(y') ≤ O(μ) off its combination until V = d^0.01 μ",
          Inequality("<=", None), other_tokens, **STEP | {"at": [{"group": g} for g in ("C3", "S3")]},
          path=Path("d", (1e12, 1e13, 1e14)), control={"kind": Inequality("<=", 1.0)}),
    Claim("B.2_d", "Induction B.2", "(d) features that come later in the curriculum have not emerged",
          Inequality("<="), later_features, **STEP, control={"factor": 1e6}),
    Claim("curriculum", "Definition B.3, Definition C.4, Section 6.1.2, Lemma B.3, Lemma C.3",
          "each combination is learnt by the neuron that the curriculum of initial features gives it", Inequality(">="),
          winners, at=PLACES, regime=REGIME, **DRAWS, what="theorem", is_cheap=False,
          control={"excludes": False},
          note="shares of every seed{told}"),
    Claim("one_neuron", "Section 6.1.2, Theorem B.1", "exactly one neuron learns each combination, all distinct",
          Identity(0.0), one_neuron, at=PLACES, regime=REGIME, **DRAWS, is_cheap=False,
          control={"threshold": -1.0}),
    Claim("B.7", "Lemma B.7", "Σ_g V(g) - Σ_y V(y) of a neuron never moves", Identity(1e-5, relative=False), conserved,
          at=PLACES[:2], **DRAWS, control={"weight": 0.5}, is_cheap=False),
    Claim("B.1_E", "Lemma B.7, Theorem B.1", "(E) |V(g) - V(y)| ≤ O(δ), δ the largest confounding feature",
          Inequality("<="), action_and_value, at={"group": "C3", "d": 1e12}, regime=REGIME, **DRAWS, is_cheap=False,
          control={"share": 1e-3}),
]  # fmt: skip
