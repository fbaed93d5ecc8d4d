"""How the parity system's names look in LaTeX."""

LATEX = {"n": "n", "i": "i", "m": "m", "query_bits": "c", "g": "g", "u": "u", "v": "v", "w": "w", "is_first": r"\chi_1"}
LATEX |= {f"{name}_1": f"{name}_1" for name in "guvw"}
for _key, _mark in {"x0": "x0", "x1": "x1", "z": "z", "o": "o", "e": "e", "f": "f"}.items():
    LATEX |= {f"K_{_key}": f"K_{{{_mark}}}", f"a_{_key}": f"a_{{{_mark}}}"}
