"""The names of the LEGO system: parameters with their ranges, modes, events and observables with their meanings."""

from dataclasses import dataclass
from math import inf, log
from typing import Any

from flowsys.errors import InputError
from flowsys.system import FINITE, Parameter, t_max
from flowsys.systems.lego.feedforward import ACTIVATIONS, CLIPS
from flowsys.systems.lego.group_files import is_file, read
from flowsys.systems.lego.groups import LARGEST_SYMMETRIC

GROUPS = (*(f"C{n}" for n in range(2, 13)), *(f"S{n}" for n in range(2, LARGEST_SYMMETRIC + 1)))
FEATURES = ("ideal", "trained")
TRAINED_STEPS = ("algorithm", "first_two", "first", "second", "all")


@dataclass(frozen=True)
class GroupParameter(Parameter):
    """A group by its name, or by a file of its tables, which are checked."""

    @property
    def allowed(self) -> str:
        return f"{' | '.join(self.choices)} | FILE.json"

    def check(self, value: Any) -> str:
        if is_file(value):
            return read(str(value))
        if str(value) not in self.choices:
            names = f"one of {', '.join(self.choices)}, or a file of tables ending in .json"
            raise InputError(f"{self.name} = {value!s} is not allowed: it must be {names}.")
        return str(value)


PARAMETERS = (
    GroupParameter("group", "C5", "which group acts on the values: cyclic on itself, symmetric on n points, or the "
                   "tables in a file (flowsys.systems.lego.group_files)", choices=GROUPS),
    Parameter("d", 1000.0, "vocabulary size: free where classes outside the values are lumped (L3, L4, exchangeable), "
              "n_x + n_g + n_y + 1 on other finite levels", low=4, high=1e15),
    Parameter("C_B", 3.0, "logit clip B = C_B log d, at most 520", low=0.5, high=75),
    Parameter("rho", 0.3, "width of the smoothed ReLU", low=1e-3, high=10),
    Parameter("q", 4, "power of the smoothed ReLU, even", low=4, high=12, integer=True),
    Parameter("bias", 0.1, "fixed bias b of every neuron", low=0, high=1),
    Parameter("bias_scale", 0.0, "added to the bias: this times d^(-1/2) log d (the paper's bias: 1, with bias = 0)",
              low=0, high=1),
    Parameter("n_x", inf, "number of variables", low=2, high=1e12, integer=True, infinite=True),
    Parameter("n_x_finite", 5, "number of variables at finite levels where n_x = inf", low=3, high=1000, integer=True,
              levels=FINITE),
    Parameter("L", 2, "chain length in training; for algorithm_2 the last one, a power of 2", low=2, high=128,
              integer=True),
    Parameter("V_0", 0.005, "stage 1: initial feature a = c of the winning neurons (b' = e = 0)", low=1e-9, high=1),
    Parameter("activation", "azl", "smoothed ReLU: azl (C1), even (Definition 3.4) or B2 (Assumption B.2)",
              choices=ACTIVATIONS),
    Parameter("varpi", 1e-3, "slope of the B2 activation far below 0", low=1e-6, high=0.1),
    Parameter("clip", "smooth", "logit clip in stage 1 and in what follows a trained layer", choices=CLIPS),
    Parameter("clip_width", 0.1, "width over which the smooth clip is rounded", low=1e-3, high=10),
    Parameter("features", "ideal", "feed-forward layer of stage_2 and algorithm_2: the ideal one, or stage 1's end",
              choices=FEATURES),
    Parameter("trained_steps", "algorithm",
              "which steps' losses are summed: 1 and 2 (first_two), 1 only (first), 2 only (second), the mean of all, "
              "or as the algorithm says (first_two; algorithm_2: second)", choices=TRAINED_STEPS),
    Parameter("n_samples", 1024, "fixed sample where the expectation is not exact", low=1, high=8192, integer=True),
    Parameter("alpha_1", lambda p: 1 / log(p["d"]), "stage_2_1: alpha reaches this", low=1e-6, high=10,
              default_text="1/log d"),
    Parameter("alpha_2", 1.0, "stage_2_2: alpha reaches this", low=1e-6, high=20),
    Parameter("eps_first", 0.4, "stage_1_2_1: attention elsewhere falls to this", low=1e-6, high=1),
    Parameter("eps_target", 0.01, "eps_reached, stage_2_3: attention elsewhere falls to this", low=1e-12, high=1),
    Parameter("gap_target", 0.01, "stage_2_3: the gap's size falls to this", low=1e-9, high=1),
    Parameter("loss_target", 1e-4, "loss_threshold: the loss falls to this", low=1e-200, high=100),
    Parameter("t_look", 1e4, "look: when to look at attention (an axis over time)", low=1e-6, high=1e60),
    Parameter("V_level", lambda p: log(p["d"]) / 2, "phase_2_1: V_psi reaches this", low=1e-6, high=1e3,
              default_text="log(d) / 2"),
    Parameter("miss_target", lambda p: p["d"] ** -0.5, "phase_2_2: 1 - p(correct) falls to this", low=1e-200, high=1,
              default_text="d^(-1/2)"),
    Parameter("delta_2", 0.1, "phase_2_3: both confounders fall to this", low=1e-9, high=10),
    Parameter("clip_margin", 0.1, "stage_1_end: the correct logit comes this close to B", low=0, high=100),
    Parameter("L_test", lambda p: min(2 * p["L"], p["n_x"] - 1), "length of the test, where accuracy is measured",
              low=1, high=10_000, integer=True, default_text="min(2 L, n_x - 1)"),
    Parameter("ell_test", lambda p: p["L_test"], "eps_test, gap_test, p_test: the step looked at, up to L_test", low=1,
              high=10_000, integer=True, default_text="L_test"),
    Parameter("accuracy_target", 0.9, "L_star: accuracy a solvable length must have", low=0.01, high=1),
    Parameter("L_max", 10_000, "L_star is looked for up to this length, and no further than n_x - 1", low=2,
              high=100_000, integer=True),
    Parameter("n_sequences", 256, "sequences of an accuracy measurement", low=1, high=65_536, integer=True),
    Parameter("n_steps", 6, "steps looked at in an accuracy measurement, spread over 1 … L", low=1, high=1000,
              integer=True),
    Parameter("width", 4, "neurons m of each class (stage 1 at finite levels and many_variables)", low=1,
              high=4096, integer=True),
    Parameter("sigma_0", lambda p: p["d"] ** -0.5, "scale of the random initial weights", low=0, high=10,
              default_text="d^(-1/2)"),
    Parameter("seed", 0, "seed of random weights, samples and test sequences", low=0, high=2**31 - 1, integer=True),
    Parameter("T_1", 200.0, "algorithm_1 in training: stage 1 ends at this time", low=0, open_low=True, high=1e6,
              levels=("L0",)),
    Parameter("learning_rate", 0.1, "step of gradient descent (on Q: this times n_x)", low=0, open_low=True, high=1e4,
              levels=("L0",)),
    t_max(1e13, high=1e100),
)  # fmt: skip

