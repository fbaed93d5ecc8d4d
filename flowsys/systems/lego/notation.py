"""How the LEGO system's names look in LaTeX."""

LATEX = {
    "alpha": r"\alpha", "beta": r"\beta", "gamma": r"\gamma", "delta": r"\delta", "a": "a", "b_prime": "b'", "c": "c",
    "e": "e", "n_g": "n_g", "n_y": "n_y", "d": "d", "L": "L", "B": "B", "rho": r"\varrho", "bias": "b",
    "clip_width": r"\omega", "varpi": r"\varpi", "inverse_others": r"\tfrac{1}{n_x-1}",
}  # fmt: skip
