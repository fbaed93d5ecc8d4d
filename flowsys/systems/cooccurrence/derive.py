"""The co-occurrence limit derived at run time: stated with n and L as symbols, found by the engine at a small size.

The unlumped system has 3d(d + 1)/2 + d² + d + 1 coordinates, d = 47 words already at n = 12, L = 5 (12 of them never
trained on), so sizes beyond n = 24 or L = 6 are lumped at (12, 5): the stated program is the same for every size.

How many classes there are depends on the start. From a generic symmetric start the words that are trained on fall into
the orbits of words and pairs of words: G 5, c 1, VV 24, S 35, KK 24, QQ 24, together 113 (173 without the swap).
From the limit's own start it is coarser, 105 classes: S stays the same for a word itself and for another word of
its sentence (S 32), and dVV/dt = rGᵀ + Grᵀ, from VV = αI, does not tell sentences apart (VV 19). The stated program
keeps the 113 orbits, so that it can start anywhere. Words never trained on add the class of what stays α.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
from scipy.linalg import expm

from flowsys.ladder import Rung
from flowsys.model.concrete import Concrete
from flowsys.model.derivation import derivation
from flowsys.model.limit import arguments_of, draws_of, found_limit
from flowsys.model.lumping import Lumping
from flowsys.model.rungs import closure_error, descent_error
from flowsys.program import Program
from flowsys.program.arrays import vector_field
from flowsys.runs.solving import solve
from flowsys.symbolic.assemble import assemble
from flowsys.symbolic.derivation import Derivation
from flowsys.symbolic.lumping import Partition
from flowsys.symbolic.render import flow_equations, loss_equations
from flowsys.system import Setup
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence import sectors as bl
from flowsys.systems.cooccurrence.limits import program_arguments
from flowsys.systems.cooccurrence.notation import LATEX
from flowsys.systems.cooccurrence.scales import condition_1
from flowsys.systems.cooccurrence.sentences import Sentences, training_sentences
from flowsys.systems.cooccurrence.statement import limit_statement

MATRICES = ("VV", "S", "KK", "QQ")
_UNIT = type("ops", (), {"sqrt": staticmethod(np.sqrt), "array": staticmethod(np.asarray)})


def derive(setup: Setup, variant: str) -> Derivation:
    """Find, state, and compare; the variant `found` is the engine's alone, at the size asked for."""
    if variant == "found":
        return derivation(SYSTEM.concrete(setup, "L3", SYSTEM.mode(setup.mode)))
    small = small_setup(setup)
    concrete = SYSTEM.concrete(small, "L3", "limit")
    found = derivation(concrete)
    begun = time.perf_counter()
    statement = limit_statement(variant)
    carried = variant if variant == "without_swap" else "113"
    program = assemble(statement)
    carrying = program if variant == carried else assemble(limit_statement(carried))
    own, generic = (Lumping(draws_of(concrete, start)).partition for start in (None, generic_start(concrete)))
    size = (
        f"n = {small['n']:g}, L = {small['L']:g} ({_counted(concrete, generic)} from a generic symmetric start; "
        f"{_counted(concrete, own)} from the limit's)"
    )
    return replace(
        found,
        program=program,
        equations=flow_equations(statement, LATEX),
        loss=loss_equations(statement, LATEX),
        size=size,
        agreement=stated_against_found(carrying, carried, concrete, small),
        seconds=time.perf_counter() - begun,
        statement=statement,
    )


def small_setup(setup: Setup) -> Setup:
    """The setup, or n = 12, L = 5 with the paper's shares if its data set is too large to write out."""
    n, L = setup["n"], setup["L"]
    if n <= 24 and L <= 6 and int(n) == n and int(L) == L:
        return setup
    kept = {name: setup[name] for name in ("alpha", "beta", "m1", "score_scale")}
    return SYSTEM.setup(n=12, L=5, **kept)


def sentences_of(concrete: Concrete) -> Sentences:
    return training_sentences(concrete.p({}))


