"""The numbered statements of the paper, in its order."""

from flowsys.claims.statements import Statement

_DRAWN = "a picture without a statement of its own: `flowsys figure mixture` draws it"
_ALGEBRA = "the updates of Appendix B.2 written out term by term: their closure is checked as a whole, every entry"
_DEFINED = "a definition; the model is declared by it"

STATEMENTS = {
    "Definition 2.1": Statement("K-mixture of linear classification: c_k, y v_k and L - 2 distractors", _DEFINED),
    "Eq. (1)": Statement("f = σ(H_+ + b) - σ(H_- + b)", _DEFINED),
    "Sec. 3.1": Statement(
        "gradient descent with rate 0.1: consistent samples first, then the scores and with them the conflicting ones; "
        "attention alone is not trainable"
    ),
    "Fig. 1": Statement("losses, alignments and scores in simultaneous training"),
    "Algorithm 1": Statement("neurons to T_1, attention on conflicting samples to T_2, neurons to T_3", _DEFINED),
    "Condition 1": Statement("ω < C < 1 small, m > Ω̃(1)", "a condition: the regime that the claims are measured in"),
    "Theorem 4.1": Statement(
        "T_1 = O(1), T_2 - T_1 = O(log 1/ω), T_3 - T_2 = O(1/ε); w_c, w_v = Θ̃(1); attention to c_1 of the two heads "
        "differs by Θ(1), near symmetry up to Õ(ω)"
    ),
    "Eq. (2)": Statement("f = [w_+, w_-, 1]·F(X), F the attention features"),
    "Definition 5.1": Statement("the infinite-width transformer, m → ∞"),
    "Lemma 5.2": Statement("before T_0.5: dw_v/dt = 1/8 Σ g, dw_c/dt = 0"),
    "Lemma 5.3": Statement("after T_0.5: dw_v/dt = 1/8 Σ_k' g(X_{k',+,+}), dw_c/dt = 1/8 g(X_{k,+,+})"),
    "Lemma 5.4": Statement("uniform attention: no neurons classify the conflicting samples; then margin Õ(ω²/√m)"),
    "Sec. 5.2": Statement(
        "S_cv, KK_cc, QQ_vv of the same and of different groups nearly cancel, and all three increase in stage 2"
    ),
    "Lemma 5.5": Statement("d/dt (S_cv, KK_cc, QQ_vv) ≥ β [[0,1,1],[1,0,0],[1,0,0]] (S_cv, KK_cc, QQ_vv)"),
    "Sec. 6": Statement("for K = 3 training is still stage-wise, and some scores grow more than the others"),
    "Observation 1": Statement("K ≥ 3 is learnt too, more slowly; near symmetry is lost"),
    "Lemma 6.1": Statement(
        "there is a transformer that solves the K-mixture; printed: S_± = ±2C Σ v_k c_kᵀ + C Σ c_k c_kᵀ + C Σ v_k v_kᵀ"
    ),
    "Sec. 7": Statement("the maximum margin of the attention features increases during training"),
    "Appendix A.1": Statement("softmax probability of the positive head on different samples", _DRAWN),
    "Fig. 2": Statement("softmax attention of the positive head, query vertical, key horizontal", _DRAWN),
    "Appendix A.2": Statement("attention-only training with frozen Gaussian neurons: no longer trainable"),
    "Fig. 3": Statement("attention trained alone: the loss stays large"),
    "Appendix A.3": Statement("full attention scores of two mixtures"),
    "Fig. 4": Statement("all sixteen scores for K = 2"),
    "Appendix A.4": Statement("training with 3, 4 and 8 mixtures is similar"),
    "Figs. 5, 6, 7": Statement("losses, alignments and scores for K = 3, 4, 8"),
    "Appendix B.1": Statement("dw_±/dt = ±E[g y σ̇_± Σ_l X p_l^(±)]"),
    "Appendix B.2": Statement("dS/dt = -(KK G + G QQ), dKK/dt = -(G Sᵀ + S Gᵀ), dQQ/dt = -(Sᵀ G + Gᵀ S): it closes"),
    "Lemma C.1": Statement("at t = 0 inner products are 0, self-scores ω²"),
    "Eqs. (3)–(10)": Statement("the equalities of Lemmas C.2 and C.4, one for each kind of inner product"),
    "Lemma C.2": Statement("symmetry between two groups"),
    "Corollary C.3": Statement("outputs and slopes are equal between two groups"),
    "Lemma C.4": Statement("symmetry of two heads: w_- = R w_+, S_- = R S_+ R"),
    "Corollary C.5": Statement("outputs and slopes are equal between the labels"),
    "Lemma D.1": Statement("stage 1.1: dw_v/dt = 1/8 Σ_{k', s = s'} g(X_{k',s,s'})"),
    "Lemma D.2": Statement("stage 1.1: dw_c/dt = 0"),
    "Corollary D.3": Statement("the wrong head's gate closes at T_0.5 = Θ(1), for b small enough"),
    "Lemma D.4": Statement("stage 1.2: dw_v/dt = 1/8 Σ_k' g(X_{k',+,+})"),
    "Lemma D.5": Statement("stage 1.2: dw_c/dt = 1/8 g(X_{k,+,+})"),
    "Corollary D.6": Statement("on [T_0.5, T_1] only σ̇_s(X_{k,-s,-s}) = 0"),
    "Corollary D.7": Statement("w_c, w_v = Θ(1) at T_1 = Θ(1)"),
    "Theorem D.8": Statement("f(X_{k,s,s}) = s Ω(1), f(X_{k,s,-s}) = 0 at T_1"),
    "Lemma E.1": Statement("S_cv, QQ_vv and KK_cc dominate the other scores and self-scores, Eqs. (11)–(14)"),
    "Eqs. (11)–(14)": Statement("max other |S| ≤ c min(S_cv_same, -S_cv_diff), the same for QQ, KK; norms in order"),
    "Lemma E.2": Statement("dS_cv/dt ≥ β (KK_cc + QQ_vv), dKK_cc/dt ≥ β S_cv, dQQ_vv/dt ≥ β S_cv while scores ≤ C"),
    "Lemma E.3": Statement("T_2 - T_1 = O(log 1/ω²)"),
    "Lemma E.4": Statement("Δ = max |entry summed over groups| ≤ Õ(ω), dΔ/dt ≤ Õ(ω) dS_cv/dt on [T_1, T_2]"),
    "Eq. (15)": Statement("|dΔ/dt| ≤ O(Δ Δp)"),
    "Lemma E.5": Statement("the signs of all scores and self-scores on [T_1, T_2]"),
    "Lemma E.6": Statement("gates are open on conflicting samples on [T_1, T_2]"),
    "Theorem E.7": Statement("attention at T_2: consistent samples alike, heads apart by Θ(1) on conflicting ones"),
    "Appendix E.5": Statement("dS_cv/dt(T_1) = 8/9 g ω² w_c and the other rates at T_1"),
    "Appendix E.6": Statement("sums of partial gradients over the groups", _ALGEBRA),
    "Appendix E.7": Statement("the updates of scores and self-scores, expanded", _ALGEBRA),
    "Appendix F": Statement("at T_2 the features have a constant margin: w_± = Σ c_k ± Σ v_k gives y f = Ω(1)"),
    "Lemma F.1": Statement("dw_v/dt = Θ(g_+) in stage 3"),
    "Lemma F.2": Statement("dw_c/dt ≥ Ω(g_-) in stage 3"),
    "Theorem F.3": Statement("loss = O(1/(t - T_2 + 1)), so T_3 - T_2 = O(1/ε)"),
    "Appendix G": Statement("|A(t)|_∞ = O(1); |S - S_∞| ≤ poly(1/ω) m^-1/2 at finite width"),
    "Lemma G.1": Statement("initial inner products within ω² (√(4 log(8/δ)/m) + 4 log(8/δ)/m) with probability 1 - δ"),
    "Lemma H.1": Statement("Bernstein's inequality, a second bound, and its quantile form"),
    "Lemma H.2": Statement("concentration of |w|² and w_1·w_2 for Gaussian vectors"),
}
