"""The paper's Figures 2–5 and the bounds of Lemma F.5: theory as lines, the trained model or SGD as dots.

Test errors: lines have all attention on matching examples, by exact counting (CoT with errors at every step by a vote
on many prompts); dots are the model at t = 2e5, mean and spread over random tasks of Appendix E, each with test
patterns and prompts of its own. The paper's sweep values are not in its text; those of the specification are used.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from flowsys.claims import Kit
from flowsys.plot import curves, grid, line, titled, trajectory
from flowsys.plot.drawing import Drawing, PaperFigure
from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.sweeps import Axis, PhaseDiagram, make_sweep
from flowsys.sweeps.memory import run_in_memory
from flowsys.system import Setup
from flowsys.systems.prompt import SYSTEM
from flowsys.systems.prompt.claims import stage_1
from flowsys.systems.prompt.claims.regimes import many_patterns
from flowsys.systems.prompt.examples import attractor_of, law_of
from flowsys.systems.prompt.model import MASSES

LENGTHS = (5, 10, 20, 40, 80)
N_TASKS = 4
MANY = 5  # times the prompts of a dot, where the line is a vote on prompts
NAMES = {"cot": "CoT", "icl": "ICL"}
PANELS: tuple[tuple, ...] = (
    ("alpha_test", (0.2, 0.4, 0.6, 0.8), {}, "(A) share of matching examples", None),
    ("tau", (0.1, 0.3, 0.5, 0.7), {}, "(B) probability of a right chain", "output_probability"),
    ("rho", (0.2, 0.4, 0.6, 0.8), {"style": "one"}, "(C) primacy, one noisy step", "output_primacy"),
)
"""A parameter of Figs. 2 and 3, its values, and what one step sees of it."""


def _seeds(setup: Setup) -> tuple[int, ...]:
    return tuple(range(setup["seed"], setup["seed"] + N_TASKS))


def _draw_errors(ax: Axes, setup: Setup, axes: list[Axis], labels: dict[str, list[str]], **fixed: Any) -> PhaseDiagram:
    """Errors over numbers of examples on random tasks; lines have all attention on matching examples.

    These are counted exactly, CoT where it can err at step 1 only; else they are votes on more prompts.
    """
    given = {name: setup[name] for name in setup.given - {axis.name for axis in axes} - {"seed"}}
    given |= {**fixed, "test_task": "cycle"}
    swept = lambda quantities, **more: run_in_memory(
        make_sweep(SYSTEM, [*axes, Axis("seed", _seeds(setup), "list")], quantities, fixed=given | more))  # fmt: skip
    model = {error: f"{error}_error@t=2e5" for error in labels}
    is_exact = lambda error: error == "icl" or given.get("style") == "one"
    limit = {error: f"{'icl_error_exact' if is_exact(error) else 'cot_error_limit'}@t=0" for error in labels}
    found = swept([*model.values()])
    votes = swept([*dict.fromkeys(limit.values())], n_prompts=MANY * setup["n_prompts"])
    found = replace(found, quantities={**found.quantities, **votes.quantities})
    for number, (error, of_error) in enumerate(labels.items()):
        curves(found, limit[error], model[error], ax, of_error, first_colour=number)
    ax.plot([], [], "o", color="0.4", markersize=4, label=f"model at $t = 2\\times 10^5$, {N_TASKS} tasks")
    ax.set_xticks(axes[-1].values, labels=map(str, axes[-1].values))
    ax.minorticks_off()
    ax.set_xlabel(f"examples {found.symbol('l_ts')}")
    return found


def errors_over_examples(setup: Setup, error: str) -> Drawing:
    """Figs. 2 (CoT) and 3 (ICL): the error over l_ts for several α', τ and ρ (one noisy step)."""
    figure, places = grid(3, 3, (4.0, 4.4), sharey=True)
    data = {}
    for ax, (name, values, fixed, title, of_one_step) in zip(places, PANELS):
        symbol = SYSTEM.names.symbol(name)
        labels = [f"${symbol} = {value:g}$" for value in values]
        if error == "icl" and of_one_step is not None:
            tasks = [setup.replace(**fixed, seed=seed, test_task="cycle") for seed in _seeds(setup)]
            seen = [np.mean([getattr(law_of(x.replace(**{name: v})), of_one_step) for x in tasks]) for v in values]
            labels = [f"{label}, ${symbol}_o = {x:.2f}$" for label, x in zip(labels, seen)]
        axes = [Axis(name, values, "list"), Axis("l_ts", LENGTHS, "log")]
        data[name] = _draw_errors(ax, setup, axes, {error: labels}, **fixed)
        ax.set_title(title, fontsize="medium")
        ax.legend(frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    places[0].set_ylabel(f"{NAMES[error]} error")
    votes = "" if error == "icl" else f", in (A) and (B) by a vote on {MANY * N_TASKS * setup['n_prompts']} prompts"
    figure.suptitle(
        f"lines: all attention on matching examples, by exact counting{votes}; dots: {setup['n_prompts']} prompts a "
        f"task\n$M$ = {setup['M']}, $K$ = {setup['K']}, $M'$ = {setup['M_test']}, "
        rf"else $\alpha'$ = {setup['alpha_test']:g}, $\tau$ = {setup['tau']:g}, $\rho$ = {setup['rho']:g}",
        fontsize="medium",
    )  # fmt: skip
    return Drawing(figure, data, "errors fall with l_ts, more slowly for smaller values; at τ = 0.7 equal steps cannot "
                   "have primacy 0.8: the nearest one is used")  # fmt: skip


def condition_1(setup: Setup) -> Drawing:
    """Fig. 4: τ_o = 0.4, ρ_o = 0.1; with Condition 1 ICL improves with l_ts, without it ICL fails; CoT works."""
    figure, places = grid(2, 2, (4.2, 4.6), sharey=True)
    lengths, labels, data = Axis("l_ts", (*LENGTHS, 160, 320), "log"), {e: [name] for e, name in NAMES.items()}, {}
    for ax, is_satisfied in zip(places, (True, False)):
        (p, beta), said = attractor_of(0.4, 0.1, is_satisfied), "holds" if is_satisfied else "fails"
        errors = {"K": 3, "M_test": 10, "style": "attractor", "tau": p**3, "beta": beta}
        data[said] = _draw_errors(ax, setup, [lengths], labels, **errors)
        ax.set_title(rf"Condition 1 {said} ($p$ = {p:.3f}, $\beta$ = {beta:.3f})", fontsize="medium")
        ax.legend(frameon=False, fontsize="small")
    places[0].set_ylabel("error, mean over queries off the attractor")
    figure.suptitle(
        "lines: all attention on matching examples, ICL by exact counting, CoT by a vote on "
        f"{MANY * N_TASKS * setup['n_prompts']} prompts\ndots: {setup['n_prompts']} prompts a task; ICL errs less than "
        "its line, as $b < 0$ takes attention from\nlabels that are the query's own pattern, where the attractor of "
        "some tasks ends", fontsize="medium",
    )  # fmt: skip
    return Drawing(figure, data, "CoT falls to 0 in both; ICL only where Condition 1 holds, and slowly: ρ_o is small")


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
    ax.legend(frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2)
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
    titled(figure, SYSTEM, there.setup, ("M", "K", "alpha", "epsilon_1"),
           rf"$T_1 = \alpha^{{-2}} K^3 \log(K/\epsilon_1)$ = {unit:.4g} at ")  # fmt: skip
    return Drawing(figure, {"flow": run}, "the lemma's window is of the order of T_1: within the shaded part of it "
                   "every bound holds; they end where stage 1 does, as attention on other steps is gone")  # fmt: skip


TRAINED_AND_ASKED = ("M", "alpha", "alpha_test", "noise", "d_X", "n_prompts", "seed")
OF_ERRORS = ("K", "M_test", "tau", "rho", "style", "beta")
FIGURES = {
    "2": PaperFigure(
        partial(errors_over_examples, error="cot"),
        r"Testing error of chains of thought over the number of examples, for several (A) $\alpha'$, (B) $\tau^f$, "
        r"(C) $\rho^f$: the smaller they are, the more examples it takes.",
        heeds=TRAINED_AND_ASKED + OF_ERRORS,
    ),
    "3": PaperFigure(
        partial(errors_over_examples, error="icl"),
        r"Testing error of in-context learning over the number of examples, for several (A) $\alpha'$, (B) $\tau_o^f$, "
        r"(C) $\rho_o^f$.",
        heeds=TRAINED_AND_ASKED + OF_ERRORS,
    ),
    "4": PaperFigure(
        condition_1,
        "Chains of thought and in-context learning over the number of examples: where Condition 1 fails, the error of "
        "in-context learning stays large, whatever the number.",
        heeds=TRAINED_AND_ASKED,
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
