"""What the claims measure: runs of the population flow and exponents of its times.

Unless a claim says otherwise M = 20, K = 3, α = 0.4, the exact population from W = 0 (L3). A claim that names no level
in a run is measured where `flowsys.claims.conditions` says: at L2 gradient flow from random weights on n_tasks tasks,
at L0 SGD (Algorithm 1), to t = 1e4 at most. A claim stated at several sizes is then measured at the one asked for.

How a verdict's word is chosen, by the form of the statement. The theorems give times and lengths that suffice (Ω, ≳);
the text calls them the required ones ("linear in", "proportional to": Sec. 3, P1, P2; Θ in Eq. 57). Both are checked:
- A *bound of some order* (Eqs. 17, 18, 23, 25, 35) holds if one constant serves to the hard end of every parameter; the
  best constant is reported.
- A *law* (grows like x^s) says an exponent for the hard end of x. It is fitted over the last decades that can be
  computed and holds if it is s within the tolerance; an exponent that is another one does not hold, also where it is a
  valid bound, and then the note says so.
- A *definite inequality* (Eqs. 30-33, 36-39) holds if it does at every size throughout the window it is stated for, in
  part if it does so at some size, or for a time at each of them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowsys import claims
from flowsys.claims import Verdict, Word, judged, listed
from flowsys.claims.conditions import chosen_level, chosen_parameters, current, remembered
from flowsys.errors import InputError
from flowsys.laws.fits import Fit, power_law
from flowsys.runs.solving import solve
from flowsys.runs.training import steps_from
from flowsys.runs.trajectory import Trajectory
from flowsys.system import Setup
from flowsys.systems.prompt import SYSTEM

KINDS = ("same_same", "same_other", "other_same", "other_other")
GAMMAS = tuple(f"Gamma_{kind}" for kind in KINDS)
PLAIN = ("a", "b", "g", "loss", "mass_same_same", "mass_other_step", "mass_other_step_max", "p_min", *GAMMAS)
SIZES = ((20, 3, 0.4), (200, 3, 0.4), (20, 2, 0.4), (2000, 2, 0.2))

TRAINED = "L0 L2 L3"
"""Levels of a claim that can be read off a few thousand steps of training."""
FLOWS = "L2 L3"
"""Levels of a claim on late times, which descent does not come to."""
SIZE = "M K alpha"
AT_TEST = "M_test alpha_test l_ts tau rho style beta noise"
"""Parameters of sizes, and of the test."""
LONGEST_TRAINING = 1e4

OF_TRAINING = "n_tasks family xi l_tr batch_size"
"""Parameters that only finite levels know."""


def claim(*what: Any, levels: str = "L3", takes: str = "",
          regime: str = "exact population, M = 20, K = 3, α = 0.4", **more: Any) -> claims.Claim:  # fmt: skip
    """A claim of the paper; one that is measured along training takes what training depends on."""
    takes = f"{takes} {OF_TRAINING}" if levels in (TRAINED, FLOWS) else takes
    return claims.claim(*what, levels=levels, takes=takes, regime=regime, **more)


def setup(**parameters: Any) -> Setup:
    """The parameters of a run: those the claim sets, those asked for, the defaults."""
    return SYSTEM.setup(**chosen_parameters(parameters))


def own(**values: Any) -> dict[str, Any]:
    """A claim's own values of parameters that may be asked for otherwise."""
    asked = dict(current().parameters)
    return {name: value for name, value in values.items() if name not in asked}


def chosen(name: str, value: Any) -> Any:
    """One of them: what was asked for, or the claim's own value."""
    return dict(current().parameters).get(name, value)


def refuse_seeds(reason: str) -> None:
    """Where seeds are asked for, say why the measurement has none to choose."""
    if "seed" in dict(current().parameters):
        raise InputError(f"seeds cannot be chosen here: {reason}.")


def size(M: int, K: int, alpha: float) -> dict[str, Any]:
    """Sizes by name, for a run."""
    return own(M=M, K=K, alpha=alpha)


def sizes(stated: Sequence[tuple[int, int, float]]) -> Sequence[tuple[int, int, float]]:
    """(M, K, α) of a claim stated at several sizes: those, or the one asked for."""
    if not current().is_finite and not {"M", "K", "alpha"} & {name for name, _ in current().parameters}:
        return stated
    there = setup()
    return ((there["M"], there["K"], there["alpha"]),)


def remark(text: str) -> str:
    """What a note says of the measurement on record, left out elsewhere."""
    return text if current().is_default else ""


def horizon(t: float) -> float:
    """The end of a course: descent comes less far than the flow."""
    return min(t, LONGEST_TRAINING) if current().level == "L0" else t


