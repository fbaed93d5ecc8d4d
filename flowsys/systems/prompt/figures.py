"""The paper's Figures 2–5 and the bounds of Lemma F.5: theory as lines, the trained model or SGD as dots.

Test errors: lines have all attention on matching examples, by exact counting (CoT with errors at every step by a vote
on many prompts); dots are the model at t = 2e5, mean and spread over random tasks of Appendix E, each with test
patterns and prompts of its own. The paper's sweep values are not in its text; those of the specification are used.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from flowsys.claims import Kit
from flowsys.plot import dots, grid, line, titled, trajectory
from flowsys.plot.drawing import Drawing, PaperFigure
from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.system import Setup
from flowsys.systems.prompt import SYSTEM, testing
from flowsys.systems.prompt.claims import stage_1
from flowsys.systems.prompt.claims.regimes import many_patterns
from flowsys.systems.prompt.model import MASSES
from flowsys.systems.prompt.tasks import cycle_powers
from flowsys.systems.prompt.transitions import Law, attractor_of, input_label_primacy, input_label_probability

LENGTHS = (5, 10, 20, 40, 80)
TRAINED = 2e5
N_TASKS = 4
MANY = 20  # times the prompts of a dot, where the line is a vote on prompts
NAMES = {"cot": "CoT", "icl": "ICL"}
PANELS: tuple[tuple, ...] = (
    ("alpha_test", (0.2, 0.4, 0.6, 0.8), r"\alpha'", {}, "(A) share of matching examples", None),
    ("tau", (0.1, 0.3, 0.5, 0.7), r"\tau", {}, "(B) probability of a right chain", input_label_probability),
    ("rho", (0.2, 0.4, 0.6, 0.8), r"\rho", {"style": "one"}, "(C) primacy, one noisy step", input_label_primacy),
)
"""A parameter of Figs. 2 and 3, its values and symbol, and what of the composed transitions one step sees of it."""


def _laws(setup: Setup) -> list[Law]:
    """The errors asked for on random cycles, one for each dot."""
    patterns = np.tile(np.arange(setup["M_test"]), (N_TASKS, 1))
    cycles = np.random.default_rng([setup["seed"], 6]).permuted(patterns, axis=1)
    return [testing.law_of(setup, task) for task in cycle_powers(cycles, setup["K"])]


def _concentrated(there: Setup, error: str, law: Law) -> float:
    """The error with all attention on matching examples: of ICL, and of CoT that can err at step 1 only, exactly."""
    if error == "icl" or there["style"] == "one":
        return testing.one_step_error(there, law)
    n = MANY * there["n_prompts"] // N_TASKS
    return testing.limit_errors({**there, "n_prompts": n}, law).cot


def _draw_errors(ax: Axes, setup: Setup, y: np.ndarray, lengths: tuple, shown: dict[str, tuple[str, str]]) -> None:
    """A line and dots over the number of examples, for each error shown with its colour and label."""
    laws, places = _laws(setup), [setup.replace(l_ts=n) for n in lengths]
    of_model = [[testing.tested({**there, "seed": there["seed"] + i}, y, None, law) for i, law in enumerate(laws)]
                for there in places]  # fmt: skip
    for error, (colour, label) in shown.items():
        counted = [np.mean([_concentrated(there, error, law) for law in laws]) for there in places]
        line(ax, lengths, counted, label, colour)
        dots(ax, lengths, [[getattr(found, error) for found in row] for row in of_model], "", colour)
    ax.set_xscale("log")
    ax.set_xticks(lengths, labels=[str(n) for n in lengths])
    ax.minorticks_off()
    ax.set_xlabel(f"examples ${SYSTEM.names.symbol('l_ts')}$")


def _key_of_dots(ax: Axes, label: str, **legend: Any) -> None:
    """The legend, one entry of which stands for the dots of all colours."""
    ax.plot([], [], "o", color="0.4", markersize=4, label=label)
    ax.legend(frameon=False, fontsize="small", **legend)


def _errors(
    setup: Setup, size: tuple[float, float], panels: list[tuple], told: str, notes: str, **legend: Any
) -> Drawing:
    """Panels of errors over the number of examples: a title, the numbers, and set-ups with the errors shown of them."""
    run = solve(SYSTEM, setup, at=[TRAINED], observe=("loss", "p_min"))
    figure, axes = grid(len(panels), len(panels), size, sharey=True)
    for ax, (title, lengths, curves) in zip(axes, panels):
        for there, shown in curves:
            _draw_errors(ax, there, run.states[0], lengths, shown)
        _key_of_dots(ax, f"model at $t = 2\\times 10^5$, {N_TASKS} tasks", **legend)
        ax.set_title(title, fontsize="medium")
    figure.suptitle(f"lines: all attention on matching examples, {told}", fontsize="medium")
    return Drawing(figure, {"training": run}, notes)


def errors_over_examples(setup: Setup, error: str) -> Drawing:
    """Figs. 2 (CoT) and 3 (ICL): the error over l_ts for several α', τ and ρ (one noisy step)."""

    def curve(i: int, name: str, value: float, symbol: str, fixed: dict, of_one_step: Callable | None) -> tuple:
        there, label = setup.replace(**fixed, **{name: value}), f"${symbol} = {value:g}$"
        if error == "icl" and of_one_step is not None:
            seen = np.mean([of_one_step(law.transitions) for law in _laws(there)])
            label += f", ${symbol}_o = {seen:.2f}$"
        return there, {error: (f"C{i}", label)}

    panels = [(title, LENGTHS, [curve(i, name, value, symbol, fixed, of) for i, value in enumerate(values)])
              for name, values, symbol, fixed, title, of in PANELS]  # fmt: skip
    votes = "" if error == "icl" else f", in (A) and (B) by a vote on {MANY * setup['n_prompts']} prompts"
    drawing = _errors(
        setup, (4.0, 4.4), panels,
        f"by exact counting{votes}; dots: {setup['n_prompts']} prompts a task\nM = {setup['M']}, K = {setup['K']}, "
        f"M' = {setup['M_test']}, else α' = {setup['alpha_test']:g}, τ = {setup['tau']:g}, ρ = {setup['rho']:g}",
        "errors fall with l_ts, more slowly for smaller values; at τ = 0.7 equal steps cannot have primacy 0.8: the "
        "nearest one is used", loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2,
    )  # fmt: skip
    drawing.figure.axes[0].set_ylabel(f"{NAMES[error]} error")
    return drawing


