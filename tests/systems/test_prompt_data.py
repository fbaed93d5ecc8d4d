"""Tasks and training prompts: what Section 2 and Appendix E say of them, and what is refused."""

from types import SimpleNamespace

import jax
import numpy as np
import pytest

from flowsys import load, solve, train
from flowsys.errors import InputError
from flowsys.model import ops
from flowsys.systems.prompt import prompt_model as declared
from flowsys.systems.prompt import tasks
from flowsys.systems.prompt.model import columns, frames

SYSTEM = load("prompt")
OWN = tasks.all_cycle_tasks(4, 2)


def n_steps_to_return(step):
    x, n = step[0], 1
    while x != 0:
        x, n = step[x], n + 1
    return n


def counted(sample, **p):
    return np.asarray(columns(sample, SimpleNamespace(**p)).counts).reshape(sample.origins.shape)


def test_all_cycle_tasks_are_the_distinct_powers_of_single_cycles():
    found = tasks.all_cycle_tasks(5, 3)
    assert found.shape == (24, 3, 5)
    assert len({tuple(task[0]) for task in found}) == 24
    assert all(n_steps_to_return(task[0]) == 5 for task in found)
    assert all((task[0][task[0]] == task[1]).all() and (task[0][task[1]] == task[2]).all() for task in found)


def test_random_cycles_are_equally_likely_and_permutations_differ_between_steps():
    p, rng = SimpleNamespace(M=4, K=2, family="cycles"), np.random.default_rng(0)
    drawn = tasks.random_tasks(rng, 6000, p)
    assert all(n_steps_to_return(task[0]) == 4 for task in drawn[:50])
    _, counts = np.unique(drawn[:, 0], axis=0, return_counts=True)
    assert len(counts) == 6
    assert ((counts - 1000) ** 2 / 1000).sum() < 20.5  # χ² with 5 degrees of freedom, p = 0.001
    p.family = "permutations"
    free = tasks.random_tasks(rng, 20, p)
    assert (np.sort(free, axis=-1) == np.arange(4)).all() and (free[:, 0] != free[:, 1]).any()


def test_query_chain_of_a_cycle_task_runs_through_triangular_powers():
    task = tasks.all_cycle_tasks(7, 3)[:1]
    chain, cycle, x = tasks.chains(task)[0], task[0, 0], np.arange(7)
    for n_shifts in range(7):
        for k, triangle in enumerate((0, 1, 3, 6)):
            if n_shifts == triangle:
                assert (chain[k] == x).all()
        x = cycle[x]


def test_population_prompts_weigh_the_query_chain_alpha_at_every_step():
    sample = tasks.population(tasks.all_cycle_tasks(4, 3))
    counts = counted(sample, alpha=0.3)
    assert len(sample.query) == 6 * 4 * 3 and counts.sum(axis=2) == pytest.approx(1)
    row, inputs = np.arange(len(sample.query)), sample.chains[:, :-1]
    at_query = inputs[row, sample.step] == sample.query[:, None]
    assert (counts[row, sample.step] * at_query).sum(axis=1) == pytest.approx(0.3)
    assert (sample.chains[row, sample.step + 1][at_query] == sample.target).all()
    assert (np.take_along_axis(sample.origins, sample.chains[:, 1:], axis=-1) == np.arange(4)).all()


@pytest.fixture(scope="module")
def large_batch():
    """6000 prompts of ten examples, four of them at the query, on permutation tasks of M = 5, K = 3."""
    p = SimpleNamespace(batch_size=6000, K=3, M=5, l_tr=10, family="permutations", alpha=0.4)
    sample = jax.jit(lambda key: tasks.batches(key, p).arrays)(jax.random.key(1))
    return SimpleNamespace(**{name: np.asarray(array) for name, array in sample.items()})


def test_a_batch_asks_all_patterns_and_steps_equally_and_shows_alpha_of_the_query(large_batch):
    sample = large_batch
    assert (np.bincount(sample.step) == 2000).all() and (np.bincount(sample.start) == 1200).all()
    assert (np.sort(sample.chains, axis=-1) == np.arange(5)).all()
    own_columns = np.arange(3)[None, :] < sample.step[:, None]
    assert (sample.listed[np.arange(6000), :, sample.start] == 4 + own_columns).all()
    assert (sample.listed.sum(axis=2) == 10 + own_columns).all() and (sample.endless == 0).all()


def test_every_other_pattern_is_shown_equally_often_in_the_mean(large_batch):
    others = large_batch.listed[large_batch.start == 0, -1, 1:]  # 6 examples each on 4 patterns
    assert np.abs(others.mean(axis=0) - 6 / 4).max() < 4 * np.sqrt(6 * 3 / 16 / 1200)


def test_frames_are_orthonormal():
    for frame in frames(SimpleNamespace(M=20, K=3, d_X=30)):
        assert np.abs(frame @ frame.T - np.eye(len(frame))).max() < 1e-14


def test_tasks_of_ones_own_are_trained_on():
    own = np.array([[[1, 2, 3, 0], [2, 0, 3, 1]], [[3, 0, 1, 2], [1, 0, 3, 2]]])
    mine = declared(tasks=own)
    X = mine.concrete(mine.setup(), "L2", "population").populations[0].samples
    assert len(X) == 2 * 4 * 2 and (X.chains[0, 1] == own[0, 0]).all()
    setup, names = mine.setup(xi=0.0), ["loss", "loss_test"]
    run = solve(mine, setup, level="L2", at=[30.0], observe=names, solver="tsit5")
    assert run["loss"][0] < run["loss_test"][0] < 0.3, "two tasks do not teach all"


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: declared(tasks=[[[0, 0, 1]]]), r"tasks of shape \(1, 1, 3\) must be \(n, K, M\)"),
        (
            lambda: solve(declared(tasks=OWN), declared(tasks=OWN).setup(M=5), level="L2"),
            "M = 5 is not allowed: it must be an integer >= 4 and <= 4",
        ),
        (lambda: train(SYSTEM, SYSTEM.setup(M=4, K=2, batch_size=10), steps=1), "multiple of K M = 8"),
        (lambda: solve(SYSTEM, SYSTEM.setup(family="permutations", n_tasks="inf", M=5), level="L2"), "n_tasks = inf"),
    ],
)
def test_what_no_prompt_can_be_is_refused_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message) as refusal:
        call()
    assert "\n" not in str(refusal.value)


def test_a_prompt_shows_the_query_at_least_once():
    p = SimpleNamespace(batch_size=8, K=2, M=4, l_tr=3, family="cycles", alpha=0.01)
    with jax.enable_x64(True):
        sample = tasks.batches(jax.random.key(0), p)
    at_query = np.asarray(sample.listed)[np.arange(8), -1, sample.start]
    assert (at_query >= 1).all() and ops.array(at_query).shape == (8,)
