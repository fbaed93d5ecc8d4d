"""How the co-occurrence system's names look in LaTeX."""

from flowsys.systems.cooccurrence.limits import SECTORS, TYPES

_BASIS = {"mu": r"\mu", "mu1": r"\mu_1", "mu2": r"\mu_2", "mu3": r"\mu_3"}
_BASIS |= {f"f{T}": f"f_{{{T}}}" for T in ("1", "2", "3", "4", "23")}

LATEX = {"alpha": r"\alpha", "beta": r"\beta", "m1": "m_1", "score_scale": "s", "L": "L", "inverse_n": "n^{-1}"}
LATEX |= {f"share_{T}": f"p_{{{T}}}" for T in ("1", "2", "3", "4", "23")} | {"tau": r"\tau", "clock": r"\theta"}
LATEX |= {f"g_{x}": f"g_{{{mark}}}" for x, mark in _BASIS.items()} | {"c": "c", "u_u": r"c/m_1"}
LATEX |= {f"G_mu{x}": rf"G_{{\mu_{x}}}" for x in "123"} | {f"G_r{T}": f"G_{{r_{T}}}" for T in "1234"}
for _variant in ("88", "without_swap"):
    for _sector, _basis in SECTORS[_variant].items():
        _mark = {"even": "+", "odd": "-", "all": ""}[_sector]
        for _name in ("S", "KK", "QQ", "VV"):
            LATEX |= {
                f"{_name}_{_sector}_{_a}_{_b}": rf"{_name}^{{{_mark}}}_{{{_BASIS[_a]},{_BASIS[_b]}}}"
                for _a in _basis
                for _b in _basis
            }
    for _T in TYPES[_variant]:
        for _name in ("S", "KK", "QQ", "VV"):
            LATEX |= {
                f"{_name}_across_{_T}": rf"{_name}^{{s}}_{{{_T}}}",
                f"{_name}_within_{_T}": rf"{_name}^{{k}}_{{{_T}}}",
            }
        LATEX |= {f"per_across_{_T}": rf"\nu^{{s}}_{{{_T}}}", f"per_within_{_T}": rf"\nu^{{k}}_{{{_T}}}"}
for _p in "123":
    LATEX |= {f"S_{_p}{_q}": rf"S_{{{_p}{_q}}}" for _q in "123"}
    for _T in "1234":
        LATEX |= {f"S_{_p}_r{_T}": rf"S_{{{_p},r_{_T}}}", f"S_r{_T}_{_p}": rf"S_{{r_{_T},{_p}}}"}
for _T in "1234":
    LATEX |= {f"S_r{_T}_same_word": rf"S_{{r_{_T},r_{_T}}}", f"S_r{_T}_same_sample": rf"S_{{r_{_T},r_{_T}'}}"}