def condition_1(setup: Setup) -> Drawing:
    """Fig. 4: τ_o = 0.4, ρ_o = 0.1; with Condition 1 ICL improves with l_ts, without it ICL fails; CoT works."""
    small, panels = setup.replace(K=3, M_test=10, style="attractor"), []
    shown = {error: (f"C{i}", name) for i, (error, name) in enumerate(NAMES.items())}
    for is_satisfied in (True, False):
        p, beta = attractor_of(0.4, 0.1, is_satisfied)
        title = f"Condition 1 {'holds' if is_satisfied else 'fails'} (p = {p:.3f}, β = {beta:.3f})"
        panels.append((title, (*LENGTHS, 160, 320), [(small.replace(tau=p**3, beta=beta), shown)]))
    drawing = _errors(
        small, (4.2, 4.6), panels,
        f"ICL by exact counting, CoT by a vote on {MANY * setup['n_prompts']} prompts\ndots: {setup['n_prompts']} "
        "prompts a task; ICL errs less than its line, as $b < 0$ takes attention from\nlabels that are the query's own "
        "pattern, where the attractor of some tasks ends",
        "CoT falls to 0 in both; ICL only where Condition 1 holds, and slowly: ρ_o is small",
    )  # fmt: skip
    drawing.figure.axes[0].set_ylabel("error, mean over queries off the attractor")
    return drawing


