"""The paper's Figures 2–5 and the bounds of Lemma F.5: theory as lines, the trained model or SGD as dots.

Test errors: lines have all attention on matching examples, by exact counting (CoT with errors at every step by a vote
on many prompts); dots are the model at t = 2e5, mean and spread over random tasks of Appendix E, each with test
patterns and prompts of its own. The paper's sweep values are not in its text; those of the specification are used.
"""

from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flowsys.plot.drawing import Drawing, PaperFigure
from flowsys.plot.marks import dots, line
from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.runs.trajectory import Trajectory
from flowsys.system import Setup
from flowsys.systems.prompt import SYSTEM, testing
from flowsys.systems.prompt.claims.printed import stage_1_bounds, stage_1_time
from flowsys.systems.prompt.model import MASSES
from flowsys.systems.prompt.tasks import cycle_powers
from flowsys.systems.prompt.transitions import attractor_of, input_label_primacy, input_label_probability

LENGTHS = (5, 10, 20, 40, 80)
TRAINED = 2e5
N_TASKS = 4
MANY = 20  # times the prompts of a dot, where the line is a vote on prompts
NAMES = {"cot": "CoT", "icl": "ICL"}
PANELS: tuple[tuple, ...] = (
    ("alpha_test", (0.2, 0.4, 0.6, 0.8), r"\alpha'", {}, "(A) share of matching examples"),
    ("tau", (0.1, 0.3, 0.5, 0.7), r"\tau", {}, "(B) probability of a right chain"),
    ("rho", (0.2, 0.4, 0.6, 0.8), r"\rho", {"style": "one"}, "(C) primacy, one noisy step"),
)


def _laws(setup: Setup) -> list[testing.Law]:
    """The errors asked for on random cycles, one for each dot."""
    patterns = np.tile(np.arange(setup["M_test"]), (N_TASKS, 1))
    cycles = np.random.default_rng([setup["seed"], 6]).permuted(patterns, axis=1)
    return [testing.law_of(setup, task) for task in cycle_powers(cycles, setup["K"])]


def _concentrated(there: Setup, error: str, law: testing.Law) -> float:
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


def _finish(ax: Axes, lengths: tuple, title: str, **legend: Any) -> None:
    ax.set_xscale("log")
    ax.set_xticks(lengths, labels=[str(n) for n in lengths])
    ax.minorticks_off()
    ax.set_xlabel(f"examples ${SYSTEM.names.symbol('l_ts')}$")
    _key_of_dots(ax, f"model at $t = 2\\times 10^5$, {N_TASKS} tasks")
    ax.set_title(title, fontsize="medium")
    ax.legend(frameon=False, fontsize="small", **legend)


def _key_of_dots(ax: Axes, label: str) -> None:
    """One entry of the legend for the dots of all colours."""
    ax.plot([], [], "o", color="0.4", markersize=4, label=label)


def _trained(setup: Setup) -> tuple[Trajectory, np.ndarray]:
    run = solve(SYSTEM, setup, at=[TRAINED], observe=("loss", "p_min"))
    return run, run.states[0]


def _of_one_step(setup: Setup, name: str) -> str:
    """τ_o or ρ_o of the composed transitions, mean over tasks: what ICL sees of τ or ρ; nothing for α'."""
    seen = {"tau": (r"\tau_o", input_label_probability), "rho": (r"\rho_o", input_label_primacy)}
    if name not in seen:
        return ""
    symbol, of = seen[name]
    return f", ${symbol} = {np.mean([of(law.transitions) for law in _laws(setup)]):.2f}$"


