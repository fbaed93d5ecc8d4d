"""Gradient flow of the limit: lock-on times, the order of the phases, margins, the surrogate, the n+2 position."""

import numpy as np

from flowsys.claims import Verdict, judged
from flowsys.fits import power_law
from flowsys.solve import solve
from flowsys.systems.parity import position
from flowsys.systems.parity.claims.runs import claim

LARGE_N = (1000, 3000, 10000)


def _solve(at, **options):
    from flowsys.systems.parity import SYSTEM

    choice = {name: options.pop(name, None) for name in ("level", "variant", "mode")}
    return solve(SYSTEM, SYSTEM.setup(**options), at=at, **choice)


def lock_times_reach_their_asymptotes(sizes=LARGE_N) -> Verdict:
    """t_lock/(n√m) at i = n+3 and for the only position of k = 1, by quadrature."""
    m = 9.0
    found = []
    for n in sizes:
        later, first = position.later_position(n, 3, n + 3, m), position.only_position(n, m)
        found.append([position.time(p, position.lock(p)) / (n * 3.0) for p in (later, first)])
    constants = np.array([8 * np.sqrt(np.pi), 2 * np.sqrt(2 * np.pi)])
    off = np.abs(np.array(found)[-1] / constants - 1)
    return judged(
        bool(off.max() < 2e-3),
        "8√π = 14.180 and 2√(2π) = 5.013 times n√m",
        "; ".join(f"n={n}: {a:.3f}, {b:.3f}" for n, (a, b) in zip(sizes, found)),
        tolerance=2e-3,
        parameters={"n": sizes, "m": m},
        values={"ratios": found},
    )


def signal_at_lock_grows_with_log_n(sizes=LARGE_N) -> Verdict:
    m = 9.0
    found = []
    for n in sizes:
        place = position.later_position(n, 3, n + 3, m)
        found.append(4 * m * position.signal(place, position.lock(place)) ** 2)
    off = abs(found[-1] - np.log(sizes[-1]) - 1)
    return judged(
        off < 0.01,
        "4m g² = log n + 1 at lock",
        "; ".join(f"n={n}: {x:.3f} ({np.log(n) + 1:.3f})" for n, x in zip(sizes, found)),
        tolerance=0.01,
        parameters={"n": sizes, "m": m},
        values={"measured": found},
    )


def signal_then_attention_then_margin(n: int = 1000, m: float = 400.0) -> Verdict:
    """Times at which g has grown to half its value at lock, attention to 1/2, and the margin to 1."""
    place = position.later_position(n, 3, n + 3, m)
    x_lock, x_margin = position.lock(place), position.margin_reached(place)
    half = next(
        x for x in np.linspace(0, x_lock, 400)[1:] if position.signal(place, x) > position.signal(place, x_lock) / 2
    )
    times = [position.time(place, x) / (n * np.sqrt(m)) for x in (half, x_lock, x_margin)]
    attention = position.s_target(place, half)
    return judged(
        times[0] < times[1] < times[2] and attention < 0.1,
        "FFN, then attention, then output",
        f"t/(n√m): half the signal {times[0]:.2f} (attention {attention:.3f}), lock {times[1]:.2f}, "
        f"margin 1 {times[2]:.2f}",
        note="lock comes before margin 1 when 4m > log n + 1",
        parameters={"n": n, "m": m},
        values={"times": times},
    )  # fmt: skip


def after_lock_the_margin_grows_at_one_over_32m(n: int = 20, m: float = 4e4) -> Verdict:
    """Time from margin 1 to margin 2 over 32m, and lock over margin time against 0.44 n/√m."""
    place = position.later_position(n, 3, n + 3, m)
    one, two = (position.time(place, position.margin_reached(place, margin)) for margin in (1.0, 2.0))
    rate = (two - one) / (32 * m)
    lock = position.time(place, position.lock(place))
    return judged(
        abs(rate - 1) < 0.01 and abs(one / (32 * m) - 1) < 0.1,
        "margin 1 at about 32m, growing by 1/(32m)",
        f"from 1 to 2 in {rate:.4f}·32m; margin 1 at {one / (32 * m):.3f}·32m; lock/32m {lock / (32 * m):.4f}",
        note=f"lock/margin is 0.44 n/√m for large n; here {lock / (32 * m) / (n / np.sqrt(m)):.3f} n/√m",
        tolerance=0.1,
        parameters={"n": n, "m": m},
        values={"rate": rate, "margin_1": one, "lock": lock},
    )


def the_surrogate_locks_late_by_one_over_2n(event: str = "lock") -> Verdict:
    """Relative error of the surrogate (v = w = 0), n = 30 … 3000."""
    sizes, errors = (30, 100, 300, 1000, 3000), []
    for n in sizes:
        exact, rough = (_solve([event], level=level, n=n, k=3, m=100.0).t[0] for level in ("L3", "L4"))
        errors.append(abs(rough / exact - 1))
    fit = power_law(sizes, errors)
    constant = errors[-1] * 2 * sizes[-1]
    return judged(
        abs(fit.slope + 1) < 0.03 and abs(constant - 1) < 0.1,
        "error 1/(2n)",
        f"exponent {fit}, 2n × error = {constant:.3f} at n = {sizes[-1]}",
        interval=fit.interval,
        tolerance=0.03,
        parameters={"n": sizes, "k": 3, "m": 100.0, "event": event},
        values={"errors": errors},
        fits={f"relative error of {event} over n": fit},
    )


