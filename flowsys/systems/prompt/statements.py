"""The numbered statements of the paper, in its order."""

from flowsys.claims.statements import Statement

_TOOL = "a concentration inequality used in the proofs, not a statement on training"
_DEFINITION = "a definition"
_STEP = "an intermediate step of a proof whose conclusion is checked"

STATEMENTS = {
    "Sec. 3": Statement("P1–P3: training linear in 1/α; examples ∝ (α' τ ρ)^-2; CoT outperforms ICL"),
    "Fig. 1": Statement("the concepts of CoT and ICL", "an illustration"),
    "Proposition 1": Statement("attention on matching examples is at least 1 - ε at test"),
    "Eqs. (10), (11)": Statement("the attention, and that every step is right"),
    "Eq. (14)": Statement("test patterns plus orthogonal noise"),
    "Eqs. (15), (16)": Statement("primacy ρ^f of the steps, ρ_o^f of the whole", _DEFINITION),
    "Theorem 1": Statement("T = α^-1 K³ log(K/ε) + M K (α^-1 + ε^-1) steps reach loss O(ε)"),
    "Eqs. (17), (18), (19)": Statement("prompt length Ω(1/α); training time; loss O(ε)"),
    "Appendix C.1": Statement(
        "no two steps lead to one pattern: f_k(x) = f_k'(x') for x = x' and f_k = f_k' alone",
        "an assumption that steps on the same M patterns cannot meet (K M pairs, M values): the tasks of Appendix E do "
        "not, and the population system has the labels that meet",
    ),
    "Definition C.1": Statement("min-max trajectory and input-label probabilities τ^f, τ_o^f", _DEFINITION),
    "Eqs. (20), (21)": Statement("τ^f and τ_o^f", _DEFINITION),
    "Theorem 2": Statement("zero CoT error with l_ts ∝ (α' τ ρ)^-2 log M examples"),
    "Eq. (22)": Statement("test patterns anywhere in the span of the training patterns"),
    "Eq. (23)": Statement("l_ts = Ω((α' τ_f ρ_f)^-2 log M)"),
    "Remark 1": Statement("the examples needed are of the order of α'^-2, ρ^-2, τ^-2"),
    "Condition 1": Statement(
        "the true label is the plurality over in-context chains",
        "a condition; where attractor errors meet it is a claim of ours",
    ),
    "Eq. (24)": Statement("Condition 1 in transition probabilities", "a condition, as above"),
    "Theorem 3a": Statement("without Condition 1 the ICL error is Ω(1)"),
    "Theorem 3b": Statement("with it the ICL error is 0 for long prompts"),
    "Eq. (25)": Statement("examples needed by in-context learning"),
    "Remark 2": Statement("ICL needs examples linear in α'^-2, ρ_o^-2, τ_o^-2; CoT does not need Condition 1"),
    "Appendix D": Statement("two stages: positions first, then patterns"),
    "Figs. 2–5": Statement("CoT and ICL errors over examples; Condition 1; attention along training"),
    "Lemma F.1": Statement("the multiplicative Chernoff bound", _TOOL),
    "Lemma F.3": Statement("Hoeffding's inequality", _TOOL),
    "Definition F.4": Statement("p_n(t), attention on the query's pattern and step (Eq. 29)", _DEFINITION),
    "Lemma F.5": Statement("signs and bounds of the four gradients in stage 1"),
    "Eqs. (30)–(33)": Statement("bounds of Γ_ss, Γ_sd, Γ_ds, Γ_dd"),
    "Lemma F.6": Statement("stage 1 ends at T_1 = α^-2 K³ log(K/ε)"),
    "Eqs. (34), (35)": Statement("T_1; from then on attention on other steps is at most ε"),
    "Lemma F.7": Statement("gradients in stage 2"),
    "Eqs. (36)–(39)": Statement("Γ_ss of order p (1-p)²/M, the others smaller"),
    "Eqs. (40)–(42)": Statement("batches of max(ε^-2, M) log M"),
    "Eqs. (43), (44), (45)": Statement("attention by the exponent u of the pattern", _STEP),
    "Eq. (46)": Statement("T_2 = K M/α"),
    "Eqs. (47), (48)": Statement("1 - p = Θ((1-α)/α e^-u)", _STEP),
    "Eq. (49)": Statement("u ≥ ½ log(η (1-α)² t/(α² K M)) for large t"),
    "Eqs. (50)–(53)": Statement("the induction step, and what (1-p)² = ε asks of u", _STEP),
    "Eq. (54)": Statement("T_3 = K M/ε"),
    "Eq. (55)": Statement("the score of a matching column is log(K/ε) at T_1"),
    "Eq. (56)": Statement(
        "it is Θ(log(K/ε)) at T_1 + T_2 + T_3", "it follows from (49), which is checked: ½ log(1/ε) + log(1/α) there"
    ),
    "Eq. (57)": Statement("T = T_1 + T_2 + T_3"),
    "Eq. (58)": Statement("the loss is O(ε)"),
    "Eqs. (60)–(64)": Statement("concentration of the votes, and the length it asks for", _STEP),
    "Eqs. (66), (67)": Statement("noise changes no score"),
    "Eqs. (68)–(75)": Statement("scores of patterns of the span; Proposition 1 by induction", _STEP),
    "Eqs. (81)–(88)": Statement("the proof of Theorem 3", _STEP),
    "Appendix H": Statement("the proofs of Lemmas F.5–F.7"),
    "Eqs. (156)–(159)": Statement("attention p by the exponents of step and pattern, and their rates"),
    "Eqs. (160)–(168)": Statement("the other attentions; M ≥ Ω(K⁴/α) (163, 164), the regime of the claims", _STEP),
}  # fmt: skip
