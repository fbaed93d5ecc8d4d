"""Claims of parity that do not hold, or are outside of their regime, by training of their own: live neurons, autodiff.

Nothing of the package but the words on record and the files of kept runs is read.
"""

import json
from itertools import product
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flowsys.systems import load

PACKAGE = Path(load.__code__.co_filename).parent / "parity"
RECORD = json.loads((PACKAGE / "verdicts.json").read_text())


def kept(folder: str) -> list[tuple[dict, object]]:
    found = [json.loads(path.read_text()) for path in (PACKAGE / folder).glob("*.json")]
    return [(one["case"], one["result"]) for one in found]


# -- the hinge under gradient flow, infinite width --------------------------------------------------------------------


def hinge_descent(n, m, epsilon, end, steps):
    """Two secrets, one neuron a sign pattern; (least attention on S[n+2], least margin, attention at n+1) at the end.

    Keys: the four tokens of the secrets, the class of ordinary ones, (n+1, b), (n+2, b).
    """
    signs = np.array(list(product((-1.0, 1.0), repeat=4)))
    N = 2 * len(signs)
    nu, h = epsilon * np.concatenate([signs, signs]), np.repeat([1.0, -1.0], len(signs)) / N
    rows = []
    for b_1, b_2 in product((0, 1), repeat=2):
        context = np.zeros(9)
        context[[b_1, 2 + b_2, 5]] = 1
        context[4] = n - 2
        rows.append((0, context.copy(), b_1, b_1))
        context[7 + b_1] = 1
        rows.append((2 + b_1, context, b_1 ^ b_2, 2 + b_2))
    query, counts, label, target = (np.array(part) for part in zip(*rows))
    size = np.ones(9)
    size[4] = 2 * (n - 2)

    def attention(a):
        return jax.nn.softmax(a.T[query] + jnp.log(jnp.asarray(counts)), axis=-1)

    def margins(y):
        inputs = (nu + y["p"]).T[query] + attention(y["a"]) @ y["q"].T
        return -((-1.0) ** label) * (jax.nn.relu(inputs) @ h)

    def step(_, y):
        slope = jax.grad(lambda y: jax.nn.relu(1 - margins(y)).sum() / 4)(y)
        rate = {"p": N / (2 * m), "q": N / (2 * m) / size, "a": 1 / size[:, None]}
        return {name: y[name] - end / steps * rate[name] * slope[name] for name in y}

    with jax.enable_x64(True):
        start = {"p": jnp.zeros((N, 4)), "q": jnp.zeros((N, 9)), "a": jnp.zeros((9, 4))}
        last = jax.jit(lambda y: jax.lax.fori_loop(0, steps, step, y))(start)
        s = np.asarray(attention(last["a"]))[np.arange(8), target]
        return s[1::2].min(), np.asarray(margins(last)).min(), s[::2].min()


@pytest.mark.parametrize("epsilon", [20.0, 1.0])
def test_under_the_hinge_attention_at_n_plus_2_is_lost_though_every_margin_comes_to_1(epsilon):
    least, margin, first = hinge_descent(12, 256.0, epsilon, 64 * 256.0, 8192)
    assert RECORD["one_hot_under_hinge"]["verdict"] == "does not hold"
    assert least < 0.1 and first > 0.95 and margin > 0.9


# -- samples ----------------------------------------------------------------------------------------------------------


def test_samples_with_a_chain_rise_along_a_line_in_the_kept_runs():
    runs = [(case, result) for case, result in kept("runs")
            if case["chain"] and case["training_set"] is None and case["k"] > 1 and case["budget"] == 10**6
            and (case["architecture"]["n_layers"], case["architecture"]["n_heads"]) == (1, 2)]  # fmt: skip
    k, samples = (np.array(part, dtype=float) for part in zip(*((c["k"], r["samples"]) for c, r in runs)))
    centred = np.log(k) - np.log(k).mean()
    exponent = centred @ np.log(samples) / (centred @ centred)
    assert len(runs) == 35 and 0.3 < exponent < 0.4
    assert f"{exponent:.3g}" in RECORD["growth_with_chain"]["note"]
    # 1, k, k² by the normal equations: 95 % intervals of the line's slope, and of what bends it
    bounds = []
    for powers in (2, 3):
        A = k[:, None] ** np.arange(powers)
        inverse = np.linalg.inv(A.T @ A)
        found = inverse @ A.T @ samples
        spread = np.sqrt(inverse[-1, -1] * ((samples - A @ found) ** 2).sum() / (len(k) - powers))
        bounds.append((found[-1] - 2.04 * spread, found[-1] + 2.04 * spread))
    assert bounds[0][0] > 1000 and bounds[1][0] < 0 < bounds[1][1]
    assert RECORD["growth_with_chain"]["verdict"] == "reproduced"


