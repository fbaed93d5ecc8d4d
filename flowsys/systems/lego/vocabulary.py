"""The names of the LEGO system: parameters with their ranges, modes, events and observables with their meanings."""

from math import inf, log
from typing import Any

import numpy as np

import flowsys as fs
from flowsys.system import FINITE
from flowsys.systems.lego.closed_forms import clip_level, log_loss_threshold, outside_logit
from flowsys.systems.lego.feedforward import ACTIVATIONS, CLIPS, whole_bias
from flowsys.systems.lego.groups import read, sizes

GROUPS = (*(f"C{n}" for n in range(2, 13)), *(f"S{n}" for n in range(2, 7)))


def of_neurons(p, m: int) -> float:
    """F_0 = m s(b) of a layer with m neurons a class."""
    return outside_logit(m, whole_bias(np, p), p["rho"], p["q"])


PARAMETERS: dict[str, Any] = {
    "group": fs.Choice("C5", *(name for name in GROUPS if name != "C5"), reads=read, reads_text="FILE.json",
                       meaning="which group acts on the values: cyclic on itself, symmetric on n points, or the table "
                       "in a file (flowsys.systems.lego.groups)"),
    "d": fs.Real(1000.0, 4, 1e15, "vocabulary size: free where classes outside the values are lumped (L3, L4, "
                 "exchangeable), n_x + n_g + n_y + 1 on other finite levels"),
    "C_B": fs.Real(3.0, 0.5, 75, "logit clip B = C_B log d, at most 520"),
    "rho": fs.Real(0.3, 1e-3, 10, "width of the smoothed ReLU"),
    "q": fs.Size(4, 4, 12, "power of the smoothed ReLU, even"),
    "bias": fs.Real(0.1, 0, 1, "fixed bias b of every neuron"),
    "bias_scale": fs.Real(0.0, 0, 1, "added to the bias: this times d^(-1/2) log d (the paper's bias: 1, with bias = "
                          "0)"),
    "F_0": fs.Real(lambda p: of_neurons(p, sizes(p["group"])[1]), -1e3, 1e3, "logit of the classes that are no values, "
                   "where they are lumped",
                   default_text="m s(b), m neurons a class (n_y where the layer is isotropic)"),
    "n_x": fs.Size(inf, 2, 10**12, "number of variables", infinite=True),
    "n_x_finite": fs.Size(5, 3, 1000, "number of variables at finite levels where n_x = inf", levels=FINITE),
    "L": fs.Size(2, 2, 128, "chain length in training; for algorithm_2 the last one, a power of 2"),
    "V_0": fs.Real(0.005, 1e-9, 1, "stage 1: initial feature a = c of the winning neurons (b' = e = 0)"),
    "activation": fs.Choice(*ACTIVATIONS, meaning="smoothed ReLU: azl (C1), even (Definition 3.4) or B2 (Assumption "
                            "B.2)"),
    "varpi": fs.Real(1e-3, 1e-6, 0.1, "slope of the B2 activation far below 0"),
    "clip": fs.Choice("smooth", *(clip for clip in CLIPS if clip != "smooth"),
                      meaning="logit clip in stage 1 and in what follows a trained layer"),
    "clip_width": fs.Real(0.1, 1e-3, 10, "width over which the smooth clip is rounded"),
    "features": fs.Choice("ideal", "trained",
                          meaning="feed-forward layer of stage_2 and algorithm_2: the ideal one, or stage 1's end"),
    "trained_steps": fs.Choice("algorithm", "first_two", "first", "second", "all",
                               meaning="which steps' losses are summed: 1 and 2 (first_two), 1 only (first), 2 only "
                               "(second), the mean of all, or as the algorithm says (first_two; algorithm_2: second)"),
    "n_samples": fs.Size(1024, 1, 8192, "fixed sample where the expectation is not exact"),
    "alpha_1": fs.Real(lambda p: 1 / log(p["d"]), 1e-6, 10, "stage_2_1: alpha reaches this", default_text="1/log d"),
    "alpha_2": fs.Real(1.0, 1e-6, 20, "stage_2_2: alpha reaches this"),
    "eps_first": fs.Real(0.4, 1e-6, 1, "stage_1_2_1: attention elsewhere falls to this"),
    "eps_target": fs.Real(0.01, 1e-12, 1, "eps_reached, stage_2_3: attention elsewhere falls to this"),
    "gap_target": fs.Real(0.01, 1e-9, 1, "stage_2_3: the gap's size falls to this"),
    "loss_target": fs.Real(1e-4, 1e-200, 100, "loss_threshold: the loss falls to this"),
    "t_look": fs.Real(1e4, 1e-6, 1e60, "look: when to look at attention (an axis over time)"),
    "V_level": fs.Real(lambda p: log(p["d"]) / 2, 1e-6, 1e3, "phase_2_1: V_psi reaches this",
                       default_text="log(d) / 2"),
    "miss_target": fs.Real(lambda p: p["d"] ** -0.5, 1e-200, 1, "phase_2_2: 1 - p(correct) falls to this",
                           default_text="d^(-1/2)"),
    "delta_2": fs.Real(0.1, 1e-9, 10, "phase_2_3: both confounders fall to this"),
    "clip_margin": fs.Real(0.1, 0, 100, "stage_1_end: the correct logit comes this close to B"),
    "L_test": fs.Size(lambda p: min(2 * p["L"], p["n_x"] - 1), 1, 10_000,
                      "length of the test, where accuracy is measured", default_text="min(2 L, n_x - 1)"),
    "ell_test": fs.Size(lambda p: p["L_test"], 1, 10_000, "eps_test, gap_test, p_test: the step looked at, up to "
                        "L_test", default_text="L_test"),
    "accuracy_target": fs.Real(0.9, 0.01, 1, "L_star: accuracy a solvable length must have"),
    "L_max": fs.Size(10_000, 2, 100_000, "L_star is looked for up to this length, and no further than n_x - 1"),
    "n_sequences": fs.Size(256, 1, 65_536, "sequences of an accuracy measurement"),
    "n_steps": fs.Size(6, 1, 1000, "steps looked at in an accuracy measurement, spread over 1 … L"),
    "sigma_0": fs.Real(lambda p: p["d"] ** -0.5, 0, 10, "scale of the random initial weights", default_text="d^(-1/2)"),
    "T_1": fs.Real(200.0, 0, 1e6, "algorithm_1 at finite levels: stage 1 ends at this time", open_low=True,
                   levels=FINITE),
}  # fmt: skip
WIDTH = fs.Size(4, 1, 4096, "neurons m of each class (stage 1 at finite levels and many_variables)")
LEARNING_RATE = fs.Real(0.1, 0, 1e4, "step of gradient descent (on Q: this times n_x)", open_low=True)
HORIZON = fs.Real(1e13, 0, 1e100, "largest time", open_low=True)

