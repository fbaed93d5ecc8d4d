"""The numbered statements of the paper, in its order."""

from flowsys.claims.statements import Statement

_INFORMAL = "the informal form of a theorem that is checked"
_PROOF = "a step inside the induction of a proof, with unspecified constants; its theorem's conclusion is checked"
_TOOL = "a general inequality used in the proofs, not a statement on training"

STATEMENTS = {
    "Theorems 1.1, 1.2, 1.3": Statement("learning, length generalisation and self-improvement", _INFORMAL),
    "Theorem 2.1": Statement("word problems of non-solvable groups are NC¹-complete", "a theorem of complexity theory"),
    "Theorem 4.1": Statement("simply transitive actions: ε ~ d^-c*, accuracy up to length L* ∝ 1/ε"),
    "Theorem 5.1": Statement("symmetry actions: self-training doubles the solvable length in each round"),
    "Corollary 5.1": Statement("self-improvement up to length |X|"),
    "Eqs. 7, 8": Statement("accuracy up to L = O(d^c*), attention error O(d^-c*)"),
    "Sec. 6.1.2": Statement("an implicit curriculum: larger initial features are learned first"),
    "Sec. 6.2.1": Statement("stages 2.1, 2.2, 2.3: the gap opens, stays bounded, closes"),
    "Sec. 6.2.2": Statement("symmetry: both scores grow, the gap stays bounded; rounds start from a small error"),
    "Sec. 7": Statement("experiments; self-rollout is harder than teacher forcing"),
    "Figs. 1a, 1b": Statement("length generalisation of C6 and S5; self-training of S5"),
    "Figs. 2, 5": Statement("attention has two diagonals, also with permuted predicates"),
    "Figs. 6, 7": Statement("attention on predicates and answers by position at L = 10, 20"),
    "Eq. 16": Statement("one neuron per combination (g, y)"),
    "Eqs. 17, 18": Statement("features at the end of stage 1"),
    "Fact A.1": Statement("gradients of the first layer's positions", _PROOF),
    "Claims A.1, A.2": Statement("logits of the positions", _PROOF),
    "Lemmas A.1–A.11": Statement("growth and bounds of the copying layer's features", _PROOF),
    "Lemma A.12": Statement("the copying layer: features on the diagonal reach Ω(log d)"),
    "Theorem B.1": Statement("stage 1, simply transitive: V = ±B on a neuron per combination, V(g) = V(y)"),
    "Fact B.1": Statement("gradients of the feed-forward layer"),
    "Facts B.2, B.3, B.4": Statement("logits and activations at the start", _PROOF),
    "Lemmas B.1–B.10": Statement("competition, growth and arrival of features", _PROOF),
    "Lemmas B.11–B.13": Statement("tensor power method and concentration", _TOOL),
    "Corollary B.1": Statement("tensor power method", _TOOL),
    "Theorem C.1": Statement("stage 1, symmetry: features on fibres, V(g)/V(y) = C_α"),
    "Fact C.1": Statement("logits at the start", _PROOF),
    "Fact C.2": Statement("gradients of the feed-forward layer on fibres"),
    "Corollary C.1": Statement("initial features", _PROOF),
    "Lemmas C.1–C.10": Statement("competition, growth and arrival of features on fibres", _PROOF),
    "Theorem D.1": Statement("Theorem 4.1 restated", "checked as Theorem 4.1"),
    "Fact D.1": Statement("gradients of the attention Q"),
    "Lemmas D.1–D.45": Statement("stages 2.1, 2.2, 2.3 of attention, simply transitive", _PROOF),
    "Fact E.1": Statement("gradients of the attention Q, symmetry"),
    "Lemmas E.1–E.35": Statement("stages 1.2.1, 1.2.2 of attention, symmetry", _PROOF),
    "Theorem F.1": Statement("Theorem 5.1 restated", "checked as Theorem 5.1"),
    "Remark F.1": Statement("a doubled length starts from a small error and right labels"),
    "Fact F.1": Statement("gradients of the attention Q in self-training", _PROOF),
    "Lemmas F.1–F.16": Statement("one round of self-training", _PROOF),
}
