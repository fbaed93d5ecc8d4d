"""Linear networks learn their modes one after the other, each along a sigmoid of its own.

With white inputs and a target of singular values s_1, s_2, s_3, a network whose matrices have the product P has the
loss ½ ‖diag(s) - P‖². Two layers are a pair, P = W_Kᵀ W_Q. From small, balanced, aligned weights (W_K = W_Q, orthogonal
columns of length √u_0) P stays diagonal, and each mode of it follows (Saxe, McClelland, Ganguli, "Exact solutions to
the nonlinear dynamics of learning in deep linear neural networks", ICLR 2014)

    du/dt = 2 u (s - u),        u(t) = s e^(2st) / (e^(2st) - 1 + s/u_0).

Further layers are matrices W_3, W_4, …, with h hidden units between them: P = W_Kᵀ W_Q W_3 ⋯ W_n, and with all layers
balanced du/dt = n u^(2 - 2/n) (s - u), so that u needs the time ∫ du / (n u^(2 - 2/n) (s - u)) from u_0. To try:

    flowsys solve --from examples/linear_network.py --set depth=3 --at T_1,T_2,T_3 --observe u_1,u_2,u_3
"""

import numpy as np
from scipy.integrate import quad

import flowsys as fs

MODES = 3


def blocks(p):
    """All layers start as u_0^(1/n) times an identity of rank 3."""
    layer = lambda columns: p.u_0 ** (1 / p.depth) * np.eye(p.h, MODES) @ np.eye(MODES, columns)
    columns = [p.h] * (p.depth - 2) + [MODES]  # of W_Q, W_3, …
    found = {"S": fs.Pair(MODES, columns[0], start=(layer(MODES), layer(columns[0])))}
    return found | {f"W_{n}": fs.Direct(p.h, k, start=layer(k)) for n, k in enumerate(columns[1:], 3)}


def multiplied(w, p):
    P = w.S
    for n in range(3, p.depth + 1):
        P = P @ getattr(w, f"W_{n}")
    return P


def loss(ops, w, X, p):
    error = ops.array([[p.s_1, 0, 0], [0, p.s_2, 0], [0, 0, p.s_3]]) - multiplied(w, p)
    return (error * error).sum() / 2


model = fs.Model(
    "linear_network",
    summary="linear network from small balanced weights",
    parameters={
        "depth": fs.Size(2, 2, 5, "number of layers"),
        "h": fs.Size(4, 3, 8, "hidden units"),
        "u_0": fs.Real(1e-3, 1e-8, 0.1, "strength of every mode at the start", log=True),
        **{f"s_{i + 1}": fs.Real(3.0 - i, 0.6, 10, f"singular value {i + 1} of the target") for i in range(MODES)},
    },
    blocks=blocks,
    loss=loss,
    observe={f"u_{i + 1}": lambda ops, w, X, p, i=i: multiplied(w, p)[i, i] for i in range(MODES)},
    events={f"T_{i + 1}": fs.Crossing(f"u_{i + 1}", 0.5, +1) for i in range(MODES)},
    t_max=1e3,
)


def distance_to_sigmoids(t: np.ndarray) -> float:
    setup = model.setup()
    run = fs.solve(model, setup, at=t, rtol=1e-10)
    sigmoid = lambda s: s / (1 - np.exp(-2 * s * t) + s / setup["u_0"] * np.exp(-2 * s * t))
    return float(max(np.abs(run[f"u_{i}"] - sigmoid(setup[f"s_{i}"])).max() for i in (1, 2, 3)))


def distance_to_quadrature(depth: int) -> float:
    setup = model.setup(depth=depth)
    times = [row["t"] for row in fs.solve(model, setup, rtol=1e-10).rows]
    slowness = lambda u, s: 1 / (depth * u ** (2 - 2 / depth) * (s - u))
    exact = [quad(slowness, setup["u_0"], 0.5, args=(setup[f"s_{i}"],), epsrel=1e-12, limit=500)[0] for i in (1, 2, 3)]
    return float(np.abs(np.array(times) / exact - 1).max())


if __name__ == "__main__":
    print(fs.derive(model))
    print(f"two layers against their sigmoids: {distance_to_sigmoids(np.linspace(0, 8, 81)):.1e}")
    print(f"three layers against quadrature: {distance_to_quadrature(3):.1e}")
