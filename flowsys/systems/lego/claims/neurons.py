"""Random neurons in stage 1 (Definition B.3, Theorem B.1): which neuron learns which combination.

n_x = ∞, m = 4 n_y neurons a class, σ_0 = d^(-1/2), b = σ_0 log d, no clip, to t = min(10 d, 10¹¹). The combination
(j, y) stands for all g with g(y) = j; its feature in a neuron is the mean over them.
"""

from typing import NamedTuple

import numpy as np

from flowsys.claims import Claim, Condition, Identity, Inequality, Kit, Regime, Sides
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


def random_layer(run: Kit, seed: int) -> tuple[Layer, Layer]:
    """Features at the start and at the end."""
    d, (n_g, n_y) = float(run.p.d), sizes(run.p.group)
    there = run.at(bias=float(d**-0.5 * np.log(d)), width=4 * n_y, seed=seed, clip="none", rtol=1e-8)
    start = field(run.system, there.setup, level="L3", variant="many_variables", mode="stage_1").start
    end = there.run(min(10 * d, 1e11), level="L3", variant="many_variables", observe=("loss",)).states[-1]
    return _tables(start, n_g, n_y, 4 * n_y), _tables(end, n_g, n_y, 4 * n_y)


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
DRAWS = {"mode": "stage_1", "takes": "group d rho q"}
PLACES = [{"group": g, "d": 1e12} for g in SEEDS]
CLAIMS = [
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
