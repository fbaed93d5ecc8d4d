"""`python benchmarks/training.py`: training of the mixture model against a hand-written jitted loop, side by side.

Also the Gram map's time per step at widths 64 and 65,536. Prints CPU seconds (the least of several rounds) and ratios.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np

import flowsys as fs
from flowsys.systems.mixture.finite import stage_arguments, weights_of_seed
from flowsys.systems.mixture.population import all_samples

SYSTEM = fs.load("mixture")
STEPS, ROUNDS = 3000, 5


def hand_written(setup):
    """The same model written straight down: dense one-hot tokens, one fused loop."""
    samples = all_samples(setup["K"], setup["L"])
    arguments = stage_arguments(setup)(True, True, False)
    eye = np.eye(2 * setup["K"])
    X = samples.sequence.key_signs[..., None] * eye[samples.sequence.keys]

    def loss(w, W_K, W_Q):
        S = jnp.einsum("hmi,hmj->hij", W_K, W_Q)
        scores = jnp.einsum("nki,hij,nqj->nhkq", X, S, X)
        p = jax.nn.softmax(scores, axis=2)
        H = jnp.einsum("nhkq,nki,hi->nh", p, X, w)
        f = jax.nn.relu(H[:, 0] + setup["b"]) - jax.nn.relu(H[:, 1] + setup["b"])
        return (arguments.weight * jax.nn.softplus(-samples.label * f)).sum()

    gradient = jax.grad(loss, argnums=(0, 1, 2))

    @jax.jit
    def run(w, W_K, W_Q):
        def body(_, weights):
            return tuple(x - setup["learning_rate"] * g for x, g in zip(weights, gradient(*weights)))

        return jax.lax.fori_loop(0, STEPS, body, (w, W_K, W_Q))

    return run


def least(run) -> float:
    times = []
    for _ in range(ROUNDS + 1):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times[1:])


def main() -> None:
    setup = SYSTEM.setup(width=500)
    with jax.enable_x64(True):
        loop, weights = hand_written(setup), weights_of_seed(setup, "simultaneous", 0)
        by_hand = least(lambda: jax.block_until_ready(loop(*weights)))
    ours = trained("weights", 500, STEPS)
    print(f"weights, m = 500, {STEPS} steps: ours {ours:.3f} s, by hand {by_hand:.3f} s, ratio {ours / by_hand:.2f}")
    # the difference of two lengths leaves out the initial weights, whose cost does grow with the width
    narrow, wide = (trained("gram", m, 5 * STEPS) - trained("gram", m, STEPS) for m in (64, 65_536))
    per_step = 1e6 / (4 * STEPS)
    costs = f"{narrow * per_step:.2f} us a step at m = 64, {wide * per_step:.2f} at m = 65,536"
    print(f"Gram map: {costs}, ratio {wide / narrow:.2f}")


def trained(variant: str, width: int, steps: int) -> float:
    setup = SYSTEM.setup(width=width)
    options = {"variant": variant, "mode": "simultaneous", "steps": steps, "records": 1, "observe": ["w_c"]}
    return least(lambda: fs.train(SYSTEM, setup, **options))


if __name__ == "__main__":
    main()
