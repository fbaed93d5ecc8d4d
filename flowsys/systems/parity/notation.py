"""How the parity system's names look in LaTeX."""

LATEX = {"n": "n", "i": "i", "m": "m", "query_bits": "c", "g": "g", "u": "u", "v": "v", "w": "w", "is_first": r"\chi_1"}
LATEX |= {f"{name}_1": f"{name}_1" for name in "guvw"}
for _key, _mark in {"x0": "x0", "x1": "x1", "z": "z", "o": "o", "e": "e", "f": "f"}.items():
    LATEX |= {f"K_{_key}": f"K_{{{_mark}}}", f"a_{_key}": f"a_{{{_mark}}}"}
LATEX |= {
    "k": "k", "epsilon": r"\epsilon", "lock_threshold": r"s_{\mathrm{lock}}", "margin_threshold": r"\mathrm{margin}_1",
    "rho": r"\rho", "sigma": r"\sigma", "eta_0": r"\eta_0", "eta_1": r"\eta_1", "eta_2": r"\eta_2", "d": "d",
    "width": "m",
    "s_target": "s_{S[i]}", "one_hot_error": "1-s_{S[i]}", "entropy": r"\mathrm{Ent}", "s_1": "s_1",
    "s_ordinary": r"s_{\mathrm{ordinary}}", "s_sure": r"s_{\mathrm{sure}}", "s_x0": "s_{x0}", "s_x1": "s_{x1}",
    "s_z0": "s_{z0}", "s_z1": "s_{z1}", "s_2_min": r"\min(s_{x0},s_{x1})", "margin_n1": r"\mathrm{margin}_{n+1}",
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
