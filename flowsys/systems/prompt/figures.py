"""The paper's Figures 2–5: theory as lines, the trained model or SGD as dots.

Test errors over the number of examples are sweeps: lines are the concentrated limit (all attention on matching
examples), dots the model at t = 2e5. The paper's sweep values are not in its text; those of the specification are used.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import fsolve

from flowsys.plot import shown
from flowsys.plot import trajectory as draw
from flowsys.plot.drawing import Drawing
from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.sweeps import PhaseDiagram, make_sweep, parse_axis, run
from flowsys.system import Setup
from flowsys.systems.prompt import SYSTEM
from flowsys.systems.prompt.testing import law_of
from flowsys.systems.prompt.transitions import (
    attractor_transitions,
    composed,
    input_label_primacy,
    input_label_probability,
)

LENGTHS = "l_ts=5,10,20,40,80"
TRAINED = "t=2e5"
LIMIT = "all attention on matching examples"
MASSES = {
    "mass_same_same": "same pattern, same step",
    "mass_other_same": "other pattern, same step",
    "mass_same_other": "same pattern, other step",
    "mass_other_other": "other pattern, other step",
}
NAMES = {"cot_error": "CoT", "icl_error": "ICL"}
PANELS = (
    ("alpha_test", (0.2, 0.4, 0.6, 0.8), r"\alpha'", {}, "(A) share of matching examples"),
    ("tau", (0.1, 0.3, 0.5, 0.7), r"\tau", {}, "(B) probability of a right chain"),
    ("rho", (0.2, 0.4, 0.6, 0.8), r"\rho", {"style": "one"}, "(C) primacy, one noisy step"),
)


def _swept(setup: Setup, axes: Sequence[str], quantities: Sequence[str], **fixed) -> PhaseDiagram:
    """Quantities over the axes; everything else as in the setup."""
    axes = [parse_axis(text) for text in axes]
    kept = {k: v for k, v in (dict(setup) | fixed).items() if k not in {axis.name for axis in axes}}
    sweep = make_sweep(SYSTEM, axes, quantities, fixed=kept)
    chunks = sorted(run(sweep), key=lambda chunk: chunk.number)
    values = np.concatenate([chunk.values for chunk in chunks], axis=1)
    outcomes = np.concatenate([chunk.outcomes for chunk in chunks]).reshape(sweep.shape)
    named = {q.name: row.reshape(sweep.shape) for q, row in zip(sweep.quantities, values)}
    return PhaseDiagram(sweep.axes, named, outcomes, sweep.origin)


def _of_one_step(setup: Setup, name: str) -> str:
    """τ_o or ρ_o of the composed transitions, which is what ICL sees of τ or ρ; nothing for α'."""
    A = law_of(setup).transitions
    if name == "tau":
        return rf", $\tau_o = {input_label_probability(A):.2f}$"
    return rf", $\rho_o = {input_label_primacy(A):.2f}$" if name == "rho" else ""


def errors_over_examples(setup: Setup, error: str) -> Drawing:
    """Figs. 2 (CoT) and 3 (ICL): the error over l_ts for several α', τ and ρ (one noisy step)."""
    figure = Figure(figsize=(12, 3.8), layout="constrained")
    data = {}
    for ax, (name, values, symbol, fixed, title) in zip(figure.subplots(1, 3, sharey=True), PANELS):
        listed = ",".join(f"{v:g}" for v in values)
        names = (f"{error}_limit@{TRAINED}", f"{error}@{TRAINED}")
        swept = _swept(setup, (LENGTHS, f"{name}={listed}"), names, **fixed)
        lengths, (limit, model) = swept.axes[0].values, swept.quantities.values()
        for i, value in enumerate(values):
            there = SYSTEM.setup(**(dict(setup) | fixed | {name: value}))
            label = f"${symbol} = {value:g}$" + (_of_one_step(there, name) if error == "icl_error" else "")
            ax.plot(lengths, limit[:, i], color=f"C{i}", label=label)
            ax.plot(lengths, model[:, i], "o", color=f"C{i}", markersize=4)
        ax.plot([], [], "o", color="0.4", markersize=4, label="model, t = 2e5")
        ax.set_xscale("log")
        ax.set_xticks(lengths, labels=[str(n) for n in lengths])
        ax.minorticks_off()
        ax.set_xlabel("examples $l_{ts}$")
        ax.set_title(title, fontsize="medium")
        ax.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, -0.18),
            ncols=2 if error == "icl_error" else 3,
            frameon=False,
            fontsize="small",
        )
        data[name] = swept
    figure.axes[0].set_ylabel(f"{NAMES[error]} error")
    figure.suptitle(f"lines: {LIMIT}; M = {setup['M']}, K = {setup['K']}, M' = {setup['M_test']}, "
                    f"{setup['n_prompts']} prompts; else α' = {setup['alpha_test']:g}, τ = {setup['tau']:g}, "
                    f"ρ = {setup['rho']:g}", fontsize="medium")  # fmt: skip
    return Drawing(figure, data, "errors fall with l_ts, more slowly for smaller values; at τ = 0.7 "
                   "equal steps cannot have primacy 0.8: the nearest one is used")  # fmt: skip


