"""Gradient descent of the finite-width model against its flow: Sec. 3.1, Figs. 1, 3 and 4, and what it adds to flow."""

from typing import Any

import numpy as np

from flowsys.claims import Claim, Experiment, Identity, Inequality, Kit, Order, Path, Sides
from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.systems.mixture import SYSTEM
from flowsys.systems.mixture.claims.many_groups import stagewise
from flowsys.systems.mixture.claims.measured import ENTRIES
from flowsys.systems.mixture.claims.regimes import SIZES

AFTER_KINK, END = 5.0, 61.0
RATES = Path("learning_rate", (0.4, 0.2, 0.1, 0.05, 0.025))


def error_after_the_kink(run: Kit) -> float:
    """|L0 - L2| at t = 61 of all inner products, when both start from the flow's state at t = 5."""
    setup = run.setup
    steps = round((END - AFTER_KINK) / setup["learning_rate"])
    flow = solve(SYSTEM, setup, level="L2", mode="simultaneous", at=[AFTER_KINK, END], observe=["w_c"], rtol=1e-10)
    trained = train(SYSTEM, setup, variant="gram", mode="simultaneous", records=1, observe=["w_c"],
                    steps=steps, start=flow.blocks(AFTER_KINK))  # fmt: skip
    end, expected = trained.blocks(float(trained.t[-1])), flow.blocks(END)
    return max(float(np.abs(end[name] - expected[name]).max()) for name in expected)


def error_through_the_kink(run: Kit, seed: int = 0) -> tuple[float, float]:
    """|L0 - L2| of the entries at t = 60 of simultaneous training from the start, and η."""
    flow = run.at(level="L2", learning_rate=0.1, seed=seed).run(60.0, observe=ENTRIES)
    trained = train(SYSTEM, run.setup, variant="gram", mode="simultaneous", records=1, observe=ENTRIES,
                    steps=round(60 / run.p.learning_rate))  # fmt: skip
    return max(float(abs(trained[name][-1] - flow[name][0])) for name in ENTRIES), run.p.learning_rate


def onset_of_descent(run: Kit, b: float = 0.5) -> tuple[float, float]:
    """[ours] The time at which S_cv comes to s_star in descent of width 500, and in the limit."""
    return run.at(level="L0").time("T_2"), run.at(level="L3", b=b).time("T_2")


def losses_of_attention_alone(run: Kit, trains: str = "attention_only") -> dict[str, Sides]:
    """A.2: the loss after 3e4 steps with frozen Gaussian neurons; its least over 16 seeds against 0.05."""
    trained = train(SYSTEM, run.setup, variant="gram", mode=trains, steps=30_000, seeds=16, records=1,
                    observe=("loss", "accuracy"))  # fmt: skip
    loss, accuracy = trained["loss"][-1], trained["accuracy"][-1]
    for name, value in (("least", loss.min()), ("mean", loss.mean()), ("accuracy", accuracy.mean()),
                        ("best", accuracy.max())):  # fmt: skip
        run.note(**{name: [*run.noted.get(name, ()), round(float(value), 3)]})
    return {"the loss stays large": Sides(loss.min(), 0.05)}


COMMON: dict[str, Any] = {"mode": "simultaneous", "takes": "", "is_cheap": False}
CLAIMS = [
    Claim("gradient_descent", "Sec. 3.1 [ours]", "descent is flow up to O(η), once the kink is behind",
          Order("O", lambda p: p.learning_rate), error_after_the_kink, at={"width": 50}, path=RATES, **COMMON,
          control={"kind": Order("O", lambda p: p.learning_rate**2)}),
    Claim("gradient_descent-kink", "Sec. 3.1 [ours]", "through the kink descent is flow up to 0.15 η, saw-toothed",
          Inequality("<=", constant=0.15), error_through_the_kink,
          at=[{"width": 50, "learning_rate": η} for η in RATES.values], **COMMON, control={"seed": 1}),
    Claim("figure_1", "Sec. 3.1, Figs. 1, 4, Appendix A.3",
          "consistent samples and neurons first; the conflicting loss falls when the scores move; S_cv ±", Experiment(),
          lambda run, swap=False: stagewise(run.at(level="L0"), swap), at={"width": 500}, regime=SIZES,
          what="experiment", **COMMON, control={"swap": True},
          note="fallen at t = {consistent:.4g} and {conflicting:.4g}, scores moved at {scores:.4g}"),
    Claim("figure_1-time", "Sec. 3.1, Fig. 1 [ours]",
          "descent of width 500 comes to S_cv = s_star at the limit's time, within 3 %", Identity(0.03),
          onset_of_descent, at={"width": 500}, regime=SIZES, **COMMON, control={"b": 1.0}),
    Claim("A.2", "Appendix A.2, Fig. 3, Sec. 3.1", "attention alone is not trainable: the loss stays large",
          Experiment(), losses_of_attention_alone, at=[{"width": 50, "sigma_w": σ} for σ in (0.5, 1.0)],
          what="experiment", takes="", is_cheap=False, control={"trains": "simultaneous"},
          note="over the seeds: least loss {least}, mean {mean}; accuracy {accuracy} in the mean, {best} at best"),
]  # fmt: skip
