"""The co-occurrence system's ladder: what is compared with what, and at which rate the theory says it must close."""

from functools import lru_cache, partial

import numpy as np

from flowsys.ladder import Rung
from flowsys.runs.solving import solve
from flowsys.runs.training import train
from flowsys.system import Setup
from flowsys.systems.cooccurrence.scales import condition_1

WIDTHS = (64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0)  # four widths leave a slope ± 0.3, seven ± 0.1
SEEDS = 12
VALUES = ("G_mu1", "G_mu2", "G_mu3")
SCORES = ("S_12", "S_21", "S_31", "S_32", "S_11", "S_22")
GROUPS = {"scores": SCORES, "loss": ("loss",), "values": VALUES}
STEPS = (0.2, 0.1, 0.05, 0.025)
PAPER_WIDTHS = (64.0, 256.0, 1024.0, 4096.0)
CLOSED = (*VALUES, *SCORES, "c", "VV_12", "KK_12", "QQ_13", "loss")


def ladder(setup: Setup) -> list[Rung]:
    """Descent, the closure, the width (read off scores, loss and values), and the frozen attention of L4."""
    width = [
        Rung("L2", "L3", f"rms over {SEEDS} seeds of the deviation of the {what} up to τ = 300, n = 12, L = 5",
             partial(width_error, setup, what), "width", WIDTHS, -0.5, 0.1)
        for what in ("scores", "loss", "values")
    ]  # fmt: skip
    return [
        Rung("L0", "L1", "descent with rate knob/(β + m1 α), n = 12: values and scores over 51 units of that time",
             partial(descent_error, setup), "step", STEPS, 1.0, 0.05),
        Rung("L1", "L2", "values, scores, correlations at t = 2 and 20, n = 6, L = 4, rtol 1e-10",
             partial(closure_error, setup), tolerance=1e-8),
        *width,
        # λ and ρδ, which move attention and c, are of order m⁻² at Condition 1
        Rung("L3", "L4", "G(μ1) of the bag of words (attention, c frozen) after 13/(β + m1 α), Condition 1 at width m",
             partial(surrogate_error, setup), "m", PAPER_WIDTHS, -2.0, 0.1),
    ]  # fmt: skip


def _system():
    from flowsys.systems.cooccurrence import SYSTEM

    return SYSTEM


def _with(setup: Setup, **changes) -> Setup:
    return _system().setup(**(dict(setup) | changes))


def descent_error(setup: Setup, step: float) -> float:
    """The largest |L0 - L1| of values and scores; the learning rate is step/(β + m1 α), below 3.9 descent is stable."""
    speed = setup["beta"] + setup["m1"] * setup["alpha"]
    small = _with(setup, n=12, width=min(setup["width"], 32), learning_rate=step / speed)
    names = (*VALUES, *SCORES)
    times = [x / speed for x in (12.8, 25.6, 51.2)]
    flow = solve(_system(), small, level="L2", at=times, observe=names, rtol=1e-9)
    run = train(_system(), small, variant="gram", at=times, records=1, observe=names)
    steps = run.nearest_to(times)
    return max(float(np.abs(steps[name] - flow[name]).max()) for name in names)


def closure_error(setup: Setup, _) -> float:
    """Weights against inner products: the largest difference, relative to the size of each observable."""
    small = _with(setup, n=6, L=4, width=min(setup["width"], 7))
    a, b = (
        solve(_system(), small, level=level, at=[2.0, 20.0], observe=CLOSED, rtol=1e-10, atol=1e-13)
        for level in ("L1", "L2")
    )
    return max(float(np.abs(a[name] - b[name]).max() / max(1.0, np.abs(b[name]).max())) for name in CLOSED)


def width_error(setup: Setup, what: str, width: float) -> float:
    """rms over seeds of the largest deviation from the limit, over the observables of a group and over times."""
    return _width_errors(tuple(_with(setup, n=12, L=5).items()), int(width))[what]


@lru_cache(maxsize=16)
def _width_errors(setup: tuple, width: int) -> dict[str, float]:
    """Every group's error at one width, from one set of runs."""
    small, names = dict(setup), [name for group in GROUPS.values() for name in group]
    times = [tau / small["beta"] for tau in (4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 300.0)]
    limit = solve(_system(), _system().setup(**small), at=times, observe=names)
    squares: dict[str, list[float]] = {what: [] for what in GROUPS}
    for seed in range(SEEDS):
        finite = solve(_system(), _system().setup(**(small | {"width": width, "seed": seed})), level="L2", at=times,
                       observe=names, rtol=1e-7)  # fmt: skip
        for what, group in GROUPS.items():
            squares[what].append(max(float(np.abs(finite[name] - limit[name]).max()) for name in group) ** 2)
    return {what: float(np.sqrt(np.mean(values))) for what, values in squares.items()}


def surrogate_error(setup: Setup, m: float) -> float:
    """Relative error of G(μ1) by the bag of words after 13/(β + m1 α), with the scales of Condition 1 at width m."""
    scales = condition_1(m, setup["m1"], setup["L"])
    at = [13 / (scales.beta + scales.m1 * scales.alpha)]
    rough, exact = (
        solve(_system(), _with(setup, **scales._asdict()), level=level, variant=variant, at=at, observe=["G_mu1"],
              rtol=1e-12)["G_mu1"][0]
        for level, variant in (("L4", "bag_of_words"), ("L3", "88"))
    )  # fmt: skip
    return float(abs(rough - exact) / exact)