def shaped(layers, heads, **wanted):
    """Kept results of a shape, by what their runs were asked for."""
    return [(case, result) for case, result in kept("runs")
            if (case["architecture"]["n_layers"], case["architecture"]["n_heads"]) == (layers, heads)
            and all(case[name] == value for name, value in wanted.items())]  # fmt: skip


def test_a_secret_multiplies_the_samples_without_a_chain_in_the_kept_runs():
    runs = shaped(1, 2, chain=False, training_set=None, n=20)
    of = lambda k: sorted(r["samples"] or c["budget"] for c, r in runs if c["k"] == k)
    medians = {k: of(k)[2] for k in (1, 2, 3)}
    assert [len(of(k)) for k in (1, 2, 3)] == [5] * 3
    assert medians[2] > 3 * medians[1] and medians[3] > 3 * medians[2]
    assert all(str(medians[k]) in RECORD["growth_without_chain"]["note"] for k in medians)
    assert RECORD["growth_without_chain"]["verdict"] == "reproduced"


def test_attention_rows_and_entropy_of_the_kept_runs():
    ((case, result),) = [(c, r) for c, r in kept("runs") if c["ascending"]]
    on = [int(np.argmax(row)) + 1 == secret for row, secret in zip(result["attention"][0], result["secrets"])]
    assert (case["n"], case["k"], len(on)) == (40, 20, 20)
    assert f"{sum(on)} of 20 rows" in RECORD["attention_rows"]["note"]
    assert (RECORD["attention_rows"]["verdict"] == "reproduced") == all(on)
    ends = [r["entropy"] for _, r in shaped(1, 2, chain=True, training_set=None, k=4)]
    assert max(x[-1] for x in ends) < min(x[0] for x in ends) - 0.2
    assert RECORD["entropy_falls"]["verdict"] == "reproduced"


def test_many_passes_in_the_kept_runs():
    passes = lambda *shape: {c["training_set"]: r for c, r in shaped(*shape, chain=False, k=6) if c["training_set"]}
    by_heads = [passes(1, heads)[10_000]["samples"] for heads in (1, 2, 4)]
    with_chain = [r["samples"] for _, r in shaped(1, 4, chain=True, k=6, training_set=10_000)]
    assert len(with_chain) == 3 and max(with_chain) < min(by_heads)
    assert RECORD["multi_pass"]["verdict"] == "reproduced"
    falls = lambda r: r["entropy"][0] - r["entropy"][-1]
    shapes = {shape: passes(*shape) for shape in ((1, 1), (1, 4))}
    for runs in shapes.values():
        learned = [r for strings, r in runs.items() if r["samples"] is not None]
        assert learned and runs[10**6]["samples"] is None and min(map(falls, learned)) > falls(runs[10**6])
    assert shapes and RECORD["training_sets"]["verdict"] == "reproduced"


def test_twelve_secrets_in_the_kept_runs():
    hard = [(c["chain"], r["samples"]) for c, r in kept("runs") if c["k"] == 12 and c["budget"] == 3 * 10**6]
    assert len(hard) == 5 and all((samples is not None) == chain for chain, samples in hard)
    assert RECORD["many_secrets"]["verdict"] == "reproduced"


def test_the_first_of_two_layers_attends_to_the_secrets_in_the_kept_runs():
    ((_, result),) = shaped(2, 2, chain=True, k=6)
    first, second = np.array(result["attention"]).reshape(2, 2, 6, 26)
    assert all(secret in first[:, i].argmax(axis=1) + 1 for i, secret in enumerate(result["secrets"]))
    assert first.max(axis=2).mean(axis=1).max() > second.max(axis=2).mean(axis=1).max()
    assert RECORD["attention_of_layers"]["verdict"] == "reproduced"


