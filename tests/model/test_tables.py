"""Data that does not merge stands in tables: one program for every seed and every value of the reals."""

import numpy as np
import pytest

import flowsys as fs


def samples(p) -> fs.Samples:
    rng = np.random.default_rng(p.seed)
    x = rng.standard_normal((p.n, p.d))
    return fs.Samples(x=x, y=x.sum(axis=1) + p.noise * rng.standard_normal(p.n), kind=np.arange(p.n) % 2)


def output(ops, w, X, p):
    return (X.x * w.a).sum(axis=-1) + ops.tanh((X.x * w.b[X.kind]).sum(axis=-1))


regression = fs.Model(
    "regression",
    parameters={"n": fs.Size(40, 2, 1000), "d": fs.Size(2, 1, 10), "noise": fs.Real(0.1, 0, 1)},
    blocks=lambda p: {"a": fs.Direct(p.d), "b": fs.Direct(2, p.d, start=0.1)},
    samples=samples,
    loss=lambda ops, w, X, p: (X.y - output(ops, w, X, p)) ** 2 / 2,
    observe={"mean": output, "size": lambda ops, w, X, p: (w.a**2).sum()},
    t_max=100,
)


def test_the_program_is_the_full_flow_for_every_seed_and_noise():
    for seed, noise in ((0, 0.1), (5, 0.0), (6, 0.7)):
        setup = regression.setup(seed=seed, noise=noise)
        a, b = (fs.solve(regression, setup, level=level, at=[1.0, 10.0], rtol=1e-10) for level in ("L3", "L2"))
        assert all(np.allclose(a[name], b[name], atol=1e-9) for name in ("loss", "mean", "size", "a_0", "b_1_1"))
    assert len(regression.declaration.found) == 1


def test_a_table_for_each_kind_of_sample():
    derivation = fs.derive(regression)
    assert list(derivation.program.tables) == ["samples_0_0", "samples_0_1"] and not derivation.faults


def test_an_observable_that_mixes_merged_samples_is_refused_by_its_name():
    mixing = fs.Model(
        "mixing",
        blocks=lambda p: {"a": fs.Direct()},
        samples=lambda p: fs.Samples(y=np.ones(4), x=np.arange(4)),
        loss=lambda ops, w, X, p: (X.y - w.a) ** 2,
        observe={"last": lambda ops, w, X, p: X.x.sum() * w.a},
    )
    with pytest.raises(fs.InputError, match=r"observable last of mixing.*merged"):
        fs.solve(mixing, at=[1.0])
