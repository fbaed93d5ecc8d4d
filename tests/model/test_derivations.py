"""A derivation says what was found and how it was checked, and a wrong program is noticed."""

import re
from dataclasses import replace

import numpy as np
import pytest

import flowsys as fs
from flowsys.errors import InputError
from flowsys.model.limit import assembled, draws_of
from flowsys.model.lumping import Lumping
from flowsys.model.verified import against_field, refuse_wrong
from flowsys.program import Program


def _planted(seed: int) -> tuple[fs.Model, int]:
    """A model that a signed permutation of its tokens leaves as it is, and the number of orbits of its entries.

    A sample is a power of the permutation: the loss is the same function of what each power makes of the weights.
    """
    rng = np.random.default_rng(seed)
    n = 3
    order, sign = rng.permutation(n), rng.choice([-1, 1], n)
    powers = [(np.arange(n), np.ones(n, dtype=int))]
    while True:
        at, signs = powers[-1]
        following = at[order], signs * sign[at]
        if all(np.array_equal(a, b) for a, b in zip(following, powers[0])):
            break
        powers.append(following)
    at, signs = (np.array(part) for part in zip(*powers))
    a, c = rng.standard_normal((2, n))
    B = rng.standard_normal((n, n))
    drawn = rng.standard_normal(n)
    start = np.mean([s * drawn[p] for p, s in powers], axis=0)  # which every power leaves as it is

    def loss(ops, w, X, p):
        u = X.sign * w.v[X.at]
        S = w.S[X.at[:, :, None], X.at[:, None, :]]
        return ops.softplus((u * a).sum(axis=-1) + (S * B).sum(axis=-1).sum(axis=-1)) + ((u * c).sum(axis=-1) - 1) ** 2

    model = fs.Model(
        f"planted_{seed}",
        blocks=lambda p: {"v": fs.Direct(n, start=start), "S": fs.Pair(n, n, scale=0.6)},
        samples=lambda p: fs.Samples(at=at, sign=signs.astype(float)),
        loss=loss,
        t_max=20.0,
    )
    tokens = len({frozenset(at[:, i].tolist()) for i in range(n)})
    entries = len({frozenset(zip(at[:, i].tolist(), at[:, j].tolist())) for i in range(n) for j in range(n)})
    pairs = len(
        {
            frozenset(frozenset(ij) for ij in zip(at[:, i].tolist(), at[:, j].tolist()))
            for i in range(n)
            for j in range(n)
        }
    )
    return model, tokens + entries + 2 * pairs


@pytest.mark.parametrize("seed", [1, 4])
def test_a_planted_symmetry_is_found_and_the_lumped_flow_is_the_full_one(seed):
    model, orbits = _planted(seed)
    start = fs.start(model, level="L3")
    limit, full = (
        fs.solve(model, level=level, at=[1.5], start=s, rtol=1e-10, observe=["loss"])
        for level, s in (("L3", None), ("L2", start))
    )
    assert len(limit.state_names) <= orbits < sum(len(np.atleast_1d(a).ravel()) for a in start.values())
    assert all(np.allclose(limit.blocks(1.5)[name], array, atol=1e-8) for name, array in full.blocks(1.5).items())


one_class = fs.Model(
    "alone", blocks=lambda p: {"v": fs.Direct(3, start=0.5)}, loss=lambda ops, w, X, p: (w.v**2).sum(), t_max=5.0
)


def test_one_class_needs_no_control():
    derivation = fs.derive(one_class)
    assert derivation.n_classes == 1 and derivation.control is None and not derivation.faults
    assert derivation.agreement is None and "found, not stated" in str(derivation)
    assert derivation.autodiff <= 1e-12


twice = fs.Model(
    "twice",
    blocks=lambda p: {"v": fs.Direct(1, start=0.5, read=np.array([[1.0], [1.0]]))},
    loss=lambda ops, w, X, p: w.v[0] ** 2 + 3.0 * w.v[1],
    t_max=9.0,
)


def test_entries_of_one_class_may_have_slopes_of_their_own():
    """Seen twice, one number: dθ/dt = -(2θ + 3)."""
    lumping = Lumping(draws_of(twice.concrete(twice.setup(), "L3", "simultaneous"), None))
    assert (lumping.partition.n_classes, lumping.slopes.n_classes) == (1, 2)
    run = fs.solve(twice, at=[0.7], rtol=1e-10)
    assert run["v_0"][0] == pytest.approx(-1.5 + 2.0 * np.exp(-1.4), rel=1e-9)


uneven = fs.Model(
    "uneven",
    blocks=lambda p: {"S": fs.Pair(2, 2, scale=0.5)},
    loss=lambda ops, w, X, p: (w.S[0, 0] - 1) ** 2 + (w.S[0, 1] + w.S[1, 1]) ** 2,
    t_max=9.0,
)


def test_a_program_with_a_flipped_sign_is_noticed():
    lumping = Lumping(draws_of(uneven.concrete(uneven.setup(), "L3", "simultaneous"), None))
    found, _ = assembled(lumping)
    refuse_wrong(lumping, found)
    text = str(found.program)
    line = next(line for line in text.splitlines() if re.match(r"\s+d_S_0_0 = ", line))
    name, expression = line.split(" = ")
    wrong = replace(found, program=Program.parse(text.replace(line, f"{name} = -({expression})")))
    assert against_field(lumping, wrong) > 1e-3
    with pytest.raises(InputError, match="uneven differs from its flow"):
        refuse_wrong(lumping, wrong)
