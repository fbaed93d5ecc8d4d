"""Gradient flow of the limit [ours]: lock-on times, order of the phases, margins, the surrogate, the n+2 position.

The paper's theorem is about three steps of descent; what follows is about the flow of the same model.
"""

import numpy as np

from flowsys.claims import Claim, Identity, Inequality, Kit, Limit, Path, Provable, Sides
from flowsys.errors import InputError
from flowsys.laws.fits import power_law

SIZES = (300, 1000, 3000, 10_000, 30_000, 100_000)
MOST_POSITIONS = 2000
WHERE = "Theorem 3 under gradient flow [ours]"


def lock_times(run: Kit, k: int = 3) -> float:
    """t_lock/(n√m)."""
    there = run.at(k=k, i=run.p.n + k)
    return there.reached("lock") / (run.p.n * run.p.m**0.5)


def lock_signals(run: Kit, log_n: float = 1.0) -> float:
    """4m g² at lock less log n."""
    return 4 * run.p.m * run.at(k=3, i=run.p.n + 3).values("lock")["g"] ** 2 - log_n * np.log(run.p.n)


def phases(run: Kit, reverse: bool = False) -> dict[str, Sides]:
    """Times of half the signal at lock, of lock and of margin 1; attention when the signal is half grown."""
    lock, margin = run.reached("lock"), run.reached("margin_1")
    grown = run.course(0.0, lock, 400, observe=("g", "s_target"))
    half = int(np.argmax(grown["g"] > run.values("lock")["g"] / 2))
    times = [float(grown.t[half]), lock, margin][:: -1 if reverse else 1]
    run.note(half=times[0], lock=times[1], margin=times[2], attention=float(grown["s_target"][half]))
    return {"signal before attention": Sides(times[0], times[1]), "attention before margin": Sides(times[1], times[2]),
            "attention is not there yet": Sides(float(grown["s_target"][half]), 0.1)}  # fmt: skip


def margin_growth(run: Kit, per: float = 32.0) -> dict[str, Sides]:
    """Time from margin 1 to margin 2 over 32m."""
    one, two = (run.at(margin_threshold=x).reached("margin_1") for x in (1.0, 2.0))
    run.note(at=one / run.p.m)
    return {"from 1 to 2": Sides((two - one) / (per * run.p.m), 1.0)}


def surrogate_errors(run: Kit, event: str = "lock") -> dict[str, Sides]:
    """Exponent and constant of the surrogate's relative error in n."""
    sizes, errors = (30, 100, 300, 1000, 3000), []
    for n in sizes:
        there = run.at(n=n, i=n + 3)
        exact, rough = (there.at(level=level).reached(event) for level in ("L3", "L4"))
        errors.append(abs(rough / exact - 1))
    fit = power_law(sizes, errors)
    return {"exponent": Sides(fit.slope, -1.0), "2n × error": Sides(2 * sizes[-1] * errors[-1], 1.0)}


def attention_at_n2(run: Kit, bits: tuple[int, ...] = (0, 1)) -> dict[str, Sides]:
    """Attention on S[n+2] at t = 45 n√m, by the bit of S[n+2], against 0.9; least margin on the way."""
    n, m = run.p.n, run.p.m
    course = run.course(np.array([5.0, 10.0, 15.0, 20.0, 30.0, 45.0]) * n * m**0.5,
                        observe=("s_x0", "s_x1", "margin_n2_0", "margin_n2_1"))  # fmt: skip
    run.note(s_0=float(course["s_x0"][-1]), s_1=float(course["s_x1"][-1]),
             margin=float(min(course["margin_n2_0"].min(), course["margin_n2_1"].min())))  # fmt: skip
    return {f"bit {bit}": Sides(course[f"s_x{bit}"][-1], 0.9) for bit in bits}


def attention_of_every_string(run: Kit, bit: int = 0) -> dict[str, Sides]:
    """The same over all strings of k = 3: what attention at n+2 depends on, with frozen gates (n = 6, τ = 60)."""
    there = run.run(60.0 * run.p.n * run.p.m**0.5, variant="collapsed", observe=("s_min", "accuracy_all"))
    n = run.p.n
    block = run.at(mode="block").run(60.0 * n * run.p.m**0.5, observe=("s_x0", "s_x1"))
    return {"least over all strings": Sides(there["s_min"][0], block[f"s_x{bit}"][0])}


