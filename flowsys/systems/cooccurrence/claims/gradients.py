"""Claims about the balance of gradients in phase 2 (Lemmas 4.3 to 4.5, F.5, F.6, Definition F.1)."""

from functools import partial

import numpy as np

from flowsys.claims import Verdict, judged
from flowsys.systems.cooccurrence.claims.runs import FEW, MANY, STRONG, claim, limit, parameters, phase_2
from flowsys.systems.cooccurrence.max_margin import max_margin
from flowsys.systems.cooccurrence.paper import gradient_ratio

SIZES = ((60, FEW), (600, MANY), (6000, MANY))


def the_common_word_falls_between_one_and_two_targets(sizes=SIZES, L: float = 5) -> Verdict:
    """From T_1 on (1 + C) Ġ(μ1) ≤ -Ġ(μ3) ≤ (1 - C)(Ġ(μ1) + Ġ(μ2)) with a constant C > 0."""
    windows = {n: (float(p["R"].min()), float(p["R"].max())) for n, p in ((n, phase_2(n, s, L)) for n, s in sizes)}
    C = min(min(low - 1, 1 - high / 2) for low, high in windows.values())
    text = "; ".join(f"n={n:g}: R in [{low:.4f}, {high:.4f}]" for n, (low, high) in windows.items())
    return judged(C > 0.05, "1 + C ≤ R ≤ 2(1 - C), C > 0", f"C = {C:.3f}; {text}", tolerance=0.05,
                  note="C is the best constant over phase 2 up to τ = 1e6.",
                  parameters=parameters(sizes[0][0], sizes[0][1], L), values={"C": C, "windows": windows})  # fmt: skip


def the_gradient_ratio_tends_to_the_root_of_the_quadratic(sizes=SIZES, L: float = 5, scales=None) -> Verdict:
    """R tends to the positive root of the quadratic in g', which is the max-margin direction's R* (3/2 at n = ∞)."""
    rows, worst = [], 0.0
    for n, scale in (*sizes, (np.inf, MANY)):
        late = phase_2(n, scales or scale, L)["R"][-1]
        separator = max_margin(n, L)
        worst = max(worst, abs(late - separator.gradient_ratio))
        rows.append(f"n={n:g}: {late:.4f} (R* = {separator.gradient_ratio:.4f})")
    root = float(gradient_ratio(max_margin(np.inf, L).dual_weights))
    return judged(worst < 0.01 and abs(root - 1.5) < 1e-9, "R → R*; root 3/2 at n = ∞",
                  f"{'; '.join(rows)}; root {root:.4f}", tolerance=0.01, parameters=parameters(60, FEW, L),
                  values={"worst": float(worst), "root": root})  # fmt: skip


def gradient_sums_stay_comparable(sizes=SIZES, L: float = 5, factor: float = 1.2) -> Verdict:
    """In phase 2 Σg/(g_2 + g_3 + g_4 - g_1) and Σg/(g_1 - g_2), summed over types, are O(1)."""
    rows, excess = [], 0.0
    for n, scales in sizes:
        p, late = phase_2(n, scales, L), max_margin(n, L).balance
        least = [float(p[f"balance_{k}"].min()) for k in ("negative", "positive")]
        largest = [1 / x if x > 0 else np.inf for x in least]
        excess = max(excess, *(x / y for x, y in zip(largest, late)))
        rows.append(f"n={n:g}: {largest[0]:.2f} and {largest[1]:.2f} (late times {late[0]:.2f} and {late[1]:.2f})")
    return judged(excess < factor, f"never above {factor:g} times their late-time constants, 17/3 and 17/2 at n = ∞",
                  f"{excess:.3f} times at most; {'; '.join(rows)}", tolerance=factor,
                  note="The late-time constants are those of the max-margin direction. At n = 12 the first sum is "
                  "twice as large in between.",
                  parameters=parameters(*sizes[0], L), values={"excess": excess})  # fmt: skip


