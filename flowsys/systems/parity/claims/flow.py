"""Gradient flow of the limit: lock-on times, the order of the phases, margins, the surrogate, the n+2 position.

At finite width (asked for with a level) claims on positions after n+2 fail under the linear loss, because the two
tokens of a query have unequal numbers of neurons and the one with more pushes the other out (measured in `pairs`). With
the counts of each pair made equal and all else as drawn (frozen gates, m of each claim) the share of one-hot rows goes
from 0.58 to 1, 4m g² at lock from 111 to 7.90 (n = 1000; predicted 7.91), and the phases come in their order.
"""

import numpy as np

from flowsys.claims import Verdict, judged
from flowsys.claims.conditions import current
from flowsys.laws.fits import power_law
from flowsys.systems.parity import position
from flowsys.systems.parity.claims.runs import FLOWS, TRAINED, chosen, claim, course, reached, scatter

LARGE_N = (1000, 3000, 10000)
FINITE_WIDTH = "a query's token with fewer neurons is pushed out by the other unless m >> n²: see one_hot_pairs"


def lock_times_reach_their_asymptotes(sizes=LARGE_N) -> Verdict:
    """t_lock/(n√m) at i = n+3 and for the only position of k = 1."""
    place = chosen(m=9.0)
    m, tolerance = place["m"], max(2e-3, scatter(place))
    found = [[reached("lock", n=n, k=k, m=m)[0] / (n * np.sqrt(m)) for k in (3, 1)] for n in sizes]
    constants = np.array([8 * np.sqrt(np.pi), 2 * np.sqrt(2 * np.pi)])
    off = np.abs(np.array(found)[-1] / constants - 1)
    return judged(
        bool(off.max() < tolerance),
        "8√π = 14.180 and 2√(2π) = 5.013 times n√m",
        "; ".join(f"n={n}: {a:.3f}, {b:.3f}" for n, (a, b) in zip(sizes, found)),
        tolerance=tolerance,
        parameters={"n": sizes, "m": m},
        values={"ratios": found},
    )


def signal_at_lock_grows_with_log_n(sizes=LARGE_N) -> Verdict:
    place = chosen(m=9.0)
    m, expected = place["m"], np.log(sizes[-1]) + 1
    tolerance = max(0.01, 2 * expected * scatter(place))  # the square doubles a relative deviation
    found = [4 * m * reached("lock", n=n, k=3, m=m)[1]["g"] ** 2 for n in sizes]
    return judged(
        abs(found[-1] - expected) < tolerance,
        "4m g² = log n + 1 at lock",
        "; ".join(f"n={n}: {x:.3f} ({np.log(n) + 1:.3f})" for n, x in zip(sizes, found)),
        note=FINITE_WIDTH if current().is_finite else "",
        tolerance=tolerance,
        parameters={"n": sizes, "m": m},
        values={"measured": found},
    )


def signal_then_attention_then_margin(n: int = 1000, m: float = 400.0) -> Verdict:
    """Times at which g has grown to half its value at lock, attention to 1/2, and the margin to 1."""
    place = chosen(n=n, m=m, k=3)
    n, m = place["n"], place["m"]
    (lock, there), (margin, _) = (reached(event, n=n, m=m, k=3) for event in ("lock", "margin_1"))
    grown = course(*np.linspace(0, lock, 400)[1:].tolist(), n=n, m=m, k=3, observe=("g", "s_target"))
    half = int(np.argmax(grown["g"] > there["g"] / 2))
    times = [t / (n * np.sqrt(m)) for t in (float(grown.t[half]), lock, margin)]
    attention = float(grown["s_target"][half])
    return judged(
        times[0] < times[1] < times[2] and attention < 0.1,
        "FFN, then attention, then output",
        f"t/(n√m): half the signal {times[0]:.2f} (attention {attention:.3f}), lock {times[1]:.2f}, "
        f"margin 1 {times[2]:.2f}",
        note=FINITE_WIDTH if current().is_finite else "lock comes before margin 1 when 4m > log n + 1",
        parameters={"n": n, "m": m},
        values={"times": times},
    )  # fmt: skip


