"""Reasoning on erroneous examples: exact counting, Monte-Carlo of the concentrated limit, and what is refused."""

from itertools import product
from math import prod

import numpy as np
import pytest

from flowsys import load, solve
from flowsys.systems.prompt import examples, inference, plurality
from flowsys.systems.prompt import prompt_model as declared
from flowsys.systems.prompt.examples import Law, attractor_law, runner_up_law

TASK = examples.shifting_task(10, 3)
DEFAULT = runner_up_law(TASK, 0.5, 0.8)
A, N = DEFAULT.transitions, 4000


def rng(seed=0):
    return np.random.default_rng(seed)


def setup(p=0.5 ** (1 / 3), M_test=10, K=3, **more):
    return load("prompt").setup(tau=p**K, M_test=M_test, K=K, **more)


def chains(n_most, *sizes, **more):
    return plurality.Chains.of(setup(*sizes, **more), n_most)


def errors(law, n_examples, alpha_test=0.8, n_prompts=N):
    draws = rng(n_examples)
    prompts = law.prompts(draws, setup(l_ts=n_examples, alpha_test=alpha_test, n_prompts=n_prompts), 1 << 20)
    return inference.Tested.on(prompts, law.targets, lambda block: inference.voted(draws, block, 10))


def deviation(error, n_prompts=N):
    """Three standard errors of an error rate, of ours and of the measured one together."""
    return 3 * np.sqrt(2 * max(error, 1e-3) * (1 - error) / n_prompts)


@pytest.mark.parametrize("row", [(0.5, 0.3, 0.2), (0.4, 0.2, 0.2, 0.2), (0.25, 0.0, 0.5, 0.25)])
@pytest.mark.parametrize("n", [0, 1, 2, 4, 6])
def test_win_probabilities_equal_exhaustive_enumeration(row, n):
    expected = np.zeros(n + 1)
    for labels in product(range(len(row)), repeat=n):
        counts = np.bincount(labels, minlength=len(row))
        if counts[0] == counts.max():
            expected[counts[0]] += prod(row[j] for j in labels) / (counts == counts.max()).sum()
    assert plurality.win_table(row, 0, n)[n] == pytest.approx(expected, abs=1e-15, rel=1e-12)


def test_a_shared_table_gives_every_smaller_number_of_labels():
    table = chains(150, 0.6).wins
    for n in (1, 7, 40):
        assert table[n, : n + 1] == pytest.approx(chains(n, 0.6).wins[n], rel=1e-10)


def test_chain_of_votes_succeeds_as_in_exhaustive_enumeration_of_two_steps():
    """M' = 3, three examples of which one starts at the query: all 3³ · 3³ outcomes and the 2² other starts."""
    p, l = 0.5, 3
    task = examples.shifting_task(3, 2)
    A = runner_up_law(task, p**2, 1.0).transitions
    success = np.zeros(2)
    for starts in product((1, 2), repeat=2):
        for middle in product(range(3), repeat=l):
            x = (0, *starts)
            weight = 0.25 * prod(A[0][i, j] for i, j in zip(x, middle))
            first = shared_win([middle[0]], task[0][0])
            success[0] += weight * first
            for end in product(range(3), repeat=l):
                labels = [e for m, e in zip(middle, end) if m == task[0][0]]
                joint = weight * prod(A[1][i, j] for i, j in zip(middle, end))
                success[1] += joint * first * shared_win(labels, task[1][task[0][0]])
    assert chains(l, p, 3, 2, alpha_test=0.3).right_through(l) == pytest.approx(success, abs=1e-14)


def shared_win(labels, correct):
    counts = np.bincount(labels, minlength=3)
    return (counts[correct] == counts.max()) / (counts == counts.max()).sum()


def test_chain_success_of_the_spec():
    ours = chains(10, 0.6, alpha_test=0.4).right_through(10)
    assert ours == pytest.approx([0.8281, 0.5940, 0.4020], abs=5e-5)


