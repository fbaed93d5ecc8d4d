"""The prompt system's phase diagrams, with the boundaries the theory predicts.

Errors of the concentrated limit (`*_limit`, `examples_needed`) do not depend on the state of training: they are taken
at t = 0. Axes over τ stand for the probability p = τ^(1/K) of a right step.
"""

from collections.abc import Callable, Sequence

import numpy as np

from flowsys.runs.solving import solve
from flowsys.sweeps.named import Boundary, Contour, Line, NamedDiagram, along, upright
from flowsys.system import Setup
from flowsys.systems.prompt import SYSTEM
from flowsys.systems.prompt.examples import attractor_boundary
from flowsys.systems.prompt.planar import late_pattern_score, stage_2_clock

BLIND_AT = 2e5


def _family(levels: Sequence[float], label: str, of: Callable[[np.ndarray, float], np.ndarray]) -> Boundary:
    """Lines y = of(x, level), one for each level of a constant."""
    return lambda setup, x, y: [Line(along(x), of(along(x), level), label.format(level)) for level in levels]


def _levels_of_clock(setup: Setup, alpha: np.ndarray, epsilon: np.ndarray) -> list[Line]:
    """Where the time of stage 2 by quadrature, (M-1)[Φ(p) - Φ(α)] to the p of T_3, is a power of 10: every second one.

    Below 10^3 stage 1, which the quadrature leaves out, takes as long. At ε = α T_2 ~ M/α gives way to T_3 ~ M/ε.
    """
    fine, across = along(epsilon), along(alpha, 100)
    missed = np.sqrt(fine) if setup["T_3_rule"] == "squared" else fine
    times = (setup["M"] - 1) * (stage_2_clock(1 - missed) - stage_2_clock(across)[:, None])  # α × ε
    at = lambda power: np.array([np.interp(-(10.0**power), -t, fine, np.nan, np.nan) for t in times])
    powers = range(int(np.log10(times.max() / 2)), 2, -2)
    lines = [Line(across, at(power), rf"stage 2 by quadrature: $10^{power}$") for power in powers]
    return [*lines, Line(fine, fine, r"$\epsilon = \alpha$: $M/\alpha$ gives way to $M/\epsilon$")]


def _condition_1(setup: Setup, tau: np.ndarray, beta: np.ndarray) -> list[Line]:
    """Condition 1 changes where right and wrong chain end equally often; a single step misleads below p = (1-p) β."""
    fine = along(beta, 100)
    fine = fine[fine >= 0.02]
    whole = np.array([attractor_boundary(b, setup["K"], setup["M_test"]) for b in fine]) ** setup["K"]
    return [
        Line(whole, fine, r"Condition 1: $r_K(p, \beta) = x_K(p, \beta)$"),
        Line((fine / (1 + fine)) ** setup["K"], fine, r"one step: $p = (1-p)\beta$"),
    ]


def _blindness(setup: Setup, overlap: np.ndarray, alpha: np.ndarray) -> list[Line]:
    """α' = 1/(1 + (M'-1) e^(a (1-λ²))), 1/M' at λ = 1: below it another pattern's examples outweigh the right ones."""
    a, fine = late_pattern_score(BLIND_AT, setup["M"], setup["alpha"]), along(overlap)
    label = r"$l_{\mathrm{ts}} \to \infty$: $\alpha' = 1/(1 + (M'-1)\, e^{a (1-\lambda^2)})$, $1/M'$ at $\lambda = 1$"
    return [Line(fine, 1 / (1 + (setup["M_test"] - 1) * np.exp(a * (1 - fine**2))), label)]


def _population_losses(setup: Setup, t: np.ndarray, n_tasks: np.ndarray) -> list[Line]:
    """Times at which the population (N_T → ∞) has lost all but 10^-1, 10^-2, 10^-3."""
    fine = along(t, 200)
    loss = solve(SYSTEM, setup, at=fine, observe=("loss",))["loss"]
    at = lambda power: np.exp(np.interp(-power * np.log(10), -np.log(loss), np.log(fine), np.nan, np.nan))
    return [upright(at(power), n_tasks, f"population: loss $10^{{{power}}}$") for power in LOST]


