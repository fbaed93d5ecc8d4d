"""Models for the laws: each has a part of what may be declared."""

import numpy as np

import flowsys as fs


def _committee(ops, w, X, p):
    """The population loss of an erf committee machine, in overlaps of students (K) and teachers (Q)."""
    student, teacher = 1 + ops.einsum("ii->i", w.KK), 1 + ops.einsum("ii->i", w.QQ)

    def overlap(M, a, b):
        return ops.arcsin(M / ops.sqrt(a[:, None] * b[None, :])).sum()

    both = overlap(w.KK, student, student) + overlap(w.QQ, teacher, teacher)
    return (both - 2 * overlap(w.R, student, teacher)) / np.pi


committee = fs.Model(
    "committee",
    parameters={"K": fs.Size(2, 1, 4), "omega": fs.Real(0.3, 0.01, 2)},
    blocks=lambda p: {"R": fs.Pair(p.K, p.K, scales=(p.omega, 1.0), rates=(1.0, 0.0), factors=("W", "B"))},
    loss=_committee,
    t_max=100.0,
)


def _hinted(ops, w, X, p):
    return ops.softplus(-X.y * w.v[X.k] * w.u) * w.f[0]


staged = fs.Model(
    "staged",
    parameters={"r": fs.Real(0.5, -1, 1), "T": fs.Real(0.7, 0.1, 2)},
    blocks=lambda p: {
        "v": fs.Direct(3, start=lambda rng: rng.standard_normal(3), limit=[0.1, 0.2, 0.3]),
        "u": fs.Direct(start=1.0, rate=1.5),
        "f": fs.Direct(2, start=[1.0, 2.0], trains=False),
    },
    samples=lambda p: fs.Samples(
        k=[0, 1, 2, 2], y=[1.0, -1.0, 1.0, -1.0], odd=[1, 0, 1, 0], weight=[0.1, 0.4, 0.3, 0.2]
    ),
    loss=_hinted,
    observe={"margin": lambda ops, w, X, p: w.v[X.k] * X.y},
    events={"T_up": fs.Crossing("v_0", 0.3, +1), "T_one": fs.Mark("T")},
    integrals={"spent": "loss", "gained": "margin"},
    stages={
        "three": [
            fs.Stage("first", until="T", trains=["v"]),
            fs.Stage("odd", where="odd", ends_on="T_up"),
            fs.Stage(
                "other",
                samples=lambda p: fs.Samples(k=[2, 1], z=[1.0, p.r]),
                loss=lambda ops, w, X, p: (w.v[X.k] - X.z) ** 2 * w.u**2,
            ),
        ],
        "alone": [fs.Stage("alone", loss=lambda ops, w, X, p: _hinted(ops, w, X, p) + w.v[X.k] ** 2)],
    },
    t_max=20.0,
)


def _headed(ops, w, X, p):
    attention = ops.softmax(w.S[:, X.k, 0], axis=-1)
    return ops.softplus(-X.y * (attention * w.V[X.k, 0][None]).sum(axis=-1).sum(axis=0))


headed = fs.Model(
    "headed",
    parameters={"rate": fs.Real(2.0, 0.1, 3)},
    blocks=lambda p: {
        "S": fs.Pair(3, ["a", "b"], heads=["g", "h"], scale=0.5, rates=(p.rate, 1.0)),
        "V": fs.Pair(3, 1, scales=(0.7, 1.0), factors=("A", "u"), selfs=("AA", "uu")),
    },
    samples=lambda p: fs.Samples(k=[[0, 1], [1, 2], [2, 0]], y=[1.0, -1.0, 1.0]),
    loss=_headed,
    t_max=50.0,
)

EMBEDDING = np.random.default_rng(0).standard_normal((4, 3))
KEYS = np.random.default_rng(1).standard_normal((2, 3))
BOTH = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, -1.0]])

