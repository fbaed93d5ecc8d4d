"""The two-mixture transformer (mixture, Sec. 2) through fs.Model alone: what the packaged system is compared with."""

from itertools import product

import flowsys as fs


def tokens(p) -> list[str]:
    return [f"c{k + 1}" for k in range(p.K)] + [f"v{k + 1}" for k in range(p.K)]


def samples(p) -> fs.Samples:
    """Label y, group k: tokens c_k, y v_k and distractors ±v_j of other groups."""
    keys, signs, y, hard = [], [], [], []
    for label, k in product((1, -1), range(p.K)):
        others = [(j, s) for j in range(p.K) if j != k for s in (1, -1)]
        for rest in product(others, repeat=p.L - 2):
            keys.append([k, p.K + k, *(p.K + j for j, _ in rest)])
            signs.append([1, label, *(s for _, s in rest)])
            y.append(label)
            hard.append(label * (label + sum(s for _, s in rest)) <= 0)
    return fs.Samples(keys=keys, signs=signs, y=y, hard=hard)


def preactivation(ops, w, X, p, head: int):
    signs = X.signs[..., :, None] * X.signs[..., None, :]
    scores = signs * w.S[head][X.keys[..., :, None], X.keys[..., None, :]]
    values = w.w[head][X.keys] * X.signs
    return ops.attend(values[..., :, None], scores, axis=-2).sum(axis=-1) + p.b


def output(ops, w, X, p):
    return X.y * (ops.relu(preactivation(ops, w, X, p, 0)) - ops.relu(preactivation(ops, w, X, p, 1)))


HEADS = ["plus", "minus"]
mixture = fs.Model(
    "two_mixture",
    parameters={
        "K": fs.Size(2, 2, 100), "L": fs.Size(3, 3, 6), "b": fs.Real(0.5, 0.01, 3),
        "omega": fs.Real(0.1, 1e-4, 1, log=True), "T_1": fs.Real(20, 0.1, 1e4), "s_star": fs.Real(1, 0.1, 5),
    },
    blocks=lambda p: {
        "w": fs.Direct(HEADS, tokens(p)),
        "S": fs.Pair(tokens(p), tokens(p), scale=p.omega, heads=HEADS),
    },
    samples=samples,
    loss=lambda ops, w, X, p: ops.softplus(-output(ops, w, X, p)),
    observe={"accuracy": lambda ops, w, X, p: ops.is_positive(output(ops, w, X, p) - 1e-3)},
    events={"T_1": fs.Mark("T_1"), "T_2": fs.Crossing("S_plus_c1_v1", "s_star", +1)},
    stages={
        "simultaneous": [fs.Stage("all")],
        "three_stage": [
            fs.Stage("1", trains=["w"], until="T_1"), fs.Stage("2", trains=["S"], where="hard", ends_on="T_2"),
            fs.Stage("3", trains=["w"]),
        ],
    },
)  # fmt: skip
