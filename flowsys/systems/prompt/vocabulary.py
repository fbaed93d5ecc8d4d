"""The names of the prompt system: parameters with their ranges, observables with their meanings."""

from math import inf

from flowsys.system import FINITE, Parameter, t_max

N_DEFAULT_TASKS = 16

PARAMETERS = (
    Parameter("M", 20, "training patterns", low=2, high=1e9, integer=True),
    Parameter("K", 3, "reasoning steps", low=2, high=8, integer=True),
    Parameter("alpha", 0.4, "fraction of a training prompt's examples that start at the query's pattern", low=1e-4,
              high=0.99, latex=r"\alpha"),
    Parameter("epsilon_1", 0.1, "T_1: attention left on other steps", low=1e-12, high=0.49, latex=r"\epsilon_1"),
    Parameter("p_2", 0.5, "T_2: attention on the query's pattern and step", low=1e-3, high=1 - 1e-9, latex="p_2"),
    Parameter("epsilon", 0.1, "T_3: how far the attention on the query's pattern and step may be from 1", low=1e-9,
              high=0.9, latex=r"\epsilon"),
    Parameter("T_3_rule", "missed", "T_3 at 1 - p = epsilon (missed) or at (1 - p)^2 = epsilon (squared)",
              choices=("missed", "squared")),
    Parameter("t_given", 200.0, "T_given: a time to look at, as a parameter", low=0, open_low=True, high=1e12),
    Parameter("l_tr", 20, "examples in a training prompt (SGD)", low=1, high=1e4, integer=True, infinite=True,
              levels=("L0",), latex=r"l_{tr}"),
    Parameter("batch_size", lambda p: 4 * p["K"] * p["M"], "prompts in a batch (SGD), a multiple of K M", low=2,
              high=1e12, integer=True, levels=("L0",), default_text="4 K M"),
    Parameter("family", "cycles", "training tasks: powers of one random cycle, or independent random permutations",
              choices=("cycles", "permutations"), levels=FINITE),
    Parameter("n_tasks", lambda p: inf if p["M"] <= 6 and p["family"] == "cycles" else N_DEFAULT_TASKS,
              "training tasks: random ones, or all (M - 1)! cycles (inf; M <= 8); SGD draws fresh ones", low=1,
              high=4096, integer=True, infinite=True, levels=FINITE,
              default_text=f"inf for cycles at M <= 6, else {N_DEFAULT_TASKS}"),
    Parameter("xi", 1e-3, "standard deviation of the initial weights", low=0.0, high=1.0, levels=FINITE, latex=r"\xi"),
    Parameter("d_X", lambda p: max(30, min(p["M"], 4096)), "dimension of the patterns, at least M", low=2, high=4096,
              integer=True, levels=FINITE, default_text="max(30, M)", latex="d_X"),
    Parameter("seed", 0, "seed of random weights, tasks and prompts", low=0, high=2**31 - 1, integer=True),
    Parameter("learning_rate", 1.0, "step of gradient descent", low=0, open_low=True, high=1e4, levels=("L0",),
              latex=r"\eta"),
    Parameter("M_test", lambda p: min(10, p["M"]), "test patterns, at most M", low=2, high=200, integer=True,
              default_text="min(10, M)", latex="M'"),
    Parameter("alpha_test", 0.8, "fraction of a test prompt's examples that start at the query's pattern (at least "
              "one does)", low=0.01, high=1.0, latex=r"\alpha'"),
    Parameter("l_ts", 20, "examples in a test prompt", low=1, high=1000, integer=True, latex="l_{ts}"),
    Parameter("tau", 0.5, "probability that an example is right at every step", low=0.01, high=1.0, latex=r"\tau"),
    Parameter("rho", 0.8, "primacy of the right pattern over the runner-up (or the nearest possible)", low=0.0,
              high=0.99, latex=r"\rho"),
    Parameter("style", "equal", "errors of examples: runner-up at every step or at step 1 only, uniform, or towards an "
              "attractor", choices=("equal", "one", "uniform", "attractor")),
    Parameter("beta", 0.9, "fraction of attractor errors that go to the attractor", low=0.0, high=1.0,
              latex=r"\beta"),
    Parameter("overlap", 1.0, "overlap of the queried test pattern with the blind direction (cot_error_overlap)",
              low=0.0, high=1.0, latex=r"\lambda"),
    Parameter("success", 0.99, "probability that a chain is right at every step (examples_needed)", low=0.01,
              high=0.9999),
    Parameter("noise", 0.2, "norm of the noise on test examples", low=0.0, high=10.0),
    Parameter("n_prompts", 1000, "test prompts sampled", low=1, high=1e6, integer=True),
    t_max(1e12),
)  # fmt: skip