reading = fs.Model(
    "reading",
    parameters={"r": fs.Real(0.5, 0.1, 2)},
    blocks=lambda p: {
        "v": fs.Direct(3, start=[0.1, 0.2, 0.3], read=lambda x: EMBEDDING @ x, rate=2.0),
        "N": fs.Direct(2, 3, start=np.full((2, 3), 0.1), read=lambda x: x.T.reshape(-1) * p.r),
        "S": fs.Pair(3, 2, scale=0.5, read=(KEYS, None)),
        "R": fs.Pair(2, 2, read=BOTH, factors=("A", "B"), selfs=("AA", "BB"), rates=(1.0, 0.5)),
    },
    loss=lambda ops, w, X, p: (
        ((w.v - 1.0) ** 2).sum()
        + 0.1 * ((w.N - ops.array(np.arange(6.0))) ** 2).sum()
        + (w.S[0, 0] - 1) ** 2
        + (w.S[1, 1] - 0.3) ** 2 * w.v[0] ** 2
        + (w.R[2, 1] - 1) ** 2
    ),
    t_max=20.0,
)


def _kinked(ops, w, X, p):
    x = w.v[X.k]
    bent = ops.relu(x) + ops.abs(x - 0.5) * w.u + ops.maximum(x, 0.5 * w.u) + ops.minimum(x, w.u)
    return (bent + ops.clip_above(x * w.u, 0.4) - X.y) ** 2 + ops.hinge(x * w.u)


kinked = fs.Model(
    "kinked",
    blocks=lambda p: {"v": fs.Direct(3, start=[0.3, -0.4, 0.9]), "u": fs.Direct(start=0.8)},
    samples=lambda p: fs.Samples(k=[0, 1, 2], y=[1.0, -1.0, 0.6]),
    loss=_kinked,
    t_max=20.0,
)


def nested_output(relu, v, u):
    """Three ReLUs deep; where v < 0, what stands behind the inner ones is not what it is with open gates."""
    return relu(relu(v) + 0.3 * u + relu(relu(2.0 * v) + u - 0.1) * u)


nested = fs.Model(
    "nested",
    blocks=lambda p: {"v": fs.Direct(start=-2.0), "u": fs.Direct(start=0.5)},
    loss=lambda ops, w, X, p: (nested_output(ops.relu, w.v, w.u) - 3.0) ** 2,
    t_max=20.0,
)

scaled = fs.Model(
    "scaled",
    parameters={"a": fs.Real(0.5, 0.01, 2), "b": fs.Real(0.5, 0.01, 2), "eta": fs.Real(1.0, 0.1, 3)},
    blocks=lambda p: {
        "S": fs.Pair(2, 2, scales=(p.a, p.b), rates=(p.eta, 1.0), read=np.array([[1.0, 0.5], [0.0, 2.0]]))
    },
    loss=lambda ops, w, X, p: (w.S[0, 1] - 1) ** 2 + (w.S[1, 0] + 2) ** 2,
    t_max=50.0,
)


def _drawn(p):
    rng = np.random.default_rng(p.seed)
    return fs.Samples(x=rng.standard_normal((6, 3)), y=p.noise * rng.standard_normal(6))


drawn = fs.Model(
    "drawn",
    parameters={"noise": fs.Real(0.3, 0, 1)},
    blocks=lambda p: {"w": fs.Direct(3)},
    samples=_drawn,
    loss=lambda ops, w, X, p: ((X.x * w.w).sum(axis=-1) - 1 - X.y) ** 2,
    t_max=10.0,
)

stepped = fs.Model(
    "stepped",
    parameters={"r": fs.Real(0.5, 0, 1)},
    blocks=lambda p: {"v": fs.Direct(2, start=[0.5, 0.5 if p.r < 0.95 else 0.7])},
    samples=lambda p: fs.Samples(k=[0, 1], y=[1.0, 1.0 if p.r < 0.93 else 2.0]),
    loss=lambda ops, w, X, p: (w.v[X.k] - X.y) ** 2 * p.r,
    t_max=9.0,
)