LOST = (-1, -2, -3)  # powers of 10 of a loss, beside each other in theory and measured

DIAGRAMS = {
    "cot_icl": NamedDiagram(
        title="Where one step fails and the chain succeeds: ICL error - CoT error",
        axes=("tau=0.05:0.8:32", "beta=0.1:1:24"),
        observables=("icl_error_exact@t=0-cot_error_limit@t=0", "icl_error_exact@t=0", "cot_error_limit@t=0"),
        fixed={"style": "attractor", "K": 3, "l_ts": 80, "n_prompts": 300},
        boundary=_condition_1,
    ),
    "stage_order": NamedDiagram(
        title="Share of the query's pattern when positions are learnt: two clean stages need $M \\gg K^2$",
        axes=("M=20:2000:24:log", "K=2,3,4,5,6,7,8"),
        observables=("purity@T_1", "T_2:T_1"),
        fixed={"alpha": 0.4, "epsilon_1": 0.1},
        boundary=_family((2, 20), "$M = {} K^2$", lambda M, c: (M / c) ** 0.5),
    ),
    "training_time": NamedDiagram(
        title=r"Training time $T_3$ over the fraction $\alpha$ of matching examples and $\epsilon$",
        axes=("alpha=0.01:0.9:40:log", "epsilon=1e-5:0.3:40:log"),
        observables=("T_3", "T_2"),
        fixed={"T_3_rule": "squared", "M": 200},
        logarithmic=True,
        boundary=_levels_of_clock,
        contours=lambda setup: [Contour("T_3", 10.0**power, rf"measured: $T_3 = 10^{power}$") for power in (6, 4)],
    ),
    "least_fraction": NamedDiagram(
        title="Loss at $t = 10^6$: too few matching examples are never learnt from",
        axes=("M=8:100:24:log", "alpha=0.01:0.2:24:log"),
        observables=("loss@t=1e6", "a@t=1e6"),
        fixed={"K": 3},
        logarithmic=True,
        boundary=_family((1,), r"$\alpha M = {}$: $dg/dt = 0$ at $t = 0$", lambda M, c: c / M),
    ),
    "examples_needed": NamedDiagram(
        title="Examples a chain needs, by exact counting (at most 150)",
        axes=("alpha_test=0.1:1:10:log", "tau=0.15:0.9:9:log"),
        observables=("examples_needed@t=0",),
        fixed={"success": 0.99},
        logarithmic=True,
        words={"quantity not finite": "more than 150"},
        boundary=_family((0.05, 0.15, 0.4), r"$\alpha'\tau = {}$", lambda alpha, c: c / alpha),
    ),
    "blind": NamedDiagram(
        title="CoT error of a pattern of overlap λ with the blind direction",
        axes=("overlap=0.6:1:17", "alpha_test=0.02:0.26:17"),
        observables=(f"cot_error_overlap@t={BLIND_AT:g}", f"attention_overlap@t={BLIND_AT:g}"),
        fixed={"l_ts": 100, "n_prompts": 60},
        boundary=_blindness,
    ),
    "tasks": NamedDiagram(
        title="Loss on unseen tasks after training on $N_T$ tasks",
        axes=("t_given=10:1e4:13:log", "n_tasks=1:64:7:log"),
        observables=("loss_test@T_given", "loss_test@T_given:loss@T_given"),
        level="L2",
        fixed={"M": 10, "K": 2, "xi": 0.0},
        logarithmic=True,
        boundary=_population_losses,
        contours=lambda setup: [
            Contour("loss_test@T_given", 10.0**power, f"measured: loss $10^{{{power}}}$") for power in LOST
        ],
    ),
}