def generic_start(concrete: Concrete, split: float = 0.0) -> dict[str, np.ndarray]:
    """VV, S, KK, QQ multiples of exp(C), C how often two words occur in one sentence, over n; G(μ1) = split.

    Nothing but the data is put in. Words that a symmetry of the data exchanges start alike, and with every power of C
    in the exponential no others do; `split` ≠ 0 takes the swap of μ1 and μ2 away.
    """
    start = concrete.seen_at_limit()
    occurs = np.zeros((len(sentences_of(concrete).words), start["VV"].shape[0]))
    for sample, words in enumerate(sentences_of(concrete).words):
        occurs[sample, words] = 1
    start["G"][0, 0] = split
    alike = expm(occurs.T @ occurs / len(occurs))
    return start | {name: factor * alike for name, factor in zip(MATRICES, (1.0, 0.3, 1.1, 1.2))}


def class_counts(concrete: Concrete, partition: Partition) -> dict[str, int]:
    """How many classes the words that are trained on have in G, c and each matrix."""
    d, counts = int(sentences_of(concrete).words.max()) + 1, {}
    for name, places in concrete.coordinates.positions.items():
        trained = places[:, :d] if name == "G" else places[:d, :d]
        labels = partition.labels[trained]
        counts["c" if name == "UU" else name] = len(set(labels[labels >= 0].tolist()))
    return {name: counts[name] for name in ("G", "c", *MATRICES)}


def _counted(concrete: Concrete, partition: Partition) -> str:
    counts = class_counts(concrete, partition)
    return f"{sum(counts.values())} classes: {', '.join(f'{name} {count}' for name, count in counts.items())}"


def sector_state(
    seen: Mapping[str, np.ndarray], concrete: Concrete, names: tuple[str, ...], variant: str
) -> np.ndarray:
    """Invariant blocks (or their rates) in a stated program's coordinates; the clocks are 0. Linear."""
    sentences, m1 = sentences_of(concrete), concrete.values["m1"]
    d = int(sentences.words.max()) + 1
    means = bl.class_means(sentences, d)
    U = bl.swap_basis(_UNIT)
    bases = {"all": np.eye(7)} if variant == "without_swap" else {"even": U[:, :5], "odd": U[:, 5:]}
    values = {"u_u": seen["UU"][0, 0] / m1, "tau": 0.0, "clock": 0.0}
    first, *_ = bl.SECTORS[variant]
    components = (means / np.linalg.norm(means, axis=1)[:, None]) @ seen["G"][0, :d] / np.sqrt(m1)
    values |= dict(zip((f"g_{x}" for x in bl.SECTORS[variant][first]), bases[first].T @ components))
    for name in MATRICES:
        invariant, *scalars = bl.blocks_of(seen[name][:d, :d], sentences)
        for sector, basis in bl.SECTORS[variant].items():
            block = bases[sector].T @ invariant @ bases[sector]
            for i, a in enumerate(basis):
                values |= {f"{name}_{sector}_{a}_{b}": block[i, j] for j, b in enumerate(basis)}
        for kind, of_types in zip(bl.SCALARS, scalars):
            values |= {f"{name}_{kind}_{T}": of_types[int(T[0]) - 1] for T in bl.TYPES[variant]}
    return np.array([values[name] for name in names])


def stated_against_found(program: Program, variant: str, concrete: Concrete, setup: Setup, seed: int = 0) -> float:
    """The largest difference of dy/dt between the stated program and the found one, at random points."""
    found, args = found_limit(concrete), program_arguments(setup, variant)
    stated, lumped = vector_field(program, "exact", np), vector_field(found.program, "exact", np)
    moving = np.array([name not in ("tau", "clock") for name in program.state])
    there, rng, worst = arguments_of(found, concrete, 0), np.random.default_rng(seed), 0.0
    seen = lambda z: concrete.coordinates.split(found.partition.lift(z[: found.partition.n_classes]))
    for _ in range(5):
        z = 0.7 * rng.standard_normal(len(found.program.state))
        ours = stated(sector_state(seen(z), concrete, program.state, variant), args)
        theirs = sector_state(seen(lumped(z, there)), concrete, program.state, variant)
        worst = float(np.maximum(worst, np.abs(ours - theirs)[moving].max()))  # NaN stays
    return worst