def three_steps(n, secrets, m, batch, c, seed, d=None):
    """Share of fresh strings right after three steps of 2m live neurons on fresh batches.

    Tokens are orthonormal, or on the hypercube in d dimensions; weights are followed through their inner products.
    """
    rng, k = np.random.default_rng(seed), len(secrets)
    signs, h = rng.choice([-1.0, 1.0], (2 * m, 2 * k)), np.repeat([1.0, -1.0], m) / (2 * m)

    def strings(count):
        bits = rng.integers(0, 2, (count, n))
        chain = np.concatenate([np.zeros((count, 1), int), np.cumsum(bits[:, secrets], axis=1) % 2], axis=1)
        return np.concatenate([bits, chain], axis=1)

    place, bit = np.divmod(np.arange(2 * (n + k)), 2)
    E = np.eye(2 * (n + k)) if d is None else rng.choice([-1.0, 1.0], (2 * (n + k), d)) / d**0.5
    G, G_asking = E @ E.T, E[-2 * k :] @ E[-2 * k :].T

    def margins(w, b):
        asked = 2 * np.arange(k) + b[:, n : n + k]
        seen = (b[:, place] == bit)[:, None] & (place <= n + np.arange(k)[:, None])
        s = jax.nn.softmax(jnp.where(seen, w["a"].T[asked], -jnp.inf), axis=-1)
        return -((-1.0) ** b[:, n + 1 :]) * (jax.nn.relu(w["p"].T[asked] + s @ w["q"].T) @ h)

    with jax.enable_x64(True):
        w = {
            "p": jnp.asarray(signs @ G_asking),
            "q": jnp.zeros((2 * m, 2 * (n + k))),
            "a": jnp.zeros((2 * (n + k), 2 * k)),
        }
        for rate in (c * m * batch**0.5, c * m * batch**0.5, 16 * m / 3):
            b = strings(batch)
            slope = jax.grad(lambda w, b=b: -margins(w, b).sum(axis=1).mean())(w)
            moved = {"p": slope["p"] @ G_asking, "q": slope["q"] @ G, "a": G @ slope["a"] @ G_asking}
            w = {name: w[name] - rate * moved[name] for name in w}
        return float((np.asarray(margins(w, strings(512))) > 0).all(axis=1).mean())


def test_in_few_dimensions_live_neurons_do_not_learn_and_in_many_they_do():
    right = {d: np.mean([three_steps(8, [4, 1], 400, 2048, 0.16, seed, d) for seed in (1, 2)]) for d in (10, 16, 512)}
    assert right[10] < 0.6 and right[16] < 0.9 and right[512] > 0.95
    assert RECORD["finite_dimension_small_n"]["verdict"] == "holds in part"
    assert (
        RECORD["finite_dimension"]["verdict"] == "outside the regime" and 8 / np.log(80) ** 4 < 1
    )  # so no k is inside


def needed_batches(sizes):
    """The first kept batch with nine tenths right at m = 200 n, by size."""
    enough = [(case["n"], case["batch"]) for case, result in kept("runs/batches")
              if case["m"] == 200 * case["n"] and case["c"] == 0.08 and np.mean(result) >= 0.9]  # fmt: skip
    return {n: min(batch for size, batch in enough if size == n) for n in sizes}


def test_batches_grow_faster_than_linearly_at_sizes_out_of_the_theorems_range():
    sizes = (8, 16, 32, 64)
    local = np.diff(np.log2(list(needed_batches(sizes).values())))
    assert (local > 1).all() and max(n / np.log(10 * n) ** 4 for n in sizes) < 1  # so no k is in the range
    assert RECORD["sample_complexity"]["verdict"] == "outside the regime"


@pytest.mark.slow
def test_the_batch_needed_at_the_smallest_size_by_live_neurons():
    needed = needed_batches([8])[8]
    own = [np.mean([three_steps(8, [4, 1], 1600, batch, 0.08, seed) for seed in range(2)])
           for batch in (needed // 2, 2 * needed)]  # fmt: skip
    assert own[0] < 0.9 < own[1]


def test_every_word_that_is_not_holds_is_met_by_a_check_of_its_own():
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_parity_*.py"))
    others = [id for id, found in RECORD.items() if found["verdict"] not in ("holds", "reproduced", "not testable")]
    assert len(others) > 10 and not [id for id in others if f'"{id}"' not in tests]
