"""A small model for tests: a signal token among others, read by softmax attention; labels flip now and then."""

from itertools import product

import numpy as np

import flowsys as fs


def tokens(M: int) -> list[str]:
    return ["p", "q", *(f"n{i}" for i in range(M))]


def samples(p) -> fs.Samples:
    """A sample holds a signal (p: label +1, q: -1), L - 2 noise tokens and a last token that asks; labels may flip."""
    keys, y, weight = [], [], []
    noise = list(product(range(2, 2 + p.M), repeat=p.L - 1))
    for signal, flipped, rest in product((0, 1), (0, 1), noise):
        keys.append([signal, *rest])
        y.append((1 - 2 * signal) * (1 - 2 * flipped))
        weight.append((p.flip if flipped else 1 - p.flip) / 2 / len(noise))
    return fs.Samples(keys=keys, y=np.array(y, dtype=float), weight=weight)


def output(ops, w, X, p):
    return ops.attend(w.v[X.keys], w.S[X.keys, X.keys[:, -1:]], axis=-1)


signal = fs.Model(
    "signal",
    parameters={
        "M": fs.Size(3, 1, 8),
        "L": fs.Size(3, 2, 5),
        "flip": fs.Real(0.1, 0, 0.45),
        "omega": fs.Real(0.1, 1e-4, 2, log=True),
    },
    blocks=lambda p: {"v": fs.Direct(tokens(p.M)), "S": fs.Pair(tokens(p.M), tokens(p.M), scale=p.omega)},
    samples=samples,
    loss=lambda ops, w, X, p: ops.softplus(-X.y * output(ops, w, X, p)),
    observe={"attention": lambda ops, w, X, p: ops.softmax(w.S[X.keys, X.keys[:, -1:]], axis=-1)[..., 0]},
    events={"T_seen": fs.Crossing("attention", 0.7, +1)},
    integrals={"spent": "loss"},
    t_max=1e4,
)
