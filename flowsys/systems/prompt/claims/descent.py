"""What descent adds to the flow: its step, short prompts, random batches and a finite number of training tasks."""

import numpy as np

from flowsys.claims import Verdict, judged, listed
from flowsys.claims.conditions import remembered
from flowsys.runs.training import train
from flowsys.systems.prompt import SYSTEM
from flowsys.systems.prompt import ladder as seeded
from flowsys.systems.prompt.claims.runs import SIZE, claim, course, fitted, own, refuse_seeds, setup


@remembered(32)
def _descended(learning_rate: float):
    return train(SYSTEM, setup(learning_rate=learning_rate), variant="symmetric",
                 steps=max(20, round(4000 / learning_rate)), records=20, observe=("loss",))  # fmt: skip


def descent_decreases_the_loss(rates: tuple[float, ...] = (1.0, 20.0, 100.0, 400.0)) -> Verdict:
    """Theorem 1 asks η < 1: the loss of full-batch descent falls at every recorded step."""
    refuse_seeds("full batches from W = 0 draw nothing at random")
    falls = {rate: bool((np.diff(_descended(rate)["loss"]) < 0).all()) for rate in rates}
    return judged(all(falls.values()), "monotone loss for η < 1", "monotone at η = " + listed(
                  [r for r, ok in falls.items() if ok], "g") + " to t = 4000 or 20 steps",
                  note="the condition is far from sharp: η = 400 is still monotone",
                  parameters={"learning_rate": rates},
                  values={f"{rate:g}": ok for rate, ok in falls.items()})  # fmt: skip


def _sizes_of_sgd() -> tuple[seeded.Sizes, int]:
    """What SGD from W = 0 depends on besides its batches, and the least batch, K M."""
    there = setup(learning_rate=seeded.RATE, xi=0.0)
    return seeded.sizes_of(there), there["K"] * there["M"]


def prompts_need_few_examples(knob: str = "l_tr") -> Verdict:
    """Eq. (17): l_tr ≥ Ω(1/α); with exact fractions the bias of SGD is O(1/l_tr) and one matching example suffices."""
    there, least = _sizes_of_sgd()
    values = (20, 40, 80, 160) if knob == "l_tr" else (least, 4 * least, 16 * least)
    found = [seeded.bias(there, "a", *((v, 4 * least) if knob == "l_tr" else (20, v))) for v in values]
    fit = fitted(values, [abs(mean) for mean, _ in found])
    alpha, K = dict(there)["alpha"], dict(there)["K"]
    shortest = int(0.5 / alpha) + 1  # the shortest prompt with an example that matches
    p = seeded.sgd(there, shortest, 4 * least)["mass_same_same"]
    return judged(abs(fit.slope + 1) < 0.1 and p.min() > 0.6, "bias of a ∝ 1/l_tr",
                  "a(SGD) - a(full batches) = " + ", ".join(f"{mean:.3g} ± {error:.1g}" for mean, error in found)
                  + f" at {knob} = {listed(values, 'g')}: {knob}^{fit}; with l_tr = {shortest} (one matching example) "
                  f"p rises from {alpha / K:.3f} to {p.mean():.3f} at t = 200",
                  note=f"mean and standard error of {seeded.N_SEEDS} seeds; with Bernoulli(α) membership there would "
                  "be a floor ∝ (1-α)^l_tr (not simulated)", interval=fit.interval, tolerance=0.1,
                  fits={f"a(SGD) - a(full batches) over {knob}": fit},
                  parameters={knob: values, "learning_rate": seeded.RATE, "t": seeded.END, "seeds": seeded.N_SEEDS},
                  values={"bias": [mean for mean, _ in found], "exponent": fit.slope})  # fmt: skip