def after_lock_the_margin_grows_at_one_over_32m(n: int = 20, m: float = 4e4) -> Verdict:
    """Time from margin 1 to margin 2 over 32m, and lock over margin time against 0.44 n/√m."""
    place = chosen(n=n, m=m, k=3)
    n, m, allowed = place["n"], place["m"], scatter(place)
    one, two = (reached("margin_1", n=n, m=m, k=3, margin_threshold=margin)[0] for margin in (1.0, 2.0))
    rate, lock = (two - one) / (32 * m), reached("lock", n=n, m=m, k=3)[0]
    return judged(
        abs(rate - 1) < max(0.01, allowed) and abs(one / (32 * m) - 1) < max(0.1, allowed),
        "margin 1 at about 32m, growing by 1/(32m)",
        f"from 1 to 2 in {rate:.4f}·32m; margin 1 at {one / (32 * m):.3f}·32m; lock/32m {lock / (32 * m):.4f}",
        note=f"lock/margin is 0.44 n/√m for large n; here {lock / (32 * m) / (n / np.sqrt(m)):.3f} n/√m",
        tolerance=max(0.1, allowed),
        parameters={"n": n, "m": m},
        values={"rate": rate, "margin_1": one, "lock": lock},
    )


def the_surrogate_locks_late_by_one_over_2n(event: str = "lock") -> Verdict:
    """Relative error of the surrogate (v = w = 0), n = 30 … 3000."""
    m, sizes, errors = chosen(m=100.0)["m"], (30, 100, 300, 1000, 3000), []
    for n in sizes:
        exact, rough = (reached(event, level=level, n=n, k=3, m=m)[0] for level in ("L3", "L4"))
        errors.append(abs(rough / exact - 1))
    fit = power_law(sizes, errors)
    constant = errors[-1] * 2 * sizes[-1]
    return judged(
        abs(fit.slope + 1) < 0.03 and abs(constant - 1) < 0.1,
        "error 1/(2n)",
        f"exponent {fit}, 2n × error = {constant:.3f} at n = {sizes[-1]}",
        interval=fit.interval,
        tolerance=0.03,
        parameters={"n": sizes, "k": 3, "m": m, "event": event},
        values={"errors": errors},
        fits={f"relative error of {event} over n": fit},
    )


def attention_at_n2_becomes_one_hot(read=("s_x0", "s_x1"), sizes=(12, 100, 1000), tau: float = 15.0) -> Verdict:
    """Least attention on S[n+2] over both values of its bit (or another reading), at t = 3τ n√m; scores at τ.

    At finite width: the least attention on S[i] over all sequences of the two positions.
    """
    m, rows = chosen(m=400.0)["m"], []
    read, scores = (("s_min",), ()) if current().is_finite else (read, ("a_x0", "a_x1", "a_z"))
    names = tuple({*read, *scores} | ({"s_x0", "s_x1"} if scores else set()))
    for n in sizes:
        times = (tau * n * m**0.5, 3 * tau * n * m**0.5)
        found = course(*times, mode="block", n=n, k=2, m=m, observe=names)
        rows.append({x: float(found[x][-2 if x in scores else -1]) for x in sorted(names)})
    told = (
        "least {s_min:.2g}"
        if not scores
        else (
            f"{{s_x0:.2g}} where the bit equals b[n+2], {{s_x1:.3f}} where not; scores at τ={tau:g} "
            "x1 {a_x1:.1f}, z {a_z:.1f}, x0 {a_x0:.2f}"
        )
    )
    return judged(
        all(min(row[name] for name in read) > 0.9 for row in rows),
        "attention 1 on S[n+2]",
        "; ".join(f"n={n}: {told.format(**row)}" for n, row in zip(sizes, rows)),
        note="once n+1 has locked, the common mode makes S[n+1], whose bit is b[n+2], useful: attention goes there "
        "where b[S[n+2]] = b[n+2]; every margin stays positive",
        parameters={"n": sizes, "k": 2, "m": m, "tau": tau, "read": read},
        values={"rows": rows},
    )


