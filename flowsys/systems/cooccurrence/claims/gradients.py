"""Claims about the balance of gradients in phase 2 (Lemmas 4.3 to 4.5, F.5, F.6, Definition F.1)."""

from functools import partial

import numpy as np

from flowsys.claims import Verdict, judged
from flowsys.claims.conditions import current
from flowsys.systems.cooccurrence.claims.runs import (
    ANYWHERE,
    FLOWS,
    MANY,
    MEMORISING,
    SIZES,
    STRONG,
    TRAINED,
    Place,
    claim,
    last_tau,
    phase_2,
    places,
    run,
    separator,
    setup,
)
from flowsys.systems.cooccurrence.max_margin import max_margin, quadratic_gradient_ratio
from flowsys.systems.cooccurrence.sentences import shares_of


def the_common_word_falls_between_one_and_two_targets(sizes=SIZES) -> Verdict:
    """From T_1 on (1 + C) max(Ġ(μ1), Ġ(μ2)) ≤ -Ġ(μ3) ≤ (1 - C)(Ġ(μ1) + Ġ(μ2)) with a constant C > 0."""
    windows, sizes = {}, places(sizes)
    for place in sizes:
        p = phase_2(place)
        faster, both = np.maximum(p["d_G_mu1"], p["d_G_mu2"]), p["d_G_mu1"] + p["d_G_mu2"]
        # R if both targets move alike
        windows[place.n] = float((-p["d_G_mu3"] / faster).min()), float((-2 * p["d_G_mu3"] / both).max())
    C = min(min(low - 1, 1 - high / 2) for low, high in windows.values())
    text = "; ".join(f"n={n:g}: R in [{low:.4f}, {high:.4f}]" for n, (low, high) in windows.items())
    return judged(C > 0.05, "1 + C ≤ R ≤ 2(1 - C), C > 0", f"C = {C:.3f}; {text}", tolerance=0.05,
                  note=f"C is the best constant over phase 2 up to τ = {last_tau():g}.",
                  parameters=sizes[0].parameters(), values={"C": C, "windows": windows})  # fmt: skip


def the_gradient_ratio_tends_to_the_root_of_the_quadratic(scales=None) -> Verdict:
    """R tends to the positive root of the quadratic in g', which is the max-margin direction's R* (3/2 at n = ∞)."""
    sizes, rows, worst = places((*SIZES, Place(np.inf, MANY))), [], 0.0
    for place in sizes:
        late = phase_2(place._replace(scales=scales or place.scales))["R"][-1]
        expected = separator(place).gradient_ratio
        worst = max(worst, abs(late - expected))
        rows.append(f"n={place.n:g}: {late:.4f} (R* = {expected:.4f})")
    root = quadratic_gradient_ratio(max_margin(np.inf, 5).dual_weights)
    return judged(worst < 0.01 and abs(root - 1.5) < 1e-9, "R → R*; root 3/2 at n = ∞",
                  f"{'; '.join(rows)}; root {root:.4f}", tolerance=0.01, parameters=sizes[0].parameters(),
                  values={"worst": float(worst), "root": root})  # fmt: skip


def gradient_sums_stay_comparable(sizes=SIZES, factor: float = 1.2) -> Verdict:
    """In phase 2 Σg/(g_2 + g_3 + g_4 - g_1) and Σg/(g_1 - g_2), summed over types, are O(1)."""
    sizes, rows, excess = places(sizes), [], 0.0
    for place in sizes:
        p, late = phase_2(place), separator(place).balance
        least = [float(p[f"balance_{k}"].min()) for k in ("negative", "positive")]
        largest = [1 / x if x > 0 else np.inf for x in least]
        excess = max(excess, *(x / y for x, y in zip(largest, late)))
        rows.append(
            f"n={place.n:g}: {largest[0]:.2f} and {largest[1]:.2f} (late times {late[0]:.2f} and {late[1]:.2f})"
        )
    return judged(excess < factor, f"never above {factor:g} times their late-time constants, 17/3 and 17/2 at n = ∞",
                  f"{excess:.3f} times at most; {'; '.join(rows)}", tolerance=factor,
                  note="The late-time constants are those of the max-margin direction. At n = 12 the first sum is "
                  "twice as large in between.",
                  parameters=sizes[0].parameters(), values={"excess": excess})  # fmt: skip


