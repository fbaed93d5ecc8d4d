"""The transformer of Definition 3.5, declared once: blocks of weights, sentences, and the losses of both stages.

For one predicted token the feed-forward weights matter only through inner products with the tokens that can stand in
each of a clause's five slots, and attention only through Q_43 and Q_44 on pairs of variables. With attention A over L
predicates and ℓ answers, the pre-activation of neuron r of class j is (Eq. 23)

    Λ_{j,r} = Σ_{pred k} A_k [x-slot(x_k) + g-slot(g_k) + source-slot(x_{k-1})]
            + Σ_{ans k}  A_k [holder-slot(x_k) + y-slot(y_k)] + b,

the logit is F_j = Σ_r s(Λ_{j,r}), clipped, and the loss is the cross-entropy over all classes. Stage 1 trains the layer
on Loss¹ at Q = 0, where only V(g), V(y), X(x_1) and U(x_0), the slots 3 and 4 together, are seen. Stage 2 trains Q over
a fixed layer: the ideal one (one neuron per fibre, nothing on variables), or the one that stage 1 left. In stage 2 time
is τ = t / n_x, so that Q has the rate n_x. Axes are classes, neurons, sentences.
"""

from math import isinf, perm
from typing import Any

import numpy as np

import flowsys as fs
from flowsys.errors import InputError
from flowsys.systems.lego import data, groups
from flowsys.systems.lego.closed_forms import final_features
from flowsys.systems.lego.feedforward import FeedForward, feedforward, value_losses
from flowsys.systems.lego.isotropic import Isotropic

LAYER, SCORES = ("V_g", "V_y", "X", "U"), ("Q_43", "Q_44")
LARGEST_WORK = 20_000_000  # neurons × sentences, which one evaluation of the loss goes through


# -- the network ------------------------------------------------------------------------------------------------------


def attention(ops, Q_43, Q_44, variables, ell: int):
    """Attention of the query `ans, ℓ-1` over predicates 1 … L and answers 0 … ℓ-1: (N, L + ℓ)."""
    L = variables.shape[1] - 1
    query = variables[:, ell - 1][:, None]
    scores = ops.concatenate([Q_43[query, variables[:, :L]], Q_44[query, variables[:, :ell]]], axis=1)
    return ops.softmax(scores, axis=1)


def logits(ops, preactivations, feedforward: FeedForward):
    """F_j = Σ_r s(Λ_{j,r}), clipped: (classes, N)."""
    return feedforward.clip_logits(ops, feedforward.activate(ops, preactivations).sum(axis=1))


# -- declared: blocks, sentences, losses ------------------------------------------------------------------------------


def vocabulary(p) -> data.Vocabulary:
    """The tokens of a finite model."""
    return data.Vocabulary(int(p.n_x_finite if isinf(p.n_x) else p.n_x), groups.named(p.group))


def has_trained_layer(p) -> bool:
    """Whether the layer is a block of weights, not the ideal one."""
    return p.mode in ("stage_1", "algorithm_1") or (p.mode == "algorithm_2" and p.features == "trained")


def nonlinearity(ops, p, clips: bool = True) -> FeedForward:
    """The layer's nonlinearity; the ideal layer needs no clip."""
    return feedforward(ops, p, p.clip if clips and has_trained_layer(p) else "none")


def blocks(p) -> dict[str, fs.Direct]:
    """W_5 by what it reads, N(0, σ_0²), and Q = 0 (Assumption 3.3); all d classes, every entry of Q."""
    tokens, found = vocabulary(p), {}
    n_x = tokens.n_x
    if has_trained_layer(p):
        random = lambda *shape: lambda rng, σ=p.sigma_0: σ * rng.standard_normal(shape)
        d, m = tokens.d, p.width
        found = {
            name: fs.Direct(d, m, size, start=random(d, m, size))
            for name, size in (("V_g", tokens.group.n_g), ("V_y", tokens.group.n_y), ("X", n_x))
        }
        both = (lambda U: U.sum(axis=2)) if p.mode == "stage_1" else None  # at Q = 0 both read x_0
        found["U"] = fs.Direct(d, m, ("slot3", "slot4"), n_x, start=random(d, m, 2, n_x), read=both)
    if p.mode != "stage_1":
        on_variables = lambda Q: Q[:n_x, :n_x]
        found |= {name: fs.Direct(tokens.d - 1, tokens.d - 1, read=on_variables, rate=float(n_x)) for name in SCORES}
    return found


def every_sentence(p, L: int, variables_read: int) -> fs.Samples:
    """The population of a length, unless the loss would have to go through too much of it."""
    tokens = vocabulary(p)
    n_sentences = perm(tokens.n_x, variables_read) * tokens.group.n_y * tokens.group.n_g**L
    work = n_sentences * (tokens.d * p.width if has_trained_layer(p) else tokens.group.n_y**2)
    if work > LARGEST_WORK:
        raise InputError(
            f"n_x, group, width and L are too large together for the exact population: {work} neurons × sentences, but "
            f"at most {LARGEST_WORK} are taken; lower one of them, or use variant exchangeable in stage 1."
        )
    return data.population(tokens.group, tokens.n_x, L, variables_read)


