"""The parameters of the prompt system: sizes, thresholds of the stages, training at finite levels, tests."""

from math import inf
from typing import Any

import flowsys as fs
from flowsys.system import FINITE

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