MODES = {
    "stage_2": "attention over a fixed feed-forward layer (t is τ = t / n_x)",
    "stage_1": "the feed-forward layer under uniform attention",
    "algorithm_1": "stage 1 to its end, then stage 2 on the layer it leaves",
    "algorithm_2": "self-training with greedy self-labels at L = 2, 4, …, the last round being the one shown",
}

STAGE_1, STAGE_2 = ("stage_1",), ("stage_2", "algorithm_1", "algorithm_2")


def _log(name: str):
    return lambda p: np.log(getattr(p, name))


EVENTS: dict[str, Any] = {
    "stage_2_1": fs.Crossing("alpha", "alpha_1", +1, "alpha reaches alpha_1", STAGE_2),
    "stage_2_2": fs.Crossing("alpha", "alpha_2", +1, "alpha reaches alpha_2", STAGE_2),
    "stage_2_3": fs.Crossing("unsettled", 0.0, -1, "attention elsewhere is below eps_target and the gap's size below "
                             "gap_target", STAGE_2),
    "stage_1_2_1": fs.Crossing("log_eps", _log("eps_first"), -1, "attention elsewhere falls to eps_first", STAGE_2),
    "eps_reached": fs.Crossing("log_eps", _log("eps_target"), -1, "attention elsewhere falls to eps_target", STAGE_2),
    "gap_peak": fs.Crossing("gap_growth", 0.0, -1, "the gap's size has a maximum", STAGE_2),
    "loss_threshold": fs.Crossing("log_loss", _log("loss_target"), -1, "the loss falls to loss_target"),
    "stage_k_end": fs.Crossing("log_loss", lambda p: log_loss_threshold(p.C_B, p.d), -1, "the loss falls to d^(3.025 - "
                               "C_B), where the stages of algorithm_2 end in the proofs", STAGE_2),
    "look": fs.Mark("t_look", "t = t_look", STAGE_2),
    "phase_1": fs.Crossing("x", "rho", +1, "x = V_psi + b reaches rho: the winner enters the linear branch", STAGE_1),
    "phase_2_1": fs.Crossing("V_psi", "V_level", +1, "V_psi reaches V_level", STAGE_1),
    "phase_2_2": fs.Crossing("log_miss", _log("miss_target"), -1, "1 - p(correct) falls to miss_target", STAGE_1),
    "phase_2_3": fs.Crossing("unsettled", 0.0, -1, "after phase_2_2, both confounders have fallen to delta_2", STAGE_1),
    "stage_1_end": fs.Crossing("F_c", lambda p: clip_level(p.C_B, p.d) - p.clip_margin, +1,
                               "the correct logit comes within clip_margin of B", STAGE_1),
}  # fmt: skip

