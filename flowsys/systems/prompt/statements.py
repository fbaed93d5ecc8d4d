"""The numbered statements of the paper, in its order."""

from flowsys.claims.statements import Statement

_TOOL = "a concentration inequality used in the proofs, not a statement on training"

STATEMENTS = {
    "Sec. 3": Statement("training: one step of stochastic descent per batch of B prompts over the training tasks"),
    "Sec. 3.2": Statement("test prompts carry noise orthogonal to the test patterns"),
    "Eq. 14": Statement("test patterns plus orthogonal noise"),
    "Sec. 4": Statement("two stages: positions first, then patterns"),
    "Eqs. 17, 18, 19": Statement("prompt length Ω(1/α); training time; loss O(ε)"),
    "Theorem 1": Statement("T = α^-1 K³ log(K/ε) + M K (α^-1 + ε^-1) steps reach loss O(ε)"),
    "Proposition 1": Statement("attention on matching examples is at least 1 - ε at test"),
    "Eq. 22": Statement("test patterns anywhere in the span of the training patterns"),
    "Theorem 2": Statement("zero CoT error with l_ts ∝ (α' τ ρ)^-2 log M examples"),
    "Eq. 23": Statement("l_ts = Ω((α' τ_f ρ_f)^-2 log M)"),
    "Condition 1": Statement("the true label is the plurality over in-context chains"),
    "Eq. 24": Statement("Condition 1 in transition probabilities"),
    "Theorems 3a, 3b": Statement("in-context learning fails without Condition 1, succeeds with it"),
    "Eq. 25": Statement("examples needed by in-context learning"),
    "Lemmas F.1, F.3": Statement("Hoeffding and sub-Gaussian bounds", _TOOL),
    "Lemma F.5": Statement("signs and bounds of the four gradients in stage 1, Eqs. (30)–(33)"),
    "Eqs. 30–33": Statement("bounds of Γ_ss, Γ_sd, Γ_ds, Γ_dd"),
    "Lemma F.6": Statement("stage 1 ends at T_1 = α^-2 K³ log(K/ε)"),
    "Eq. 34": Statement("T_1"),
    "Eq. 35": Statement("from T_1 on attention on other steps is at most ε"),
    "Lemma F.7": Statement("stage 2: gradients, T_2 ∝ K M/α, T_3 ∝ K M/ε, growth of the pattern score"),
    "Eqs. 36–39": Statement("gradients in stage 2"),
    "Eqs. 44, 46, 49, 54": Statement("T_2, the pattern score ½ log(…), T_3"),
    "Appendix F": Statement("the surrogate of the proofs"),
    "Eqs. 156–159": Statement("surrogate rates of attention"),
}  # fmt: skip