def attractor_of(tau_o: float, rho_o: float, is_satisfied: bool, M_test: int = 10) -> tuple[float, float]:
    """(p, β) of attractor errors for K = 3 whose most probable output has probability τ_o and primacy ρ_o."""
    right, wrong = (tau_o, (1 - rho_o) * tau_o) if is_satisfied else ((1 - rho_o) * tau_o, tau_o)

    def missed(unknown):
        B = composed(attractor_transitions(M_test, 3, *np.clip(unknown, 1e-6, 1 - 1e-6)))
        return B[0, 6 % M_test] - right, B[0, (M_test + 5) % M_test] - wrong

    return tuple(map(float, fsolve(missed, (0.72, 0.8))))


def condition_1(setup: Setup) -> Drawing:
    """Fig. 4: τ_o = 0.4, ρ_o = 0.1; with Condition 1 ICL improves with l_ts, without it ICL fails; CoT works."""
    figure = Figure(figsize=(8.4, 3.8), layout="constrained")
    data = {}
    for ax, is_satisfied in zip(figure.subplots(1, 2, sharey=True), (True, False)):
        p, beta = attractor_of(0.4, 0.1, is_satisfied)
        names = [f"{error}{end}@{TRAINED}" for error in ("cot_error", "icl_error") for end in ("_limit", "")]
        swept = _swept(setup, ("l_ts=5,10,20,40,80,160,320",), names, K=3, M_test=10, style="attractor", tau=p**3,
                       beta=beta)  # fmt: skip
        lengths = swept.axes[0].values
        for i, error in enumerate(("cot_error", "icl_error")):
            ax.plot(lengths, swept.quantities[names[2 * i]], color=f"C{i}", label=NAMES[error])
            ax.plot(lengths, swept.quantities[names[2 * i + 1]], "o", color=f"C{i}", markersize=4)
        ax.plot([], [], "o", color="0.4", markersize=4, label="model, t = 2e5")
        ax.set_xscale("log")
        ax.set_xticks(lengths, labels=[str(n) for n in lengths])
        ax.minorticks_off()
        ax.set_xlabel("examples $l_{ts}$")
        ax.set_title(
            f"Condition 1 {'holds' if is_satisfied else 'fails'} (p = {p:.3f}, β = {beta:.3f})", fontsize="medium"
        )
        ax.legend(frameon=False, fontsize="small")
        data["holds" if is_satisfied else "fails"] = swept
    figure.axes[0].set_ylabel("error")
    figure.suptitle(f"lines: {LIMIT}; {setup['n_prompts']} prompts", fontsize="medium")
    return Drawing(figure, data, "CoT falls to 0 in both; ICL only where Condition 1 holds, and slowly: ρ_o is small")


def attention_along_training(setup: Setup) -> Drawing:
    """Fig. 5: attention on the four kinds of columns, the end of stage 1 dashed."""
    end = min(1e3, setup["t_max"])
    names = tuple(MASSES)
    theory = solve(SYSTEM, setup, at=[float(t) for t in np.geomspace(0.5, end, 120)], observe=names)
    stage = solve(SYSTEM, setup, at=["T_1"], observe=())
    small = SYSTEM.setup(**(dict(setup) | {"learning_rate": 2.0}))
    times = [float(2 * round(t / 2)) for t in np.geomspace(2, 200, 14)]
    trained = train(SYSTEM, small, variant="sgd", at=sorted(set(times)), steps=100, records=1, observe=names)
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    ax = figure.subplots()
    draw(theory, ax, names, logarithmic=True)
    draw(trained, ax, names, label=rf"SGD, $l_{{\mathrm{{tr}}}}$ = {setup['l_tr']}", logarithmic=True)
    ax.axvline(stage.t[0], color="0.3", linestyle="--", linewidth=1)
    ax.set_ylabel("attention")
    handles, labels = ax.get_legend_handles_labels()
    words = {shown(theory, name): f"{shown(theory, name)}: {meaning}" for name, meaning in MASSES.items()}
    ax.legend(handles, [words.get(label, label) for label in labels], frameon=False, fontsize="small")
    ax.set_title(f"M = {setup['M']}, K = {setup['K']}, α = {setup['alpha']:g}; dashed: $T_1$", fontsize="medium")
    return Drawing(figure, {"theory": theory, "training": trained}, "other steps vanish first, then other patterns")


FIGURES = {
    "2": partial(errors_over_examples, error="cot_error"),
    "3": partial(errors_over_examples, error="icl_error"),
    "4": condition_1,
    "5": attention_along_training,
}