@remembered(2048)
def run(*at: str | float, observe: tuple[str, ...] = PLAIN, level: str | None = None, mode: str = "population",
        rtol: float = 1e-9, **parameters: Any) -> Trajectory:  # fmt: skip
    """A solved trajectory, found again when asked for twice."""
    level = chosen_level(level, "L3")
    if level == "L0":
        parameters |= own(t_max=2 * LONGEST_TRAINING)
    return solve(
        SYSTEM, setup(**parameters), level=level, variant="sgd" if level == "L0" else None, mode=mode, at=at,
        observe=observe, rtol=rtol if level in ("L3", "L4") else max(rtol, 1e-8),
    )  # fmt: skip


def reached(event: str, observe: str = "loss", **parameters: Any) -> dict[str, float] | None:
    """Its time t and an observable when an event happens; None if it never does."""
    found = run(event, observe=(observe,), **parameters).at(event)
    return {"t": found["t"], **found["values"]} if found["reached"] else None


def at_event(event: str, observe: str = "loss", **parameters: Any) -> dict[str, float]:
    """The same of an event that the measurement cannot do without."""
    found = reached(event, observe, **parameters)
    if found is None:
        raise InputError(f"{event} is never reached with these parameters.")
    return found


def time(event: str, **parameters: Any) -> float:
    """When an event happens."""
    return at_event(event, **parameters)["t"]


def times(event: str, name: str, values: Sequence[float], **fixed: Any) -> np.ndarray:
    """An event's times over the values of one parameter."""
    return np.array([time(event, **{name: value}, **fixed) for value in values])


def course(ts: Sequence[float], **options: Any) -> Trajectory:
    """A run recorded at many times; descent at the steps next to them."""
    there = run(*map(float, ts), **options)
    return there.nearest_to(ts) if there.origin.level == "L0" else there


@remembered(32)
def trained_entries(t: float) -> np.ndarray:
    """Frame entries of Algorithm 1 at time t."""
    import jax

    with jax.enable_x64(True):
        there = setup()
        training = SYSTEM.training(there, "sgd", "population", None)
        arguments, rate = training.stages[0].arguments, there["learning_rate"]
        last = steps_from(training.descent, training.initial, arguments, rate, round(t / rate))
        block = SYSTEM.concrete(there, "L0", "population").blocks["W"]
        return np.asarray(block.seen(last["weights"])["W"])


def local_exponents(x: Sequence[float], y: Sequence[float]) -> np.ndarray:
    """Exponents of y in x between neighbouring points."""
    return np.diff(np.log(np.asarray(y, dtype=float))) / np.diff(np.log(np.asarray(x, dtype=float)))


def fitted(x: Sequence[float], y: Sequence[float]) -> Fit:
    """A power law through measurements, which must be positive."""
    if not all(np.isfinite(value) and value > 0 for value in y):
        raise InputError(f"no power law can be fitted to {listed(y)}.")
    return power_law(x, y)


def exponent_verdict(
    name: str, x: Sequence[float], y: Sequence[float], predicted: float, tolerance: float, note: str = "",
    parameters: dict[str, Any] | None = None,
) -> Verdict:  # fmt: skip
    """A scaling law against a power fitted to measurements."""
    fit, local = fitted(x, y), local_exponents(x, y)
    return judged(
        abs(fit.slope - predicted) <= tolerance, f"{name}^{predicted:g}",
        f"{name}^{fit}; between neighbours {listed(local, '.3g')}", note=note, interval=fit.interval,
        tolerance=tolerance, parameters={name: tuple(map(float, x)), **(parameters or {})},
        values={"exponent": fit.slope, "local": local.tolist(), "measured": np.asarray(y, dtype=float).tolist()},
        fits={f"over {name}": fit},
    )  # fmt: skip


def word_of_inequality(kept: Sequence[np.ndarray]) -> Word:
    """The word for an inequality by where along its window it is kept, at each size."""
    if all(at.all() for at in kept):
        return Word.HOLDS
    return Word.IN_PART if any(at.all() for at in kept) or all(at.any() for at in kept) else Word.FAILS


def stretches(t: Sequence[float], is_true: Sequence[bool]) -> str:
    """Where along t something is true, as intervals in words."""
    t, marks = np.asarray(t), np.concatenate([[False], np.asarray(is_true, dtype=bool), [False]])
    starts, ends = np.flatnonzero(~marks[:-1] & marks[1:]), np.flatnonzero(marks[:-1] & ~marks[1:])
    return " and ".join(f"t = {t[i]:.3g} to {t[j - 1]:.3g}" for i, j in zip(starts, ends)) or "nowhere"