def test_exact_chain_success_is_the_mean_of_sampled_votes():
    law = runner_up_law(TASK, 0.6**3, 1.0)
    assert law.transitions[0, 0] == pytest.approx([0.4 / 9, 0.6, *[0.4 / 9] * 8]), "uniform errors"
    sampled = errors(law, 10, 0.4, n_prompts=40000)
    exact = chains(10, 0.6, alpha_test=0.4).right_through(10)
    right_through = (sampled.is_wrong.cumsum(axis=1) == 0).mean(axis=0)
    assert np.abs(right_through - exact).max() < 4 * 0.5 / 200
    assert 1 - sampled.is_wrong.mean(axis=0) == pytest.approx([0.828, 0.6025, 0.4278], abs=0.01)


def test_exact_one_step_success_is_the_mean_of_sampled_votes():
    B = DEFAULT.composed
    for n_examples in (5, 20):
        n = round(0.8 * n_examples)
        exact = 1 - plurality.win_table(B[0], 6, n)[n].sum()
        assert errors(DEFAULT, n_examples, n_prompts=20000).icl == pytest.approx(exact, abs=4 * 0.5 / 141)


def test_counting_is_refused_beyond_its_bounded_cost():
    with pytest.raises(ValueError, match=r"n = 601 .* must be at most 600"):
        chains(601, 0.6)


def test_counting_stays_a_probability_at_the_largest_size():
    table = chains(plurality.N_MOST_EXAMPLES, 0.3).wins
    assert np.isfinite(table).all() and (table >= 0).all()
    assert table[0].sum() == pytest.approx(0.1, rel=1e-12)
    assert table[1].sum() == pytest.approx(0.3, rel=1e-12)
    assert 0.999999 < table[-1].sum() <= 1 + 1e-12


def test_examples_needed_fall_like_the_inverse_of_alpha_and_not_of_its_square():
    needed = [plurality.examples_needed(setup(alpha_test=alpha)) for alpha in (0.1, 0.2, 0.4, 0.8)]
    assert needed == sorted(needed, reverse=True)
    assert 0.6 < np.polyfit(np.log([0.1, 0.2, 0.4, 0.8]), -np.log(needed), 1)[0] < 1.1


def test_least_number_of_examples_is_where_the_target_is_first_met():
    n = plurality.examples_needed(setup(0.8, success=0.9, alpha_test=0.4))
    success = [chains(150, 0.8, alpha_test=0.4).right_through(m)[-1] for m in range(2, int(n) + 1)]
    assert success[-1] >= 0.9 > max(success[:-1])
    assert np.isnan(plurality.examples_needed(setup(0.3, alpha_test=0.1), n_most=20))


def trajectory_probability(law):
    """τ^f (Eq. 20)."""
    A, reached = law.transitions, law.targets
    return np.prod([A[k][reached[k], reached[k + 1]] for k in range(len(A))], axis=0).min()


def primacy(law):
    """ρ^f (Eq. 15)."""
    right = lambda step, target: step[np.arange(len(step)), target]
    others = lambda step, target: np.where(np.eye(len(step))[target] > 0, 0, step).max(axis=1)
    return min((1 - others(*at) / right(*at)).min() for at in zip(law.transitions, law.task))


def test_runner_up_matrices_have_the_asked_trajectory_probability_and_primacy():
    assert DEFAULT.transitions.sum(axis=2) == pytest.approx(1)
    assert trajectory_probability(DEFAULT) == pytest.approx(0.5)
    assert primacy(DEFAULT) == pytest.approx(0.8)
    assert DEFAULT.output_probability == pytest.approx(0.506, abs=5e-4)
    assert DEFAULT.output_primacy == pytest.approx(0.404, abs=5e-4)


def test_a_primacy_that_steps_cannot_have_becomes_the_nearest_one_and_one_noisy_step_can_have_more():
    assert primacy(runner_up_law(TASK, 0.5, 0.2)) == pytest.approx(0.7401, abs=5e-5)
    assert primacy(runner_up_law(TASK, 0.5, 0.99)) == pytest.approx(0.9711, abs=5e-5)
    one = runner_up_law(TASK, 0.5, 0.2, noisy_step=2)
    assert primacy(one) == pytest.approx(0.2) and trajectory_probability(one) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "p_correct, beta, holds", [(0.70, 0.9, False), (0.75, 0.9, True), (0.6, 0.9, False), (0.6, 0.3, True)]
)
def test_condition_1_for_attractor_errors(p_correct, beta, holds):
    law = attractor_law(TASK, p_correct, beta)
    assert law.transitions.sum(axis=2) == pytest.approx(1)
    assert primacy(law) > 0, "every single step is right on average"
    assert law.satisfies_condition_1 == holds
    assert (examples.attractor_boundary(beta, 3) < p_correct) == holds


