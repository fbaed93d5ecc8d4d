"""The gradients that the proofs start from, and the activation, as printed; and what closes exactly.

Printed expectations are taken over every sentence, one by one; they are compared with the fields that are integrated.
"""

from itertools import permutations, product

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.claims import Claim, Erratum, Identity, Kit, Sides
from flowsys.runs.asking import field
from flowsys.systems.lego.closed_forms import clip_level, final_features
from flowsys.systems.lego.groups import GroupAction, named, sizes

SCORES = ("alpha", "beta", "gamma", "delta")
FINITE = {"bias": 0.3, "rho": 0.5, "clip": "none"}
LAYER = ("V_psi_min", "F_c", "F_gap", "loss", "one_neuron")


def slope(Λ: np.ndarray, p) -> np.ndarray:
    """s'(Λ) of the reference activation."""
    return np.clip(Λ / p.rho, 0, 1) ** (p.q - 1)


def activated(Λ: np.ndarray, p) -> np.ndarray:
    return np.where(p.rho < Λ, Λ - p.rho * (1 - 1 / p.q), np.clip(Λ, 0, p.rho) ** p.q / (p.q * p.rho ** (p.q - 1)))


def residual(F: np.ndarray, target: np.ndarray) -> np.ndarray:
    """ξ_j = 1{j is the target} - softmax_j(F), rows by classes."""
    weights = np.exp(F - F.max(axis=1, keepdims=True))
    return np.eye(F.shape[1])[target] - weights / weights.sum(axis=1, keepdims=True)


