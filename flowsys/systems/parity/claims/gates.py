"""Live gates and the hinge under gradient flow [ours]: the balanced design at infinite width."""

from flowsys.claims import Claim, Inequality, Kit, Sides

SCALES = (20.0, 4.0, 3.0, 1.0, 0.1)
HINGE = {"n": 12, "k": 2, "m": 256.0}
WHERE = "Theorem 3 under gradient flow [ours]"


def ends(run: Kit, end: float = 64.0) -> dict[float, dict[str, float]]:
    """The state at t = end·m under the hinge by ε; the hinge is smoothed over 0.02, since margins rest at 1."""
    names = ("flipped", "s_target", "s_min", "accuracy_all", "margin_min")
    found = {}
    for ε in SCALES:
        there = run.at(epsilon=ε, i=run.p.n + 1, loss="hinge")
        course = there.run(end * run.p.m, variant="balanced", observe=names, kink_width=0.02, level="L3")
        found[ε] = {name: float(course[name][-1]) for name in names}
    return found


def gates(run: Kit, low: float = 3.0, high: float = 4.0) -> dict[str, Sides]:
    """Shares of flipped gates: some at ε = low, none at ε = high."""
    found = ends(run)
    run.note(flipped={ε: row["flipped"] for ε, row in found.items()})
    return {f"some at ε = {low:g}": Sides(1e-9, found[low]["flipped"]),
            f"none at ε = {high:g}": Sides(found[high]["flipped"], 1e-9)}  # fmt: skip


def learned(run: Kit, end: float = 64.0) -> dict[str, Sides]:
    return {f"ε = {ε:g}": Sides(0.9, row["margin_min"]) for ε, row in ends(run, end).items()}


def one_hot(run: Kit, read: str = "s_min") -> dict[str, Sides]:
    found = ends(run)
    run.note(least=max(row["s_min"] for row in found.values()))
    return {f"ε = {ε:g}": Sides(row[read], 0.9) for ε, row in found.items()}


CLAIMS = (
    Claim("gates_under_flow", WHERE, "gates survive to margin 1 for k = 2 from an ε between 3 and 4 on", Inequality(),
          gates, at=HINGE, takes="n m", levels="L3", control={"low": 20.0, "high": 1.0}, is_cheap=False,
          note="shares of flipped gates {flipped}"),
    Claim("hinge_accuracy", WHERE, "every margin comes to 1 under the hinge", Inequality(), learned, at=HINGE,
          takes="n m", levels="L3", control={"end": 1.0}, is_cheap=False),
    Claim("one_hot_under_hinge", WHERE, "under the hinge attention becomes one-hot everywhere", Inequality(">="),
          one_hot, at=HINGE, takes="n m", levels="L3", control={"read": "s_target"}, is_cheap=False,
          note="the least is at the second position, where the bit of its secret is zero (largest over ε: "
          "{least:.1g}): live gates and the hinge do not mend it"),
)  # fmt: skip
