"""Whether constants stay bounded: the rule behind orders and inequalities with a hidden constant.

Whether they do is decided between laws of the constants that stay bounded, grow like a logarithm and grow like a power
(`flowsys.laws`): the growing one is believed only if it predicts clearly better what it was not fitted to and the
growth goes on at the end of the path; where neither is clear nothing is decided.
"""

import numpy as np
from numpy.typing import ArrayLike

from flowsys.claims.verdict import Word, listed
from flowsys.laws.law import evidence, local_exponents

CLEARLY = 2.0
ABOUT = 1.3
SLIGHT = 0.02
HOLDS_ON, LEVELS_OFF = 0.75, 0.5  # of the growth before: still growing, coming to rest; between them nothing is told
SETTLING = 0.5  # the least rate at which the exponents of constants that come to rest fall
STEEP = 5.0
LEVEL = 1.1
EVER_FASTER = "the constants grow ever faster"
MOST_POINTS = 20
TINY = 1e-30


def bounded(x: ArrayLike, ratio: ArrayLike, tilde: str) -> tuple[Word, str]:
    """Whether positive ratios stay bounded towards the last x, up to logarithms if `tilde`; and why, in words.

    That they do not has to show before the last place, too: one place is no growth.
    """
    x, ratios = thinned(np.asarray(x, float), np.asarray(ratio, float))
    if not (ratios[-max(1, len(ratios) // 3) :] > 0).any():
        return Word.HOLDS, ""
    ratios = np.maximum(ratios / ratios.max(), 1e-300)
    word, why = _judged(x, ratios, tilde)
    if word is Word.FAILS and _judged(x[:-1], ratios[:-1], tilde)[0] is Word.HOLDS:
        return Word.NOT_TESTABLE, f"not yet asymptotic: only at the last place do the constants grow; {why}"
    return word, why


def _judged(x: np.ndarray, ratios: np.ndarray, tilde: str) -> tuple[Word, str]:
    X = 1 / x if x[-1] < x[0] else x
    local = local_exponents(X, ratios)
    last = local[-max(1, len(local) // 3) :]
    middle = local[: len(local) - len(last)][-max(1, len(local) // 3) :] if len(local) > 1 else last
    end, before = float(np.mean(last)), float(np.mean(middle)) if len(middle) else float(np.mean(last))
    if len(x) < 3:
        return (Word.HOLDS, "") if end <= SLIGHT else (Word.NOT_TESTABLE, "too few places along the path to tell")
    flat, logarithm, power = evidence(x, np.maximum(ratios, TINY))
    allowed, growing = (min(flat, logarithm), power) if tilde else (flat, min(logarithm, power))
    settles = _settles(X, local)
    if tilde:
        goes_on = end > 0 and not settles and _is_power(X, local)
    elif power <= logarithm:
        goes_on = end > 0 and not settles and end >= HOLDS_ON * before
    else:
        goes_on = end > 0 and not settles and _is_logarithmic(X, local)
    goes_up = end > SLIGHT and goes_on and _rises(ratios, local)
    if goes_up and _steepens(local):
        return Word.FAILS, f"{EVER_FASTER}, local exponents {listed(local)}"
    if goes_up and allowed <= ABOUT * growing:
        return Word.NOT_TESTABLE, f"the constants grow, but by no law: local exponents {listed(local)}"
    if tilde and end > SLIGHT and _doubles(ratios) and growing / CLEARLY <= allowed <= ABOUT * growing:
        return Word.NOT_TESTABLE, f"a power is not told from logarithms: local exponents {listed(local)}"
    if end <= 0 or allowed <= ABOUT * growing:
        return Word.HOLDS, ""
    if allowed >= CLEARLY * growing and goes_on and end > SLIGHT:
        how = "a power" if power <= logarithm else "a logarithm"
        return Word.FAILS, f"the constants grow like {how}, local exponents {listed(local)}"
    if ratios.max() <= LEVEL * ratios.min() and ratios[-1] <= ratios[:-1].max():
        return Word.HOLDS, ""  # level, and not largest at the end: what rises there has been as large before
    if tilde or settles:
        levels_off = not goes_on
    elif power <= logarithm:
        levels_off = end <= LEVELS_OFF * before
    else:
        levels_off = _logarithmic(X, local)[0] <= LEVELS_OFF * _logarithmic(X, local)[1]
    is_slight = end <= SLIGHT and ratios[-1] <= LEVEL * ratios[len(ratios) // 2]
    if levels_off or is_slight or _jumps_once(local):
        return Word.HOLDS, f"the constants level off, local exponents {listed(local)}"
    return Word.NOT_TESTABLE, f"not yet asymptotic: local exponents of the constants {listed(local)}"


def _settles(X: np.ndarray, local: np.ndarray) -> bool:
    """Whether local exponents fall like a power X^-δ, over all and over the later path, and what is to come is slight.

    The constants then grow by a factor exp(end/δ) more. Unlike the growth from step to step, δ does not depend on how
    close the places lie. Exponents of a logarithm fall by less than a power, or the growth to come is large.
    """
    if len(local) < 4 or local.min() <= 0:
        return False
    at, logs, later = np.log(X[1:] * X[:-1]) / 2, np.log(local), len(local) // 2
    rate = -max(np.polyfit(at, logs, 1)[0], np.polyfit(at[later:], logs[later:], 1)[0])
    return bool(rate >= SETTLING and local[-1] <= rate * np.log(LEVEL))


def _doubles(ratios: np.ndarray) -> bool:
    return float(ratios[-1]) >= 2 * float(ratios[len(ratios) // 2])


def _rises(ratios: np.ndarray, local: np.ndarray) -> bool:
    """Whether constants rise throughout the later path, and by a factor that is no noise."""
    n = max(1, len(local) // 3)
    return bool((local[n:] > 0).all()) and float(ratios[-1]) > STEEP * float(ratios[len(ratios) // 2])


def _steepens(local: np.ndarray) -> bool:
    """Whether local exponents themselves rise, as an exponential's do: no law that is fitted here would have them."""
    n = max(1, len(local) // 3)
    first, last = float(np.mean(local[:n])), float(np.mean(local[-n:]))
    middle = float(np.mean(local[n:-n])) if len(local) > 2 * n else first
    return last >= ABOUT * max(middle, 0.0) and middle >= first


def _jumps_once(local: np.ndarray) -> bool:
    """Whether constants are level before and after one jump, as where a gate opens."""
    return len(local) > 3 and int((np.abs(local) > SLIGHT).sum()) == 1 and abs(float(local[-1])) <= SLIGHT


def _is_power(X: np.ndarray, local: np.ndarray) -> bool:
    """Whether local exponents stay rather than fall like 1/log X."""
    L, n = np.log(np.sqrt(X[1:] * X[:-1])), max(1, len(local) // 3)
    if len(local) < 2 * n:
        return True
    end, before = float(np.mean(local[-n:])), float(np.mean(local[-2 * n : -n]))
    of_logarithm = float(np.mean(L[-2 * n : -n]) / np.mean(L[-n:])) if L.min() > 0 else 1.0
    return end >= (1 + of_logarithm) / 2 * before


def _is_logarithmic(X: np.ndarray, local: np.ndarray) -> bool:
    """Whether local exponents fall like 1/log X, as those of a logarithm do, and no faster."""
    end, before = _logarithmic(X, local)
    return end >= 0.8 or (end >= 0.3 and end >= 0.9 * before)


def _logarithmic(X: np.ndarray, local: np.ndarray) -> tuple[float, float]:
    """Exponents in log X instead of X, at the end and before it: 1 of a logarithm, 1/log log X of its logarithm."""
    times_log = local * np.log(np.sqrt(X[1:] * X[:-1]))
    n = max(1, len(local) // 3)
    return float(np.mean(times_log[-n:])), float(np.mean(times_log[-2 * n : -n])) if len(local) > n else 0.0


def thinned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A long series at some of its points, evenly by the logarithm of x, the last one among them."""
    x, y = x[x > 0], y[x > 0]
    if len(x) <= MOST_POINTS:
        return x, y
    wanted = np.linspace(np.log(x[0]), np.log(x[-1]), MOST_POINTS)
    rows = np.unique([int(np.abs(np.log(x) - w).argmin()) for w in wanted])
    return x[rows], y[rows]
