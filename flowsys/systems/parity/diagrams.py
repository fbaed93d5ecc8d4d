"""The parity system's phase diagrams, with the boundaries the theory predicts."""

import numpy as np

from flowsys.phase.named import Line, NamedDiagram
from flowsys.system import Setup
from flowsys.systems.parity.position import lock, only_position
from flowsys.systems.parity.position import signal as signal_of


def _inside(x: np.ndarray, y: np.ndarray, allowed: np.ndarray, label: str) -> Line:
    """The part of a curve that lies in the plane that is drawn."""
    kept = (y >= allowed.min()) & (y <= allowed.max())
    return Line(x[kept], y[kept], label)


def _lock_before_margin(setup: Setup, n: np.ndarray, m: np.ndarray) -> list[Line]:
    """t_lock/t_margin_1 = x, that is 0.44 n/√m = x/(1-x), and the least m for which lock comes first."""
    fine = np.geomspace(n.min(), n.max(), 400)
    equal = [
        _inside(fine, (np.sqrt(np.pi) / 4 * fine * (1 - x) / x) ** 2, m, rf"theory: ratio {x:g}, $m \propto n^2$")
        for x in (0.1, 0.5, 0.9)
    ]
    return [*equal, _inside(fine, (np.log(fine) + 1) / 4, m, r"theory: $4m = \log n + 1$")]


def _one_hot(setup: Setup, rho: np.ndarray, m: np.ndarray) -> list[Line]:
    """ρ²mε²/8 = log n (attention turns) and = 9 log n (one-hot to n^-8), at n = 20 and ε = 1."""
    fine = np.geomspace(rho.min(), rho.max(), 400)
    lines = [
        _inside(fine, 8 * c * np.log(20) / fine**2, m, rf"theory: $\rho^2 m\epsilon^2/8 = {c if c > 1 else ''}\log n$")
        for c in (1, 9)
    ]
    return [*lines, Line(np.ones(2), np.array([m.min(), m.max()]), r"gates flip beyond $\rho = 1$")]


def _gates(setup: Setup, epsilon: np.ndarray, m: np.ndarray) -> list[Line]:
    """At n+1 the active neurons have |q| = 2g, so that at lock a gate flips once g > ε; m g² is a number, n = 12."""
    place = only_position(12, 1.0)
    signal = float(signal_of(place, lock(place)))
    fine = np.geomspace(epsilon.min(), epsilon.max(), 400)
    return [_inside(fine, (signal / fine) ** 2, m, rf"theory: $m\epsilon^2 = {signal**2:.2f}$ ($2 s g = \epsilon$)")]


DIAGRAMS = {
    "lock": NamedDiagram(
        title="When attention locks, as a share of the time to margin 1 (i = n+3)",
        axes=("n=4:10000:60:log", "m=0.5:100000:60:log"),
        observables=("lock:margin_1", "lock", "margin_1"),
        fixed={"k": 3},
        boundary=_lock_before_margin,
    ),
    "one_hot": NamedDiagram(
        title="Three steps: distance from one-hot attention at i = n+3 (n = 20)",
        axes=("rho=0.03:2:16:log", "m=50:50000:16:log"),
        observables=("one_hot_error@step_2", "margin@step_3"),
        mode="three_step",
        fixed={"n": 20, "k": 5, "epsilon": 1.0},
        logarithmic=True,
        boundary=_one_hot,
    ),
    "n_plus_2": NamedDiagram(
        title="Attention on S[n+2] where its bit equals b[n+2] does not lock",
        axes=("margin_threshold=0.003:2:60:log", "n=4:3000:60:log"),
        observables=("s_x0@margin_1", "s_x1@margin_1", "s_z0@margin_1"),
        mode="block",
        fixed={"k": 2, "m": 400.0},
        logarithmic=True,
    ),
    "gates": NamedDiagram(
        title="Share of gates that flipped before n+1 locks (n = 12, k = 2, live gates)",
        axes=("epsilon=0.02:2:9:log", "m=4:1000:6:log"),
        observables=("flipped@lock",),
        variant="balanced",
        # past the boundary the flow with exact kinks ends in a step size underflow
        kink_width=1e-3,
        boundary=_gates,
        fixed={"n": 12, "k": 2, "i": 13},
    ),
}
