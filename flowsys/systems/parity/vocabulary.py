"""The names of the parity system: parameters with their ranges, modes, events, observables with their meanings."""

from collections.abc import Mapping
from typing import Any

import flowsys as fs
from flowsys.errors import InputError
from flowsys.system import FINITE
from flowsys.systems.parity.model import LARGEST_N, samples

MODES = {
    "position": "gradient flow, seen at query position i (a system of its own for i >= n+3 and for k = 1)",
    "block": "gradient flow of positions n+1 and n+2, which the common mode of the gates couples (k >= 2)",
    "three_step": "three gradient steps with rates eta_0, eta_1, eta_2 (Theorem 3); t is the sum of the rates, at L0 "
    "learning_rate times the steps",
    "no_chain": "gradient flow without a chain of thought: position n+1 alone, whose label is the parity of all "
    "secrets (levels that follow sequences)",
}

EVENTS = {
    "lock": fs.Crossing("s_target", "lock_threshold", +1, "attention on S[i] reaches lock_threshold"),
    # under the hinge a margin comes to rest at 1 up to rounding, so it counts as reached just below
    "margin_1": fs.Crossing("margin", lambda p: p.margin_threshold * (1 - 1e-9 * (p.loss == "hinge")), +1,
                            "the mean margin at position i reaches margin_threshold (where the hinge switches off)"),
    "gate_flip": fs.Crossing("gate_slack", 0.0, -1, "the first gate of a neuron flips (levels with live gates)"),
}  # fmt: skip
_FLOW, _STEPS = [fs.Stage("flow")], [fs.Stage(f"step_{j + 1}", step=f"eta_{j}") for j in range(3)]

_RATE = 1e30  # more than any rate or time at the largest sizes


def _first_decoupled(p: Mapping[str, Any]) -> int:
    return p["n"] + min(3, p["k"])


def _long_enough(p: Mapping[str, Any]) -> float:
    """Well past lock-on (about 14 n√m) and margin 1 (about 32 m later)."""
    return max(1e9, 100 * p["n"] * p["m"] ** 0.5 + 1000 * p["m"])


# fmt: off
PARAMETERS = {
    "n": fs.Size(20, 2, 10**12, "input bits"),
    "k": fs.Size(5, 1, 10**9, "secret bits, k < n"),
    "m": fs.Real(400.0, 1e-2, 1e9, "half the number of neurons; in the limit it sets the time scale of W against A",
                 log=True),
    "epsilon": fs.Real(20.0, 1e-4, 1e4, "scale of the initial neuron weights ν = ±ε", log=True),
    "i": fs.Size(_first_decoupled, 3, 10**12 + 10**9, "query position that is observed, n+1 … n+k",
                 default_text="n+3, or n+k if k < 3"),
    "loss": fs.Choice("linear", "hinge", meaning="loss of a margin: -margin, or max(1 - margin, 0); past margin 1 the "
                      "hinge is exact for k = 1 and in the variants collapsed and balanced",
                      words={"linear": "linear loss", "hinge": "hinge loss"}),
    "tokens": fs.Choice("classes", "all", meaning="orthonormal tokens with all non-secret ones as one class (any n), "
                        f"or every token of every string by itself (n <= {LARGEST_N}, also finite d and batches)"),
    "lock_threshold": fs.Real(0.5, 0.0, 1.0, "attention on S[i] that counts as locked", open_low=True, open_high=True),
    "margin_threshold": fs.Real(1.0, 0.0, 1e6, "margin at which margin_1 is reported", open_low=True),
    "rho": fs.Real(0.3, 0.0, 10.0, "three_step: shift of a neuron's input over epsilon after step 2 (gates need "
                   "rho < 1)", open_low=True),
    "eta_0": fs.Real(lambda p: p["rho"] * 4 * p["m"] * p["n"] * p["epsilon"], 0.0, _RATE, "three_step: rate of step 1",
                     open_low=True, default_text="4 rho m n epsilon"),
    "eta_1": fs.Real(lambda p: p["eta_0"], 0.0, _RATE, "three_step: rate of step 2", open_low=True,
                     default_text="eta_0"),
    "eta_2": fs.Real(lambda p: 16 * p["m"] * p["epsilon"] / 3, 0.0, _RATE, "three_step: rate of step 3", open_low=True,
                     default_text="16 m epsilon / 3"),
    "sigma": fs.Real(0.0, 0.0, 10.0, "size of a random start of W_att and A, which are 0 in the paper: without a chain "
                     "of thought that start is at rest for k >= 2", levels=FINITE),
    "d": fs.Size(float("inf"), 1, 10**6, "dimension of the hypercube embeddings; inf makes tokens orthonormal",
                 infinite=True, levels=FINITE),
    "batch": fs.Size(float("inf"), 1, 10**6, "fresh sequences a step in the variant sgd of L0; inf is the population",
                     infinite=True, levels=("L0",)),
}
DECLARED: dict[str, Any] = {
    "parameters": PARAMETERS,
    "samples": samples,
    "stages": dict.fromkeys(MODES, _FLOW) | {"three_step": _STEPS},
    "looks": dict.fromkeys(("position", "block"), ("lock", "margin_1")) | {"no_chain": ("margin_1",)},
    "width": fs.Size(lambda p: min(10**6, max(1, round(p["m"]))), 1, 10**6, "half the number of neurons of the finite "
                     "model; unless it is m, W moves width/m times as fast, so that the limit stays that of m",
                     default_text="m"),
    "learning_rate": fs.Real(lambda p: p["m"] ** 0.5 / 4, 0.0, 1e15, "step of gradient descent", open_low=True,
                             default_text="sqrt(m) / 4"),
    "t_max": fs.Real(_long_enough, 0.0, _RATE, "integrate no further than this time", open_low=True,
                     default_text="1e9, or 100 n sqrt(m) + 1000 m if that is more"),
}
"""What all forms of the block share."""
# fmt: on