def errors_over_examples(setup: Setup, error: str) -> Drawing:
    """Figs. 2 (CoT) and 3 (ICL): the error over l_ts for several α', τ and ρ (one noisy step)."""
    figure = Figure(figsize=(12, 4.4), layout="constrained")
    run, y = _trained(setup)
    for ax, (name, values, symbol, fixed, title) in zip(figure.subplots(1, 3, sharey=True), PANELS):
        for i, value in enumerate(values):
            there = setup.replace(**fixed, **{name: value})
            label = f"${symbol} = {value:g}$" + (_of_one_step(there, name) if error == "icl" else "")
            _draw_errors(ax, there, y, LENGTHS, {error: (f"C{i}", label)})
        _finish(ax, LENGTHS, title, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    figure.axes[0].set_ylabel(f"{NAMES[error]} error")
    votes = "" if error == "icl" else f", in (A) and (B) by a vote on {MANY * setup['n_prompts']} prompts"
    figure.suptitle(f"lines: all attention on matching examples, by exact counting{votes}; dots: {setup['n_prompts']} "
                    f"prompts a task\nM = {setup['M']}, K = {setup['K']}, M' = {setup['M_test']}, else "
                    f"α' = {setup['alpha_test']:g}, τ = {setup['tau']:g}, ρ = {setup['rho']:g}",
                    fontsize="medium")  # fmt: skip
    return Drawing(figure, {"training": run}, "errors fall with l_ts, more slowly for smaller values; at τ = 0.7 "
                   "equal steps cannot have primacy 0.8: the nearest one is used")  # fmt: skip


def condition_1(setup: Setup) -> Drawing:
    """Fig. 4: τ_o = 0.4, ρ_o = 0.1; with Condition 1 ICL improves with l_ts, without it ICL fails; CoT works."""
    figure = Figure(figsize=(8.4, 4.6), layout="constrained")
    lengths, small = (5, 10, 20, 40, 80, 160, 320), setup.replace(K=3, M_test=10, style="attractor")
    run, y = _trained(small)
    for ax, is_satisfied in zip(figure.subplots(1, 2, sharey=True), (True, False)):
        p, beta = attractor_of(0.4, 0.1, is_satisfied)
        shown = {error: (f"C{i}", name) for i, (error, name) in enumerate(NAMES.items())}
        _draw_errors(ax, small.replace(tau=p**3, beta=beta), y, lengths, shown)
        _finish(ax, lengths, f"Condition 1 {'holds' if is_satisfied else 'fails'} (p = {p:.3f}, β = {beta:.3f})")
    figure.axes[0].set_ylabel("error, mean over queries off the attractor")
    figure.suptitle(f"lines: all attention on matching examples (ICL by exact counting, CoT by a vote on "
                    f"{MANY * setup['n_prompts']} prompts)\ndots: {setup['n_prompts']} prompts a task; ICL errs less "
                    "than its line, as $b < 0$ takes attention from\nlabels that are the query's own pattern, where "
                    "the attractor of some tasks ends", fontsize="medium")  # fmt: skip
    return Drawing(figure, {"training": run}, "CoT falls to 0 in both; ICL only where Condition 1 holds, and slowly: "
                   "ρ_o is small")  # fmt: skip


def attention_along_training(setup: Setup, n_seeds: int = 3) -> Drawing:
    """Fig. 5: attention on the four kinds of testing columns, the end of stage 1 dashed."""
    few, names = (
        setup.replace(n_prompts=min(setup["n_prompts"], 400)),
        ["attention_matching", *(f"test_mass_{kind}" for kind in [*MASSES][1:])],
    )
    times, rate = np.geomspace(0.5, min(1e5, setup["t_max"]), 40), 20.0
    theory = [solve(SYSTEM, few.replace(seed=seed), at=times, observe=names) for seed in range(N_TASKS)]
    marks = rate * np.unique(np.round(np.geomspace(1, 250, 12)))
    sgd = train(SYSTEM, few.replace(learning_rate=rate, d_X=setup["M"]), variant="sgd", at=list(marks), records=1,
                steps=round(marks[-1] / rate), observe=names, seeds=n_seeds)  # fmt: skip
    lines = np.array([[run[name] for name in names] for run in theory])  # draws × kinds × times
    trained = np.array([[sgd.at(float(t))["values"][name] for t in marks] for name in names])  # kinds × times × seeds
    spread, of_seeds = lines.std(axis=0, ddof=1), trained.std(axis=2, ddof=1)
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    ax = figure.subplots()
    for i, (where, middle, bar) in enumerate(zip(MASSES.values(), lines.mean(axis=0), spread)):
        line(ax, times, middle, where, f"C{i}")
        ax.fill_between(times, middle - bar, middle + bar, color=f"C{i}", alpha=0.2, linewidth=0)
        dots(ax, marks, trained[i], "", f"C{i}")
    _key_of_dots(ax, f"SGD, {n_seeds} seeds, $\\eta = {rate:g}$, $l_{{tr}} = {setup['l_tr']}$")
    ax.axvline(solve(SYSTEM, setup, at=["T_1"], observe=()).t[0], color="0.3", linestyle="--", linewidth=1)
    ax.set(xscale="log", xlabel="training time $t$", ylabel="attention on testing columns")
    ax.legend(frameon=False, fontsize="small")
    ax.set_title(f"M = {setup['M']}, K = {setup['K']}, α = {setup['alpha']:g}, α' = {setup['alpha_test']:g}; dashed: "
                 f"$T_1$\nstandard deviation at most {spread.max():.2g} over {N_TASKS} test draws (bands), "
                 f"{of_seeds.max():.2g} over seeds (bars)", fontsize="medium")  # fmt: skip
    return Drawing(figure, {"theory": theory[0], "sgd": sgd}, "other steps vanish first, then other patterns")


def gradients_in_bounds(setup: Setup) -> Drawing:
    """Lemma F.5: the gradients Γ between the bounds (30)–(33), in the proofs' regime; C = 1 of the window dashed."""
    K, alpha = setup["K"], setup["alpha"]
    there = setup.replace(M=max(setup["M"], int(np.ceil(10 * K**4 / alpha))))
    end, steps = float(stage_1_time(setup["epsilon_1"], K, alpha)), [f"mass_same_same_{k}" for k in range(1, K + 1)]
    run = solve(SYSTEM, there, at=np.geomspace(1.0, 3 * end, 120), observe=[*(f"Gamma_{k}" for k in MASSES), *steps])
    bounds = stage_1_bounds(np.array([run[name] for name in steps]), there["M"], K, alpha)
    figure = Figure(figsize=(8.4, 6.0), layout="constrained")
    for ax, (kind, where), number in zip(figure.subplots(2, 2, sharex=True).ravel(), MASSES.items(), range(30, 34)):
        for side, look in (("lower", "--"), ("upper", ":")):
            if (bound := getattr(bounds[kind], side)) is not None:
                ax.plot(run.t, bound.mean(axis=0), look, color="0.3", label=f"{side} bound ({number})")
        line(ax, run.t, run[f"Gamma_{kind}"], rf"$\Gamma$, {where}")
        ax.axvline(end, color="0.6", linewidth=1, linestyle="--")
        ax.set_xscale("log")
        ax.set_yscale("symlog", linthresh=1e-4)
        ax.legend(frameon=False, fontsize="small")
    for ax in figure.axes[2:]:
        ax.set_xlabel("training time $t$")
    figure.suptitle(f"M = {there['M']}, K = {K}, α = {alpha:g}; vertical: the window's end at C = 1, "
                    f"ε = {setup['epsilon_1']:g}", fontsize="medium")  # fmt: skip
    return Drawing(figure, {"flow": run}, "the bounds end where stage 1 does: attention on other steps is gone")


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