def batches_average_out(l_tr: float = np.inf) -> Verdict:
    """Theorem 1's batch size: SGD follows full batches within its noise, and the spread of W falls like B^-1/2."""
    there, least = _sizes_of_sgd()
    values = (least, 4 * least, 16 * least)
    runs = [seeded.sgd(there, l_tr, B) for B in values]
    found = [seeded.bias(there, "a", l_tr, B) for B in values]
    excess = [abs(mean) / error for mean, error in found]
    fit = fitted(values, [r["sd_A_s"].mean() for r in runs])
    noise = fitted(values, [r["a"].std(ddof=1) for r in runs])
    most = seeded.most_standard_errors(len(values))
    return judged(max(excess) <= most and abs(fit.slope + 0.5) < 0.1, "a within its noise, spread of W ∝ B^-1/2",
                  f"a(SGD) - a(full batches) is {listed(excess, '.2g')} standard errors at B = {listed(values, 'g')} "
                  f"(99 %: {most:g}); s.d. of A_ii over patterns B^{fit}",
                  note=f"{seeded.N_SEEDS} seeds, endless prompts; the noise of a itself over seeds falls like "
                  f"B^{noise.slope:.2f}: to first order every task has the same gradient of a", interval=fit.interval,
                  tolerance=0.1, fits={"s.d. of A_ii over B": fit},
                  parameters={"batch_size": values, "l_tr": l_tr, "seeds": seeded.N_SEEDS},
                  values={"standard errors": excess, "bias": [mean for mean, _ in found]})  # fmt: skip


N_DRAWS = 8


def few_tasks_generalise(name: str = "mass_same_same_test") -> Verdict:
    """Theorem 1 trains on fresh tasks; the deficit on unseen cycles is about 1/N_T, one task already generalises."""
    refuse_seeds(f"this measurement is a mean over seeds 0 to {N_DRAWS - 1}")
    numbers, sizes = (1, 4, 16, 64), own(M=10, K=2)
    at = lambda t: float(course([t], observe=("mass_same_same",), level="L3", **sizes)["mass_same_same"][0])
    limit, start = at(200.0), at(0.0)
    flow = lambda n, seed: course([200.0], observe=(name,), level="L2", rtol=1e-7, n_tasks=n, seed=seed, xi=0.0,
                                  **sizes)  # fmt: skip
    drawn = {n: [limit - float(flow(n, seed)[name][0]) for seed in range(N_DRAWS)] for n in numbers}
    deficit = [float(np.mean(drawn[n])) for n in numbers]
    fit = fitted(numbers, np.abs(deficit))
    return judged(min(deficit) > 0 and abs(fit.slope + 1) < 0.2 and limit - deficit[0] > 2 * start,
                  "attention on unseen tasks → that of the population, like 1/N_T",
                  f"deficit {listed(deficit, '.3g')} at N_T = {listed(numbers, 'g')} below p = {limit:.4f} at t = 200 "
                  f"(p = {start:.3f} at t = 0): N_T^{fit}", note=f"means of {N_DRAWS} random draws of tasks",
                  interval=fit.interval, tolerance=0.2, parameters={"M": 10, "K": 2, "n_tasks": numbers},
                  values={"deficit": deficit}, fits={"deficit over N_T": fit})  # fmt: skip


CLAIMS = [
    claim("theorem_1_step", "Theorem 1", "full-batch descent with η < 1 decreases the loss", descent_decreases_the_loss,
          control={"rates": (5000.0,)}, is_cheap=False, levels="L0", takes=SIZE),
    claim("theorem_1_l_tr", "Theorem 1, Eq. (17)", "prompts of Ω(1/α) examples suffice for training",
          prompts_need_few_examples, control={"knob": "batch_size"}, regime="SGD, η = 2, t = 200", is_cheap=False,
          levels="L0", takes="K alpha"),
    claim("theorem_1_batch", "Theorem 1, Eq. (17)", "batches average out", batches_average_out,
          control={"l_tr": 20}, regime="SGD, η = 2, t = 200", is_cheap=False, levels="L0", takes=SIZE),
    claim("theorem_1_tasks", "Theorem 1, Sec. 3", "training generalises to unseen tasks", few_tasks_generalise,
          control={"name": "mass_same_same"}, regime="M = 10, K = 2, gradient flow (L2)", is_cheap=False,
          levels="L2", takes=SIZE),
]  # fmt: skip
