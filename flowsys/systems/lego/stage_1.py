"""Which neurons learn which combinations (Eq. 16), on NumPy arrays of features."""

import numpy as np

from flowsys.systems.lego.groups import GroupAction


def combination_features(V_g, V_y, group: GroupAction):
    """V_{j,r}(g, y) averaged over g in Fib_{j,y}: (n_y, m, n_y), the feature of combination (j, y) in each neuron."""
    return np.array(
        [
            [V_g[j][:, group.fibre(j, y)].mean(axis=1) / 2 + V_y[j][:, y] / 2 for y in range(group.n_y)]
            for j in range(group.n_y)
        ]
    ).transpose(0, 2, 1)


def learned_combinations(V_g, V_y, group: GroupAction, threshold: float = 1.0) -> dict:
    """Eq. (16): how many neurons carry each combination (j, y), and the share of winners that are distinct neurons."""
    V = combination_features(V_g, V_y, group)
    winners = V.argmax(axis=1)
    distinct = np.mean([len(set(row)) / group.n_y for row in winners])
    return {"neurons": (threshold < V).sum(axis=1), "winners": winners, "distinct": float(distinct)}
