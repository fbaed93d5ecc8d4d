"""The co-occurrence system written out for one (n, L): every sentence, every word, every pair of words.

What the automatic lumping works on: G, c, and the entries of VV, S, KK, QQ of all words that occur. Two symmetric
starts: the limit's, and a generic one, from which lumping finds every orbit of words and pairs of words. `sector_state`
reads an invariant state in the coordinates of the stated programs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import jax
import numpy as np
from scipy.linalg import expm

from flowsys.systems.cooccurrence import blocks as bl
from flowsys.systems.cooccurrence import closure as cl
from flowsys.systems.cooccurrence.data import Samples, distinct_words
from flowsys.systems.cooccurrence.finite import Layout
from flowsys.systems.cooccurrence.limits import SECTORS, TYPES
from flowsys.systems.cooccurrence.scales import Scales
from flowsys.systems.cooccurrence.weights import problem

MATRICES = ("VV", "S", "KK", "QQ")


@dataclass(frozen=True)
class Enumerated:
    """The unlumped flow at one size."""

    n: int
    L: int
    scales: Scales
    shares: tuple[float, ...]

    @cached_property
    def samples(self) -> Samples:
        return distinct_words(self.n, self.L, self.shares)

    @cached_property
    def layout(self) -> Layout:
        d = self.samples.d
        return Layout(cl.Small, {"G": (d,), "c": ()} | dict.fromkeys(MATRICES, (d, d)))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Names that tell type, sample and slot apart: mu1, mu2, mu3, r1.0.0, …"""
        names = ["mu1", "mu2", "mu3"] + [""] * (self.samples.d - 3)
        for sample, row in enumerate(self.samples.words):
            random = [word for word in row if word >= 3]
            for slot, word in enumerate(random):
                names[word] = f"r{self.samples.types[sample] + 1}.{sample}.{slot}"
        return tuple(names)

    @cached_property
    def names(self) -> tuple[str, ...]:
        found = [f"G_{word}" for word in self.words] + ["c"]
        for name in MATRICES:
            symmetric = self.layout.symmetric.get(name)
            d = range(self.samples.d)
            pairs = zip(symmetric.rows, symmetric.columns) if symmetric else ((i, j) for i in d for j in d)
            found += [f"{name}_{self.words[i]}_{self.words[j]}" for i, j in pairs]
        return tuple(found)

    def flat(self, state: cl.Small) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(self.layout.join(state, ()))

    def split(self, y: np.ndarray) -> cl.Small:
        return self.layout.split(y)[0]

    @property
    def start(self) -> np.ndarray:
        """The limit's start: G = S = 0, VV = KK = QQ = α I, c = β."""
        return self.flat(cl.symmetric_start(self.samples.d, self.scales.alpha, self.scales.beta))

    def generic_start(self, split: float = 0.0) -> np.ndarray:
        """VV = S = KK = QQ = exp(C), C how often two words occur in one sentence, over n; G(μ1) = split.

        Nothing but the data is put in. Words that a symmetry of the data exchanges start alike, and with every power
        of C in the exponential no others do; `split` ≠ 0 takes the swap of μ1 and μ2 away.
        """
        occurs = np.zeros((self.samples.n, self.samples.d))
        for sample, words in enumerate(self.samples.words):
            occurs[sample, words] = 1
        alike = expm(occurs.T @ occurs / self.samples.n)
        G = np.zeros(self.samples.d)
        G[0] = split
        return self.flat(cl.Small(G, np.float64(self.scales.beta), *[alike] * 4))

    @cached_property
    def field(self) -> Callable[[np.ndarray], np.ndarray]:
        """The unlumped gradient flow as a NumPy function."""
        arguments = problem(self.samples, self.scales.score_scale, self.scales.m1)
        rhs = jax.jit(lambda y: self.layout.join(cl.small_field(0.0, self.layout.split(y)[0], arguments), ()))

        def evaluate(y: np.ndarray) -> np.ndarray:
            with jax.enable_x64(True):
                return np.asarray(rhs(np.asarray(y, dtype=float)))

        return evaluate

    def sector_state(self, y: np.ndarray, names: tuple[str, ...], variant: str) -> np.ndarray:
        """An invariant state (or its rate) in a stated program's coordinates; the clocks are 0. Linear in y."""
        state, m1 = self.split(y), self.scales.m1
        G = np.array([np.asarray(state.G)[self.class_members(c)].sum() for c in range(7)])
        norms = np.sqrt([len(self.class_members(c)) for c in range(7)])
        values = {"u_u": float(state.c) / m1, "tau": 0.0, "clock": 0.0}
        bases = self._bases(variant)
        first, *_ = SECTORS[variant]
        values |= dict(zip((f"g_{x}" for x in SECTORS[variant][first]), bases[first].T @ (G / norms) / np.sqrt(m1)))
        for name in MATRICES:
            invariant, across, within = bl.blocks_of(np.asarray(getattr(state, name)), self.samples)
            for sector, basis in SECTORS[variant].items():
                block = bases[sector].T @ invariant @ bases[sector]
                for i, a in enumerate(basis):
                    values |= {f"{name}_{sector}_{a}_{b}": block[i, j] for j, b in enumerate(basis)}
            for T in TYPES[variant]:
                values[f"{name}_across_{T}"] = across[int(T[0]) - 1]
                values[f"{name}_within_{T}"] = within[int(T[0]) - 1]
        return np.array([values[name] for name in names])

    def class_members(self, c: int) -> np.ndarray:
        return np.flatnonzero(bl.word_classes(self.samples) == c)

    def _bases(self, variant: str) -> dict[str, np.ndarray]:
        if variant == "without_swap":
            return {"all": np.eye(7)}
        from types import SimpleNamespace

        U = bl.swap_basis(SimpleNamespace(sqrt=np.sqrt, array=np.asarray))
        return {"even": U[:, :5], "odd": U[:, 5:]}
