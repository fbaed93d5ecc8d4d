r"""Two-mixture (and K-mixture) linear classification with a symmetric two-head softmax transformer.

A sample holds a group signal c_k, its classification signal y·v_k and distractors ±v_j; the label is y. Two heads of
softmax attention with ReLU neurons are trained with the logistic loss. Declared once: `model` has the
network, `population` the samples, `observables` what is seen of it. What the engine cannot know is stated: the limit
with K as a symbol (`statement`, `limits`) and the paper's surrogates (`surrogates`).

| paper | code | meaning | shape |
|---|---|---|---|
| w_±ᵀc_k, w_±ᵀv_k | `w_c`, `w_v` | neuron alignments | 2K per head; 2 in the limit |
| c_kᵀW_KᵀW_Q v_j | `S_cv_same` (j = k), `S_cv_diff` (j ≠ k) | scores, key first | 2K × 2K per head |
| W_KᵀW_K, W_QᵀW_Q | `KK_…`, `QQ_…` | key and query self-scores | 2K × 2K per head |
| p^(±)_{q←v, k←c}(X) | `p_plus_v_c`, `p_minus_v_c` | attention, query then key | 3 × 3 kinds of token |
| σ̇_±(X) | gates | ReLU gates, frozen between kinks | one per sample orbit and side |
| T_0.5, T_1, T_2, T_3 | events | ends of the stages | |
"""

from functools import partial

import flowsys as fs
from flowsys.system import FINITE, late, packaged
from flowsys.systems.mixture.model import blocks, sample_loss
from flowsys.systems.mixture.notation import LATEX
from flowsys.systems.mixture.observables import OBSERVE
from flowsys.systems.mixture.population import samples

_limit = late("flowsys.systems.mixture.limits:limit_problem")
_surrogate = late("flowsys.systems.mixture.surrogates:surrogate_problem")
_margin = late("flowsys.systems.mixture.margin:margin_of_samples",
               "max margin of the attention features (Eq. (2)), gates as they stand")  # fmt: skip

SYSTEM = fs.Model(
    "mixture",
    paper=fs.Paper(
        "mixture",
        "Transformers provably learn two-mixture of linear classification via gradient flow",
        "ICLR 2025",
    ),
    summary="K-mixture linear classification with a two-head softmax transformer",
    parameters={
        "K": fs.Size(2, 2, 16, "number of groups (mixtures)"),
        "L": fs.Size(3, 3, 9, "tokens in a sample: group signal, classification signal, L - 2 distractors"),
        "omega": fs.Real(0.1, 1e-4, 1.0, "scale ω of the initial keys and queries, N(0, ω²/m)", log=True),
        "b": fs.Real(0.5, 1e-3, 5.0, "fixed bias inside the ReLU"),
        "T_1": fs.Real(lambda p: 10.0 * p["K"], 0.0, 1e6, "length of stage 1", default_text="10 K", open_low=True),
        "s_star": fs.Real(1.0, 1e-3, 20.0, "stage 2 ends when S_cv_same reaches s_star"),
        "epsilon": fs.Real(0.01, 1e-8, 0.69, "stage 3 ends when the population loss falls to epsilon"),
        "sigma_w": fs.Real(0.5, 0.0, 10.0, "scale of the frozen Gaussian neurons in attention_only mode", open_low=True,
                           levels=FINITE),
    },
    blocks=blocks,
    samples=samples,
    loss=sample_loss,
    observe=OBSERVE,
    measures={"max_margin": _margin},
    stages={
        "three_stage": [
            fs.Stage("stage 1", trains=["w"], until="T_1"),
            fs.Stage("stage 2", trains=["S"], where="hard", ends_on="T_2"),
            fs.Stage("stage 3", trains=["w"], ends_on="T_3"),
        ],
        "simultaneous": [fs.Stage("simultaneous")],
        "attention_only": [fs.Stage("attention only", trains=["S"])],
    },
    modes={
        "three_stage": "Algorithm 1: neurons on all samples to T_1, attention on hard samples to T_2, neurons on all "
        "again",
        "simultaneous": "everything at once on all samples (Sec. 3.1)",
        "attention_only": "frozen Gaussian neurons, only the attention trains (App. A.2)",
    },
    forms={"simultaneous": (*FINITE, "L3"), "attention_only": FINITE},
    events={
        "T_0.5": fs.Crossing("preactivation_minus_consistent", 0.0, -1,
                             "the positive head's gate closes on consistent samples of label -1 (end of stage 1.1)"),
        "T_1": fs.Mark("T_1", "end of stage 1, the parameter T_1"),
        "T_2": fs.Crossing("S_cv_same", "s_star", +1, "S_cv_same reaches s_star (end of stage 2)"),
        "T_3": fs.Crossing("loss", "epsilon", -1, "the population loss falls to epsilon (end of stage 3)"),
    },
    looks={"simultaneous": ("T_2", "T_3"), "attention_only": (3000.0,)},
    variants={
        "L3": {
            "22": ("all 22 entries", partial(_limit, "22")),
            "10": ("self-scores eliminated by the conserved spectrum", partial(_limit, "10")),
        },
        "L4": {
            "linear": ("the paper's 3×3 lower bound", partial(_surrogate, "linear")),
            "sinh": ("frozen-attention closed form", partial(_surrogate, "sinh")),
        },
    },
    dear={"max_margin": FINITE},
    columns="L3",
    steps=3000,
    latex=LATEX,
    **packaged(__name__, ladder="derive"),
)  # fmt: skip