def gradients_keep_their_order(**shares: float) -> Verdict:
    """In phase 2 g_4 ≤ g_2, g_3 ≤ g_1 ≤ g_2 + g_3 + g_4 (sums over types)."""
    least, sizes = {}, places()
    for place in sizes:
        p = phase_2(place, **shares)
        total = sum(p[f"g_type{T}"] for T in (1, 2, 3, 4))
        least[place.n] = float((p["gradient_order"] / total).min())
    text = "; ".join(f"n={n:g}: {x:.4f}" for n, x in least.items())
    return judged(min(least.values()) > 0, "least gap over Σg positive", f"least gap: {text}",
                  parameters=sizes[0].parameters(**shares), values={"gap": least})  # fmt: skip


def the_targets_are_balanced(splits=(0.1, 0.5, 2.0), **shares: float) -> Verdict:
    """|g_2 - g_3|/min(g_2, g_3) stays below a small constant and is pulled to 0."""
    (place,) = places((Place(600, MANY),))
    rows, found = [], []
    # at finite width a random start is unbalanced by itself
    starts = [{}] if current().is_finite else [{"split": split, "variant": "without_swap"} for split in splits]
    for start in starts:
        there = run(place, ("T_1",), (0.0, 100.0, 300.0, 1e3), ("target_imbalance",), **start, **shares)
        x = there["target_imbalance"][np.argsort(there.t)]
        rows.append(f"split {start.get('split', 'of the seed')}: {x[0]:.3f} (0) → {x[1]:.3f} (T_1) → "
                    f"{x[2]:.4f} (τ=100) → {x[4]:.1e} (τ=1000)")  # fmt: skip
        found.append(x)
    found = np.array(found)
    holds = bool(np.all(np.diff(found, axis=1) < 0) and found[:, 2].max() < 0.1 and found[:, 4].max() < 1e-3)
    power = float(np.log(found[0, 4] / found[0, 3]) / np.log(1e3 / 300))
    # d(F_2 - F_3)/dτ = -(1 + (L-2)/n_2)(g_2 - g_3), and g_2 → A_2/τ
    n_2 = place.n * shares_of(setup(place, **shares))[1]
    late = separator(place, **shares).dual_weights[1] * (1 + (place.L - 2) / n_2)
    return judged(holds, "falls to 0", f"{'; '.join(rows)}; like τ^{power:.2f} between τ = 300 and 1000",
                  tolerance=1e-3, note="From G(μ1) - G(μ2) = split at t = 0. At late times like τ^-k, "
                  f"k = A_2(1 + (L - 2)/n_2) = {late:.2f} with the dual weight A_2 of type 2; about 1/τ only "
                  "around τ = 30.",
                  parameters=place.parameters(split=splits), values={"imbalance": found.tolist(), "power": power,
                                                                     "late": late})  # fmt: skip


CLAIMS = (
    claim("Lemma 4.3, Theorem E.19", the_common_word_falls_between_one_and_two_targets,
          partial(the_common_word_falls_between_one_and_two_targets, (MEMORISING[0]._replace(L=20),)),
          levels=TRAINED, takes=ANYWHERE),
    claim("Lemma F.6", the_gradient_ratio_tends_to_the_root_of_the_quadratic,
          partial(the_gradient_ratio_tends_to_the_root_of_the_quadratic, STRONG), levels=FLOWS, takes=ANYWHERE),
    claim("Lemma 4.5", gradient_sums_stay_comparable, partial(gradient_sums_stay_comparable, MEMORISING),
          levels=TRAINED, takes=ANYWHERE),
    claim("Definition F.1", gradients_keep_their_order,
          partial(gradients_keep_their_order, share_1=0.25, share_4=0.65), levels=TRAINED, takes=ANYWHERE),
    claim("Lemma 4.4, Lemma F.5", the_targets_are_balanced,
          partial(the_targets_are_balanced, share_2=0.05), levels=TRAINED, takes=ANYWHERE),
)  # fmt: skip