def gradients_keep_their_order(share_1: float = 0.5, share_4: float = 1 / 6) -> Verdict:
    """In phase 2 g_4 ≤ g_2, g_3 ≤ g_1 ≤ g_2 + g_3 + g_4 (sums over types)."""
    least = {}
    for n, scales in SIZES:
        taus = np.concatenate([np.linspace(1, 60, 60), np.geomspace(61, 1e6, 40)])
        names = ["gradient_order", "g_type1", "g_type2", "g_type3", "g_type4"]
        found = limit(n, scales, ["T_1"], taus, observe=names, share_1=share_1, share_4=share_4)
        after = found.t >= found.t[found.labels.index("T_1")]
        total = sum(found[name] for name in names[1:])
        least[n] = float((found["gradient_order"] / total)[after].min())
    text = "; ".join(f"n={n:g}: {x:.4f}" for n, x in least.items())
    return judged(min(least.values()) > 0, "least gap over Σg positive", f"least gap: {text}",
                  parameters=parameters(60, FEW, share_1=share_1, share_4=share_4), values={"gap": least})  # fmt: skip


def the_targets_are_balanced(n: float = 600, share_2: float | None = None, splits=(0.1, 0.5, 2.0)) -> Verdict:
    """|g_2 - g_3|/min(g_2, g_3) stays below a small constant and is pulled to 0."""
    scales, rows, found = MANY, [], []
    for split in splits:
        more = {} if share_2 is None else {"share_2": share_2}
        run = limit(n, scales, ["T_1"], [0.0, 100.0, 300.0, 1e3], variant="without_swap", split=split,
                    observe=["target_imbalance"], **more)  # fmt: skip
        x = run["target_imbalance"][np.argsort(run.t)]
        rows.append(f"split {split:g}: {x[0]:.3f} (0) → {x[1]:.3f} (T_1) → {x[2]:.4f} (τ=100) → {x[4]:.1e} (τ=1000)")
        found.append(x)
    found = np.array(found)
    holds = bool(np.all(np.diff(found, axis=1) < 0) and found[:, 2].max() < 0.1 and found[:, 4].max() < 1e-3)
    power = float(np.log(found[0, 4] / found[0, 3]) / np.log(1e3 / 300))
    # d(F_2 - F_3)/dτ = -(1 + (L-2)/n_2)(g_2 - g_3), and g_2 → A_2/τ
    late = max_margin(n, 5).dual_weights[1] * (1 + 3 / (n / 6))
    return judged(holds, "falls to 0", f"{'; '.join(rows)}; like τ^{power:.2f} between τ = 300 and 1000",
                  tolerance=1e-3, note="From G(μ1) - G(μ2) = split at t = 0. At late times like τ^-k, "
                  f"k = A_2(1 + (L - 2)/n_2) = {late:.2f} with the dual weight A_2 of type 2; about 1/τ only "
                  "around τ = 30.",
                  parameters=parameters(n, scales, split=splits), values={"imbalance": found.tolist(),
                                                                         "power": power, "late": late})  # fmt: skip


MEMORISING = ((12, FEW),)
"""So few samples that they are learned by their irrelevant words."""

CLAIMS = (
    claim("Lemma 4.3, Theorem E.19", the_common_word_falls_between_one_and_two_targets,
          partial(the_common_word_falls_between_one_and_two_targets, MEMORISING, 20)),
    claim("Lemma F.6", the_gradient_ratio_tends_to_the_root_of_the_quadratic,
          partial(the_gradient_ratio_tends_to_the_root_of_the_quadratic, scales=STRONG)),
    claim("Lemma 4.5", gradient_sums_stay_comparable, partial(gradient_sums_stay_comparable, MEMORISING)),
    claim("Definition F.1", gradients_keep_their_order, partial(gradients_keep_their_order, 0.25, 0.65)),
    claim("Lemma 4.4, Lemma F.5", the_targets_are_balanced, partial(the_targets_are_balanced, 60, 0.05)),
)  # fmt: skip
