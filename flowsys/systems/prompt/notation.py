"""How the prompt system's names look in LaTeX."""

from flowsys.system.names import family

_KINDS = {"same_same": "p", "same_other": "p'", "other_same": "q", "other_other": "q'"}
_STEPS = "123456789"
LATEX = {
    "l_tr": r"l_{\mathrm{tr}}", "l_ts": r"l_{\mathrm{ts}}", "batch_size": "B", "n_tasks": "N_T",
    "M_test": "M'", "alpha_test": r"\alpha'",
    "overlap": r"\lambda", "T_given": "t", "t_given": "t", "mass_other_step": "p'+q'",
    "mass_other_step_max": r"\max_k(p'+q')", "log_other_step_max": r"\log\max_k(p'+q')",
    "p_min": r"\min_k p", "log_missed_max": r"\log(1-\min_k p)", "purity": r"\frac{p}{p+q}",
    "rate_mass_other_same": r"\dot{q}",
    "loss_test": r"\mathcal{L}_{\mathrm{unseen}}", "mass_same_same_test": r"p_{\mathrm{unseen}}",
    "sd_A_s": r"\mathrm{sd}(A_s)", "mass_chain_other": r"p'_{\mathrm{chain}}",
    "cot_error": r"R_{\mathrm{CoT}}", "icl_error": r"R_{\mathrm{ICL}}",
    "cot_error_limit": r"\hat{R}_{\mathrm{CoT}}^{p=1}",
    "icl_error_limit": r"\hat{R}_{\mathrm{ICL}}^{p=1}", "icl_error_exact": r"R_{\mathrm{ICL}}^{p=1}",
    "cot_error_overlap": r"R_{\mathrm{CoT}}(\lambda)", "examples_needed": r"\min\,l_{\mathrm{ts}}",
    "success": r"\Pr(\mathrm{chain\ right})", "chain_success_exact": r"1-R_{\mathrm{CoT}}^{p=1}",
    "attention_matching": r"p_{\mathrm{test}}",
    "attention_overlap": r"p_{\mathrm{test}}(\lambda)",
    **family("mass_<kind>", "<kind>", kind=_KINDS),
    **family("mass_<kind>_<k>", "<kind>_{<k>}", kind=_KINDS, k=_STEPS),
    **family("test_mass_<kind>", r"<kind>_{\mathrm{test}}", kind=_KINDS),
    **family("Gamma_<kind>", r"\Gamma_{<kind>}", kind=_KINDS),
    **family("gamma_<x>_<y>", r"\partial_{<x>_<y>}\mathcal{L}", x="AB", y="sd"),
    **family("<loss>_<k>", r"\mathcal{L}_{<k>}", loss=("loss", "L"), k=_STEPS),
    **family("output_<k>_<v>", r"F^{(<k>)}_{<v>}", k=_STEPS, v=map(str, range(60))),
}  # fmt: skip
WORDS: dict[str, str] = {}
PLACES = {"loss": "Eq. (3)", "flow": "Algorithm 1 in the limit of small steps; stages: Lemmas F.6 and F.7"}