def lumped_masses(p, beta, K, M_test):
    """r_K and x_K of a chain that is right, on the wrong chain or elsewhere; M' = inf neglects returns."""
    e = 1 - p
    to_right, to_wrong = (
        np.array([p, e / (M_test - 1), e * (1 - beta) / (M_test - 2)]),
        np.array([e * beta, p, e * beta]),
    )
    step = np.column_stack([to_right, to_wrong, 1 - to_right - to_wrong])
    return np.linalg.matrix_power(step, K)[0, :2]


@pytest.mark.parametrize("p, beta", [(0.75, 0.9), (0.6, 0.3), (0.4, 0.5)])
def test_masses_of_the_right_and_of_the_wrong_chain_are_those_of_three_places_with_all_returns(p, beta):
    for M_test, K in ((10, 3), (4, 2), (30, 5)):
        ours = examples.attractor_masses(p, beta, K, M_test)
        assert ours == pytest.approx(lumped_masses(p, beta, K, M_test), abs=1e-14)
    assert examples.attractor_masses(0.75, 0.9, 3, 10) == pytest.approx((0.436, 0.405), abs=5e-4)


@pytest.mark.parametrize("beta", [0.3, 0.5, 0.9])
def test_condition_1_changes_at_its_boundary_and_not_where_returns_are_neglected(beta):
    exact, p = examples.attractor_boundary(beta, 3, 10), np.linspace(0.3, 0.95, 6501)
    law = lambda p: attractor_law(TASK, p, beta)
    assert law(exact + 1e-6).satisfies_condition_1 and not law(exact - 1e-6).satisfies_condition_1
    right, wrong = np.array([lumped_masses(x, beta, 3, np.inf) for x in p]).T
    assert p[np.argmax(right > wrong)] > exact + 0.005
    assert np.isnan(examples.attractor_boundary(0.05, 3)), "errors that favour no pattern"


def test_runner_up_matrices_have_no_negative_entry_where_all_errors_go_to_the_runner_up():
    A = runner_up_law(TASK, 0.7, 0.8).transitions
    assert A.min() == 0 and A.sum(axis=2) == pytest.approx(1)
    with pytest.raises(ValueError, match="no probability negative"):
        plurality.win_table([0.8, 0.3, -0.1], 0, 5)


@pytest.mark.parametrize(
    "n_examples, cot, icl", [(5, 0.174, 0.366), (10, 0.049, 0.264), (20, 0.0072, 0.180), (40, 0.0006, 0.089)]
)
def test_voting_errors_of_the_default_test(n_examples, cot, icl):
    ours = errors(DEFAULT, n_examples)
    assert ours.cot == pytest.approx(cot, abs=deviation(cot))
    assert ours.icl == pytest.approx(icl, abs=deviation(icl))


@pytest.mark.parametrize(
    "alpha_test, tau, cot", [(0.2, 0.5, 0.160), (0.4, 0.5, 0.052), (0.8, 0.1, 0.222), (0.8, 0.7, 0.0002)]
)
def test_voting_errors_depend_on_alpha_and_tau_as_measured(alpha_test, tau, cot):
    assert errors(runner_up_law(TASK, tau, 0.8), 20, alpha_test).cot == pytest.approx(cot, abs=deviation(cot))


@pytest.mark.parametrize("rho", [0.2, 0.4, 0.8])
def test_one_noisy_first_step_spoils_the_chain_and_one_noisy_last_step_a_third_of_it(rho):
    law = runner_up_law(TASK, 0.5, rho, 1)
    cot = 1 - plurality.win_table(law.transitions[0, 0], 1, 16)[16].sum()
    first = errors(law, 20)
    last = errors(runner_up_law(TASK, 0.5, rho, 3), 20)
    assert first.cot == pytest.approx(cot, abs=deviation(cot))
    assert last.cot == pytest.approx(cot / 3, abs=deviation(cot / 3))
    assert first.icl == pytest.approx(last.icl, abs=deviation(cot))


