"""The names of the mixture system: parameters with their ranges, observables with their meanings."""

from flowsys.system import FINITE_PARAMETERS, Parameter, t_max

PARAMETERS = (
    Parameter("K", 2, "number of groups (mixtures)", low=2, high=16, integer=True),
    Parameter("L", 3, "tokens in a sample: group signal, classification signal, L - 2 distractors", low=3, high=9,
              integer=True),
    Parameter("omega", 0.1, "scale ω of the initial keys and queries, N(0, ω²/m)", low=1e-4, high=1.0, latex=r"\omega"),
    Parameter("b", 0.5, "fixed bias inside the ReLU", low=1e-3, high=5.0),
    Parameter("T_1", lambda p: 10.0 * p["K"], "length of stage 1", low=0.0, open_low=True, high=1e6,
              default_text="10 K"),
    Parameter("s_star", 1.0, "stage 2 ends when S_cv_same reaches s_star", low=1e-3, high=20.0, latex="s^*"),
    Parameter("epsilon", 0.01, "stage 3 ends when the population loss falls to epsilon", low=1e-8, high=0.69,
              latex=r"\epsilon"),
    Parameter("sigma_w", 0.5, "scale of the frozen Gaussian neurons in attention_only mode", low=0.0, open_low=True,
              high=10.0, levels=("L0", "L1", "L2")),
    *FINITE_PARAMETERS,
    t_max(1e6),
)  # fmt: skip

_TOKEN = {"c": "group signal c", "v": "classification signal v", "d": "distractor"}
_PART = {"same": "of the same group", "diff": "of different groups"}
_MATRIX = {"S": "score (key, query)", "KK": "key self-score", "QQ": "query self-score"}
_KIND = {
    "consistent": "consistent samples (every distractor has the label's sign)",
    "conflicting": "conflicting samples (y times the sum of the v-signs is <= 0)",
}
_SIDE = {"plus": "the head of the label's sign", "minus": "the other head"}

OBSERVABLES = {
    "w_c": "neuron alignment w_+·c_k with the group signals",
    "w_v": "neuron alignment w_+·v_k with the classification signals",
}
for _name, _meaning in _MATRIX.items():
    for _part, _where in _PART.items():
        for _pair in ("cc", "cv", "vc", "vv") if _name == "S" else ("cc", "cv", "vv"):
            OBSERVABLES[f"{_name}_{_pair}_{_part}"] = f"{_meaning} of {_pair[0]} with {_pair[1]} {_where}"
OBSERVABLES |= {
    "loss": "population loss E log(1 + exp(-y f))",
    "accuracy": "share of samples with y f > 0.001",
}
for _kind, _meaning in _KIND.items():
    OBSERVABLES[f"loss_{_kind}"] = f"mean loss of {_meaning}"
    OBSERVABLES[f"f_{_kind}"] = f"mean y f of {_meaning}"
    for _side, _head in _SIDE.items():
        OBSERVABLES[f"preactivation_{_side}_{_kind}"] = f"mean H + b of {_head} on {_meaning}"
for _side, _head in _SIDE.items():
    for _query in "cvd":
        for _key in "cvd":
            OBSERVABLES[f"p_{_side}_{_query}_{_key}"] = (
                f"attention of {_head}, query {_TOKEN[_query]}, key {_TOKEN[_key]}, mean over conflicting samples"
            )
OBSERVABLES["score_spread"] = "rms distance of single scores from the average of their class; 0 in the limit"
OBSERVABLES["max_margin"] = "max margin of the attention features (Eq. (2)), gates as they stand"
