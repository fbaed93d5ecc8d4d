"""The numbered statements of the paper, in its order."""

from flowsys.claims.statements import Statement

_TOOL = "a general inequality used in the proofs, not a statement on training"

STATEMENTS = {
    "Theorem 1": Statement("a one-layer transformer represents parity without a chain of thought, with Θ(log n) bits"),
    "Theorem 2": Statement("without a chain, learning needs exponentially many samples or much memory"),
    "Assumption 1": Statement("initialisation: A = 0, neurons by signs", "an assumption; the claims start from it"),
    "Theorem 3": Statement("with a chain three steps learn parity: attention one-hot, Õ(n) samples, accuracy 1"),
    "Sec. 3.3": Statement("three phases: signal, attention, output; without a chain no token is correlated"),
    "Figs. 1a, 2, 3a": Statement("samples needed against k, with and without a chain"),
    "Fig. 1b": Statement("attention entropy falls as accuracy rises"),
    "Fig. 3b": Statement("the i-th token of the chain attends to its secret"),
    "Fig. 4": Statement("multi-pass training without a chain"),
    "Figs. 5, 10, 11": Statement("training sets of 5000 to 10^6 strings, and the entropy of attention on the way"),
    "Eq. (1)": Statement("normalised attention entropy"),
    "Figs. 6, 7": Statement("attention and entropy of Qwen2 on GSM8K", "needs the pretrained models and GSM8K"),
    "Fig. 8": Statement("attention of two layers and heads with a chain: sparse in the first layer, uniform in the "
                        "second"),
    "Sec. 4.3": Statement("attention entropy of pretrained models"),
    "Fig. 9": Statement("twelve secrets are not learned without a chain from 10^4 to 10^6 strings"),
    "Lemmas 1–4": Statement("the embeddings' dual vectors exist and are small off the secret"),
    "Assumption 2": Statement("n, k, m, d and the rates"),
    "Lemma 5": Statement("what Assumption 2 implies as n → ∞"),
    "Lemma 6": Statement("(-1)^b[i+1] 1(b[j] = b_1, b[i] = b_2) is a martingale where S[i] ≠ j"),
    "Table 1": Statement("orders of the statistics δ, α, β, ψ, γ, ζ of a batch"),
    "Lemma 7": Statement("batches are balanced"),
    "Lemmas 8, 9": Statement("attention does not move in the first step"),
    "Lemmas 10, 11": Statement("a neuron's output at the start is decided by its own sign"),
    "Lemmas 12, 13": Statement("the first gradient of W_{1:d}, and a bound on it"),
    "Lemmas 14, 15": Statement("the first gradient of W_{d+1:2d}, at most 3/(2mn)"),
    "Lemmas 16, 17": Statement("inputs of neurons move by less than 3ε/80 and 3ε/40: no gate flips in two steps"),
    "Lemma 18": Statement("after step 1 the signal on S[i] is η_0/(32 m i), η_0/(16 m (n+1)) at n+1"),
    "Lemma 19": Statement("after step 1 there is no output off target beyond noise"),
    "Lemma 20": Statement("the gradient in A of the second step, exactly"),
    "Lemmas 21, 21.1, 21.2": Statement("after step 2 scores on target ≥ η_0 η_1/(256 m n²), off target ≤ half of it"),
    "Lemma 22": Statement("attention is one-hot to n^-10 after step 2"),
    "Lemma 23": Statement("the gradient of W in step 3"),
    "Lemma 24": Statement("attention is one-hot to n^-9 after step 3"),
    "Lemma 25": Statement("step 3 moves the inputs of neurons by 2ε/3"),
    "Lemma 26": Statement("|T ∓ ε/3| < ε/3 after step 3"),
    "Lemma 27": Statement("the same for the hinge loss"),
    "Lemmas 28, 29, 30": Statement("norms of random matrices; sums of embeddings", _TOOL),
    "Lemma 31": Statement("tokens are nearly orthogonal"),
    "Lemma 32": Statement("scores 2C log n on target, C log n off it: one-hot to 4/n^(C-1)"),
}  # fmt: skip
