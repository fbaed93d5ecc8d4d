"""LEGO's phase diagrams, with the boundaries the theory predicts.

Attention diagrams are over the ideal layer. Their boundaries follow from the correct logit 2B(½ - ε): a length is
solvable while ε^{L,L} stays below ½(1 - 1/C_B), and a loss fixes ε^{2,2} (closed_forms).
"""

import numpy as np

from flowsys.runs.solving import solve
from flowsys.sweeps.named import Contour, Line, NamedDiagram, along, upright
from flowsys.system import Setup
from flowsys.systems.lego import SYSTEM, closed_forms
from flowsys.systems.lego.groups import sizes

D = 1000.0
CYCLIC = ",".join(f"C{n}" for n in range(2, 13))
SYMMETRIC = ",".join(f"S{n}" for n in range(3, 7))


def _trap(setup: Setup, bias: np.ndarray, V_0: np.ndarray) -> list[Line]:
    fine = along(bias, 3000)
    edge = closed_forms.trap_boundary(fine, *sizes(setup["group"]), setup["q"], setup["rho"], setup["d"])
    escape = Line(fine, edge, "heuristic: ahead by half a linear phase")
    return [escape, Line(fine, fine, r"$V_0 = b$"), _papers_start(setup["d"])]


def _papers_start(d: float) -> Line:
    """A cross at the bias b = σ_0 log d and a winner's V_0 = 2 σ_0, σ_0 = d^(-1/2): the largest of some Gaussians."""
    b, V = np.log(d) / np.sqrt(d), 2 / np.sqrt(d)
    across, up = np.array([0.85, 1.18, 1, 1, 1]), np.array([1, 1, 1, 0.7, 1.4])
    return Line(b * across, V * up, r"the paper's start: $b = \sigma_0\log d$, $V_0 = 2\sigma_0$")


def _separation(setup: Setup, d: np.ndarray, width: np.ndarray) -> list[Line]:
    """Where the best of m random neurons leads the second by enough to escape the trap."""
    fine = along(width)
    edge = closed_forms.least_separating_d(
        fine, *sizes(setup["group"]), setup["q"], setup["rho"], setup["bias"], setup["bias_scale"]
    )
    return [Line(edge, fine, "heuristic: expected head start = half a linear phase")]


def _lengths(setup: Setup, eps: np.ndarray, C_B: np.ndarray) -> list[Line]:
    """Where the longest solvable length is 10, 100, 500."""
    fine = along(C_B)
    per_length = closed_forms.solvable_length(0.5, fine) - 1  # ε_max / (1 - ε_max)
    levels = ((L, 1 / (1 + (L - 1) / per_length)) for L in (10, 100, 500))
    return [Line(edge, fine, f"estimate: $L^* = {L}$") for L, edge in levels]


def _at_loss(setup: Setup, loss, C_B):
    """The solvable length at a loss; it does not depend on the group."""
    return closed_forms.solvable_length(closed_forms.eps_at_loss(loss, C_B, setup["d"]), C_B)


def _fixed_loss(setup: Setup, L_test: np.ndarray, group: np.ndarray) -> list[Line]:
    length = float(_at_loss(setup, setup["loss_target"], setup["C_B"]))
    return [upright(length, group, f"estimate: $L^* = {length:.1f}$")]


def _doubling(setup: Setup, L_test: np.ndarray, C_B: np.ndarray) -> list[Line]:
    """The solvable length at the loss d^(3.025 - C_B) that ends a stage, and the doubled length."""
    fine, twice = along(C_B), 2.0 * setup["L"]
    estimate = Line(_at_loss(setup, setup["d"] ** (3.025 - fine), fine), fine, "estimate: $L^*$")
    return [estimate, upright(twice, C_B, f"the doubled length, {twice:g}")]


def _floor(setup: Setup, tau: np.ndarray, C_B: np.ndarray) -> list[Line]:
    """Where the loss comes within a factor e of its floor d^(1 - C_B): the gap is closing there."""
    turns = [solve(SYSTEM, SYSTEM.setup(**dict(setup) | {"C_B": float(c)}), at=["gap_peak"], observe=()).t for c in C_B]
    turned = [(t[0], c) for t, c in zip(turns, C_B) if len(t)]
    fine, measured = along(C_B), np.array(turned).reshape(-1, 2)
    return [
        Line(closed_forms.floor_time(fine, setup["d"]), fine,
             r"estimate: $\epsilon^{2,2} = 1/(2B)$, $\tau = 2E_2(1)\, d^{C_B-1}$"),
        Line(measured[:, 0], measured[:, 1], "measured: the gap turns"),
    ]  # fmt: skip


