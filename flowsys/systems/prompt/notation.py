"""How the prompt system's names look in LaTeX."""

LATEX = {"M": "M", "K": "K", "alpha": r"\alpha", "a": "a", "b": "b", "g": "g"}
LATEX |= {f"H_{i}{k}": f"H_{{{i}{k}}}" for i in range(1, 10) for k in range(1, 10)}
