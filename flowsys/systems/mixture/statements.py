"""The numbered statements of the paper, in its order."""

from flowsys.claims.statements import Statement

_TOOL = "a tail bound for sums of random variables, a tool of the proof of Lemma G.1, which is checked"

STATEMENTS = {
    "Eq. (2)": Statement("max margin of the attention features: max over |w| = 1 of min y w·F(X)"),
    "Sec. 3.1": Statement("gradient descent with rate 0.1 on everything; flow is its limit of small rates"),
    "Fig. 1": Statement("losses, alignments and scores in simultaneous training"),
    "Fig. 3": Statement("attention trained alone: the loss stays large"),
    "Theorem 4.1": Statement(
        "T_1 = O(1), T_2 - T_1 = O(log 1/ω), T_3 - T_2 = O(1/ε); w_c, w_v = Θ̃(1); attention to c_1 of the two heads "
        "differs by Θ(1), near symmetry up to Õ(ω)"
    ),
    "Definition 5.1": Statement("the infinite-width transformer, m → ∞"),
    "Lemma 5.2": Statement("before T_0.5: dw_v/dt = 1/8 Σ g, dw_c/dt = 0"),
    "Lemma 5.3": Statement("after T_0.5: dw_v/dt = 1/8 Σ_k' g(X_{k',+,+}), dw_c/dt = 1/8 g(X_{k,+,+})"),
    "Lemma 5.4": Statement("uniform attention: no neurons classify the conflicting samples; then margin Õ(ω²/√m)"),
    "Sec. 5.2": Statement("KK_cc_same ≈ -KK_cc_diff"),
    "Lemma 5.5": Statement("d/dt (S_cv, KK_cc, QQ_vv) ≥ β [[0,1,1],[1,0,0],[1,0,0]] (S_cv, KK_cc, QQ_vv)"),
    "Observation 1": Statement("K ≥ 3 is learnt too, more slowly; near symmetry is lost"),
    "Lemma 6.1": Statement("S_± = ±2C Σ v_k c_kᵀ + C Σ c_k c_kᵀ + C Σ v_k v_kᵀ solves the K-mixture"),
    "Appendix A.2": Statement("attention-only training with frozen Gaussian neurons"),
    "Appendix B.1": Statement("dw_±/dt = ±E[g y σ̇_± Σ_l X p_l^(±)]"),
    "Appendix B.2": Statement("dS/dt = -(KK G + G QQ), dKK/dt = -(G Sᵀ + S Gᵀ), dQQ/dt = -(Sᵀ G + Gᵀ S): it closes"),
    "Lemma C.1": Statement("at t = 0 inner products are 0, self-scores ω²"),
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
    "Lemma E.4": Statement("Δ = max |entry summed over groups| ≤ Õ(ω) on [T_1, T_2]"),
    "Lemma E.5": Statement("the signs of all scores and self-scores on [T_1, T_2]"),
    "Lemma E.6": Statement("gates are open on conflicting samples on [T_1, T_2]"),
    "Theorem E.7": Statement("attention at T_2: consistent samples alike, heads apart by Θ(1) on conflicting ones"),
    "Appendix E.5": Statement("dS_cv/dt(T_1) = 8/9 g ω² w_c and the other rates at T_1"),
    "Appendix F": Statement("w_± = Σ c_k ± Σ v_k gives y f = Ω(1) at T_2"),
    "Lemma F.1": Statement("dw_v/dt = Θ(g_+) in stage 3"),
    "Lemma F.2": Statement("dw_c/dt ≥ Ω(g_-) in stage 3"),
    "Theorem F.3": Statement("loss = O(1/(t - T_2 + 1)), so T_3 - T_2 = O(1/ε)"),
    "Appendix G": Statement("|S - S_∞| ≤ poly(1/ω) m^-1/2 at finite width"),
    "Lemma G.1": Statement("initial inner products within ω² (√(4 log(8/δ)/m) + 4 log(8/δ)/m) with probability 1 - δ"),
    "Lemma H.1": Statement("Bernstein's inequality", _TOOL),
    "Lemma H.2": Statement("concentration of w_1·w_2 for Gaussian vectors", _TOOL),
}
