"""Finite-width training under the system's names: its data sets, its random starts, what a field is told.

Mode `limit` trains on distinct words (Assumption 2.3) from Gaussian weights, and tests on one sentence of each type of
words never trained on; mode `data` is Appendix A: repeated words, Kaiming weights, scores scaled by 1/√m, and a set
of fresh test sentences. Samples stand in the order of their types, so a type is a slice.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import jax
import numpy as np

from flowsys.errors import InputError
from flowsys.system import Setup
from flowsys.systems.cooccurrence.data import SPECIAL_WORDS, Samples, distinct_words, repeated_words
from flowsys.systems.cooccurrence.scales import Scales
from flowsys.systems.cooccurrence.vocabulary import shares_of
from flowsys.systems.cooccurrence.weights import READINGS, Problem, Weights, gaussian_weights, kaiming_weights, problem


class Structure(NamedTuple):
    """What a compiled field depends on: samples of each type, words in a sample, vocabulary, width, neurons."""

    counts: tuple[int, int, int, int]
    L: int
    d: int
    m: int
    m1: int

    def seen_by(self, form: str) -> "Structure":
        """Without the sizes a form does not have, so that one compilation serves every width."""
        return self._replace(m={"weights": self.m}.get(form, 0), m1=0 if form == "small" else self.m1)

    @property
    def slices(self) -> tuple[slice, ...]:
        """The samples of each type."""
        ends = np.cumsum((0, *self.counts)).tolist()
        return tuple(slice(a, b) for a, b in pairwise(ends))


class FiniteArguments(NamedTuple):
    """The data of a run: the training loss, the test loss, the clocks' scales, and the fixed output weights."""

    train: Problem
    test: Problem
    alpha: Any
    beta: Any
    a: Any


class Experiment(NamedTuple):
    """A finite-width set-up made ready: shapes, data, scales."""

    structure: Structure
    train: Samples
    test: Samples
    test_weights: np.ndarray
    scales: Scales
    reading: str


def experiment(setup: Setup, mode: str) -> Experiment:
    """Data and scales of a setup; refuses sizes a data set cannot have."""
    if mode == "dimensionless":
        raise InputError("mode = dimensionless is not allowed at finite width: it must be limit or data (or use L3).")
    n, L, m1 = (_whole(setup, name) for name in ("n", "L", "m1"))
    shares = shares_of(setup)
    try:
        if mode == "data":
            train = repeated_words(setup["data_seed"], n, L, setup["d"], shares)
            test = repeated_words(setup["data_seed"] + 2**31, n, L, setup["d"], shares)
            test_weights, d = np.full(n, 1 / n), setup["d"]
        else:
            train = distinct_words(n, L, shares)
            test = distinct_words(4, L, (1, 1, 1, 1), first_word=train.d)
            test_weights, d = np.array(shares), test.d
    except ValueError as refusal:
        raise InputError(str(refusal)) from None
    counts = tuple(int(np.sum(train.types == T)) for T in range(4))
    reading = setup["reading"] if mode == "data" else "gaussian"
    structure = Structure(counts, L, d, setup["width"], m1)
    return Experiment(structure, train, test, test_weights, scales_of(setup, reading, m1), reading)


def _whole(setup: Setup, name: str) -> int:
    if setup[name] != int(setup[name] if np.isfinite(setup[name]) else 0):
        raise InputError(f"{name} = {setup[name]:g} is not allowed at finite width: it must be a whole number.")
    return int(setup[name])


def scales_of(setup: Setup, reading: str, m1: int) -> Scales:
    """alpha, beta, expected |a|² and score scale of the start."""
    if reading == "gaussian":
        return Scales(setup["alpha"], setup["beta"], m1, setup["score_scale"])
    _, variance, output = READINGS[reading]
    output_norm = m1 if output == "signs" else 1 / 3
    width = setup["width"]
    return Scales(variance * width / setup["d"], variance * output_norm, output_norm, width**-0.5)


def initial_weights(ready: Experiment, seed) -> tuple[Weights, Any]:
    """The random weights of a seed, and the fixed output weights a."""
    _, _, d, m, m1 = ready.structure
    if ready.reading == "gaussian":
        return gaussian_weights(jax.random.key(seed), m, m1, d, ready.scales.alpha, ready.scales.beta)
    return kaiming_weights(jax.random.key(seed), m, m1, d, ready.reading)


def finite_arguments(ready: Experiment, a, form: str) -> FiniteArguments:
    """What a field or a descent is told; the small form needs of a only its length."""
    score_scale, output_norm = ready.scales.score_scale, float(np.sum(np.asarray(a) ** 2))
    test = problem(ready.test, score_scale, output_norm)
    return FiniteArguments(
        problem(ready.train, score_scale, output_norm),
        test._replace(sample_weights=np.asarray(ready.test_weights, dtype=float)),
        np.float64(ready.scales.alpha),
        np.float64(ready.scales.beta),
        np.asarray(a) if form != "small" else np.zeros(0),
    )


def random_positions(T: int, L: int) -> slice:
    """Where the irrelevant words stand in a sample of type T."""
    return slice(len(SPECIAL_WORDS[T]), L)
