"""A model of one's own for the pages: attention over keys of which one says the label."""

import numpy as np

import flowsys as fs


def samples(p) -> fs.Samples:
    """A key that says the label (0 or 1), two distractors, of which the last asks."""
    keys = np.array([[signal, 2 + k, 2 + (k + 1) % p.M] for k in range(p.M) for signal in (0, 1)])
    return fs.Samples(keys=keys, y=1.0 - 2.0 * keys[:, 0])


MODEL = fs.Model(
    "signal",
    summary="one key carries the signal",
    parameters={"M": fs.Size(3, 2, 5, "distractors"), "omega": fs.Real(0.1, 1e-4, 2, "scale of the start", log=True)},
    blocks=lambda p: {"v": fs.Direct(p.M + 2), "S": fs.Pair(p.M + 2, p.M + 2, scale=p.omega)},
    samples=samples,
    loss=lambda ops, w, X, p: ops.softplus(-X.y * ops.attend(w.v[X.keys], w.S[X.keys, X.keys[:, -1:]], axis=-1)),
    latex={"omega": r"\omega"},
)
