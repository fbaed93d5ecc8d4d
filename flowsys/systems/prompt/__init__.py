"""How a one-layer attention-only transformer acquires chain-of-thought reasoning.

A task composes K step functions on M orthonormal patterns. A prompt shows l_tr worked examples of the task, a
fraction α of which start at the query's pattern, then the query at step k; the model attends once (Eq. 2) and must
give the query's next pattern. Only the merged matrix W = W_Kᵀ W_Q is trained, by SGD on the squared loss (Algorithm
1). The trained model is then tested on rotated patterns with noisy and erroneous examples, step by step (CoT,
Algorithm 2) or in one step (ICL, Eq. 8). Time is t = learning rate × iterations.

| paper | code | meaning | shape |
|---|---|---|---|
| μ_i | `patterns` | training-relevant (TRR) patterns, one a row | (M, d_X) |
| μ'_j | `test_patterns` | testing-relevant (TSR) patterns, one a row | (M', d_X) |
| f_k | `tasks[n, k - 1]` | step k of task n, as a table of pattern indices | (n, K, M) |
| y_{i,k} | `chains[n, k, x]` | where task n has brought starting pattern x after k steps | (n, K + 1, M) |
| W | `W` | merged key-query matrix on (input, output, step) | (2 d_X + K, 2 d_X + K) |
| u^T W v | `scores` | W in the frame of inputs a_i, outputs b_i, steps c_k | (2M + K, M + K) |
| A_s - A_d | `a` | score gained by an input equal to the query's | scalar |
| B_s - B_d | `b` | score gained by a label equal to the query's input | scalar |
| C_k' + G_k'k | `H[k' - 1, k - 1]` | score of a column of step k' for a query at step k | (K, K) |
| p_n(t) | `p` | attention on columns of the query's pattern and step (Eq. 29) | scalar |
| A_k^f | `transitions[k - 1]` | transition matrix of step k in test examples (Eq. 15) | (K, M', M') |
| B^f | `composed(transitions)` | K-step transition matrix | (M', M') |
| τ^f, ρ^f | `trajectory_probability`, `primacy` | Eqs. (20), (15) | scalar |
| l_tr, l_ts | `n_examples` | examples in a training, a testing prompt | int |
"""

from collections.abc import Mapping
from typing import Any

from flowsys.errors import InputError
from flowsys.system import LazyMapping, LazySequence, Setup, System, Variants, late, late_value
from flowsys.system.problem import Problem
from flowsys.system.references import Paper
from flowsys.systems.prompt.stages import EVENTS, MODES
from flowsys.systems.prompt.vocabulary import DEAR, OBSERVABLES, PARAMETERS


def _build(setup: Setup, level: str, variant: str, mode: str) -> Problem:
    if mode == "planar" and level != "L3":
        raise InputError(f"mode = planar is not allowed at level {level}: it is a limit of L3.")
    if level in ("L1", "L2"):
        from flowsys.systems.prompt.finite import finite_problem

        return finite_problem(setup, level)
    if level == "L4":
        from flowsys.systems.prompt.surrogate import surrogate_problem

        return surrogate_problem(setup)
    from flowsys.systems.prompt.limits import limit_problem

    return limit_problem(setup, mode)


def _training(setup: Setup, variant: str, mode: str, seeds: int | None):
    if mode == "planar":
        raise InputError("mode = planar is not allowed at level L0: it is a limit of L3.")
    from flowsys.systems.prompt.descent import training

    return training(setup, variant, seeds)


def _derive(setup: Setup, variant: str):
    from flowsys.systems.prompt.derive import derive

    return derive(setup)


def _validate(values: Mapping[str, Any]) -> None:
    if values["M_test"] > values["M"]:
        raise InputError(f"M_test = {values['M_test']} is not allowed: it must be at most M = {values['M']}.")


def _columns(setup: Setup, level: str, variant: str, mode: str) -> tuple[str, ...]:
    """What the flow reads as a number, and what only tests of its states read."""
    flow = ("alpha", "epsilon_1", "p_2", "epsilon", "t_given", "t_max")
    tests = ("alpha_test", "tau", "beta", "rho", "overlap", "noise", "l_ts", "success")
    return (*flow, *tests) if level == "L3" else ()


SYSTEM = System(
    name="prompt",
    paper=Paper(
        "prompt",
        "How do nonlinear transformers acquire generalization-guaranteed CoT ability?",
        "ICML 2024, workshop on high-dimensional learning dynamics",
    ),
    summary="chain-of-thought prompting learnt by a one-layer attention-only transformer",
    parameters=PARAMETERS,
    modes=MODES,
    levels={
        "L0": Variants(
            ("sgd", "sgd_scores", "full_batch", "symmetric"),
            (
                "Algorithm 1 on the merged weights W: fresh prompts of l_tr examples",
                "the same on the frame entries of W",
                "descent on W over all prompts of the flow L1",
                "descent on a, b, H of the exact population",
            ),
        ),
        "L1": Variants(("weights",), ("gradient flow on W, over infinitely long prompts of n_tasks tasks",)),
        "L2": Variants(("scores",), ("the same on the (2M + K)(M + K) frame entries of W",)),
        "L3": Variants(("symmetric",), ("exact population on the symmetric subspace: a, b and K × K step scores",)),
        "L4": Variants(("paper",), ("the paper's lower bound driven by two exponents (Eqs. 156-159, 44)",)),
    },
    events=EVENTS,
    observables=OBSERVABLES,
    dear=DEAR,
    build=_build,
    columns=_columns,
    validate=_validate,
    training=_training,
    derive=_derive,
    equations=late_value("flowsys.systems.prompt.reduced:EQUATIONS"),
    latex=LazyMapping(late_value("flowsys.systems.prompt.notation:LATEX")),
    ladder=late("flowsys.systems.prompt.ladder:ladder"),
    claims=LazySequence(late_value("flowsys.systems.prompt.claims:CLAIMS")),
    figures=LazyMapping(late_value("flowsys.systems.prompt.figures:FIGURES")),
    diagrams=LazyMapping(late_value("flowsys.systems.prompt.diagrams:DIAGRAMS")),
)
