"""The co-occurrence limit, derived: two exact closures, two eliminations, programs of 88, 113 and 173 variables.

Every step stands beside the equation it must agree with; `agrees` raises with the difference if it does not.
"""

from collections.abc import Mapping

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp

from flowsys.program.arrays import function, vector_field
from flowsys.symbolic import primitives as ops
from flowsys.symbolic.assemble import assemble, symbol
from flowsys.symbolic.flow import Gram, pair
from flowsys.symbolic.render import flow_equations, module_text
from flowsys.system import Setup
from flowsys.systems.cooccurrence import SYSTEM, limits
from flowsys.systems.cooccurrence.max_margin import max_margin
from flowsys.systems.cooccurrence.model import outputs
from flowsys.systems.cooccurrence.notation import LATEX
from flowsys.systems.cooccurrence.scales import condition_1
from flowsys.systems.cooccurrence.sentences import LABELS
from flowsys.systems.cooccurrence.statement import bag_of_words_statement, limit_statement

A2, η = symbol("A2"), symbol("eta")
WORDS, NEURONS = 2, 2


def agrees(ours: sp.Matrix, theirs: sp.Matrix, what: str) -> None:
    """Raise unless two matrices of expressions are equal."""
    difference = (sp.Matrix(ours) - sp.Matrix(theirs)).applyfunc(sp.simplify)
    if any(difference):
        raise ValueError(f"{what} differs by {difference}")


def matrix(name: str, rows: int, columns: int, symmetric: bool = False) -> sp.Matrix:
    entry = lambda i, j: symbol(f"{name}_{min(i, j)}{max(i, j)}" if symmetric else f"{name}_{i}{j}")
    return sp.Matrix(rows, columns, entry)


def rates(block: Gram, gradient: Mapping[sp.Symbol, sp.Expr], of: sp.Matrix) -> sp.Matrix:
    """d/dt of the entries `of` a Gram block, the loss having the given derivatives."""
    found = block.derivatives(lambda x: gradient.get(x, sp.S.Zero))
    return of.applyfunc(lambda x: found[x])


VV, KK, QQ = (matrix(name, WORDS, WORDS, symmetric=True) for name in ("VV", "KK", "QQ"))
S, M = (matrix(name, WORDS, WORDS) for name in ("S", "M"))
r, a = (sp.Matrix([symbol(f"{name}_{i}") for i in range(2)]) for name in ("r", "a"))


def small_closure() -> None:
    """[W_V | u/|a|] with r = -∂L/∂G gives Eqs. (4), (5) and the flow of VV (Lemma C.3)."""
    g, corner = sp.Matrix([symbol(f"g_{i}") for i in range(WORDS)]), symbol("u_u")
    block = Gram(sp.Matrix(sp.BlockMatrix([[VV, g], [g.T, sp.Matrix([[corner]])]])))
    gradient = {g[i]: -sp.sqrt(A2) * r[i] for i in range(WORDS)}
    G, c = sp.sqrt(A2) * g, A2 * corner
    agrees(sp.sqrt(A2) * rates(block, gradient, g), c * r + A2 * VV * r, "dG/dt = c r + |a|² VV r, Eq. (4)")
    agrees(A2 * rates(block, gradient, sp.Matrix([[corner]])), 2 * A2 * r.T * G, "dc/dt = 2|a|² rᵀG, Eq. (5)")
    agrees(rates(block, gradient, VV), r * G.T + G * r.T, "dVV/dt = rGᵀ + Grᵀ, Lemma C.3")


