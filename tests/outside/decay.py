"""A model outside the package: dx/dt = -c·rate·x from x = start, with c = 2 by the samples of a module beside it.

L3 is a program, L1 and L2 are fields of functions, L0 is descent in JAX: every way through the house is walked.
"""

from functools import cache

import numpy as np
from rates import rate

from flowsys.claims import Claim, Identity, Kit
from flowsys.ladder import Rung
from flowsys.program import Program
from flowsys.program.arrays import arguments
from flowsys.runs.training import Descent, Training
from flowsys.sweeps.named import NamedDiagram
from flowsys.system import FINITE_PARAMETERS, Parameter, System, Variants, t_max
from flowsys.system.problem import Event, FunctionField, Problem, ProgramField, Stage
from flowsys.system.references import Paper

PROGRAM = Program.parse("""state x
parameters rate
once:
    dx = -rate*x
derivative x = dx
observe x = x
""")
EVENTS = (Event("T_half", "x", 0.5, -1),)


@cache
def flow() -> FunctionField:
    return FunctionField(("x",), lambda y, c: -c * y, lambda y, c: {"x": y[0]}, ("x",))


@cache
def descent() -> Descent:
    step = lambda w, c, learning_rate: {"x": w["x"] - learning_rate * c * w["x"]}
    return Descent(step, lambda w, c: {"x": w["x"]}, ("x",))


def build(setup, level, variant, mode) -> Problem:
    c, start = rate(setup), np.array([setup["start"]])
    field = ProgramField(PROGRAM) if level == "L3" else flow()
    given = arguments(PROGRAM, {"rate": c}) if level == "L3" else np.array(c)
    return Problem(field, start, (Stage("all", given),), EVENTS, t_max=setup["t_max"], default_at=("T_half",))


def training(setup, variant, mode, seeds) -> Training:
    return Training(descent(), {"x": np.array(setup["start"])}, (Stage("all", np.array(rate(setup))),), EVENTS)


def halving(run: Kit) -> tuple[float, float]:
    return run.time("T_half"), np.log(2 * run.p.start) / (2 * run.p.rate)


model = System(
    name="decay",
    paper=Paper("decay", "A decay", "nowhere"),
    summary="exponential decay",
    parameters=(
        Parameter("rate", 1.0, "rate of the decay", low=0.1, high=10),
        Parameter("start", 1.0, "where x starts", low=0.6, high=10),
        *FINITE_PARAMETERS,
        t_max(100.0),
    ),
    modes={"plain": "all at once"},
    levels={
        "L0": Variants(("weights",), ("descent",)),
        "L1": Variants(("weights",), ("flow",)),
        "L3": Variants(("program",), ("the program",)),
    },
    events={"T_half": "x falls to 1/2"},
    observables={"x": "what decays"},
    latex={"rate": r"\lambda"},
    build=build,
    training=training,
    equations=lambda: {"x": r"\dot x = -c \lambda x"},
    ladder=lambda setup: [Rung("L1", "L3", "one flow, twice", lambda value: 0.0, tolerance=1e-6)],
    claims=(Claim("halving", "Lemma 1", "x halves after log(2 start) / (2 rate)", Identity(1e-6), halving),),
    diagrams={"halves": NamedDiagram("when it halves", ("rate=0.5:2:4", "start=1:2:3"), ("T_half",))},
)