def _stage_end(setup: Setup, tau: np.ndarray, C_B: np.ndarray) -> list[Line]:
    """The inverse of the loss that ends a stage of Algorithm 2."""
    fine = along(C_B)
    return [Line(setup["d"] ** (fine - 3.025), fine, r"$\tau = d^{C_B - 3.025}$, one over the loss that ends a stage")]


def _trap_diagram(group: str, q: int, least_bias: float = 1e-3) -> NamedDiagram:
    return NamedDiagram(
        title="The additive trap of stage 1: $F_c - F_w$ at the end",
        axes=(f"bias={least_bias:g}:0.3:60:log", "V_0=1e-5:0.3:60:log"),
        observables=("F_gap@t=1e12", "loss@t=1e12"),
        mode="stage_1",
        fixed={"group": group, "q": q, "d": D, "rho": 0.3},
        boundary=_trap,
    )


def _accuracy_diagram(family: str, groups: str) -> NamedDiagram:
    return NamedDiagram(
        title=f"Accuracy by length at a fixed loss, {family} groups",
        axes=("L_test=2:128:25:log", f"group={groups}"),
        observables=("accuracy@loss_threshold", "eps_22@loss_threshold"),
        fixed={"loss_target": 1e-5, "C_B": 3.0, "d": D},
        logarithmic=False,
        boundary=_fixed_loss,
    )


DIAGRAMS = {
    "additive_trap": _trap_diagram("C3", 4),
    "additive_trap_q6": _trap_diagram("C3", 6),
    "additive_trap_q8": _trap_diagram("C3", 8, least_bias=5e-3),
    "additive_trap_C6": _trap_diagram("C6", 4),
    "additive_trap_S4": _trap_diagram("S4", 4),
    "one_neuron": NamedDiagram(
        title="Share of combinations learned by exactly one of $m$ neurons (Eq. 16), $n_x = \\infty$",
        axes=("d=1e4:1e12:9:log", "width=4:32:4:log"),
        observables=("mean(one_neuron@t=1e11)", "mean(loss@t=1e11)"),
        seeds=4,
        fresh_seeds=True,
        mode="stage_1",
        variant="many_variables",
        fixed={"group": "C3", "q": 4, "rho": 0.3, "bias": 0.0, "bias_scale": 1.0, "clip": "none"},
        boundary=_separation,
    ),
    "solvable_length": NamedDiagram(
        title=r"The longest solvable length $L^*$ where $\epsilon^{2,2}$ is reached",
        axes=("eps_target=1e-3:0.3:13:log", "C_B=1.5:5:8"),
        observables=("L_star@eps_reached", "eps_reached"),
        fixed={"group": "C5", "d": D, "accuracy_target": 0.9, "t_max": 1e15},
        logarithmic=True,
        boundary=_lengths,
    ),
    "solvable_length_time": NamedDiagram(
        title="The longest solvable length $L^*$ along training",
        axes=("t_look=10:1e8:15:log", "group=C3,C4,C5,C6,S3,S4,S5"),
        observables=("L_star@look", "eps_22@look"),
        fixed={"C_B": 3.0, "d": D, "accuracy_target": 0.9},
        logarithmic=True,
    ),
    "accuracy_cyclic": _accuracy_diagram("cyclic", CYCLIC),
    "accuracy_symmetric": _accuracy_diagram("symmetric", SYMMETRIC),
    "accuracy_doubling": NamedDiagram(
        title=r"Accuracy by length where a stage of Algorithm 2 ends: loss $d^{3.025 - C_B}$",
        axes=("L_test=2:32:17:log", "C_B=3.2:8.5:28"),
        observables=("accuracy@stage_k_end", "eps_22@stage_k_end"),
        fixed={"group": "S4", "trained_steps": "second", "d": D, "t_max": 1e15},
        logarithmic=False,
        boundary=_doubling,
    ),
    "gap_cyclic": NamedDiagram(
        title=r"Gap $\Delta^{2,2}$ along training: it opens, turns, and has closed where the loss nears its floor",
        axes=("t_look=0.1:1e11:25:log", "C_B=1.5:5:15"),
        observables=("gap_22@look", "eps_22@look"),
        fixed={"group": "C5", "d": D},
        boundary=_floor,
    ),
    "gap_symmetric": NamedDiagram(
        title=r"Gap $\Delta^{2,2}$ along training: at large $C_B$ negative first, then positive; not closing",
        axes=("t_look=0.1:1e11:25:log", "C_B=2:8:13"),
        observables=("gap_22@look", "eps_22@look"),
        fixed={"group": "S4", "trained_steps": "second", "d": D},
        boundary=_stage_end,
        contours=lambda setup: [Contour("gap_22@look", 0.0, r"measured: $\Delta^{2,2} = 0$")],
    ),
}