# -- the ladder ------------------------------------------------------------------------------------------------------

WIDTHS = (64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0)  # four widths leave a slope ± 0.3, seven ± 0.1
SEEDS = 12
SCORES = ("S_12", "S_21", "S_31", "S_32", "S_11", "S_22")
GROUPS = {"scores": SCORES, "loss": ("loss",), "values": ("G_mu1", "G_mu2", "G_mu3")}
STEPS = (0.2, 0.1, 0.05, 0.025)
PAPER_WIDTHS = (64.0, 256.0, 1024.0, 4096.0)


def ladder(setup: Setup) -> list[Rung]:
    """Descent, the closure, the width (read off scores, loss and values), and the frozen attention of L4."""
    speed = setup["beta"] + setup["m1"] * setup["alpha"]
    tiny = _with(setup, n=6, L=4)
    width = [
        Rung("L2", "L3", f"rms over {SEEDS} seeds of the deviation of the {what} up to τ = 300, n = 12, L = 5",
             partial(width_error, setup, what), "width", WIDTHS, -0.5, 0.1)
        for what in GROUPS
    ]  # fmt: skip
    return [
        Rung("L0", "L1", "descent at (β + m1 α) t = 25 against the flow, all weights, n = 6, L = 4",
             partial(descent_error, SYSTEM, tiny, 25 / speed), "learning_rate", tuple(x / speed for x in STEPS), 1.0,
             0.1),
        Rung("L1", "L2", "what the loss sees at t = 2, relative, n = 6, L = 4, rtol 1e-10",
             partial(closure_error, SYSTEM, tiny, 2.0), tolerance=1e-8),
        *width,
        # λ and ρδ, which move attention and c, are of order m⁻² at Condition 1
        Rung("L3", "L4", "G(μ1) of the bag of words (attention, c frozen) after 13/(β + m1 α), Condition 1 at width m",
             partial(surrogate_error, setup), "m", PAPER_WIDTHS, -2.0, 0.1),
    ]  # fmt: skip


def _with(setup: Setup, **changes) -> Setup:
    return SYSTEM.setup(**(dict(setup) | changes))


def width_error(setup: Setup, what: str, width: float) -> float:
    """rms over seeds of the largest deviation from the limit, over the observables of a group and over times."""
    return _width_errors(tuple(_with(setup, n=12, L=5).items()), int(width))[what]


@lru_cache(maxsize=16)
def _width_errors(setup: tuple, width: int) -> dict[str, float]:
    """Every group's error at one width, from one set of runs."""
    small, names = dict(setup), [name for group in GROUPS.values() for name in group]
    times = [tau / small["beta"] for tau in (4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 300.0)]
    limit = solve(SYSTEM, SYSTEM.setup(**small), at=times, observe=names)
    squares = dict.fromkeys(GROUPS, 0.0)
    for seed in range(SEEDS):
        there = SYSTEM.setup(**(small | {"width": width, "seed": seed}))
        run = solve(SYSTEM, there, level="L2", at=times, observe=names)
        for what, group in GROUPS.items():
            squares[what] += max(float(np.abs(run[name] - limit[name]).max()) for name in group) ** 2 / SEEDS
    return {what: square**0.5 for what, square in squares.items()}


def surrogate_error(setup: Setup, m: float) -> float:
    """Relative error of G(μ1) by the bag of words after 13/(β + m1 α), with the scales of Condition 1 at width m."""
    scales = condition_1(m, setup["m1"], setup["L"])
    there = _with(setup, **scales._asdict())
    time = 13 / (scales.beta + scales.m1 * scales.alpha)
    exact, frozen = (
        solve(SYSTEM, there, level=level, at=[time], observe=["G_mu1"], rtol=1e-12)["G_mu1"][0]
        for level in ("L3", "L4")
    )
    return abs(float(frozen / exact - 1))