MODES = {
    "stage_2": "attention over a fixed feed-forward layer (t is τ = t / n_x)",
    "stage_1": "the feed-forward layer under uniform attention",
    "algorithm_1": "stage 1 to its end, then stage 2 on the layer it leaves",
    "algorithm_2": "self-training with greedy self-labels at L = 2, 4, …, the last round being the one shown",
}

STAGE_1_EVENTS = {
    "phase_1": "x = V_psi + b reaches rho: the winner enters the linear branch",
    "phase_2_1": "V_psi reaches V_level",
    "phase_2_2": "1 - p(correct) falls to miss_target",
    "phase_2_3": "after phase_2_2, both confounders have fallen to delta_2",
    "stage_1_end": "the correct logit comes within clip_margin of B",
    "loss_threshold": "the loss falls to loss_target",
}
STAGE_2_EVENTS = {
    "stage_2_1": "alpha reaches alpha_1",
    "stage_2_2": "alpha reaches alpha_2",
    "stage_2_3": "attention elsewhere is below eps_target and the gap's size below gap_target",
    "stage_1_2_1": "attention elsewhere falls to eps_first",
    "eps_reached": "attention elsewhere falls to eps_target",
    "gap_peak": "the gap's size has a maximum",
    "loss_threshold": "the loss falls to loss_target",
    "stage_k_end": "the loss falls to d^(3.025 - C_B), where the stages of algorithm_2 end in the proofs",
    "look": "t = t_look",
}
EVENTS = STAGE_2_EVENTS | STAGE_1_EVENTS

STAGE_2_OBSERVABLES = {
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
    "gap_rate": "time derivative of the gap",
    "gap_growth": "gap times its time derivative",
    "eps_rate": "time derivative of eps_attention",
    "log_eps_rate": "time derivative of log eps_attention",
    "alpha_rate": "time derivative of alpha, -dLoss/dalpha of the trained steps",
    "gamma_rate": "time derivative of gamma, -dLoss/dgamma of the trained steps",
    "c_1": "1.005 log d / (2 B), the level of attention in the symmetry proof (Lemma E.35), in closed form",
    "spread": "largest difference of an entry of Q from the mean of its kind (finite levels)",
    "unsettled": "positive until stage_2_3 (stage 1: until phase_2_3)",
    "loss": "the loss that is trained",
    "log_loss": "log of the loss",
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
STAGE_1_OBSERVABLES = {
    "a": "feature of actions in the neuron's fibre",
    "b_prime": "feature of actions outside the fibre",
    "c": "feature of the neuron's own value",
    "e": "feature of other values",
    "V_psi": "(a + c) / 2, the feature of the right combination",
    "x": "V_psi + b, the winner's pre-activation",
    "confounder_ae": "(a + e) / 2",
    "confounder_bc": "(b' + c) / 2",
    "a_over_c": "a / c, tending to C_alpha",
    "C_alpha": "(1 + n_g (n_y - 1)/n_y) / (n_y - 1 + n_g/n_y), the final a / c in closed form (Theorem C.1)",
    "F_c": "logit of the correct value, not clipped",
    "F_w": "logit of a wrong value, not clipped",
    "F_gap": "F_c - F_w; 0 in the additive trap",
    "miss": "1 - p(correct)",
    "log_miss": "log of 1 - p(correct)",
    "V_psi_min": "smallest winning feature over combinations (finite width)",
    "t_1": "L4: when phase I ends, in closed form",
    "t_star": "L4: where the power law alone would diverge",
    "one_neuron": "share of combinations carried by exactly one neuron (finite width, Eq. 16)",
    "conserved": "f a + n_g (1 - 1/n_y) b' - c - (n_y - 1) e, constant",
}
OBSERVABLES = STAGE_2_OBSERVABLES | DERIVED | STAGE_1_OBSERVABLES