def one_step(p) -> fs.Samples:
    """Every sentence of length 1."""
    return every_sentence(p, 1, variables_read=2)


def sentences(p) -> fs.Samples:
    """What is trained on: every sentence; in later rounds of Algorithm 2 a fixed sample."""
    if p.mode == "stage_1":
        return one_step(p)
    rng = np.random.default_rng((p.seed, p.L)) if p.mode == "algorithm_2" else None
    if rng is not None and p.L > 2:
        tokens = vocabulary(p)
        return data.sample(rng, tokens.group, tokens.n_x, p.L, p.n_samples)
    return every_sentence(p, p.L, variables_read=p.L + has_trained_layer(p))


def one_step_logits(ops, w, X, p, layer: FeedForward):
    """Logits at Q = 0, where the only predicate and the only answer get attention ½ each: (classes, N)."""
    U = w.U if p.mode == "stage_1" else w.U.sum(axis=2)
    x_0, x_1 = X.variables[:, 0], X.variables[:, 1]
    read = w.V_g[:, :, X.actions[:, 0]] + w.V_y[:, :, X.values[:, 0]] + w.X[:, :, x_1] + U[:, :, x_0]
    return logits(ops, read / 2 + layer.bias, layer)


def one_step_loss(ops, w, X, p):
    """Loss_5¹ of every sentence at Q = 0."""
    target = X.values[:, 1] + vocabulary(p).values.start
    return ops.cross_entropy(one_step_logits(ops, w, X, p, nonlinearity(ops, p)), target, axis=0)


def isotropic_features(y: Isotropic, group: groups.GroupAction) -> tuple[Any, Any]:
    """V(g) and V(y) of the classes in Y of an isotropic layer: one neuron per fibre, nothing on variables."""
    own, fibres = np.eye(group.n_y), np.moveaxis(group.matrices, 0, -1)
    value = np.broadcast_to(own, (group.n_y, *own.shape))
    return y.b_prime + (y.a - y.b_prime) * fibres, y.e + (y.c - y.e) * value


def trained_steps(p, mode: str, L: int) -> tuple[int, ...]:
    """The steps ℓ whose losses are trained at length L."""
    choice = p["trained_steps"]
    if choice == "algorithm":
        choice = "second" if mode == "algorithm_2" else "first_two"
    return {"first_two": (1, 2), "first": (1,), "second": (2,), "all": tuple(range(1, L + 1))}[choice]


def divisor(p, steps) -> int:
    """Of all steps the mean loss is trained, else the sum."""
    return len(steps) if p["trained_steps"] == "all" else 1


def step_logits(ops, w, X, p, ell: int):
    """Logits for the value of ans_ℓ given what stands before it: the d classes, or those in Y over the ideal layer."""
    layer, group, L = nonlinearity(ops, p), vocabulary(p).group, X.actions.shape[1]
    A = attention(ops, w.Q_43, w.Q_44, X.variables, ell)
    predicates, answers = A[:, :L], A[:, L:]
    read = lambda features, tokens, A: (features[:, :, tokens] * A[None, None]).sum(axis=-1)
    V_g, V_y = (
        (w.V_g, w.V_y) if has_trained_layer(p)
        else isotropic_features(final_features(group.n_g, group.n_y, layer.B), group)
    )  # fmt: skip
    Λ = read(V_g, X.actions, predicates) + read(V_y, X.values[:, :ell], answers) + layer.bias
    if has_trained_layer(p):
        sources, holders = w.U[:, :, 0], w.U[:, :, 1]
        Λ = Λ + read(w.X, X.variables[:, 1:], predicates) + read(sources, X.variables[:, :L], predicates)
        Λ = Λ + read(holders, X.variables[:, :ell], answers)
    return logits(ops, Λ, layer)


def step_loss(ops, w, X, p, ell: int):
    """Loss_5^{L,ℓ} (Definition 3.7) of every sentence."""
    F, target, tokens = step_logits(ops, w, X, p, ell), X.values[:, ell], vocabulary(p)
    if has_trained_layer(p):
        return ops.cross_entropy(F, target + tokens.values.start, axis=0)
    return value_losses(ops, F, target, p.d, p.F_0, axis=0)


def sentence_loss(ops, w, X, p):
    """What is trained: Loss_5¹ in stage 1, then the sum (of all steps the mean) of Loss_5^{L,ℓ} over trained ℓ."""
    if p.mode == "stage_1":
        return one_step_loss(ops, w, X, p)
    steps = trained_steps(p, p.mode, X.actions.shape[1])
    losses = [step_loss(ops, w, X, p, ell) for ell in steps]
    return sum(losses[1:], losses[0]) / divisor(p, steps)
