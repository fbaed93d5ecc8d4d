"""How the parity system's names look in LaTeX, where the rule of the house (`spelled`) does not give it."""

LATEX = {
    "query_bits": "c", "is_first": r"\chi_1", "lock_threshold": r"s_{\mathrm{lock}}",
    "margin_threshold": r"\mathrm{margin}_1", "s_target": "s_{S[i]}", "one_hot_error": "1-s_{S[i]}",
    "entropy": r"\mathrm{Ent}", "s_2_min": r"\min(s_{x0},s_{x1})", "margin_n1": r"\mathrm{margin}_{n+1}",
    "margin_n2_0": r"\mathrm{margin}_{n+2}^{x0}", "margin_n2_1": r"\mathrm{margin}_{n+2}^{x1}",
    "margin_min": r"\min\,\mathrm{margin}", "margin_max": r"\max\,\mathrm{margin}",
    "margin_i_min": r"\min\,\mathrm{margin}_i", "s_min": "\\min s_{S[i]}", "one_hot_error_max": r"\max(1-s_{S[i]})",
    "score_target_min": r"\min a_{S[i]}", "score_other_max": r"\max|a_{\mathrm{other}}|", "P_max": r"\max|P|",
    "flipped": r"\mathrm{share\ of\ gates\ flipped}", "lock": r"T_{\mathrm{lock}}", "margin_1": r"T_{\mathrm{margin}}",
    "gate_flip": r"T_{\mathrm{flip}}", "step_1": "t_1", "step_2": "t_2", "step_3": "t_3",
}  # fmt: skip
WORDS = {
    "query_bits": "bits the query token takes: 2, or 1 for k = 1",
    "is_first": "1 where n+1 is reported under a position's names, 0 where n+2 is",
}
PLACES = {"loss": "Sec. 3.1, linear before margin 1"}
