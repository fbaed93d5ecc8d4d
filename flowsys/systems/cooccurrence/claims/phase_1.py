"""Claims about phase 1: the loss of samples with one target rises, the phase ends at T_1, little else has moved."""

from functools import lru_cache, partial

import numpy as np

from flowsys.claims import Verdict, judged
from flowsys.fits import power_law
from flowsys.systems.cooccurrence.claims.runs import FEW, MANY, at_event, claim, limit, parameters
from flowsys.systems.cooccurrence.scales import condition_1

LOG_2 = np.log(2)


def _rises(n: float, L: float) -> bool:
    found = limit(n, FEW, ["loss_peak"], L=L, observe=["loss_type2"])
    return at_event(found, "loss_peak", "loss_type2") > LOG_2 + 1e-12


def the_loss_of_one_target_rises_first(per_word: float = 3.0) -> Verdict:
    """The loss of types 2 and 3 rises before it falls, exactly when n > 3(L - 2); the loss of type 4 never rises."""
    sizes = [(n, 2 + n / per_word + step) for n in (12, 60, 300) for step in (-0.05, 0.05)]
    as_stated = [_rises(n, L) == (n > per_word * (L - 2)) for n, L in sizes]
    runs = {n: limit(n, MANY, ["loss_peak"], observe=["loss_type2"]) for n in (60, 600, np.inf)}
    peaks = {n: at_event(run, "loss_peak", "loss_type2") for n, run in runs.items()}
    type_4 = limit(60, FEW, taus=np.linspace(0, 60, 61), observe=["loss_type4"])["loss_type4"]
    holds = all(as_stated) and min(peaks.values()) > LOG_2 and bool(np.all(np.diff(type_4) <= 1e-12))
    text = ", ".join(f"{p:.4f} (n={n:g})" for n, p in peaks.items())
    return judged(holds, f"rise iff n > {per_word:g}(L - 2)",
                  f"{sum(as_stated)} of {len(as_stated)} sizes at the boundary ± 0.05 as stated; "
                  f"peak of type 2 from 0.6931: {text}",
                  note="The paper says that it rises; the condition on n and L is sharper.",
                  parameters=parameters(60, FEW), values={"peaks": list(peaks.values())})  # fmt: skip


def phase_1_ends_after_a_time_of_order_one_over_m(beta_grows: bool = True) -> Verdict:
    """T_1 = Õ(1/m), and the loss there is Θ(1)."""
    widths, times, losses = (256, 1024, 4096, 16384), [], []
    for m in widths:
        scales = condition_1(m, 16, 5)
        scales = scales if beta_grows else scales._replace(beta=256.0)
        found = limit(600, scales, ["T_1"], observe=["loss"])
        times.append(float(found.t[0]))
        losses.append(at_event(found, "T_1", "loss"))
    fit = power_law(widths, times)
    ends = {n: limit(n, MANY, ["T_1"], observe=["clock", "loss", "G_mu1", "G_mu3"]) for n in (60, 600, np.inf)}
    text = "; ".join(
        f"n={n:g}: τ(1+ρ) = {e['clock'][0]:.3f}, loss {e['loss'][0]:.3f}, "
        f"G = ({e['G_mu1'][0]:.3f}, {e['G_mu3'][0]:.3f})"
        for n, e in ends.items()
    )
    return judged(abs(fit.slope + 1) < 0.05 and min(losses) > 0.1, "exponent -1 in m", f"exponent {fit}; {text}",
                  interval=fit.interval, tolerance=0.05, parameters=parameters(600, MANY, m=widths),
                  values={"T_1": times, "loss": losses, "exponent": fit.slope}, fits={"T_1 over m": fit})  # fmt: skip


@lru_cache(maxsize=4)
def _changes(tied: bool, widths=(64, 256, 1024, 4096), seeds=8):
    """Largest changes of VV, S, KK, QQ up to τ = 14 over seeds, and β T_1: finite width, n = 12, L = 5, m1 = 8."""
    import jax.numpy as jnp

    from flowsys.solve import double_precision, solve
    from flowsys.systems.cooccurrence import SYSTEM
    from flowsys.systems.cooccurrence.finite import layout
    from flowsys.systems.cooccurrence.network import experiment

    changes, ends = [], []
    for m in widths:
        scales = condition_1(m, 8, 5)
        if not tied:
            scales = scales._replace(score_scale=8.0, beta=64.0)
        found = []
        for seed in range(seeds):
            setup = SYSTEM.setup(n=12, L=5, **scales._asdict(), width=m, seed=seed)
            times = [float(tau) / scales.beta for tau in (0.0, 2.0, 5.0, 9.0, 14.0)]
            run = solve(SYSTEM, setup, level="L2", at=[*times, "T_1"], observe=["tau"], rtol=1e-7, atol=1e-13)
            flat = layout(experiment(setup, "limit").structure.seen_by("small"), "small")
            with double_precision(SYSTEM.problem(setup, "L2")):
                states = [flat.split(jnp.asarray(y))[0] for y, s in zip(run.states, run.labels) if s == ""]
            difference = lambda name, states=states: max(
                float(np.abs(getattr(y, name) - getattr(states[0], name)).max()) for y in states[1:]
            )
            found.append([difference(name) for name in ("VV", "S", "KK", "QQ")])
            ends.append(float(run["tau"][run.labels.index("T_1")]))
        changes.append(np.mean(found, axis=0))
    return widths, np.array(changes), np.array(ends).reshape(len(widths), seeds).mean(axis=1)


def correlations_and_scores_hardly_move_in_phase_1(tied: bool = True) -> Verdict:
    """Up to the end of phase 1 VV changes by Õ(1/m), the scores by Õ(m^-3/2), KK and QQ by Õ(1/m²)."""
    widths, changes, ends = _changes(tied)
    fits = {name: power_law(widths, changes[:, i]) for i, name in enumerate(("VV", "S", "KK", "QQ"))}
    predicted = {"VV": -1.0, "S": -1.5, "KK": -2.0, "QQ": -2.0}
    holds = all(abs(fits[name].slope - predicted[name]) < 0.1 for name in predicted)
    text = ", ".join(f"{name} {fit}" for name, fit in fits.items())
    return judged(holds, "exponents -1, -3/2, -2, -2 in m",
                  f"{text}; β T_1 = {', '.join(f'{x:.1f}' for x in ends)}", interval=fits["S"].interval, tolerance=0.1,
                  note="KK and QQ move through the random S(0); in the limit their change is of second order in S. "
                  "β T_1 from random values G(0) has no trend in m.",
                  parameters=parameters(12, condition_1(4096, 8, 5), m=widths, seeds=8, level="L2"),
                  values={"changes": changes.tolist(), "beta_T_1": ends.tolist()},
                  fits={f"change of {name} over m": fit for name, fit in fits.items()})  # fmt: skip


CLAIMS = (
    claim("Section 4, phase 1", the_loss_of_one_target_rises_first, partial(the_loss_of_one_target_rises_first, 3.05)),
    claim("Theorem 3.1", phase_1_ends_after_a_time_of_order_one_over_m,
          partial(phase_1_ends_after_a_time_of_order_one_over_m, False)),
    claim("Theorem E.28, item 3", correlations_and_scores_hardly_move_in_phase_1,
          partial(correlations_and_scores_hardly_move_in_phase_1, False), is_cheap=False),
)  # fmt: skip
