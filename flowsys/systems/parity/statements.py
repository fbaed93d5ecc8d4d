"""The numbered statements of the paper, in its order."""

from flowsys.claims.statements import Statement

_REPRESENTS = "a step of the proof of Theorem 1, whose construction is checked on every string"
_SAMPLED = "a high-probability bound for sampled embeddings and batches; claims use the population it concentrates on"
_TOOL = "a general inequality used in the proofs, not a statement on training"

STATEMENTS = {
    "Theorem 1": Statement("a one-layer transformer represents parity without a chain of thought, with Θ(log n) bits"),
    "Theorem 2": Statement("without a chain, learning needs exponentially many samples or much memory"),
    "Assumption 1": Statement("initialisation: A = 0, neurons by signs", "an assumption; the claims start from it"),
    "Theorem 3": Statement("with a chain three steps learn parity: attention one-hot, Õ(n) samples, accuracy 1"),
    "Sec. 3": Statement("phases: feed-forward signal, then attention, then output"),
    "Figs. 1a, 2, 3a": Statement("samples needed against k, with and without a chain"),
    "Fig. 1b": Statement("attention entropy falls as accuracy rises"),
    "Figs. 4, 5, 9–11": Statement("multi-pass training without a chain"),
    "Sec. 4.3": Statement("attention entropy of pretrained models"),
    "Lemmas 1–4": Statement("the embeddings' dual vectors exist and are small off the secret", _REPRESENTS),
    "Assumption 2": Statement("n, k, m, d and the rates"),
    "Lemma 5": Statement("what Assumption 2 implies", "arithmetic of the assumed orders"),
    "Lemmas 6, 7": Statement("batches are balanced", _SAMPLED),
    "Lemmas 8, 9": Statement("attention does not move in the first step"),
    "Lemmas 10, 11": Statement("a neuron's output at the start is decided by its own sign", _SAMPLED),
    "Lemmas 12–14": Statement("the first gradient of W lives on S[i] alone"),
    "Lemma 15": Statement("the sampled gradient is close to it", _SAMPLED),
    "Lemmas 16, 17": Statement("no gate flips in the first two steps"),
    "Lemma 18": Statement("after step 1 the signal on S[i] is η_0/(32 m i), η_0/(16 m (n+1)) at n+1"),
    "Lemma 19": Statement("after step 1 there is no output off target"),
    "Lemma 20": Statement("outputs in step 2", _SAMPLED),
    "Lemmas 21, 21.1, 21.2": Statement("after step 2 scores on target ≥ η_0 η_1/(256 m n²), off target ≤ half of it"),
    "Lemma 22": Statement("attention is one-hot after step 2"),
    "Lemma 23": Statement("the gradient of W in step 3"),
    "Lemma 24": Statement("attention is one-hot after step 3"),
    "Lemma 25": Statement("outputs after step 3"),
    "Lemma 26": Statement("margin at least ε/3, accuracy 1 after step 3"),
    "Lemma 27": Statement("the same for the hinge loss", "the three-step claims run it: it is linear there"),
    "Lemmas 28, 29, 30, 31, 32": Statement("norms of random matrices; sums of embeddings; softmax of scores", _TOOL),
}  # fmt: skip