def six_families() -> None:
    """[W_V | Wᵀ] with G = Aᵀa gives the flow of A and B (Eq. (6), Lemmas C.1, C.2), and from it the small closure."""
    A, B = matrix("A", NEURONS, WORDS), matrix("B", NEURONS, NEURONS, symmetric=True)
    block = Gram(sp.Matrix(sp.BlockMatrix([[VV, A.T], [A, B]])))
    gradient = {A[j, i]: -a[j] * r[i] for j in range(NEURONS) for i in range(WORDS)}
    dA, dB, G = rates(block, gradient, A), rates(block, gradient, B), A.T * a
    agrees(dA, B * a * r.T + a * (VV * r).T, "dA/dt, Eq. (6), Lemma C.1")
    agrees(dB, A * r * a.T + a * (A * r).T, "dB/dt, Lemma C.2")
    agrees(dA.T * a, (a.T * B * a)[0] * r + (a.T * a)[0] * VV * r, "dG/dt from the six families")
    agrees(a.T * dB * a, 2 * (a.T * a)[0] * r.T * G, "dc/dt from the six families")


def attention_closure() -> None:
    """[W_K | W_Q] with M = -∂L/∂S (Eq. (7), Lemma C.4)."""
    block = Gram(pair(KK, S, QQ))
    gradient = {S[i, j]: -M[i, j] for i in range(WORDS) for j in range(WORDS)}
    agrees(rates(block, gradient, S), KK * M + M * QQ, "dS/dt, Eq. (7)")
    agrees(rates(block, gradient, KK), S * M.T + M * S.T, "dKK/dt")
    agrees(rates(block, gradient, QQ), S.T * M + M.T * S, "dQQ/dt")


def descent() -> None:
    """One step of gradient descent is a congruence with I + ηN; written out."""
    block = pair(KK, S, QQ)
    zero, one = sp.zeros(WORDS), sp.eye(2 * WORDS)
    step = one + η * pair(zero, M, zero)
    after = step * block * step
    agrees(after[:WORDS, WORDS:], S + η * (KK * M + M * QQ) + η**2 * M * S.T * M, "S after a step")
    agrees(after[:WORDS, :WORDS], KK + η * (S * M.T + M * S.T) + η**2 * M * QQ * M.T, "KK after a step")


def eliminations() -> None:
    """VV = αI + GGᵀ/(c + m1α) and c = ½[β - m1α + √((β + m1α)² + 4m1|G|²)] are kept by the flow."""
    α, m1, c = symbol("alpha"), symbol("m1"), symbol("c")
    G = sp.Matrix([symbol(f"G_{i}") for i in range(WORDS)])
    e = c + m1 * α
    on_manifold = α * sp.eye(WORDS) + G * G.T / e
    dG, dc = c * r + m1 * on_manifold * r, 2 * m1 * (r.T * G)[0]
    moved = (dG * G.T + G * dG.T) / e - G * G.T * dc / e**2
    agrees(moved, r * G.T + G * r.T, "VV = αI + GGᵀ/(c + m1α)")
    # (c - β)(c + m1α) = m1|G|²; β = c - m1|G|²/(c + m1α) must not move
    norm = (G.T * G)[0]
    agrees(sp.Matrix([dc - m1 * (2 * (G.T * dG)[0] / e - norm * dc / e**2)]), sp.zeros(1), "c from |G|²")


def drives() -> None:
    """r and M of one sentence with a repeated word, against the attention written out."""
    words, s = np.array([[0, 1, 1]]), symbol("s")
    G = np.array([symbol(f"G_{i}") for i in range(2)])
    scores = np.array([[symbol(f"S_{i}{j}") for j in range(2)] for i in range(2)])
    X = words[0]
    p = {q: [sp.exp(s * scores[k, q]) / sp.Add(*[sp.exp(s * scores[h, q]) for h in X]) for k in X] for q in (0, 1)}
    mean = {q: sp.Add(*[w * G[k] for w, k in zip(p[q], X)]) for q in p}
    rng = np.random.default_rng(0)
    F = outputs(G[words][:, None, :], s * scores[words[:, None, :], words[:, :, None]], ops)[0]
    names = sorted(F.free_symbols, key=str)
    point = {x: sp.Rational(int(rng.integers(-9, 9)), 7) for x in names}
    for μ in range(2):
        value = sp.Add(*[w for q in X for w, k in zip(p[q], X) if k == μ])
        _same(_written(F.diff(G[μ])), value, point, f"∂F/∂G_{μ}")
        for ν in range(2):
            value = s * sp.Add(*[w * (G[k] - mean[μ]) for q in X if q == μ for w, k in zip(p[q], X) if k == ν])
            _same(_written(F.diff(scores[ν, μ])), value, point, f"∂F/∂S_{ν}{μ}")


