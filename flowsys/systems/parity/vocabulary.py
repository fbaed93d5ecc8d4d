"""The names of the parity system: parameters with their ranges, modes, events, observables with their meanings."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from flowsys.errors import InputError
from flowsys.system import FINITE, FINITE_PARAMETERS, Parameter, t_max

MODES = {
    "position": "gradient flow, seen at query position i (a system of its own for i >= n+3 and for k = 1)",
    "block": "gradient flow of positions n+1 and n+2, which the common mode of the gates couples (k >= 2)",
    "three_step": "three gradient steps with rates eta_0, eta_1, eta_2 (Theorem 3); t is the sum of the rates, at L0 "
    "learning_rate times the steps",
}

EVENTS = {
    "lock": "attention on S[i] reaches lock_threshold",
    "margin_1": "the mean margin at position i reaches margin_threshold (where the hinge switches off)",
    "gate_flip": "the first gate of a neuron flips (levels with live gates)",
    "step_1": "after the first gradient step (three_step)",
    "step_2": "after the second gradient step (three_step)",
    "step_3": "after the third gradient step (three_step)",
}

_SEED = FINITE_PARAMETERS[1]


def _first_decoupled(p: Mapping[str, Any]) -> int:
    return p["n"] + min(3, p["k"])


def _long_enough(p: Mapping[str, Any]) -> float:
    """Well past lock-on (about 14 n√m) and margin 1 (about 32 m later)."""
    return max(1e9, 100 * p["n"] * p["m"] ** 0.5 + 1000 * p["m"])


PARAMETERS = (
    Parameter("n", 20, "input bits", low=2, high=10**7, integer=True),
    Parameter("k", 5, "secret bits, k < n", low=1, high=10**6, integer=True),
    Parameter("m", 400.0, "half the number of neurons; in the limit it sets the time scale of W against A", low=1e-2,
              high=1e9),
    Parameter("epsilon", 20.0, "scale of the initial neuron weights ν = ±ε", low=1e-4, high=1e4, latex=r"\epsilon"),
    Parameter("i", _first_decoupled, "query position that is observed, n+1 … n+k", low=3, high=10**7 + 10**6,
              integer=True, default_text="n+3, or n+k if k < 3"),
    Parameter("loss", "linear", "loss of a margin: -margin, or max(1 - margin, 0); past margin 1 the hinge is exact "
              "for k = 1 and in the variants collapsed and balanced", choices=("linear", "hinge")),
    Parameter("lock_threshold", 0.5, "attention on S[i] that counts as locked", low=0.0, high=1.0, open_low=True,
              open_high=True),
    Parameter("margin_threshold", 1.0, "margin at which margin_1 is reported", low=0.0, open_low=True, high=1e6),
    Parameter("rho", 0.3, "three_step: shift of a neuron's input over epsilon after step 2 (gates need rho < 1)",
              low=0.0, open_low=True, high=10.0, latex=r"\rho"),
    Parameter("eta_0", lambda p: p["rho"] * 4 * p["m"] * p["n"] * p["epsilon"], "three_step: rate of step 1", low=0.0,
              open_low=True, default_text="4 rho m n epsilon", latex=r"\eta_0"),
    Parameter("eta_1", lambda p: p["eta_0"], "three_step: rate of step 2", low=0.0, open_low=True,
              default_text="eta_0", latex=r"\eta_1"),
    Parameter("eta_2", lambda p: 16 * p["m"] * p["epsilon"] / 3, "three_step: rate of step 3", low=0.0, open_low=True,
              default_text="16 m epsilon / 3", latex=r"\eta_2"),
    Parameter("d", float("inf"), "dimension of the hypercube embeddings; inf makes tokens orthonormal", low=1,
              integer=True, infinite=True, levels=FINITE),
    Parameter("batch", float("inf"), "three_step at L0: fresh sequences per step; inf is the population", low=1,
              high=10**6, integer=True, infinite=True, levels=("L0",)),
    Parameter("width", lambda p: min(10**6, max(1, round(p["m"]))), "half the number of neurons of the finite model; "
              "unless it is m, W moves width/m times as fast, so that the limit stays that of m", low=1, high=10**6,
              integer=True, levels=FINITE, default_text="m"),
    _SEED,
    Parameter("learning_rate", lambda p: p["m"] ** 0.5 / 4, "step of gradient descent", low=0.0, open_low=True,
              levels=("L0",), default_text="sqrt(m) / 4"),
    replace(t_max(_long_enough), default_text="1e9, or 100 n sqrt(m) + 1000 m if that is more"),
)  # fmt: skip


def validate(values: Mapping[str, Any]) -> None:
    """What single ranges cannot say: k < n, and i is one of the positions with a label."""
    n, k, i = values["n"], values["k"], values["i"]
    if k >= n:
        raise InputError(f"k = {k} is not allowed: it must be less than n = {n}, so that some bit is not secret.")
    if not n + 1 <= i <= n + k:
        raise InputError(f"i = {i} is not allowed: it must lie between n+1 = {n + 1} and n+k = {n + k}.")


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
    "s_x0": "block: attention on S[n+2] at n+2 where its bit equals b[n+2]",
    "s_x1": "block: attention on S[n+2] at n+2 where its bit differs from b[n+2]",
    "s_z0": "block: attention on S[n+1] at n+2 where the bit of S[n+2] equals b[n+2]",
    "s_z1": "block: attention on S[n+1] at n+2 where the bit of S[n+2] differs from b[n+2]",
    "s_2_min": "block: the smaller of s_x0 and s_x1",
    "margin_n1": "block: margin at n+1",
    "margin_n2_0": "block: margin at n+2 where the bit of S[n+2] equals b[n+2]",
    "margin_n2_1": "block: margin at n+2 where the bit of S[n+2] differs from b[n+2]",
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