SCORES = {
    "alpha": "score of the right predicate",
    "beta": "score of the other predicates",
    "gamma": "score of the right answer",
    "delta": "score of the other answers",
    "alpha_minus_gamma": "alpha - gamma; accurate to about rtol (alpha + gamma) in absolute terms",
    "eps_attention": "attention of step 2 on clauses that do not matter, at length L (Eq. 20)",
    "gap": "attention of step 2 on the right predicate minus on the right answer, at length L, signed; accurate to "
    "about rtol alpha in absolute terms: late, when it has closed, its digits need a smaller rtol",
    "log_eps": "log of eps_attention",
    "eps_22": "eps_attention at length 2",
    "gap_22": "gap at length 2",
}
RATES = {
    "gap_rate": "time derivative of the gap",
    "gap_growth": "gap times its time derivative",
    "eps_rate": "time derivative of eps_attention",
    "log_eps_rate": "time derivative of log eps_attention",
    "alpha_rate": "time derivative of alpha, -dLoss/dalpha of the trained steps",
    "gamma_rate": "time derivative of gamma, -dLoss/dgamma of the trained steps",
}
BOTH_STAGES = {
    "unsettled": "positive until stage_2_3 (stage 1: until phase_2_3)",
    "log_loss": "log of the loss",
}
TRAINED = {
    "c_1": "1.005 log d / (2 B), the level of attention in the symmetry proof (Lemma E.35), in closed form",
    "score_spread": "largest difference of an entry of Q from the mean of its kind (finite levels)",
    "loss": "the loss that is trained",
    "loss_1": "part of the loss from step 1",
    "loss_2": "part of the loss from step 2",
    "p_correct": "mean probability of the right value over the trained steps",
}
DERIVED = {
    "eps_test": "attention of step ell_test on clauses that do not matter, at length L_test (Eq. 20)",
    "gap_test": "attention of step ell_test on the right predicate minus on the right answer, at length L_test, signed",
    "p_test": "mean probability of the right value at step ell_test of length L_test, given the true prefix",
    "accuracy": "Acc at L_test: mean probability of the right value given the true prefix (Eq. 5)",
    "inaccuracy": "1 - accuracy, with its digits where it is tiny",
    "accuracy_greedy": "share of steps with the right likeliest token at L_test, given the true prefix",
    "accuracy_rollout": "share of right answers at L_test when the model continues its own",
    "label_accuracy": "algorithm_2: share of self-labels that are right",
    "L_star": "longest length, on the grid L <- ceil(2^(1/3) L), up to which accuracy stays above accuracy_target",
}
DEAR = dict.fromkeys((name for name in DERIVED if name != "label_accuracy"), ("L3",))
LAYER = {
    "a": "feature of actions in the neuron's fibre",
    "b_prime": "feature of actions outside the fibre",
    "c": "feature of the neuron's own value",
    "e": "feature of other values",
    "V_psi": "(a + c) / 2, the feature of the right combination",
    "x": "V_psi + b, the winner's pre-activation",
    "confounder_ae": "(a + e) / 2",
    "confounder_bc": "(b' + c) / 2",
    "a_over_c": "a / c, tending to C_alpha",
    "F_c": "logit of the correct value, not clipped",
    "F_w": "logit of a wrong value, not clipped",
    "F_gap": "F_c - F_w; 0 in the additive trap",
    "miss": "1 - p(correct)",
    "log_miss": "log of 1 - p(correct)",
    "V_psi_min": "smallest winning feature over combinations (finite width)",
    "one_neuron": "share of combinations carried by exactly one neuron (finite width, Eq. 16)",
}
CLOSED_FORMS = {
    "C_alpha": "(1 + n_g (n_y - 1)/n_y) / (n_y - 1 + n_g/n_y), the final a / c in closed form (Theorem C.1)",
    "conserved": "f a + n_g (1 - 1/n_y) b' - c - (n_y - 1) e, constant",
    "t_1": "L4: when phase I ends, in closed form",
    "t_star": "L4: where the power law alone would diverge",
}
OBSERVABLES = SCORES | RATES | BOTH_STAGES | TRAINED | DERIVED | LAYER | CLOSED_FORMS
