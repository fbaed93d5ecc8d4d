"""How the LEGO system's names look in LaTeX, where the rule of the house (`spelled`) does not give it."""

LATEX = {
    "b_prime": "b'", "n_g": "n_g", "n_y": "n_y", "rho": r"\varrho", "bias": "b", "clip_width": r"\omega",
    "inverse_others": "(n_x-1)^{-1}", "F_0": "F_0",
}  # fmt: skip

_AT = r"^{L,\ell}"
_TEST = r"^{L_{\mathrm{test}},\ell_{\mathrm{test}}}"
LATEX |= {
    "n_x_finite": "n_x", "bias_scale": r"\Delta b\,d^{1/2}/\log d", "gap_target": r"\Delta_{\mathrm{target}}",
    "t_look": r"\tau", "miss_target": r"(1-p)_{\mathrm{target}}", "clip_margin": "B-F_c",
    "accuracy_target": r"\mathrm{Acc}_{\mathrm{target}}", "ell_test": r"\ell_{\mathrm{test}}",
    "alpha_minus_gamma": r"\alpha-\gamma", "eps_attention": rf"\epsilon{_AT}",
    "gap": rf"\Delta{_AT}", "log_eps": rf"\log\epsilon{_AT}", "eps_22": r"\epsilon^{2,2}", "gap_22": r"\Delta^{2,2}",
    "gap_rate": rf"\dot{{\Delta}}{_AT}", "gap_growth": rf"\Delta{_AT}\dot{{\Delta}}{_AT}",
    "eps_rate": rf"\dot{{\epsilon}}{_AT}", "log_eps_rate": rf"d\log\epsilon{_AT}/d\tau", "alpha_rate": r"\dot{\alpha}",
    "gamma_rate": r"\dot{\gamma}", "log_loss": r"\log\mathcal{L}", "p_correct": "p",
    "score_spread": r"\mathrm{spread}(Q)", "eps_test": rf"\epsilon{_TEST}", "gap_test": rf"\Delta{_TEST}",
    "accuracy": r"\mathrm{Acc}", "inaccuracy": r"1-\mathrm{Acc}", "L_star": r"L^{\star}", "x": r"V_\psi+b",
    "confounder_ae": "(a+e)/2", "confounder_bc": "(b'+c)/2", "a_over_c": "a/c", "F_gap": "F_c-F_w", "miss": "1-p",
    "log_miss": r"\log(1-p)", "V_psi_min": r"\min V_\psi", "t_star": r"t^{\star}",
    "one_neuron": r"\mathrm{share\ carried\ by\ one\ neuron}", "stage_2_1": "T_{2.1}", "stage_2_2": "T_{2.2}",
    "stage_2_3": "T_{2.3}", "stage_1_2_1": "T_{1.2.1}", "eps_reached": r"T_{\epsilon}", "gap_peak": r"T_{\Delta}",
    "loss_threshold": r"T_{\mathcal{L}}", "stage_k_end": "T_{k}", "look": r"\tau",
    "phase_1": r"T_{\mathrm{I}}", "stage_1_end": "T_{1}", "phase_2_1": r"T_{\mathrm{II}.1}",
    "phase_2_2": r"T_{\mathrm{II}.2}", "phase_2_3": r"T_{\mathrm{II}.3}",
}  # fmt: skip
LATEX |= {
    "activation": "A", "active_neurons": r"\Sigma A", "configuration_loss": r"\ell", "correct": "F_1", "current": "k_y",
    "distractors": "k_g", "earlier": "k_a", "logit": "F_j", "hit": "h_g", "is_target": r"\chi", "past": "k_p",
    "rival": "R", "rivals": r"\Sigma R", "target_logit": "F", "weight": r"\pi", "preactivation": r"\Lambda",
    "log_odds": "o", "log_eps_target": r"\log\epsilon_{\mathrm{target}}",
    "log_miss_target": r"\log(1-p)_{\mathrm{target}}",
}  # fmt: skip
WORDS = {
    "n_g": "number of actions", "n_y": "number of values", "B": "logit clip C_B log d",
    "inverse_others": "one over the number of other variables", "log_eps_target": "logarithm of eps_target",
    "log_miss_target": "logarithm of miss_target", "hit": "1 if the right action lies in the neuron's fibre",
    "distractors": "actions of other predicates in the fibre", "current": "1 if the query's value is the neuron's",
    "past": "earlier answers with the neuron's value", "earlier": "answers before the query's",
    "is_target": "1 for the class of the right value", "weight": "probability of the configuration, steps summed",
}  # fmt: skip
PLACES = {"loss": "Eq. (6a)", "flow": "Facts D.1 and E.1; stage 1: Eq. (16)"}