def _written(expression: sp.Expr) -> sp.Expr:
    """Softmax and attention means as quotients of exponentials."""

    def weight(*args):
        scores, counts = ops.Softmax(*args).group
        terms = [n * sp.exp(x) for x, n in zip(scores, counts)]
        return terms[int(args[0])] / sp.Add(*terms)

    def mean(*args):
        found = ops.AttentionMean(*args)
        return sp.Add(*[weight(*found.weight(i).args) * args[i] for i in range(found.size)])

    return expression.replace(ops.AttentionMean, mean).replace(ops.Softmax, weight)


def _same(ours: sp.Expr, theirs: sp.Expr, point, what: str) -> None:
    if abs(sp.N((ours - theirs).subs(point), 40)) > 1e-30:
        raise ValueError(f"{what} differs: {ours} against {theirs}")


CLOSURES = (small_closure, six_families, attention_closure, descent, eliminations, drives)


class Run:
    """The derived program of 88 variables in plain NumPy, at Condition 1 with m = 4096, m1 = 16, L = 5."""

    def __init__(self, program, n: float):
        alpha, beta, m1, score_scale = condition_1(4096, 16, 5)
        setup: Setup = SYSTEM.setup(n=n, L=5, alpha=alpha, beta=beta, m1=m1, score_scale=score_scale)
        self.arguments = limits.program_arguments(setup, "88")
        self.field, self.speed = vector_field(program, "exact", np), beta + m1 * alpha
        self.start = limits.initial_state(program.state, setup, "88")
        self.observe = lambda name: function(program, (program.observables[name],), "exact", np)

    def value(self, name: str, y: np.ndarray) -> float:
        return float(self.observe(name)(y, self.arguments)[0])

    def crossing(self, name: str, direction: int) -> tuple[float, np.ndarray]:
        """(β + m1α)·t and the state where an observable first crosses 0."""
        watched = self.observe(name)
        event = lambda t, y: float(watched(y, self.arguments)[0])
        event.direction, event.terminal = direction, True
        rhs = lambda t, y: self.field(y, self.arguments)
        first = 1e-3 / self.speed
        y = solve_ivp(rhs, (0, first), self.start, "DOP853", rtol=1e-10, atol=1e-14).y[:, -1]
        found = solve_ivp(rhs, (first, 30 / self.speed), y, "DOP853", rtol=1e-10, atol=1e-14, events=event)
        return found.t_events[0][0] * self.speed, found.y_events[0][0]


REFERENCE = {
    60: (2.434, 0.7627, 3.846, 6.902),
    600: (3.418, 0.7977, 3.590, 11.974),
    np.inf: (3.565, 0.8026, 3.565, 12.979),
}
MARGIN = {60: (1.2687, 8.223), 600: (1.4745, 15.352), np.inf: (1.5, 17.0)}


def numbers(program) -> list[str]:
    """Rows of ours beside the reference values; raises where they differ in the digits given."""
    rows = []
    for n, (peak, height, overtakes, correct) in REFERENCE.items():
        run = Run(program, n)
        t_peak, y_peak = run.crossing("d_F_type2", -1)
        ours = {
            "type-2 loss is largest": (t_peak, peak),
            "the type-2 loss there": (run.value("loss_type2", y_peak), height),
            "T_0.5": (run.crossing("overtaking", 1)[0], overtakes),
            "T_1": (run.crossing("least_margin", 1)[0], correct),
            "R*": (max_margin(n, 5).gradient_ratio, MARGIN[n][0]),
            "lim loss · clock": (max_margin(n, 5).inverse_squared_margin, MARGIN[n][1]),
        }
        for name, (value, expected) in ours.items():
            if abs(value - expected) > 1e-3:
                raise ValueError(f"{name} at n = {n}: {value}, expected {expected}")
            rows.append(f"| {'∞' if n == np.inf else n} | {name} | {value:.4f} | {expected:.4f} |")
    return rows


