"""Tasks and training prompts: what Section 2 and Appendix E say of them, and what is refused."""

from functools import partial

import jax
import numpy as np
import pytest

from flowsys.model import ops
from flowsys.systems.prompt import prompts, symmetric, tasks, transformer


@partial(jax.jit, static_argnums=(0, 2, 3, 4))
def draw(family, key, n, M, K):
    return family(key, n, M, K)


def n_steps_to_return(step):
    x, n = step[0], 1
    while x != 0:
        x, n = step[x], n + 1
    return n


def test_all_cycle_tasks_are_the_distinct_powers_of_single_cycles():
    found = tasks.all_cycle_tasks(5, 3)
    assert found.shape == (24, 3, 5)
    assert len({tuple(task[0]) for task in found}) == 24
    assert all(n_steps_to_return(task[0]) == 5 for task in found)
    assert all((task[0][task[0]] == task[1]).all() and (task[0][task[1]] == task[2]).all() for task in found)


def test_random_cycle_tasks_are_cycles_and_every_one_is_equally_likely():
    drawn = np.asarray(draw(tasks.random_cycle_tasks, jax.random.key(0), 6000, 4, 2))
    assert all(n_steps_to_return(task[0]) == 4 for task in drawn[:50])
    _, counts = np.unique(drawn[:, 0], axis=0, return_counts=True)
    assert len(counts) == 6
    assert ((counts - 1000) ** 2 / 1000).sum() < 20.5  # χ² with 5 degrees of freedom, p = 0.001


def test_query_chain_of_a_cycle_task_runs_through_triangular_powers():
    task = tasks.all_cycle_tasks(7, 3)[:1]
    chain = tasks.chains(task)[0]
    cycle = task[0, 0]
    x = np.arange(7)
    for n_shifts in range(7):
        for k, triangle in enumerate((0, 1, 3, 6)):
            if n_shifts == triangle:
                assert (chain[k] == x).all()
        x = cycle[x]


def test_independent_permutation_tasks_are_bijections_that_differ_between_steps():
    drawn = np.asarray(draw(tasks.random_permutation_tasks, jax.random.key(1), 20, 6, 3))
    assert (np.sort(drawn, axis=-1) == np.arange(6)).all()
    assert (drawn[:, 0] != drawn[:, 1]).any()


def test_population_prompts_weigh_the_query_chain_alpha_at_every_step():
    sample = prompts.population(tasks.all_cycle_tasks(4, 3), 0.3)
    assert len(sample.query) == 6 * 4 * 3
    assert sample.counts.sum(axis=(1, 2)) == pytest.approx(1)
    row, inputs = np.arange(len(sample.query)), sample.chains[:, :-1]
    at_query = inputs[row, sample.step] == sample.query[:, None]
    assert (sample.counts[row, sample.step] * at_query).sum(axis=1) == pytest.approx(0.3 / 3)
    assert (sample.chains[row, sample.step + 1][at_query] == sample.target).all()


@pytest.fixture(scope="module")
def large_batch():
    """6000 prompts of ten examples, four of them at the query, on permutation tasks of M = 5, K = 3."""
    drawn = np.random.default_rng(0).permuted(np.tile(np.arange(5), (6000, 3, 1)), axis=-1)
    sample = jax.jit(prompts.batch, static_argnums=(2, 3))(jax.random.key(1), drawn, 0.4, 10)
    return jax.tree.map(np.asarray, sample), (np.arange(6000) // 3) % 5


def test_a_batch_asks_all_patterns_and_steps_equally_and_shows_alpha_of_the_query(large_batch):
    sample, start = large_batch
    assert (np.bincount(sample.step) == 2000).all() and (np.bincount(start) == 1200).all()
    own_columns = np.arange(3)[None, :] < sample.step[:, None]
    assert (sample.counts[np.arange(6000), :, start] == 4 + own_columns).all()
    assert (sample.counts.sum(axis=2) == 10 + own_columns).all()


def test_endless_prompts_weigh_columns_as_the_population_does():
    drawn = tasks.all_cycle_tasks(3, 2)[np.arange(6) % 2]
    endless = prompts.batch(jax.random.key(0), drawn, 0.3, np.inf)
    everything = prompts.population(drawn[:1], 0.3)
    assert np.asarray(endless.counts)[0] == pytest.approx(2 * everything.counts[0], rel=1e-6)


def test_origins_invert_the_chains():
    sample = prompts.population(tasks.all_cycle_tasks(5, 3), 0.4)
    back = np.take_along_axis(sample.origins, sample.chains[:, 1:], axis=-1)
    assert (back == np.arange(5)).all()


def test_every_other_pattern_is_shown_equally_often_in_the_mean(large_batch):
    sample, start = large_batch
    others = sample.counts[start == 0, -1, 1:]  # 6 examples each on 4 patterns
    assert np.abs(others.mean(axis=0) - 6 / 4).max() < 4 * np.sqrt(6 * 3 / 16 / 1200)


def test_patterns_are_orthonormal_in_double_precision_without_touching_the_global_precision():
    patterns = np.asarray(transformer.orthonormal_patterns(jax.random.key(0), 20, 30))
    assert np.abs(patterns @ patterns.T - np.eye(20)).max() < 1e-14
    assert jax.numpy.ones(1).dtype == np.float32


def test_initial_weights_have_the_standard_deviation_xi():
    W = np.asarray(transformer.weights(jax.random.key(0), 30, 3, 1e-3))
    assert W.shape == (63, 63)
    assert W.std() == pytest.approx(1e-3, rel=0.05)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: prompts.population(tasks.all_cycle_tasks(4, 2), 1.2), r"alpha = 1.2, but alpha must lie in \(0, 1\)"),
        (lambda: tasks.all_cycle_tasks(9, 2), "M = 9, but M must be an integer from 2 to 8"),
        (lambda: symmetric.kinds(ops, 4.5, 2, 0.4), "M = 4.5, but M must be an integer of at least 2"),
        (lambda: symmetric.kinds(ops, 4, 2, float("nan")), "alpha = nan, but alpha must lie in"),
        (lambda: prompts.n_matching_examples(0.04, 10), "alpha = 0.04 with n_examples = 10 gives no example"),
        (lambda: transformer.orthonormal_patterns(None, 5, 4), "M = 5, but M must be an integer from 1 to 4"),
        (lambda: transformer.weights(None, 4, 2, -1), "xi = -1, but xi must be a finite number of at least 0"),
        (
            lambda: prompts.batch(jax.random.key(0), np.zeros((10, 2, 4), dtype=int), 0.4, 5),
            "batch_size = 10, but batch_size must be a multiple of K . M = 8",
        ),
    ],
)  # fmt: skip
def test_what_no_prompt_can_be_is_refused_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message) as refusal:
        call()
    assert "\n" not in str(refusal.value)
