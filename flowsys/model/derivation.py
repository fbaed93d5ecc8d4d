"""`derive` of a model: the lumping found, certified, written as a program, and that checked against autodiff."""

import time
from collections.abc import Iterator, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.model.checks import tried
from flowsys.model.concrete import Concrete
from flowsys.model.flows import Weights, flow_of_weights, seen_of, weight_shapes
from flowsys.model.keeping import Found
from flowsys.model.limit import assembled, draws_of, limit_key
from flowsys.model.lumping import Lumping
from flowsys.model.pairs import PairBlock
from flowsys.model.verified import against_field
from flowsys.symbolic.derivation import EXACT, Derivation
from flowsys.symbolic.lumping import Description, describe
from flowsys.symbolic.render import flow_equations, loss_equations
from flowsys.system.names import spelled

_MOST_TOLD = 8  # entries of a sample's array


def derivation(concrete: Concrete) -> Derivation:
    """Lump, assemble, certify."""
    tried(concrete)
    begun = time.perf_counter()
    lumping = Lumping(draws_of(concrete, None))
    found, statement = assembled(lumping)
    seconds = time.perf_counter() - begun
    autodiff = max(against_field(lumping, found), closure(lumping))
    if autodiff <= EXACT:  # what is compared with it need not derive it again
        concrete.declaration.found.setdefault(limit_key(concrete, None), found)
    left, unlike = lumping.control() or (None, ())
    names = lumping.coordinates.names
    words = describe(lumping.partition, names)
    sizes = [f"{name} = {concrete.values[name]}" for name in concrete.declaration.structural_names]
    symbols = (*statement.state, *statement.entries, *statement.parameters)
    latex = {str(x): spelled(str(x).removesuffix("_entry")) for x in symbols} | concrete.declaration.latex
    return Derivation(
        program=found.program,
        equations=flow_equations(statement, latex),
        loss=loss_equations(statement, latex),
        size=", ".join([*sizes, f"mode {concrete.mode}"]),
        n_coordinates=len(names),
        n_classes=lumping.partition.n_classes,
        alike=words.alike,
        classes=words.classes,
        certificate=lumping.leaves(lumping.partition),
        control=left,
        unlike=tuple(names[lumping.partition.representatives[c]] for c in unlike),
        agreement=None,
        autodiff=autodiff,
        seconds=seconds,
        statement=statement,
        data=data_in_words(concrete, found) | _classes_in_words(words),
        conserved=tuple(conserved_spectra(concrete, found)),
    )


def data_in_words(concrete: Concrete, found: Found) -> dict[str, str]:
    """What the numbers of a found program that are no parameters of the model are, with their values."""
    where = f" in stage {concrete.stages[0].name}" if len(concrete.stages) > 1 else ""
    words = {name: f"here {value:.4g}{where}" for name, value in found.slots.parameters(concrete, 0).items()}
    for j, (population, rows, labels) in enumerate(zip(concrete.populations, found.slots.rows, found.slots.groups)):
        if population.samples is None:
            continue
        for g, row in enumerate(rows):
            of = _sample(population.samples.arrays, int(row), int((labels == g).sum()))
            for name in (found.slots.weight_names(j)[g], *([found.slots.share_names[g]] if not j else [])):
                words[name] = f"{of}; {words[name]}"
    return {name: said for name, said in words.items() if name not in concrete.reals()}


def _classes_in_words(words: Description) -> dict[str, str]:
    """What each class stands for, by its name."""
    told = (sentence.partition(" stands for ") for sentence in words.classes)
    return {name: f"stands for {members}" for name, _, members in told if members and members != "1 coordinate"}


def _sample(arrays: Mapping[str, np.ndarray], row: int, n: int) -> str:
    """A sample that stands for n, by the entries of its shorter arrays."""
    short = {name: array[row] for name, array in arrays.items() if array[row].size <= _MOST_TOLD}
    listed = lambda array: ", ".join(f"{x:.4g}" for x in np.ravel(array))
    told = lambda array: f"({listed(array)})" if np.ndim(array) else listed(array)
    entries = ", ".join(f"{name} = {told(array)}" for name, array in short.items())
    return f"{n} sample{'s' * (n > 1)} like {entries or f'number {row}'}"


def conserved_spectra(concrete: Concrete, found: Found) -> Iterator[str]:
    """The spectra that the flow of pairs keeps, in LaTeX: with rates of their own that of M scaled by them."""
    for block in concrete.coordinates.blocks:
        if isinstance(block, PairBlock) and block.keeps_spectrum and found.keeps_spectra:
            S, KK, QQ = (concrete.declaration.latex.get(name) or spelled(name) for name in block.names)
            (key, query), root = block.block.rates, lambda a, b: "" if a * b == 1 else f"/{np.sqrt(a * b):.6g}"
            rows = (
                rf"{KK}{root(key, key)} & -{S}{root(key, query)} \\"
                rf" {{{S}}}^{{\top}}{root(key, query)} & -{QQ}{root(query, query)}"
            )
            each = "" if block.heads is None else r" \quad \text{in every head}"
            yield rf"\mathrm{{spectrum}} \begin{{bmatrix}} {rows} \end{{bmatrix}} = \mathrm{{const}}{each}"


def closure(lumping: Lumping) -> float:
    """Autodiff on random weights, pushed to what is seen, against the flow of what is seen, relative."""
    concrete, coordinates = lumping.concrete, lumping.coordinates
    rng, worst = np.random.default_rng(6), 0.0
    weights = Weights(weight_shapes(concrete, 4))

    @jax.jit
    def pushed(y, stage):
        start = weights.split(y)
        flow = flow_of_weights(concrete, start, stage, "exact")
        seen, moving = jax.jvp(lambda w: seen_of(concrete, w), (start,), (flow,))
        return coordinates.join(seen, jnp), coordinates.join(moving, jnp)

    for stage in lumping.draws[0].stages:
        with jax.enable_x64(True):
            seen, theirs = map(np.asarray, pushed(0.5 * rng.standard_normal(weights.size), stage))
            ours = np.asarray(lumping.rates_and_slopes(seen, stage)[0])
        worst = float(np.maximum(worst, np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-300)))
    return worst