def attention_along_training(setup: Setup, n_seeds: int = 3) -> Drawing:
    """Fig. 5: attention on the four kinds of testing columns, on the same test prompts of the flow and of SGD."""
    few, rate = setup.replace(n_prompts=min(setup["n_prompts"], 400)), 20.0
    seen = dict(zip(["attention_matching", *(f"test_mass_{kind}" for kind in [*MASSES][1:])], MASSES.values()))
    times, marks = np.geomspace(0.5, min(1e5, setup["t_max"]), 40), rate * np.unique(np.geomspace(1, 250, 12).round())
    flow = solve(SYSTEM, few, at=[*times, "T_1"], observe=[*seen])
    sgd = train(SYSTEM, few.replace(learning_rate=rate, d_X=setup["M"]), variant="sgd", at=list(marks), records=1,
                steps=round(marks[-1] / rate), observe=[*seen], seeds=n_seeds)  # fmt: skip
    figure, (ax,) = grid(1, 1, (7.2, 4.6))
    trajectory(flow, ax, seen)
    trajectory(sgd, ax, seen, label=f"SGD at $\\eta$ = {rate:g}", logarithmic=True)
    ax.set(xlabel="training time $t$", ylabel="attention on testing columns")
    titled(figure, SYSTEM, setup, ("M", "K", "alpha", "l_tr", "alpha_test", "l_ts"))
    return Drawing(figure, {"theory": flow, "sgd": sgd}, "other steps vanish first, then other patterns")


def gradients_in_bounds(setup: Setup, longest: float = 3.0) -> Drawing:
    """Lemma F.5: the gradients Γ between the bounds (30)–(33), in the proofs' regime.

    The lemma asks for 1 ≤ t ≤ C α^-2 K³ log(K/ε) with a constant C that it does not name: shaded with the largest at
    which every bound of the panel is kept.
    """
    there = Kit(SYSTEM, dict(setup))
    there = there.at(M=max(setup["M"], many_patterns(10.0)(there.p)))
    run, unit = stage_1.along_window(there, longest), stage_1.window(there.p)
    figure, panels = grid(4, 2, (4.6, 3.3), sharex=True)
    for ax, (kind, where), number in zip(panels, MASSES.items(), range(30, 34)):
        ax.set_xscale("log")
        ax.set_yscale("symlog", linthresh=1e-4)
        for side, bound, look in zip(("lower", "upper"), stage_1.bounds_of(there, run, kind), ("--", ":")):
            if bound is not None:
                ax.plot(run.t, bound, look, color="0.3", label=f"{side} bound ({number})")
        line(ax, run.t, run[f"Gamma_{kind}"], rf"$\Gamma$, {where}")
        end = min(stage_1.until_broken(there, kind, longest=longest).values())
        ax.axvspan(1.0, end, color="0.93", zorder=0, label=rf"$1 \leq t \leq C\,T_1$ with $C = {end / unit:.2g}$")
        ax.axvline(unit, color="0.6", linewidth=1, label="$t = T_1$, the window with $C = 1$")
        ax.set_xlabel("training time $t$" if number > 31 else "")
        ax.legend(frameon=False, fontsize="x-small")
    K, alpha, epsilon = (setup[name] for name in ("K", "alpha", "epsilon_1"))
    figure.suptitle(rf"M = {there.p.M}, K = {K}, α = {alpha:g}; $T_1 = \alpha^{{-2}} K^3 \log(K/\epsilon)$ = {unit:.4g}"
                    f" at ε = {epsilon:g}", fontsize="medium")  # fmt: skip
    return Drawing(figure, {"flow": run}, "the lemma's window is of the order of α^-2 K³ log(K/ε): within the shaded "
                   "part of it every bound holds; they end where stage 1 does, as attention on other steps is gone"
                   )  # fmt: skip


FIGURES = {
    "2": PaperFigure(
        partial(errors_over_examples, error="cot"),
        r"Testing error of chains of thought over the number of examples, for several (A) $\alpha'$, (B) $\tau^f$, "
        r"(C) $\rho^f$: the smaller they are, the more examples it takes.",
    ),
    "3": PaperFigure(
        partial(errors_over_examples, error="icl"),
        r"Testing error of in-context learning over the number of examples, for several (A) $\alpha'$, (B) $\tau_o^f$, "
        r"(C) $\rho_o^f$.",
    ),
    "4": PaperFigure(
        condition_1,
        "Chains of thought and in-context learning over the number of examples: where Condition 1 fails, the error of "
        "in-context learning stays large, whatever the number.",
    ),
    "5": PaperFigure(
        attention_along_training,
        "Attention on four kinds of columns of the context along training: those of another step lose theirs in the "
        "first stage (its end dashed), then those of the query's step and pattern take all of it.",
    ),
    "F.5": PaperFigure(
        gradients_in_bounds, "No figure of the paper: the gradients of Lemma F.5 between its bounds, along training."
    ),
}
