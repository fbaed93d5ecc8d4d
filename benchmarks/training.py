"""`python benchmarks/training.py [SYSTEM …]`: training beside a hand-written jitted loop of the same model.

mixture: the simultaneous training of width 500. cooccurrence: the experiment of Appendix A, with the loop written twice
(words looked up, as one would first write it; scores between words, as one would write it to be fast), and the Gram
map's 30,000 epochs. Also the Gram map's time per step at widths 64 and 65,536.

Prints CPU seconds (the least of several rounds, the runs taking turns) and ratios.
"""

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

import flowsys as fs

ROUNDS = 5


def least(*runs) -> list[float]:
    """The least CPU time of each run; the first round compiles."""
    times = []
    for _ in range(ROUNDS + 1):
        times.append([])
        for run in runs:
            start = time.process_time()
            run()
            times[-1].append(time.process_time() - start)
    return np.min(times[1:], axis=0).tolist()


def loop_of(loss, learning_rate: float, steps: int, weights: tuple):
    """Gradient descent written straight down: one fused loop."""
    gradient = jax.grad(loss)

    @jax.jit
    def run(weights):
        body = lambda _, w: tuple(x - learning_rate * g for x, g in zip(w, gradient(w)))
        return jax.lax.fori_loop(0, steps, body, weights)

    def timed():
        with jax.enable_x64(True):
            return jax.block_until_ready(run(weights))

    return timed


def trained(system, setup, steps: int, variant: str = "weights", mode: str = "simultaneous"):
    options = {"variant": variant, "mode": mode, "steps": steps, "records": 1, "observe": ["loss"]}
    return lambda: fs.train(system, setup, **options)


def gram_costs(system, widths=(64, 65_536), steps: int = 3000, **options) -> None:
    """The difference of two lengths leaves out the initial weights, whose cost does grow with the width."""
    costs = []
    for width in widths:
        setup = system.setup(options.get("mode"), width=width)
        short, long = least(*(trained(system, setup, n, "gram", **options) for n in (steps, 5 * steps)))
        costs.append((long - short) / (4 * steps) * 1e6)
    text = ", ".join(f"{cost:.2f} us a step at m = {m:,}" for cost, m in zip(costs, widths))
    print(f"{system.name}, Gram map: {text}, ratio {costs[1] / costs[0]:.2f}")


def mixture(steps: int = 3000) -> None:
    """Dense one-hot tokens, both heads, all sample orbits."""
    system = fs.load("mixture")
    setup = system.setup(width=500)
    samples = system.concrete(setup, "L0", "simultaneous").populations[0].samples
    X = samples.signs[..., None] * np.eye(2 * setup["K"])[samples.keys]

    def loss(weights):
        w, W_K, W_Q = weights
        S = jnp.einsum("hmi,hmj->hij", W_K, W_Q)
        p = jax.nn.softmax(jnp.einsum("nki,hij,nqj->nhkq", X, S, X), axis=2)
        H = jnp.einsum("nhkq,nki,hi->nh", p, X, w)
        f = jax.nn.relu(H[:, 0] + setup["b"]) - jax.nn.relu(H[:, 1] + setup["b"])
        return (samples.weight * jax.nn.softplus(-samples.y * f)).sum()

    own = fs.start(system, setup, level="L0", mode="simultaneous")
    start = tuple(own[name] for name in ("w", "W_K", "W_Q"))
    ours, by_hand = least(trained(system, setup, steps), loop_of(loss, setup["learning_rate"], steps, start))
    print(f"mixture, m = 500, {steps} steps: ours {ours:.3f} s, by hand {by_hand:.3f} s, ratio {ours / by_hand:.2f}")
    gram_costs(system, steps=20_000)  # long enough to drown the noise of drawing 65,536 columns


def cooccurrence(steps: int = 400, epochs: int = 30_000) -> None:
    """Appendix A: n = 60, L = 5, d = 64, m = 128, m1 = 256."""
    system = fs.load("cooccurrence")
    setup = system.setup("data", reading="A")  # signs as output weights, put into the neurons
    X, s = system.concrete(setup, "L0", "data").populations[0].samples, setup["width"] ** -0.5
    words, labels, a = X.words, X.y, np.ones(int(setup["m1"]))
    drawn = system.start(setup, "L0", "data")
    with jax.enable_x64(True):
        start = [jnp.asarray(drawn["W"].T), *(jnp.asarray(drawn[name]) for name in ("W_V", "W_K", "W_Q"))]

    def words_looked_up(weights):
        W, *others = weights
        value, key, query = (jnp.take(M.T, words, axis=0) for M in others)
        p = jax.nn.softmax(s * jnp.einsum("nkm,nqm->nkq", key, query), axis=1)
        F = jnp.einsum("nkq,nkm->nm", p, value) @ (W.T @ a)
        return jax.nn.softplus(-labels * F).mean()

    def scores_between_words(weights):
        W, W_V, W_K, W_Q = weights
        S = W_K.T @ W_Q
        p = jax.nn.softmax(s * S[words[:, :, None], words[:, None, :]], axis=1)
        F = jnp.einsum("nkq,nk->n", p, (a @ W @ W_V)[words])
        return jax.nn.softplus(-labels * F).mean()

    loops = [loop_of(f, setup["learning_rate"], steps, tuple(start)) for f in (words_looked_up, scores_between_words)]
    ours, slow, fast = least(trained(system, setup, steps, mode="data"), *loops)
    print(f"cooccurrence, Appendix A, {steps} epochs: ours {ours:.3f} s; by hand {fast:.3f} s (scores between words), "
          f"ratio {ours / fast:.2f}; {slow:.3f} s (words looked up), ratio {ours / slow:.2f}")  # fmt: skip
    begun = time.process_time()
    trained(system, setup, epochs, "gram", "data")()
    print(f"cooccurrence, Appendix A, {epochs:,} epochs of the Gram map: {time.process_time() - begun:.1f} s")
    gram_costs(system, steps=2000, mode="data")


if __name__ == "__main__":
    for name in sys.argv[1:] or ("mixture", "cooccurrence"):
        {"mixture": mixture, "cooccurrence": cooccurrence}[name]()