def test_one_step_inference_fails_without_condition_1_where_the_chain_succeeds():
    ours = [errors(attractor_law(TASK, 0.6, 0.9), n, n_prompts=2000) for n in (20, 80, 320)]
    assert [e.icl for e in ours] == pytest.approx([0.845, 0.985, 1.0], abs=0.035)
    assert [e.cot for e in ours] == pytest.approx([0.35, 0.10, 0.004], abs=0.035)
    holds = errors(attractor_law(TASK, 0.8, 0.9), 320, n_prompts=2000)
    assert holds.icl < 0.01 and holds.cot == 0


def test_at_least_one_example_of_a_prompt_starts_at_the_query():
    prompts = next(iter(DEFAULT.prompts(rng(), setup(n_prompts=50, l_ts=5, alpha_test=0.01), 1000)))
    assert ((prompts.chains[:, :, 0] == prompts.query[:, None]).sum(axis=1) == 1).all()


def test_blocks_of_prompts_do_not_change_the_law_of_examples():
    blocks = list(DEFAULT.prompts(rng(), setup(l_ts=10, alpha_test=0.4), n_held=999))
    assert sum(len(block.query) for block in blocks) == 1000 and len(blocks) > 5
    chains = np.concatenate([block.chains for block in blocks])
    query = np.concatenate([block.query for block in blocks])
    assert ((chains[:, :, 0] == query[:, None]).sum(axis=1) == 4).all()
    right = (chains[:, :, 1] == (chains[:, :, 0] + 1) % 10).mean()
    assert right == pytest.approx(0.5 ** (1 / 3), abs=4 * 0.41 / 100)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: Law(A, TASK, [10]).checked(3, 10), "queries = .*10.*, but they must be pattern indices"),
        (lambda: Law(A[:2], TASK).checked(3, 10), r"transitions of shape \(2, 10, 10\) must be"),
        (lambda: Law(2 * A, TASK).checked(3, 10), "every row probabilities that sum to 1"),
        (lambda: Law(A, TASK + 5).checked(3, 10), "task of shape .* of pattern indices"),
    ],
)  # fmt: skip
def test_what_no_test_can_be_is_refused_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_task_of_test_examples_may_be_a_random_cycle_of_the_seed():
    """f_k = σ^k (App. E) with the errors of the shift task: the same trajectory probability, another task a seed."""
    laws = [examples.law_of(setup(test_task="cycle", seed=seed)) for seed in range(20)]
    for law in laws:
        σ = law.task[0]
        assert (law.task[1] == σ[σ]).all() and (law.task[2] == σ[σ[σ]]).all()
        assert trajectory_probability(law) == pytest.approx(0.5) and len({*law.targets[:, 0].tolist()}) == 4
    assert len({tuple(law.task[0]) for law in laws}) > 15
    asked = {"n_prompts": 4000, "at": [2e5], "observe": ["cot_error"]}
    shifts, cycle = (solve("prompt", test_task=task, **asked)["cot_error"][0] for task in ("shifts", "cycle"))
    assert cycle == pytest.approx(shifts, abs=deviation(0.01)) and cycle != shifts


def test_examples_may_be_drawn_from_a_law_of_ones_own():
    """Another task than the shift, with the same errors: the same error rates; a law that misleads at every step: 1."""
    order = rng(3).permuted(np.tile(np.arange(10), (3, 1)), axis=1)
    A = np.zeros((3, 10, 10))
    for k in range(3):
        A[k, np.arange(10), order[k]] = 1.0
    misled = np.roll(A, 1, axis=2)
    for transitions_of, error in ((A, 0.0), (misled, 1.0)):
        system = declared(law=Law(transitions_of, order))
        run = solve(system, system.setup(n_prompts=200), at=[2e5], observe=["cot_error", "icl_error_exact"])
        assert (run["cot_error"][0], run["icl_error_exact"][0]) == pytest.approx((error, error), abs=0.06)
    assert solve(load("prompt"), at=[0.0], observe=["icl_error_exact"])["icl_error_exact"][0] > 0.1