def attention_elsewhere_becomes_one_hot(tau: float = 45.0) -> Verdict:
    """Attention on S[i] at n+1 and at every i >= n+3, at t = τ n√m."""
    place = chosen(n=100, k=5, m=400.0)
    n, k, m = place["n"], place["k"], place["m"]
    seen = [n + 1, *range(n + 3, n + k + 1)]
    read = {"n": n, "k": k, "m": m, "observe": ("s_target",)}
    found = {i: float(course(tau * n * m**0.5, i=i, **read)["s_target"][-1]) for i in seen}
    return judged(
        min(found.values()) > 0.99,
        "attention 1 on S[i] for i ≠ n+2",
        ", ".join(f"n+{i - n}: {s:.5f}" for i, s in found.items()),
        note=FINITE_WIDTH if current().is_finite else "",
        tolerance=0.01,
        parameters={"n": n, "k": k, "m": m, "tau": tau},
        values={"attention": found},
    )


def positions_have_their_invariants(stretch: float = 1.0) -> Verdict:
    """u + N_o v + N_w w/2 and e^(-w) - 2e^(-v) + 1 along the flow to margin 1."""
    asked = chosen(n=20, k=3, m=400.0)
    n, m = asked["n"], asked["m"]
    found = course("lock", "margin_1", n=n, k=3, m=m)
    place = position.later_position(n, 3, n + 3, m * stretch)
    exact = position.time(place, position.lock(place))
    drift, off = found.statistics["conserved_drift"], abs(found.t[0] / exact - 1)
    return judged(
        drift < 1e-8 and off < 1e-7,
        "two invariants, and g² by quadrature",
        f"drift {drift:.1g}; lock time against the quadrature {off:.1g}",
        tolerance=1e-7,
        parameters={"n": n, "k": 3, "m": m},
        values={"drift": drift, "lock": off},
    )


CLAIMS = (
    claim("phase_order", "Section 3, phases", "neurons learn first, then attention, then the output",
          signal_then_attention_then_margin, control={"m": 0.1},
          regime="gradient flow, i = n+3; control: 4m < log n + 1", levels=TRAINED, takes="n m"),
    claim("lock_time", "Section 3, phase 2", "attention locks at 8√π n√m, at n+1 at 2√(2π) n√m",
          lock_times_reach_their_asymptotes, control={"sizes": (10,)}, regime="large n, limit; control: n = 10",
          levels=FLOWS, takes="m"),
    claim("lock_signal", "Section 3, phase 2", "at lock the signal is ((log n + 1)/4m)^(1/2)",
          signal_at_lock_grows_with_log_n, control={"sizes": (10,)}, regime="large n, limit; control: n = 10",
          levels=FLOWS, takes="m"),
    claim("margin_time", "Section 3, phase 3", "after lock the margin grows by 1/(32m)",
          after_lock_the_margin_grows_at_one_over_32m, control={"n": 1000, "m": 1000.0},
          regime="linear loss, m >> n²; control: m = n", levels=FLOWS, takes="n m"),
    claim("position_invariants", "Section 3", "a later position is a quadrature with two invariants",
          positions_have_their_invariants, control={"stretch": 1.01}, regime="limit, i >= n+3; control: another m",
          takes="n m"),
    claim("surrogate_lock", "Section 3, phase 2", "with only the target's score moving, lock is late by 1/(2n)",
          the_surrogate_locks_late_by_one_over_2n, control={"event": "margin_1"},
          regime="i = n+3; control: margin 1 instead of lock", takes="m"),
    claim("one_hot_at_n2", "Theorem 3 under gradient flow", "attention at n+2 becomes one-hot on S[n+2]",
          attention_at_n2_becomes_one_hot, control={"read": ("s_1",)},
          regime="limit, linear loss, n = 12, 100, 1000; control, which holds: attention at n+1", levels=TRAINED,
          takes="m"),
    claim("one_hot_elsewhere", "Theorem 3 under gradient flow", "attention at every other position becomes one-hot",
          attention_elsewhere_becomes_one_hot, control={"tau": 5.0}, regime="limit, linear loss; control: before lock",
          levels=TRAINED, takes="n k m"),
)  # fmt: skip
