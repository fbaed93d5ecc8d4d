"""A model of one's own for the pages: attention over keys of which one carries the label's sign."""

import numpy as np

import flowsys as fs


def samples(p) -> fs.Samples:
    keys = np.array([[k, (k + 1) % p.M, p.M] for k in range(p.M) for _ in range(2)])
    return fs.Samples(keys=keys, y=np.array([1.0, -1.0] * p.M))


MODEL = fs.Model(
    "signal",
    summary="one key carries the signal",
    parameters={"M": fs.Size(3, 2, 5, "signals"), "omega": fs.Real(0.1, 1e-4, 2, "scale of the start", log=True)},
    blocks=lambda p: {"v": fs.Direct(p.M + 1), "S": fs.Pair(p.M + 1, p.M + 1, scale=p.omega)},
    samples=samples,
    loss=lambda ops, w, X, p: ops.softplus(-X.y * ops.attend(w.v[X.keys], w.S[X.keys, X.keys[:, -1:]], axis=-1)),
    latex={"omega": r"\omega"},
)