def attention_elsewhere(run: Kit, tau: float = 45.0) -> dict[str, Sides]:
    """Attention on S[i] at n+1 and at every i >= n+3, at t = τ n√m, against 0.99."""
    n, k, found = run.p.n, run.p.k, {}
    if k > MOST_POSITIONS:
        raise InputError(
            f"k = {k} is not allowed here: a flow is followed at every position, so k <= {MOST_POSITIONS}."
        )
    for i in (n + 1, *range(n + 3, n + k + 1)):
        there = run.at(i=i).run(tau * n * run.p.m**0.5, observe=("s_target",))
        found[f"i = n+{i - n}"] = Sides(there["s_target"][0], 0.99)
    return found


def invariants(run: Kit, share: float = 1.0) -> Sides:
    """u + N_o v + N_w w/2 along the flow over u."""
    there = run.course(0.0, "margin_1", 60, observe=("u", "v", "w"))
    n_ordinary = run.p.i - 3
    return Sides(there["u"] + n_ordinary * there["v"] + share * there["w"], 0 * there["u"], there.t)


AT = {"m": 9.0}
CLAIMS = (
    Claim("lock_time", WHERE, "attention at i ≥ n+3 locks at 8√π n√m", Limit(8 * np.pi**0.5, 1e-3), lock_times, at=AT,
          path=Path("n", SIZES), takes="m", control={"k": 1}, note="no logarithm of n; "
          "with a single secret it is another constant (control)"),
    Claim("lock_signal", WHERE, "at lock 4mg² = log n + 1", Limit(1.0, 1e-2), lock_signals, at=AT,
          path=Path("n", SIZES), takes="m", control={"log_n": 0.9}),
    Claim("phase_order", WHERE, "the signal grows first, then attention, then the margin", Inequality(), phases,
          at={"n": 1000, "m": 400.0, "k": 3}, takes="n m", control={"reverse": True},
          note="half the signal at t = {half:.4g} (attention {attention:.2g}), lock {lock:.4g}, margin one "
          "{margin:.4g}; lock comes before it unless m is as small as log n"),
    Claim("margin_time", WHERE, "after lock the margin grows by 1/(32m)", Identity(0.01), margin_growth,
          at={"n": 20, "m": 4e4, "k": 3}, takes="n m", control={"per": 8.0}, note="margin one at {at:.4g} m"),
    Claim("position_invariants", WHERE, "u + N_o v + N_w w/2 = 0 along the flow", Identity(1e-9, relative=False),
          invariants, at={"n": 30, "k": 3, "m": 16.0}, takes="n m", control={"share": 2.0},
          provable=Provable(["u + (i - 3)*v + w = 0 within 1e-15 on [0, margin_1]"])),
    Claim("surrogate_lock", WHERE, "without the scores of other tokens lock comes late by 1/(2n)",
          Identity(0.1), surrogate_errors, at={"m": 100.0, "k": 3}, takes="m", control={"event": "margin_1"}),
    Claim("one_hot_at_n2", WHERE, "attention at n+2 becomes one-hot under gradient flow too", Inequality(">="),
          attention_at_n2, at=[{"n": n, "k": 2, "m": 400.0} for n in (12, 100, 1000)], mode="block", takes="m",
          control={"bits": (1,)},
          note="at n = {n} {s_0:.2g} where the bit of its secret is zero, whatever the query's own bit is, {s_1:.3g} "
          "where it is one: once the first position has locked, the common mode makes its secret, whose bit is the "
          "query's, useful; margins turn negative for a while (least {margin:.2g})"),
    Claim("one_hot_at_n2_bit", WHERE, "at n+2 attention fails where the bit of S[n+2] is 0, in every string",
          Identity(1e-3, relative=False), attention_of_every_string, at={"n": 6, "k": 3, "m": 16.0}, takes="m",
          control={"bit": 1}, is_cheap=False, note="all strings, frozen gates, against the block's value there"),
    Claim("one_hot_elsewhere", WHERE, "attention at every i ≠ n+2 becomes one-hot", Inequality(">="),
          attention_elsewhere, at={"n": 100, "k": 5, "m": 400.0}, takes="n k m", control={"tau": 5.0}),
)  # fmt: skip