def one_step_tokens(group: GroupAction, n_x: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Tokens (x_1, g, x_0, x_0, y_0) by slot of every one-step sentence, and those asked for at places 4 and 5."""
    first_g, first_y = n_x, n_x + group.n_g
    pairs = list(product(range(group.n_g), range(group.n_y)))
    rows = [(x1, first_g + g, x0, x0, first_y + y) for x0, x1 in permutations(range(n_x), 2) for g, y in pairs]
    tokens = np.array(rows)
    answers = first_y + group.action[tokens[:, 1] - first_g, tokens[:, 4] - first_y]
    return tokens, {"W_4": tokens[:, 0], "W_5": answers}


def layer_sides(W: np.ndarray, tokens: np.ndarray, target: np.ndarray, p) -> tuple[np.ndarray, np.ndarray]:
    """ω = ½ ξ s'(Λ), sentences by classes by neurons, and Λ."""
    read = np.asarray(sum(W[:, :, slot, tokens[:, slot]] for slot in range(5)))
    Λ = np.moveaxis(read, -1, 0) / 2 + p.bias
    return residual(activated(Λ, p).sum(axis=2), target)[:, :, None] * slope(Λ, p) / 2, Λ


def gradients_of_the_layer(run: Kit, factor: float = 1.0) -> Sides:
    """Facts B.1, C.2: -∂Loss/∂W_{5,j,r,p} on every token that is read against ½ E[ξ_j s'(Λ) Σ_k ⟨Z_{k,p}, e_v⟩]."""
    setup, p = run.setup, run.p
    asked = field(run.system, setup, level="L1", mode="stage_1")
    tokens, targets = one_step_tokens(named(p.group), int(p.n_x))
    d = int(p.n_x + sum(sizes(p.group)) + 1)
    W = 0.5 * np.random.default_rng(1).normal(size=(d, int(p.width), 5, d - 1))
    ω, _ = layer_sides(W, tokens, targets["W_5"], p)
    printed = np.zeros_like(W)
    for slot in range(5):
        is_token = np.eye(d - 1)[tokens[:, slot]]
        printed[:, :, slot] = np.einsum("njr,nv->jrv", ω, is_token) / len(tokens)
    printed[:, :, 4] *= factor
    x, g, y = slice(0, int(p.n_x)), slice(int(p.n_x), -sizes(p.group)[1]), slice(-sizes(p.group)[1], None)
    read = lambda W: np.concatenate([W[:, :, slots, at].ravel() for slots, at in ((1, g), (4, y), (0, x), ([2, 3], x))])
    return Sides(asked(read(W)), read(printed))


def gradients_of_copying(run: Kit, sign: float = -1.0) -> dict[str, Sides]:
    """Lemmas A.1, A.2, case by case, against autodiff of Loss_4¹ on the weights."""
    p, (n_g, n_y) = run.p, sizes(run.p.group)
    n_x = int(p.n_x)
    d = n_x + n_g + n_y + 1
    tokens, targets = one_step_tokens(named(p.group), n_x)
    W = 0.5 * np.random.default_rng(2).normal(size=(d, 2, 5, d - 1))

    def loss(W):
        Λ = jnp.moveaxis(sum(W[:, :, slot, tokens[:, slot]] for slot in range(5)), -1, 0) / 2 + p.bias
        inner = jnp.where(Λ > 0, Λ, 0.0)
        F = jnp.where(p.rho < Λ, Λ - p.rho * (1 - 1 / p.q), inner**p.q / (p.q * p.rho ** (p.q - 1))).sum(axis=2)
        return (jax.nn.logsumexp(F, axis=1) - F[np.arange(len(tokens)), targets["W_4"]]).mean()

    with jax.enable_x64(True):
        found = -np.asarray(jax.grad(loss)(jnp.asarray(W)))
    _, Λ = layer_sides(W, tokens, targets["W_4"], p)
    F = activated(Λ, p).sum(axis=2)
    logit = np.exp(F - F.max(axis=1, keepdims=True))
    logit /= logit.sum(axis=1, keepdims=True)
    gate, printed = slope(Λ, p), np.zeros_like(W)
    for j, slot, v in product(range(d), range(5), range(d - 1)):
        is_v, is_j = tokens[:, slot] == v, targets["W_4"] == j
        right = (1 - logit[:, j]) * (is_v & is_j)
        wrong = sign * logit[:, j] * (is_v & ~is_j)
        printed[j, :, slot, v] = ((right + wrong)[:, None] * gate[:, j]).mean(axis=0) / 2
    return {"j ∈ X": Sides(found[:n_x].ravel(), printed[:n_x].ravel()),
            "j ∉ X": Sides(found[n_x:].ravel(), printed[n_x:].ravel())}  # fmt: skip


def ideal_head(group: GroupAction, p) -> tuple[np.ndarray, np.ndarray]:
    """V(g) and V(y) of the layer that stage 1 leaves: (class, neuron, token)."""
    features = final_features(group.n_g, group.n_y, clip_level(p.C_B, p.d))
    own = np.eye(group.n_y)
    hit = np.array([[[group.action[g, y] == j for g in range(group.n_g)] for y in range(group.n_y)]
                    for j in range(group.n_y)])  # fmt: skip
    V_g = np.where(hit, features.a, features.b_prime)
    return V_g, np.broadcast_to(np.where(own, features.c, features.e), (group.n_y, *own.shape))


def attention_terms(run: Kit, actions, values, scores: np.ndarray, ell: int, answer, subtracts: bool) -> np.ndarray:
    """Attn_k Σ_j ξ_j Σ_r s'(Λ)(⟨W, Z_k⟩ - Λ + b) of every clause: (sentences, clauses), as are the scores."""
    p, group = run.p, named(run.p.group)
    V_g, V_y = ideal_head(group, p)
    held = np.concatenate([V_g[:, :, actions], V_y[:, :, values[:, :ell]]], axis=3).transpose(2, 0, 1, 3)
    attention = np.exp(scores - scores.max(axis=1, keepdims=True))
    attention /= attention.sum(axis=1, keepdims=True)
    read = np.einsum("nk,njrk->njr", attention, held)
    Λ = read + p.bias
    others = np.full((len(actions), 1), activated(np.array(p.bias), p) * group.n_y)
    F = np.concatenate([activated(Λ, p).sum(axis=2), np.log(p.d - group.n_y) + others], axis=1)
    ω = residual(F, answer)[:, :-1, None] * slope(Λ, p)
    return attention * np.einsum("njr,njrk->nk", ω, held - subtracts * read[..., None])


def sentences(group: GroupAction, L: int) -> tuple[np.ndarray, np.ndarray]:
    """All actions g_1 … g_L and values y_0 … y_L."""
    rows = np.array(list(product(range(group.n_y), *[range(group.n_g)] * L)))
    values = [rows[:, 0]]
    for k in range(L):
        values.append(group.action[rows[:, k + 1], values[-1]])
    return rows[:, 1:], np.stack(values, axis=1)


def gradients_of_scores(run: Kit, subtracts: bool = True) -> dict[str, Sides]:
    """Lemmas D.1, D.2, E.1, E.2, F.1, F.2 summed over s: dα/dτ … dδ/dτ at random scores against the expectations."""
    p, group = run.p, named(run.p.group)
    L, y = int(p.L), np.random.default_rng(0).normal(size=4)
    asked = field(run.system, run.setup, level="L3", mode="stage_2")(y)
    actions, values = sentences(group, L)
    totals = np.zeros(4)
    for ell in (1, 2) if p.trained_steps == "first_two" else (2,):
        kinds = np.array([0 if k == ell - 1 else 1 for k in range(L)] + [2 if k == ell - 1 else 3 for k in range(ell)])
        scores = np.broadcast_to(y[kinds], (len(actions), len(kinds)))
        terms = attention_terms(run, actions, values, scores, ell, values[:, ell], subtracts).mean(axis=0)
        totals += np.bincount(kinds, weights=terms, minlength=4)
    return {name: Sides(asked[i] * (1 if i % 2 == 0 else p.n_x - 1), totals[i]) for i, name in enumerate(SCORES)}


def gradients_of_attention(run: Kit, subtracts: bool = True) -> Sides:
    """Facts D.1, E.1: every entry of Q_43 and Q_44 on pairs of variables at a random Q, n_x times its gradient."""
    p, group = run.p, named(run.p.group)
    n_x = int(p.n_x)
    run = run.at(d=float(n_x + sum(sizes(p.group)) + 1))
    asked = field(run.system, run.setup, level="L2", mode="stage_2")
    Q = np.random.default_rng(0).normal(size=(2, n_x, n_x))
    actions, values = sentences(group, 2)
    printed, names = np.zeros_like(Q), list(permutations(range(n_x), 3))
    for x in names:
        for ell in (1, 2):
            query, keys = x[ell - 1], [*x[:2], *x[:ell]]
            blocks = [0, 0, *[1] * ell]
            scores = np.broadcast_to(Q[blocks, query, keys], (len(actions), 2 + ell))
            terms = attention_terms(run, actions, values, scores, ell, values[:, ell], subtracts).mean(axis=0)
            np.add.at(printed, (blocks, query, keys), n_x * terms / len(names))
    places = [name.split("_")[1:] for name in asked.names]  # Q_43_s_s' on the variables' tokens
    state = np.array([Q[int(block) - 43, int(i), int(j)] for block, i, j in places])
    wanted = np.array([printed[int(block) - 43, int(i), int(j)] for block, i, j in places])
    return Sides(asked(state), wanted)


def slopes_of_the_activation(run: Kit, where: float = -1.0) -> Sides:
    """Definition 3.4: the slopes of the printed function on both sides of -ϱ (its constant ϱ/q, so that it joins)."""
    ρ, q, h = run.p.rho, run.p.q, 1e-7
    power = lambda x: x**q / (q * ρ ** (q - 1))
    s = lambda x: ρ / q if x <= -ρ else power(x) if x <= ρ else x - ρ * (1 - 1 / q)
    x = where * ρ
    return Sides((s(x) - s(x - h)) / h, (s(x + h) - s(x)) / h)


def weights_and_features(run: Kit, seed: int = 0) -> dict[str, Sides]:
    """[ours] Gradient flow on W_5 (L1) and on its inner products with tokens (L2), integrated."""
    there = run.at(n_x=3, width=2, sigma_0=0.15, **FINITE)
    on_weights = there.at(level="L1").run(25.0, observe=LAYER)
    reduced = there.at(level="L2", seed=seed).run(25.0, observe=LAYER)
    return {name: Sides(on_weights[name][-1], reduced[name][-1]) for name in LAYER}


def blocks_and_four_values(run: Kit, n_x: int = 6) -> dict[str, Sides]:
    """[ours] Q_43 and Q_44 from 0 (L2) against the four values they keep (L3), at τ = 33."""
    finite = run.at(level="L2", n_x=6).run(33.0, observe=(*SCORES, "loss", "score_spread"))
    limit = run.at(level="L3", n_x=n_x, d=13.0).run(33.0, observe=(*SCORES, "loss"))
    found = {name: Sides(finite[name][-1], limit[name][-1]) for name in (*SCORES, "loss")}
    return found | {"spread": Sides(1 + finite["score_spread"][-1], 1.0)}


LAYERS = [{"group": g, "n_x": 4, "width": 3, **FINITE} for g in ("C3", "S3")]
STEPS = [{"group": "C3", "n_x": 7, "trained_steps": "first_two"},
         {"group": "S3", "n_x": 7, "trained_steps": "first_two"},
         {"group": "C3", "n_x": 7, "L": 4, "trained_steps": "second"},
         {"group": "S3", "n_x": 7, "L": 3, "trained_steps": "second"}]  # fmt: skip
CLAIMS = [
    Claim("Def3.4", "Definition 3.4", "sReLU is continuously differentiable", Identity(1e-5, relative=False),
          slopes_of_the_activation, takes="", control={"where": 1.0},
          erratum=Erratum("x^q/(q ϱ^(q-1)) on (-ϱ, ϱ], a constant below", "0 for x ≤ 0 and the power on (0, ϱ] only: "
                          "at -ϱ the printed slope jumps from 0 to -1")),
    Claim("B.1_C.2", "Facts B.1, C.2", "the gradient of W_5 is ½ E[ξ_j s'(Λ) 1{token}], 0 elsewhere", Identity(1e-12),
          gradients_of_the_layer, at=LAYERS, mode="stage_1", takes="rho q bias", control={"factor": 2.0},
          is_cheap=False),
    Claim("A.1_lemma", "Fact A.1, Lemmas A.1, A.2", "the gradient of W_4, case by case", Identity(1e-12),
          gradients_of_copying, at=LAYERS, mode="stage_1", takes="rho q bias", control={"sign": 1.0}, is_cheap=False),
    Claim("D.1_E.1", "Facts D.1, E.1", "the gradient of every entry of Q on variables is the printed expectation",
          Identity(1e-10), gradients_of_attention, at=[{"group": "C3", "n_x": 4}], takes="rho q bias C_B",
          control={"subtracts": False}, is_cheap=False),
    Claim("D.1_lemma", "Lemmas D.1, D.2, Lemmas E.1, E.2, Fact F.1, Lemmas F.1, F.2",
          "gradients of diagonal and off-diagonal scores, at L = 2 and beyond", Identity(1e-10), gradients_of_scores,
          at=STEPS, takes="rho q bias C_B d", control={"subtracts": False}, is_cheap=False),
    Claim("closure_1", "Facts B.1, C.2 [ours]", "inner products with tokens follow the weights",
          Identity(1e-6, relative=False), weights_and_features, at={"group": "C3"}, mode="stage_1", control={"seed": 1},
          takes="", is_cheap=False),
    Claim("closure_2", "Section 6.2 [ours]", "attention blocks keep four values, which close",
          Identity(1e-6, relative=False), blocks_and_four_values, at={"group": "C3"}, takes="rho q bias C_B",
          control={"n_x": 5}, is_cheap=False),
]  # fmt: skip
