"""A softmax classifier on orthonormal tokens learns rare tokens in the wake of frequent ones.

Each of C classes has a frequent token f and a rare one r. A sample is one token; its label is the token's class or,
with probability `flip`, any class. Tokens are orthonormal, so that the embedding W_in and the unembedding W_out (m ×
tokens, m × classes, entries N(0, ω²/m)) matter only through their products: the logits of token x are S[:, x] with
S = W_outᵀ W_in, and the cross-entropy

    L = E[ log Σ_c e^(S[c, x]) - S[y, x] ]

is that of an associative memory (Cabannes, Simsek, Bietti, "Learning associative memories with gradient descent", ICML
2024), here with both factors trained. Classes are alike, so the limit m → ∞ has 12 variables at every C > 2. The margin
of a token is S of its own class minus S of another. Trained as one matrix, tokens would not meet, and rare ones would
take (1 - rare) / rare times as long; here they profit from the unembedding that frequent ones have made. To try:

    flowsys derive --from examples/softmax_classifier.py --set C=8
    flowsys phase --from examples/softmax_classifier.py --x rare=0.01:0.5:50:log --y omega=0.01:1:50:log \
        --observable T_r --log
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np

import flowsys as fs


def samples(p):
    """Every token (first the frequent ones) with every label."""
    token, label = np.array(list(product(range(2 * p.C), range(p.C)))).T
    share = np.where(token < p.C, 1 - p.rare, p.rare) / p.C
    chance = (1 - p.flip) * (token % p.C == label) + p.flip / p.C
    return fs.Samples(token=token, label=label, weight=share * chance)


model = fs.Model(
    "softmax_classifier",
    summary="softmax classifier on orthonormal tokens, frequent and rare",
    parameters={
        "C": fs.Size(4, 2, 12, "number of classes"),
        "rare": fs.Real(0.1, 0.001, 0.5, "share of samples with a rare token", log=True),
        "flip": fs.Real(0.1, 0, 0.5, "probability of a label at random"),
        "omega": fs.Real(0.3, 1e-3, 2, "scale of the initial weights", log=True),
        "learned": fs.Real(1.0, 0.1, 3, "margin at which a token counts as learned"),
    },
    blocks=lambda p: {
        "S": fs.Pair(
            [f"c{i}" for i in range(p.C)],
            [f"{kind}{i}" for kind in "fr" for i in range(p.C)],
            scale=p.omega,
            factors=("W_out", "W_in"),
            selfs=("OO", "II"),
        )
    },
    samples=samples,
    loss=lambda ops, w, X, p: ops.log_sum_exp(w.S[:, X.token], axis=0) - w.S[X.label, X.token],
    observe={
        "margin_f": lambda ops, w, X, p: w.S[0, 0] - w.S[1, 0],
        "margin_r": lambda ops, w, X, p: w.S[0, p.C] - w.S[1, p.C],
    },
    events={"T_f": fs.Crossing("margin_f", "learned", +1), "T_r": fs.Crossing("margin_r", "learned", +1)},
    t_max=1e5,
)

if __name__ == "__main__":
    print(fs.derive(model), fs.solve(model).rows, fs.compare(model), sep="\n\n")
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    fs.plot.trajectory(fs.solve(model, at=np.linspace(0, 40, 201)), left, ["margin_f", "margin_r", "loss"])
    fs.plot.trajectory(fs.train(model, steps=400, records=50), left, ["margin_f", "margin_r", "loss"], label="m = 500")
    diagram = fs.phase(model, x="rare=0.01:0.5:50:log", y="omega=0.01:1:50:log", observable="T_r")
    fs.plot.phase(diagram, right, logarithmic=True)
    figure.savefig("softmax_classifier.png", dpi=150)
