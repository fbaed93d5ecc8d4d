"""How a one-layer attention-only transformer acquires chain-of-thought reasoning.

A task composes K step functions on M orthonormal patterns. A prompt shows l_tr worked examples of the task, a
fraction α of which start at the query's pattern, then the query at step k; the model attends once (Eq. 2) and must
give the query's next pattern. Only the merged matrix W = W_Kᵀ W_Q is trained, by SGD on the squared loss (Algorithm
1). The trained model is then tested on rotated patterns with noisy and erroneous examples, step by step (CoT,
Algorithm 2) or in one step (ICL, Eq. 8). Time is t = learning rate × iterations.

Declared once: `model` has the network, `tasks` the prompts, `observables` what is seen of it. What the engine cannot
know is stated: the population system with M as a symbol, its planar limit and the paper's bound (`statement`, `limits`;
`planar` has the quadratures of both stages). `testing` asks the trained model, on a `Law` of
examples; `prompt_model(tasks=…, law=…)` is the system with tasks and test prompts of one's own.

| paper | code | meaning | shape |
|---|---|---|---|
| μ_i | rows of `frames` | training-relevant (TRR) patterns | (M, d_X) |
| μ'_j | `test_patterns` | testing-relevant (TSR) patterns, one a row | (M', d_X) |
| f_k | `tasks[n, k - 1]` | step k of task n, as a table of pattern indices | (n, K, M) |
| y_{i,k} | `chains[n, k, x]` | where task n has brought starting pattern x after k steps | (n, K + 1, M) |
| W | block `W` | merged key-query matrix on (input, output, step) | (2 d_X + K, 2 d_X + K) |
| u^T W v | `w.W`, S | W in the frame of inputs a_i, outputs b_i, steps c_k | (2M + K, M + K) |
| A_s - A_d | `a` | score gained by an input equal to the query's | scalar |
| B_s - B_d | `b` | score gained by a label equal to the query's input | scalar |
| C_k' + G_k'k | `H[k' - 1, k - 1]` | score of a column of step k' for a query at step k | (K, K) |
| p_n(t) | `p` | attention on columns of the query's pattern and step (Eq. 29) | scalar |
| A_k^f | `law.transitions[k - 1]` | transition matrix of step k in test examples (Eq. 15) | (K, M', M') |
| B^f | `law.composed` | K-step transition matrix | (M', M') |
| l_tr, l_ts | `l_tr`, `l_ts` | examples in a training, a testing prompt | int |
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

import numpy as np

import flowsys as fs
from flowsys.errors import InputError
from flowsys.system import FINITE, late, packaged
from flowsys.systems.prompt.examples import Law
from flowsys.systems.prompt.model import blocks, prompt_loss
from flowsys.systems.prompt.notation import LATEX
from flowsys.systems.prompt.observables import measures, observe
from flowsys.systems.prompt.tasks import batches, checked_tasks, population, training_tasks
from flowsys.systems.prompt.testing import CONSTANT, TESTED

N_DEFAULT_TASKS = 16
PARAMETERS: dict[str, Any] = {
    "M": fs.Size(20, 2, 10**9, "training patterns"),
    "K": fs.Size(3, 2, 8, "reasoning steps"),
    "alpha": fs.Real(0.4, 1e-4, 0.99, "fraction of a training prompt's examples that start at the query's pattern"),
    "epsilon_1": fs.Real(0.1, 1e-12, 0.49, "T_1: attention left on other steps"),
    "p_2": fs.Real(0.5, 1e-3, 1 - 1e-9, "T_2: attention on the query's pattern and step"),
    "epsilon": fs.Real(0.1, 1e-9, 0.9, "T_3: how far the attention on the query's pattern and step may be from 1"),
    "T_3_rule": fs.Choice("missed", "squared",
                          meaning="T_3 at 1 - p = epsilon (missed) or at (1 - p)^2 = epsilon (squared)",
                          words={"missed": r"$T_3$: $1 - p = \epsilon$", "squared": r"$T_3$: $(1 - p)^2 = \epsilon$"}),
    "t_given": fs.Real(200.0, 0.0, 1e12, "T_given: a time to look at, as a parameter", open_low=True),
    "l_tr": fs.Size(20, 1, 10**4, "examples in a training prompt (SGD); at least one matches the query",
                    levels=("L0",), infinite=True),
    "batch_size": fs.Size(lambda p: 4 * p["K"] * p["M"], 2, 10**12, "prompts in a batch (SGD), a multiple of K M",
                          "4 K M", ("L0",)),
    "family": fs.Choice("cycles", "permutations", levels=FINITE,
                        meaning="training tasks: powers of one random cycle, or independent random permutations"),
    "n_tasks": fs.Size(lambda p: inf if p["M"] <= 6 and p["family"] == "cycles" else N_DEFAULT_TASKS, 1, 4096,
                       "training tasks: random ones, or all (M - 1)! cycles (inf; M <= 8); SGD draws fresh ones",
                       f"inf for cycles at M <= 6, else {N_DEFAULT_TASKS}", FINITE, True),
    "xi": fs.Real(1e-3, 0.0, 1.0, "standard deviation of the initial weights", levels=FINITE),
    "d_X": fs.Size(lambda p: max(30, min(p["M"], 4096)), 2, 4096, "dimension of the patterns, at least M",
                   "max(30, M)", FINITE),
    "M_test": fs.Size(lambda p: min(10, p["M"]), 2, 200, "test patterns, at most M", "min(10, M)"),
    "alpha_test": fs.Real(0.8, 0.01, 1.0, "fraction of a test prompt's examples that start at the query's pattern (at "
                          "least one does)"),
    "test_task": fs.Choice("shifts", "cycle", meaning="task of test examples: f_k(i) = i + k, or powers of a random "
                           "cycle of the seed"),
    "l_ts": fs.Size(20, 1, 20000, "examples in a test prompt"),
    "tau": fs.Real(0.5, 0.01, 1.0, "probability that an example is right at every step"),
    "rho": fs.Real(0.8, 0.0, 0.99, "primacy of the right pattern over the runner-up (or the nearest possible)"),
    "style": fs.Choice("equal", "one", "uniform", "attractor", meaning="errors of examples: runner-up at every step or "
                       "at step 1 only, uniform, or towards an attractor",
                       words={"equal": "errors at every step", "one": "errors at step 1 alone",
                              "uniform": "uniform errors", "attractor": "errors towards a wrong chain"}),
    "beta": fs.Real(0.9, 0.0, 1.0, "fraction of attractor errors that go to the attractor"),
    "overlap": fs.Real(1.0, 0.0, 1.0, "overlap of the queried test pattern with the blind direction "
                       "(cot_error_overlap)"),
    "success": fs.Real(0.99, 0.01, 0.9999, "probability that a chain is right at every step (examples_needed)"),
    "noise": fs.Real(0.2, 0.0, 10.0, "norm of the noise on test examples"),
    "n_prompts": fs.Size(1000, 1, 10**6, "test prompts sampled"),
}  # fmt: skip


def _validate(values: Mapping[str, Any]) -> None:
    if values["M_test"] > values["M"]:
        raise InputError(f"M_test = {values['M_test']} is not allowed: it must be at most M = {values['M']}.")


def prompt_model(tasks: Any = None, law: Law | None = None) -> fs.Model:
    """The system; with training tasks (n, K, M) of one's own at finite levels, or test prompts drawn from a law."""
    given, parameters = None if tasks is None else checked_tasks(tasks), dict(PARAMETERS)
    if given is not None:  # its sizes are the only ones
        of_tasks = zip(("K", "M"), given.shape[1:])
        parameters |= {name: replace(parameters[name], default=n, low=n, high=n) for name, n in of_tasks}
    return fs.Model(
        "prompt",
        paper=fs.Paper(
            "prompt",
            "How do nonlinear transformers acquire generalization-guaranteed CoT ability?",
            "ICML 2024, workshop on high-dimensional learning dynamics",
        ),
        summary="chain-of-thought prompting learnt by a one-layer attention-only transformer",
        parameters=parameters,
        blocks=blocks,
        samples=lambda p: population(training_tasks(p) if given is None else given),
        batches=batches,
        loss=prompt_loss,
        observe=observe,
        measures=measures(law),
        stated={
            "mass_chain_other": "planar: attention on the query's own chain at other steps",
            "s": "L4: the paper's exponent of the query's step",
            "u": "L4: the paper's exponent of the query's pattern, a lower bound on a",
        },
        stages={mode: [fs.Stage(mode)] for mode in ("population", "planar")},
        modes={
            "population": "the average over all tasks and infinitely long prompts, at the M given",
            "planar": "its limit of many patterns: two scores a and g, all steps alike (L3 only)",
        },
        forms={"planar": {"L3": ["symmetric"]}},
        # Nothing switches: the flow is smooth, and stages are read off it. Crossings of logarithms, so that small
        # thresholds are located as sharply as large ones.
        events={
            "T_1": fs.Crossing("log_other_step_max", lambda p: np.log(p.epsilon_1), -1, "attention on other steps, "
                               "largest over query steps, falls to epsilon_1 (end of stage 1)"),
            "T_2": fs.Crossing("p_min", "p_2", +1,
                               "attention on the query's pattern and step, smallest over query steps, reaches p_2"),
            "T_3": fs.Crossing("log_missed_max",
                               lambda p: np.log(p.epsilon) * (0.5 if p.T_3_rule == "squared" else 1.0), -1,
                               "that attention p reaches 1 - epsilon, or (1 - p)^2 = epsilon with T_3_rule = squared"),
            "T_peak": fs.Crossing("rate_mass_other_same", 0.0, -1, "attention on other patterns of the query's step, "
                                  "mean over query steps, is largest"),
            "T_given": fs.Mark("t_given", "the time t_given itself, so that time can be an axis of a diagram"),
        },
        looks=dict.fromkeys(("population", "planar"), ("T_1", "T_2", "T_3")),
        variants={
            "L0": {
                "sgd": "sgd",
                "weights": "weights",
                "symmetric": ("descent on a, b, H of the exact population",
                              late("flowsys.systems.prompt.limits:symmetric_training")),
            },
            "L3": {
                "symmetric": ("exact population on the symmetric subspace: a, b and K × K step scores",
                              partial(late("flowsys.systems.prompt.limits:limit_problem"), law)),
            },
            "L4": {"paper": ("the paper's lower bound driven by two exponents (Eqs. 156-159, 44)",
                             late("flowsys.systems.prompt.limits:surrogate_problem"))},
        },
        dear=dict.fromkeys(TESTED, (*FINITE, "L3")),
        constants=CONSTANT,
        columns="L3",
        validate=_validate,
        learning_rate=1.0,
        steps=200,
        t_max=1e12,
        latex=LATEX,
        **packaged(__name__, ladder="derive"),
    )  # fmt: skip


SYSTEM = prompt_model()
