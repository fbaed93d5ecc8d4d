"""A model of your own, to start from: attention that must find one token among others.

Change it, then try it:

    flowsys show --from my_model.py
    flowsys derive --from my_model.py
    flowsys solve --from my_model.py --at T_seen,t=100
    flowsys train --from my_model.py --set width=100 --steps 500
    flowsys compare --from my_model.py
    flowsys phase --from my_model.py --x flip=0:0.4:40 --y omega=0.01:1:40:log --observable T_seen --log
"""

from itertools import product

import numpy as np

import flowsys as fs


def tokens(p):
    """Labels of the tokens: they name the entries of the blocks (v_plus, S_plus_n0, …). A number would do as well."""
    return ["plus", "minus", *(f"n{i}" for i in range(p.M))]


def samples(p):
    """All inputs with their labels: here p.M and p.flip are numbers. Arrays have one row a sample.

    An input holds a signal (plus or minus, which is its label) and one of M other tokens, which asks. With probability
    p.flip the label is wrong.
    """
    signal, asking, wrong = np.array(list(product((0, 1), range(2, 2 + p.M), (0, 1)))).T
    label = np.where(signal == 0, 1.0, -1.0) * np.where(wrong, -1.0, 1.0)
    weight = np.where(wrong, p.flip, 1 - p.flip) / (2 * p.M)  # weights sum to 1
    return fs.Samples(keys=np.stack([signal, asking], axis=1), label=label, weight=weight)


def attention(ops, w, X, p):
    """Softmax over the tokens of each input. Functions come from `ops`: JAX in training, sympy in derivations."""
    return ops.softmax(w.S[X.keys, X.keys[:, 1:]], axis=-1)  # S[key, query]


def output(ops, w, X, p):
    return (attention(ops, w, X, p) * w.v[X.keys]).sum(axis=-1)


def loss(ops, w, X, p):
    """One number a sample (without `samples`: one number)."""
    return ops.softplus(-X.label * output(ops, w, X, p))


def seen(ops, w, X, p):
    """attention on the signal"""
    return attention(ops, w, X, p)[:, 0]


model = fs.Model(
    "my_model",
    summary="attention that must find a signal among other tokens",
    # (default, least, largest, meaning): a Size is derived for one value at a time, a Real once for all
    parameters={
        "M": fs.Size(3, 1, 8, "number of other tokens"),
        "flip": fs.Real(0.1, 0, 0.45, "probability of a wrong label"),
        "omega": fs.Real(0.3, 1e-3, 2, "scale of the initial scores", log=True),
        "enough": fs.Real(0.7, 0.5, 1, "attention at which the signal counts as seen"),
    },
    # Direct: weights used as they are. Pair: two factors W_K, W_Q of inner width m, entries N(0, scale²/m); the loss
    # reads their product S = W_Kᵀ W_Q
    blocks=lambda p: {"v": fs.Direct(tokens(p), start=0.0), "S": fs.Pair(tokens(p), tokens(p), scale=p.omega)},
    samples=samples,
    loss=loss,
    # further numbers; `loss` and the entries of the blocks are always there
    observe={"seen": seen, "right": lambda ops, w, X, p: ops.is_positive(X.label * output(ops, w, X, p))},
    # when an observable crosses a threshold (a number or a parameter), upwards (+1) or downwards (-1)
    events={"T_seen": fs.Crossing("seen", "enough", +1)},
    # what trains when: the first mode is the default
    stages={
        "together": [fs.Stage("all")],
        "in_turn": [fs.Stage("values", trains=["v"], until=20.0), fs.Stage("scores", trains=["S"])],
    },
    t_max=1e4,
)
