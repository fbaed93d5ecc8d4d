"""The levels that follow every sequence: finite width (L1, L2), and the enumerated limits (L3 collapsed, balanced).

All start from Assumption 1 and read one loss (`gated`). A width other than m keeps m's limit: neurons then move
width/m times as fast. Orthonormal tokens let all non-secret tokens share one class (or, for weights, one direction of
length (2(n-k))^(-1/2)), so n is only a number; finite d needs all 2^n strings.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.errors import InputError
from flowsys.system import Setup
from flowsys.system.problem import Problem, ProgramField, Stage
from flowsys.systems.parity import closure
from flowsys.systems.parity.balanced import balanced_signs
from flowsys.systems.parity.collapsed import collapsed_metric, collapsed_table
from flowsys.systems.parity.data import Parity, Table, all_bits, ascending, population, table_of_bits
from flowsys.systems.parity.embeddings import hypercube, orthonormal
from flowsys.systems.parity.fields import Structure, field, flat
from flowsys.systems.parity.gated import GatedArguments, View
from flowsys.systems.parity.infinite import events_of, limit_program, smallest_scale
from flowsys.systems.parity.model import FrozenCoordinates, Weights, coordinates
from flowsys.systems.parity.steps import three_step_problem
from flowsys.systems.parity.weights import initial_coordinates, initial_signs, output_weights

# what may be written out: strings of secrets, neurons of the balanced design, strings of all bits
LARGEST_K, LARGEST_BALANCED_K, LARGEST_N = 10, 5, 12


@dataclass(frozen=True)
class Model:
    """A structure with its initial state and the data of its flow."""

    structure: Structure
    initial: Any
    arguments: GatedArguments


def problem(setup: Setup, level: str, variant: str, mode: str) -> Problem:
    """The flow of a level and variant; in mode three_step, its three gradient steps."""
    if mode == "three_step":
        if (level, variant) == ("L3", "limit"):
            text, arguments = limit_program(setup, mode)
            return three_step_problem(ProgramField(text), np.zeros(len(text.state)), arguments, setup)
        model = model_of(setup, level, variant, mode, kinks="exact")
        return three_step_problem(field(model.structure), flat(model.initial), model.arguments, setup)
    model = model_of(setup, level, variant, mode)
    return Problem(
        field=field(model.structure),
        initial=flat(model.initial),
        stages=(Stage("flow", model.arguments),),
        events=events_of(setup, has_gates=model.structure.kind != "frozen"),
        conserved=None if np.isfinite(setup["d"]) else total_scores(model),
        scale=smallest_scale(setup),
        t_max=setup["t_max"],
        default_at=("lock", "margin_1"),
    )


def model_of(setup: Setup, level: str, variant: str, mode: str, kinks: str = "frozen") -> Model:
    """The model of a level and variant (L0 counts as L1)."""
    check_size_of(setup, level, variant)
    with jax.enable_x64(True):
        if level == "L3":
            return _limit_model(setup, variant, mode, kinks)
        if variant == "enumerated":
            return _enumerated_model(setup, level, mode, kinks)
        return _collapsed_model(setup, level, variant, mode, kinks)


def check_size_of(setup: Setup, level: str, variant: str) -> None:
    """Refuse sizes that cannot be written out, and embeddings a variant does not have."""
    n, k = setup["n"], setup["k"]
    if variant == "enumerated":
        if n > LARGEST_N and not (level == "L0" and np.isfinite(setup["batch"])):
            raise InputError(f"n = {n} is not allowed with variant = enumerated: all 2^n strings, so n <= {LARGEST_N}.")
        return
    if np.isfinite(setup["d"]):
        raise InputError(
            f"d = {setup['d']} is not allowed with variant = {variant}: it has orthonormal tokens, d = inf."
        )
    largest = LARGEST_BALANCED_K if variant == "balanced" else LARGEST_K
    if k > largest:
        raise InputError(f"k = {k} is not allowed with variant = {variant}: all 2^k secret strings, so k <= {largest}.")


def position_number(setup: Setup, mode: str) -> int:
    """Which query position is observed, from 0; in mode block a later i stands for n+1."""
    number = setup["i"] - setup["n"] - 1
    return 0 if mode == "block" and number > 1 else number


def view(k: int, number: int, targets: np.ndarray, ordinary: np.ndarray, end: int, n_keys: int) -> View:
    """Averages that read position n+1+number.

    `targets` are the tokens (S[n+1+j], 0), whose successors are (S[n+1+j], 1); then ordinary tokens, the end's token.
    """
    queries = [0] if number == 0 else [2 * number, 2 * number + 1]
    g, common = np.zeros((2, 2 * k, n_keys))
    u, v, w = np.zeros((3, n_keys, 2 * k))
    share = 1 / len(queries)
    for query in queries:
        for bit in (0, 1):
            g[query, targets[number] + bit] = -((-1.0) ** (query + bit)) * share / 2
            common[query, targets[0] + bit] = (-1.0) ** bit * share / 2
            u[targets[number] + bit, query] = share / 2
        v[ordinary, query] = share / len(ordinary)
        w[end, query] = share
    is_target = np.zeros((n_keys, 2 * k), dtype=bool)
    for j, token in enumerate(targets):
        is_target[token : token + 2, [0] if j == 0 else [2 * j, 2 * j + 1]] = True
    return View(np.int64(number), g, common, u, v, w, is_target)


def collapsed_view(k: int, number: int) -> View:
    return view(k, number, 2 * np.arange(k), np.array([2 * k]), 2 * k + 1, 4 * k + 1)


def enumerated_view(parity: Parity, number: int) -> View:
    targets = 2 * (np.array(parity.secrets) - 1)
    ordinary = np.setdiff1d(np.arange(2 * parity.n), np.concatenate([targets, targets + 1]))
    return view(parity.k, number, targets, ordinary, 2 * parity.n, parity.n_tokens)


def arguments_of(structure: Structure, table: Table, metric, view: View, **given) -> GatedArguments:
    """Arguments with gates to be set by the solver."""
    table = jax.tree.map(jnp.asarray, table)
    data = {"h": None, "signs": None, "overlaps": None, "embeddings": None} | given
    gates = np.ones(structure.n_gates(len(table.sign)) if structure.kinks == "frozen" else 0)
    return GatedArguments(table=table, metric=metric, view=view, gates=gates, kink_width=np.float64(0.0), **data)


def _limit_model(setup: Setup, variant: str, mode: str, kinks: str) -> Model:
    n, k, m = setup["n"], setup["k"], setup["m"]
    here = collapsed_view(k, position_number(setup, mode))
    if variant == "collapsed":
        structure = Structure("frozen", 0, 4 * k + 1, k, loss=setup["loss"], kinks=kinks)
        overlaps = closure.limit_overlaps(2 * k, m)
        data = arguments_of(structure, collapsed_table(n, k), collapsed_metric(n, k), here, overlaps=overlaps)
        return Model(structure, structure.zeros(), data)
    signs, h = balanced_signs(k)
    structure = Structure("live", len(h), 4 * k + 1, k, loss=setup["loss"], kinks=kinks)
    metric = collapsed_metric(n, k, mobility=len(h) / (2 * m))
    data = arguments_of(structure, collapsed_table(n, k), metric, here, h=jnp.asarray(h), signs=signs)
    return Model(structure, initial_coordinates(jnp.asarray(signs), 4 * k + 1, setup["epsilon"]), data)


def _collapsed_model(setup: Setup, level: str, variant: str, mode: str, kinks: str) -> Model:
    n, k, width, ε = setup["n"], setup["k"], setup["width"], setup["epsilon"]
    mobility = width / setup["m"]
    here, table = collapsed_view(k, position_number(setup, mode)), collapsed_table(n, k)
    signs, h = initial_signs(jax.random.key(setup["seed"]), ascending(n, k), width), output_weights(width)
    metric = collapsed_metric(n, k, mobility=mobility)
    start = initial_coordinates(signs, 4 * k + 1, ε)
    sizes = {"n_neurons": 2 * width, "n_keys": 4 * k + 1, "k": k, "loss": setup["loss"], "kinks": kinks}
    if variant == "frozen":
        structure = Structure("frozen", **(sizes | {"n_neurons": 0}))
        gates = (signs > 0) * 1.0
        data = arguments_of(structure, table, metric, here, overlaps=closure.gate_overlaps(gates, h, mobility))
        return Model(structure, closure.freeze(start, gates, h), data)
    if level == "L2" or variant == "coordinates":
        structure = Structure("live", **sizes)
        return Model(structure, start, arguments_of(structure, table, metric, here, h=h, signs=signs))
    structure = Structure("weights", dimension=4 * k + 1, **sizes)
    tokens = jnp.sqrt(metric.keys)
    data = arguments_of(structure, table, metric, here, h=h, signs=signs, embeddings=tokens)
    return Model(structure, weights_of_signs(signs, tokens, ε), data)


def _enumerated_model(setup: Setup, level: str, mode: str, kinks: str) -> Model:
    n, k, width = setup["n"], setup["k"], setup["width"]
    parity = ascending(n, k)
    key = jax.random.key(setup["seed"])
    tokens = orthonormal(parity.n_tokens)
    if np.isfinite(setup["d"]):
        tokens = hypercube(jax.random.fold_in(key, 1), parity.n_tokens, setup["d"])
    signs, h = initial_signs(key, parity, width), output_weights(width)
    metric = closure.gram_metric(tokens, 2 * k)._replace(mobility=width / setup["m"])
    start = weights_of_signs(signs, tokens, setup["epsilon"])
    sizes = {"n_neurons": 2 * width, "n_keys": parity.n_tokens, "k": k, "loss": setup["loss"], "kinks": kinks}
    here = enumerated_view(parity, position_number(setup, mode))
    has_batches = level == "L0" and np.isfinite(setup["batch"])
    # batches take the place of the population where there are any
    table = table_of_bits(parity, all_bits(1)[:, [0] * n]) if has_batches else population(parity)
    seen = coordinates(start, tokens, 2 * k)
    if level == "L2":
        structure = Structure("live", **sizes)
        return Model(structure, seen, arguments_of(structure, table, metric, here, h=h, signs=seen.p))
    structure = Structure("weights", dimension=tokens.shape[1], **sizes)
    data = arguments_of(structure, table, metric, here, h=h, signs=seen.p, embeddings=tokens)
    return Model(structure, start, data)


def weights_of_signs(signs, tokens, epsilon: float) -> Weights:
    """Assumption 1: W_{1:d} = ε Σ ν e over the query tokens, the rest 0."""
    own = epsilon * signs @ tokens[-signs.shape[1] :]
    d = tokens.shape[1]
    return Weights(W=jnp.concatenate([own, jnp.zeros_like(own)], axis=1), A=jnp.zeros((d, d)))


def total_scores(model: Model):
    """Σ of a query's scores over all tokens, which no softmax can change: 0 for ever (orthonormal tokens)."""
    structure = model.structure
    sizes = 1 / np.diag(np.asarray(model.arguments.metric.keys))

    def conserved(states: np.ndarray) -> np.ndarray:
        scores = states[:, -structure.zeros().A.size if structure.kind == "weights" else -structure.zeros().a.size :]
        if structure.kind == "weights":
            tokens = np.asarray(model.arguments.embeddings)
            A = scores.reshape(-1, structure.dimension, structure.dimension)
            return np.einsum("t,td,nde,qe->nq", sizes, tokens, A, tokens[-2 * structure.k :])
        return np.einsum("t,ntq->nq", sizes, scores.reshape(-1, structure.n_keys, 2 * structure.k))

    return conserved


def frozen_state(model: Model, y: np.ndarray) -> FrozenCoordinates:
    """(P, K, a) of a flat state of any structure, with the gates of the start."""
    from flowsys.systems.parity.fields import coordinates_of, unraveller

    with jax.enable_x64(True):
        state = coordinates_of(model.structure, unraveller(model.structure)(jnp.asarray(y)), model.arguments)
        if isinstance(state, FrozenCoordinates):
            return state
        return closure.freeze(state, (jnp.asarray(model.arguments.signs) > 0) * 1.0, model.arguments.h)