def attention_at_n2_becomes_one_hot(read=("s_x0", "s_x1"), sizes=(12, 100, 1000), tau: float = 15.0) -> Verdict:
    """Least attention on S[n+2] over both values of its bit (or another reading), at t = 3τ n√m; scores at τ."""
    m, rows = 400.0, []
    for n in sizes:
        found = _solve([tau * n * m**0.5, 3 * tau * n * m**0.5], mode="block", n=n, k=2, m=m)
        names = {*read, "s_x0", "s_x1", "a_x0", "a_x1", "a_z"}
        rows.append({x: found[x][-1 if x[0] == "s" else 0] for x in sorted(names)})
    return judged(
        all(min(row[name] for name in read) > 0.9 for row in rows),
        "attention 1 on S[n+2]",
        "; ".join(
            f"n={n}: {row['s_x0']:.2g} where the bit equals b[n+2], {row['s_x1']:.3f} where not; scores at τ={tau:g} "
            f"x1 {row['a_x1']:.1f}, z {row['a_z']:.1f}, x0 {row['a_x0']:.2f}"
            for n, row in zip(sizes, rows)
        ),
        note="once n+1 has locked, the common mode makes S[n+1], whose bit is b[n+2], useful: attention goes there "
        "where b[S[n+2]] = b[n+2]; every margin stays positive",
        parameters={"n": sizes, "k": 2, "m": m, "tau": tau, "read": read},
        values={"rows": rows},
    )


def attention_elsewhere_becomes_one_hot(tau: float = 45.0) -> Verdict:
    """Attention on S[i] at n+1 and at every i >= n+3, at t = τ n√m."""
    n, k, m = 100, 5, 400.0
    t = tau * n * m**0.5
    found = {n + 1: float(_solve([t], mode="block", n=n, k=k, m=m)["s_1"][0])}
    found |= {i: float(_solve([t], n=n, k=k, m=m, i=i)["s_target"][0]) for i in range(n + 3, n + k + 1)}
    return judged(
        min(found.values()) > 0.99,
        "attention 1 on S[i] for i ≠ n+2",
        ", ".join(f"n+{i - n}: {s:.5f}" for i, s in found.items()),
        tolerance=0.01,
        parameters={"n": n, "k": k, "m": m, "tau": tau},
        values={"attention": found},
    )


def positions_have_their_invariants(stretch: float = 1.0) -> Verdict:
    """u + N_o v + N_w w/2 and e^(-w) - 2e^(-v) + 1 along the flow to margin 1."""
    n, m = 20, 400.0
    found = _solve(["lock", "margin_1"], n=n, k=3, m=m)
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
          regime="gradient flow, i = n+3; control: 4m < log n + 1"),
    claim("lock_time", "Section 3, phase 2", "attention locks at 8√π n√m, at n+1 at 2√(2π) n√m",
          lock_times_reach_their_asymptotes, control={"sizes": (10,)}, regime="large n, limit; control: n = 10"),
    claim("lock_signal", "Section 3, phase 2", "at lock the signal is ((log n + 1)/4m)^(1/2)",
          signal_at_lock_grows_with_log_n, control={"sizes": (10,)}, regime="large n, limit; control: n = 10"),
    claim("margin_time", "Section 3, phase 3", "after lock the margin grows by 1/(32m)",
          after_lock_the_margin_grows_at_one_over_32m, control={"n": 1000, "m": 1000.0},
          regime="linear loss, m >> n²; control: m = n"),
    claim("position_invariants", "Section 3", "a later position is a quadrature with two invariants",
          positions_have_their_invariants, control={"stretch": 1.01}, regime="limit, i >= n+3; control: another m"),
    claim("surrogate_lock", "Section 3, phase 2", "with only the target's score moving, lock is late by 1/(2n)",
          the_surrogate_locks_late_by_one_over_2n, control={"event": "margin_1"},
          regime="i = n+3; control: margin 1 instead of lock"),
    claim("one_hot_at_n2", "Theorem 3 under gradient flow", "attention at n+2 becomes one-hot on S[n+2]",
          attention_at_n2_becomes_one_hot, control={"read": ("s_1",)},
          regime="limit, linear loss, n = 12, 100, 1000; control, which holds: attention at n+1"),
    claim("one_hot_elsewhere", "Theorem 3 under gradient flow", "attention at every other position becomes one-hot",
          attention_elsewhere_becomes_one_hot, control={"tau": 5.0}, regime="limit, linear loss; control: before lock"),
)  # fmt: skip