def validate(values: Mapping[str, Any]) -> None:
    """What single ranges cannot say: k < n, and i is one of the positions with a label."""
    n, k, i = values["n"], values["k"], values["i"]
    if k >= n:
        raise InputError(f"k = {k} is not allowed: it must be less than n = {n}, so that some bit is not secret.")
    if not n + 1 <= i <= n + k:
        raise InputError(f"i = {i} is not allowed: it must lie between n+1 = {n + 1} and n+k = {n + k}.")
    for name in ("d", "batch"):
        if values[name] != float("inf") and values["tokens"] != "all":
            raise InputError(f"{name} = {values[name]} is not allowed with tokens = classes: use tokens=all.")


OBSERVABLES = {
    "g": "signal at position i: -(-1)^(b+b') K of the query bit b and the bit b' of S[i]",
    "u": "score of the tokens of S[i]",
    "v": "score of an ordinary token",
    "w": "score of the end-of-sequence token, which is sure",
    "s_target": "attention on S[i], mean over sequences",
    "one_hot_error": "1 - s_target, without cancellation",
    "margin": "margin at position i, mean over sequences",
    "entropy": "normalised attention entropy (Eq. (1)), least over the positions of the system, mean over sequences",
    "accuracy": "share of sequences with a positive margin at position i; the variant limit sees s·g alone, which is "
    "always positive: the common mode, which makes half of the sequences wrong until well past lock, is counted by "
    "collapsed and balanced",
    "loss": "loss summed over the positions of the system",
    "s_ordinary": "attention on all ordinary tokens together",
    "s_sure": "attention on the sure tokens together",
    "g_1": "block: signal at n+1",
    "u_1": "block: score of S[n+1] at n+1",
    "v_1": "block: score of an ordinary token at n+1",
    "w_1": "block: score of the end of sequence at n+1",
}
_KEY = {
    "x0": "(S[n+2], 0)",
    "x1": "(S[n+2], 1)",
    "z": "(S[n+1], 0), whose bit is b[n+2]",
    "o": "an ordinary token",
    "e": "the end of sequence",
    "f": "the own token",
}
OBSERVABLES |= {f"K_{key}": f"block: output of the neurons active at (n+2, 0) on {_KEY[key]}" for key in _KEY}
OBSERVABLES |= {f"a_{key}": f"block: score at (n+2, 0) of {_KEY[key]}" for key in _KEY}
OBSERVABLES |= {
    "s_1": "block: attention on S[n+1] at n+1",
    "s_x0": "block: attention on S[n+2] at n+2 where its bit is 0, whatever b[n+2] is",
    "s_x1": "block: attention on S[n+2] at n+2 where its bit is 1",
    "s_z0": "block: attention on S[n+1] at n+2 where the bit of S[n+2] is 0",
    "s_z1": "block: attention on S[n+1] at n+2 where the bit of S[n+2] is 1",
    "s_2_min": "block: the smaller of s_x0 and s_x1",
    "margin_n1": "block: margin at n+1",
    "margin_n2_0": "block: margin at n+2 where the bit of S[n+2] is 0",
    "margin_n2_1": "block: margin at n+2 where the bit of S[n+2] is 1",
    "margin_min": "least margin over sequences and positions of the system",
    "margin_max": "largest margin over sequences and positions of the system",
    "margin_i_min": "least margin at position i over sequences",
    "s_min": "least attention on S[i] over sequences and positions",
    "one_hot_error_max": "largest 1 - attention on S[i] over sequences and positions",
    "accuracy_all": "share of sequences right at every position",
    "accuracy_mean": "share of predictions that are right, over sequences and positions",
    "common_mode": "part of K that all queries share, (-1)^b' K on the tokens of S[n+1], mean at position i (i > n+1)",
    "score_target_min": "least score of S[i], over its tokens and all positions",
    "score_other_max": "largest |score| of any other token, over all positions",
    "flipped": "share of gates (sequence, position, neuron) that differ from the start",
    "gate_slack": "least input of a neuron, signed to be positive at the start: below 0 a gate has flipped",
    "P_max": "largest output |P| of a query token's own neurons, 0 at infinite width",
}