_KIND = {
    "same_same": "the query's pattern and step",
    "same_other": "the query's pattern at other steps",
    "other_same": "other patterns at the query's step",
    "other_other": "other patterns at other steps",
}
_ENTRY = {"A_s": "input × same", "A_d": "input × other", "B_s": "output × same", "B_d": "output × other"}


def observables(K: int) -> dict[str, str]:
    """What the population system of K steps reports."""
    steps = range(1, K + 1)
    found = {
        "a": "score gained by a column whose input is the query's pattern",
        "b": "score gained by a column whose label is the query's pattern",
    }
    found |= {f"H_{i}{k}": f"score of a column of step {i} for a query at step {k}" for i in steps for k in steps}
    found["g"] = "score of the query's step over other steps, mean over query steps"
    found["loss"] = "population loss (Eq. 3), mean over query steps"
    found |= {f"loss_{k}": f"population loss of queries at step {k}" for k in steps}
    found |= {f"mass_{kind}": f"attention on {where}, mean over query steps" for kind, where in _KIND.items()}
    found |= {f"mass_{kind}_{k}": f"attention on {_KIND[kind]}, query at step {k}" for kind in _KIND for k in steps}
    found |= {
        "mass_other_step": "attention on other steps, mean over query steps",
        "mass_other_step_max": "attention on other steps, largest over query steps (T_1)",
        "log_other_step_max": "its logarithm",
        "p_min": "attention on the query's pattern and step, smallest over query steps (T_2)",
        "log_missed_max": "log(1 - p_min) without cancellation (T_3)",
        "purity": "p/(p + q): share of the query's pattern in the attention on its step, alpha while unlearnt",
        "rate_mass_other_same": "time derivative of mass_other_same (T_peak)",
    }
    found |= {name: f"{where} query pattern entry of W" for name, where in _ENTRY.items()}
    found |= {f"C_{k}": f"step {k} × query pattern entry of W" for k in steps}
    found |= {f"G_{i}{k}": f"step {i} × query step {k} entry of W" for i in steps for k in steps}
    found |= {f"gamma_{name}": f"loss gradient of the {where} query pattern entry" for name, where in _ENTRY.items()}
    found |= {f"Gamma_{kind}": f"gradient of Lemmas F.5 and F.7 for a column of {_KIND[kind]}, mean" for kind in _KIND}
    return found


def finite_observables(K: int) -> dict[str, str]:
    """What finite levels report: the same, measured, and how well unseen tasks are solved."""
    return observables(K) | FINITE_ONLY


FINITE_ONLY = {
    "loss_test": "finite levels: loss on unseen random tasks",
    "mass_same_same_test": "finite levels: attention on the query's pattern and step on unseen random tasks",
    "sd_A_s": "finite levels: standard deviation of the input × same query pattern entries over patterns",
}

# Inference on test prompts, by Monte-Carlo or by counting: milliseconds a state.
TESTED = {
    "cot_error": "error of chain-of-thought inference on test prompts (Eq. 7), by Monte-Carlo (L1-L3)",
    "icl_error": "error of one-step inference on the same prompts (Eq. 9)",
    "attention_matching": "attention on matching examples along chain-of-thought inference (Proposition 1)",
    "cot_error_limit": "error of chain-of-thought inference with all attention on matching examples",
    "icl_error_limit": "error of one-step inference with all attention on matching examples",
    "cot_error_overlap": "error of chain-of-thought inference on the test pattern of overlap `overlap` with the blind "
    "direction",
    "attention_overlap": "attention on its matching examples at step 1",
    "examples_needed": "least l_ts at which a chain succeeds, all attention on matching examples and uniform errors, "
    "by exact counting (nan above 150)",
    "chain_success_exact": "probability that a chain is right at every step, all attention on matching examples and "
    "uniform errors, by exact counting (nan for l_ts above 600)",
    "icl_error_exact": "error of one-step inference with all attention on matching examples, by exact counting (nan "
    "for l_ts above 600)",
}
DEAR = dict.fromkeys(TESTED, ("L1", "L2", "L3"))

# The default number of steps; another K has the same names with its own step numbers.
OBSERVABLES = finite_observables(3) | {
    "mass_chain_other": "planar: attention on the query's own chain at other steps",
    **TESTED,
    "s": "L4: the paper's exponent of the query's step",
    "u": "L4: the paper's exponent of the query's pattern, a lower bound on a",
}