def initial_rates(program) -> None:
    """dG_1/dt = (β + m1α)/6, dG_3/dt = 0, irrelevant words ±3/n of dG_1/dt at t = 0 (Lemmas E.4, E.16, E.6, E.15)."""
    run = Run(program, 60)
    ours = [run.value(f"d_G_{x}", run.start) / run.speed for x in ("mu1", "mu3", "r1", "r2", "r3", "r4")]
    theirs = [1 / 6, 0, *(y * 3 / 60 / 6 for y in LABELS)]
    if not np.allclose(ours, theirs, rtol=0, atol=1e-14):
        raise ValueError(f"initial rates {ours} against {theirs}")


def page(programs: Mapping, equations: Mapping[str, str], rows: list[str]) -> str:
    """derivations/cooccurrence.md."""
    sizes = [f"| `{name}` | {len(p.state) - 2} | {p.operations} |" for name, p in programs.items()]
    shown = ["g_mu", "g_mu3", "g_f1", "S_even_mu_mu3", "S_odd_mu_mu", "KK_odd_mu_mu", "S_across_1", "S_within_1"]
    checks = [f"- {check.__doc__.splitlines()[0]}" for check in (*CLOSURES, initial_rates)]
    return "\n".join(
        [
            "# Word co-occurrence: the limit derived",
            "",
            "Generated by `python -m derivations cooccurrence`; edit the script or the model, never this file.",
            "",
            "The loss reads the weights only through $G$ and $S$, entries of the Gram matrices of",
            "$[W_V\\,|\\,u/|a|]$ and $[W_K\\,|\\,W_Q]$, so $\\dot M=-(\\Gamma M+M\\Gamma)$ is the whole system.",
            "Checked symbolically at two words and two neurons (the identities are the same for any number of either):",
            "",
            *checks,
            "",
            "Under Assumption 2.3 and the symmetric start matrices split into small blocks (`sectors.py`). The flow",
            "of every block follows from one loss in the symbols $n$ and $L$ ($n=\\infty$ allowed); clocks ride along.",
            "",
            "| program | variables | operations, observables included |",
            "|---|---|---|",
            *sizes,
            "",
            "Some of the 88 equations ($g=G/\\sqrt{m_1}$ in the even basis; $\\nu$ are inverse multiplicities):",
            "",
            *(f"$${equations[name]}$$\n" for name in shown),
            "Times are $(\\beta+m_1\\alpha)\\,t$ at Condition 1 with $m=4096$, $m_1=16$, $L=5$:",
            "",
            "| n | quantity | ours | reference |",
            "|---|---|---|---|",
            *rows,
            "",
        ]
    )


def artefacts() -> dict[str, str]:
    for check in CLOSURES:
        check()
    statement = limit_statement("88")
    programs = {
        "PROGRAM_88": assemble(statement),
        "PROGRAM_113": assemble(limit_statement("113")),
        "PROGRAM_WITHOUT_SWAP": assemble(limit_statement("without_swap")),
        "PROGRAM_BAG_OF_WORDS": assemble(bag_of_words_statement()),
    }
    initial_rates(programs["PROGRAM_88"])
    summary = "The co-occurrence limit's programs: 88 variables, 113 with VV and c, 173 without the swap, 7 frozen."
    equations = flow_equations(statement, LATEX)
    return {
        "flowsys/systems/cooccurrence/reduced.py": module_text("cooccurrence", summary, programs, equations),
        "derivations/cooccurrence.md": page(programs, equations, numbers(programs["PROGRAM_88"])),
    }
