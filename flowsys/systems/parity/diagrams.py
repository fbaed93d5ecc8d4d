"""The parity system's phase diagrams, with the boundaries the theory predicts."""

import numpy as np

from flowsys.runs.solving import solve
from flowsys.sweeps.named import Contour, Line, NamedDiagram, along, outer_edges
from flowsys.system import Setup
from flowsys.systems.parity import SYSTEM

RATIOS = (0.1, 0.5, 0.9)  # of the time of lock to that of margin 1


def _lock_before_margin(setup: Setup, n: np.ndarray, m: np.ndarray) -> list[Line]:
    """t_lock/t_margin_1 = x, that is 0.44 n/√m = M x/(1-x), and the least m for which lock comes first.

    M is the margin of margin_1. Lock is at 8√π n√m, the margin grows by 1/(32m) and 4mg² = log n + 1 at lock for
    i ≥ n+3; for k = 1 these are 2√(2π) n√m, 1/(8m) and 2mg². Position n+2 has no such law.
    """
    if setup["k"] == 2:
        return []
    share, per_signal = (np.sqrt(2 * np.pi) / 4, 2) if setup["k"] == 1 else (np.sqrt(np.pi) / 4, 4)
    margin, fine = setup["margin_threshold"], along(n)
    equal = [
        Line(fine, (share * fine / margin * (1 - x) / x) ** 2, rf"theory: ratio {x:g}, $m \propto n^2$") for x in RATIOS
    ]
    first = per_signal * margin**2
    return [*equal, Line(fine, (np.log(fine) + 1) / first, rf"theory: lock first, ${first:g}\,m = \log n + 1$")]


def _one_hot(setup: Setup, rho: np.ndarray, m: np.ndarray) -> list[Line]:
    """ρ²mε²/8 = log n (attention turns) and = 9 log n (one-hot to n^-8), both with the factor (n/i)² (1 - 1/i).

    After two steps the input of a neuron active at i has moved by ρε n/i, at n+1 by twice that: gates flip from there.
    """
    n, i, fine = setup["n"], setup["i"], along(rho)
    turned = 8 * np.log(n) / (setup["epsilon"] ** 2 * (n / i) ** 2 * (1 - 1 / i))
    lines = [
        Line(fine, c * turned / fine**2, rf"theory: $\rho^2 m\epsilon^2/8 \simeq {c if c > 1 else ''}\log n$")
        for c in (1, 9)
    ]
    upright = {(n + 1) / (2 * n): "gates of $n+1$ flip beyond", (n + 2) / n: "gates of $n+2$ flip beyond"}
    return [*lines, *(Line(np.full(2, x), np.array(outer_edges(m)), label) for x, label in upright.items())]


def _gates(setup: Setup, epsilon: np.ndarray, m: np.ndarray) -> list[Line]:
    """At n+1, as for k = 1, the input of an active neuron moves by 2sg: its gate flips by lock once that exceeds ε.

    m g² is a number of n.
    """
    there = SYSTEM.setup(n=setup["n"], k=1, m=1.0, lock_threshold=setup["lock_threshold"])
    moved = 2 * setup["lock_threshold"] * float(solve(SYSTEM, there, at=["lock"], observe=["g"])["g"][0])
    fine = along(epsilon)
    return [Line(fine, (moved / fine) ** 2, rf"theory: $m\epsilon^2 = {moved**2:.2f}$ ($2 s g = \epsilon$)")]


DIAGRAMS = {
    "lock": NamedDiagram(
        title="When attention locks, as a share of the time to margin 1",
        axes=("n=4:10000:60:log", "m=0.5:100000:60:log"),
        observables=("lock:margin_1", "lock", "margin_1"),
        fixed={"k": 3},
        boundary=_lock_before_margin,
        contours=lambda setup: [Contour("lock:margin_1", x, f"measured: ratio {x:g}") for x in RATIOS],
    ),
    "one_hot": NamedDiagram(
        title="Three steps with live gates: distance from one-hot attention",
        axes=("rho=0.03:2:24:log", "m=50:50000:24:log"),
        observables=("one_hot_error@step_2", "flipped@step_2", "accuracy_all@step_3", "margin@step_3"),
        mode="three_step",
        variant="balanced",
        fixed={"n": 20, "k": 3, "epsilon": 1.0},
        boundary=_one_hot,
        logarithmic=True,
    ),
    "n_plus_2": NamedDiagram(
        title="Attention on S[n+2] where its bit is 0 does not lock, whatever b[n+2] is",
        axes=("margin_threshold=0.003:2:60:log", "n=4:3000:60:log"),
        observables=("s_x0@margin_1", "s_x1@margin_1", "s_z0@margin_1"),
        mode="block",
        fixed={"k": 2, "m": 400.0},
        logarithmic=True,
    ),
    "escape": NamedDiagram(
        title="Without a chain of thought: time from a random start of size σ to margin 0.2",
        axes=("sigma=0.05:0.4:6:log", "k=1,2,3,4"),
        observables=("margin_1",),
        mode="no_chain",
        level="L2",
        fixed={"n": 8, "m": 16.0, "epsilon": 5.0, "margin_threshold": 0.2},
        logarithmic=True,
    ),
    "gates": NamedDiagram(
        title="Share of gates that flipped before n+1 locks, live gates",
        axes=("epsilon=0.02:4:10:log", "m=4:1000:6:log"),
        observables=("flipped@lock",),
        mode="block",
        variant="live",
        # past the boundary the flow with exact kinks ends in a step size underflow
        kink_width=1e-3,
        boundary=_gates,
        # a third secret has four times the neurons, and the same gates at n+1
        fixed={"n": 12, "k": 2, "i": 13},
    ),
}
