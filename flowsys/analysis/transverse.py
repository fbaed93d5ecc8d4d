"""How perturbations that break the limit's symmetry grow along it: on smooth pieces, and by what factor at every turn.

The lumped limit sits in the subspace of the full flow on which coordinates are equal up to their signs; these classes
are read off the full flow from the limit's start. A small perturbation δ is the difference of two runs of the full
flow, and its transverse part is what is left of it without its averages over classes. At a kink the field jumps and δ
with it (saltation): gates that open together on the limit open one after the other next to it, and where the limit
slides, δ is carried back onto the surfaces. Both runs go through kinks and slides as the flow does, so the factor from
just before a turn to just after it is that of the jump, on the direction that has grown so far.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from flowsys.analysis.perturbed import Perturbed

LOOKS = 30  # on the way
BESIDE = 1e-5  # of the whole time: how far beside a turn is just before and after it
SAME = 1e-9  # coordinates that differ by less of the largest on all the way are equal
SEED = 2
RTOL = 1e-12  # so that errors of the runs stay far below the perturbation


@dataclass(frozen=True)
class Turn:
    """A kink or the begin of a slide that the limit meets: the factor by which the transverse part jumps there."""

    t: float
    factor: float


@dataclass(frozen=True)
class Path:
    """|transverse part| over its size at the start, at times on the way; the turns, each between two of these times."""

    t: tuple[float, ...]
    growth: tuple[float, ...]
    turns: tuple[Turn, ...]

    @property
    def rates(self) -> list[tuple[float, float, float]]:
        """(from, to, rate) of every smooth piece: the growth is e^(rate · length)."""
        ends = [0.0, *(turn.t for turn in self.turns), self.t[-1]]
        found = []
        for a, b in pairwise(ends):
            inside = [(t, g) for t, g in zip(self.t, self.growth) if a <= t <= b and g > 0]
            if len(inside) > 1 and inside[-1][0] > inside[0][0]:
                (t_0, first), (t_1, last) = inside[0], inside[-1]
                found.append((a, b, float(np.log(last / first) / (t_1 - t_0))))
        return found

    @property
    def sentence(self) -> str:
        top = int(np.argmax(self.growth))
        grows = f"grows up to {self.growth[top]:.3g}-fold on the way (t = {self.t[top]:.3g})" if top else "never grows"
        text = f"what breaks the symmetry {grows}"
        if self.turns:
            text += "; it jumps by " + ", ".join(f"{turn.factor:.3g} at t = {turn.t:.4g}" for turn in self.turns[:4])
            text += ", …" if len(self.turns) > 4 else ""
        return text


def transverse_path(around: Perturbed, size: float) -> Path:
    """The way of a perturbation of this size next to the unperturbed full flow."""
    around = replace(around, rtol=min(around.rtol, RTOL))
    n, end = len(around.problem.initial), around.limit.t
    beside = BESIDE * end
    turns = _apart([t for t in around.switches() if beside < t < end - beside], 2 * beside)
    looks = [t for t in np.linspace(0, end, LOOKS + 1)[1:] if all(abs(t - turn) > beside for turn in turns)]
    times = sorted({float(t) for t in looks} | {turn + way * beside for turn in turns for way in (-1, 1)})
    start = size * np.random.default_rng(SEED).standard_normal(n)
    base, path = around.path(np.zeros(n), times), around.path(start, times)
    reached = min(len(base), len(path))
    labels, signs = _classes(np.vstack([around.problem.initial, base]))
    parts = [_transverse(x, labels, signs) for x in (start, *(path[:reached] - base[:reached]))]
    t = [0.0, *times[:reached]]
    growth = dict(zip(t, (float(np.linalg.norm(part) / np.linalg.norm(parts[0])) for part in parts)))
    pairs = [(turn, growth.get(turn - beside), growth.get(turn + beside)) for turn in turns]
    met = tuple(Turn(turn, after / before) for turn, before, after in pairs if before and after is not None)
    return Path(tuple(t), tuple(growth.values()), met)


def _apart(times: list[float], least: float) -> list[float]:
    """Times, those left out that follow another one at once."""
    found: list[float] = []
    for t in sorted(times):
        if not found or t - found[-1] > least:
            found.append(t)
    return found


def _classes(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A label and a sign for every coordinate: equal ones, up to their signs, share a label; 0 is that of zeros."""
    size = np.abs(states).max() or 1.0
    is_there = np.abs(states) > SAME * size
    first = states[is_there.argmax(axis=0), np.arange(states.shape[1])]
    signs = np.where(first < 0, -1.0, 1.0)
    # one number for every course: courses that differ have different ones
    told = np.random.default_rng(SEED).uniform(1, 2, len(states)) @ (states * signs)
    order = np.argsort(told)
    labels = np.empty(len(told), dtype=int)
    labels[order] = 1 + np.cumsum(np.diff(told[order], prepend=told[order[0]]) > SAME * size * len(states))
    return np.where(is_there.any(axis=0), labels, 0), signs


def _transverse(x: np.ndarray, labels: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """A direction without its averages over classes; where the subspace is 0 all of it is transverse."""
    average = np.bincount(labels, signs * x) / np.maximum(np.bincount(labels), 1)
    return x - np.where(labels > 0, signs * average[labels], 0.0)
